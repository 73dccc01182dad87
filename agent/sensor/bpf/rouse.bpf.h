/* SPDX-License-Identifier: GPL-2.0
 *
 * Wakes the agent's thread where it rests for longer than usual because the host is quiet
 * (agent/sensor/drain_pace.h): at an exec, when the ring fills, when a CPU has been busy for a
 * while. The wakeup is the ring's own and done by an interrupt to this CPU, so it may be asked for
 * with the run queue's lock held.
 */
#ifndef TELLTALE_SENSOR_ROUSE_BPF_H_
#define TELLTALE_SENSOR_ROUSE_BPF_H_

#include "agent/sensor/bpf/hot.bpf.h"

/* Told to the ring with each record. `soon`: the agent should see this one within 100 ms. */
static __always_inline uint64_t rouse(bool soon) {
  if (likely(!control.resting)) return BPF_RB_NO_WAKEUP;
  if (!soon && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < TELLTALE_RING_QUIET)
    return BPF_RB_NO_WAKEUP;
  control.resting = 0;
  return BPF_RB_FORCE_WAKEUP;
}

/* At a tick of a busy CPU. */
static __noinline int rouse_if_busy(struct telltale_cpu* c) {
  uint32_t rest = control.resting;
  void* record;

  if (!rest) return 0;
  if (c->rest != rest) {
    c->rest = rest;
    c->rest_busy_ns = 0;
  }
  c->rest_busy_ns += control.tick_ns;
  if (c->rest_busy_ns < TELLTALE_REST_BUSY_NS) return 0;
  record = bpf_ringbuf_reserve(&ring, sizeof(uint64_t), 0);
  if (!record) return 0;
  control.resting = 0;
  bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
  return 0;
}

#endif /* TELLTALE_SENSOR_ROUSE_BPF_H_ */
