/* SPDX-License-Identifier: GPL-2.0
 *
 * Ground truth, for measuring the sketch on a real kernel (tests/bench/coverage_truth.cc): with
 * TELLTALE_TRUTH every event is also added to an exact count of its label. Without it this is
 * nothing: the product's objects have neither map nor code of it.
 */
#ifndef TELLTALE_SENSOR_TRUTH_BPF_H_
#define TELLTALE_SENSOR_TRUTH_BPF_H_

#include "agent/sensor/bpf/maps.bpf.h"
#include "sketch/truth.h"

#ifdef TELLTALE_TRUTH
/* Read and emptied by the tests after each cut. A label that finds no room, or whose bucket an
 * interrupted program holds, is missing: the tests compare the sum with the total. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256 * 1024);
  __type(key, struct telltale_truth_key);
  __type(value, struct telltale_total);
} truth SEC(".maps");

static __noinline int add_to_truth(uint32_t half, uint32_t vital, uint64_t hash, uint64_t weight) {
  struct telltale_truth_key key = {hash, vital, half};
  struct telltale_total none = {}, *sum;

  sum = bpf_map_lookup_elem(&truth, &key);
  if (!sum) {
    bpf_map_update_elem(&truth, &key, &none, 1 /* BPF_NOEXIST */);
    sum = bpf_map_lookup_elem(&truth, &key);
    if (!sum) return 0;
  }
  __sync_fetch_and_add(&sum->events, 1);
  __sync_fetch_and_add(&sum->weight, weight);
  return 0;
}

/* `tgid`: whose event it is. The agent holds itself to a hundredth of the samples, and reading this
 * map is its work. */
static __always_inline void tell_truth(uint32_t half, uint32_t vital, uint64_t hash,
                                       uint64_t weight, int32_t tgid) {
  if (tgid != control.own_tgid) add_to_truth(half, vital, hash, weight);
}

/* 0 in an interrupt. */
static __always_inline int32_t running_tgid(const struct telltale_cpu* c) {
  return c->irq_depth ? 0 : bpf_get_current_pid_tgid() >> 32;
}

/* The label is of a kind that is never kept whole. */
static __always_inline void leave_out_of_truth(uint32_t half, uint32_t vital, uint64_t hash) {
  struct telltale_truth_key key = {hash, vital, half};
  bpf_map_delete_elem(&truth, &key);
}
#else
/* No call here: compilers keep those of helpers whose result nobody wants. */
static __always_inline int32_t running_tgid(const struct telltale_cpu* c) { return 0; }
static __always_inline void tell_truth(uint32_t half, uint32_t vital, uint64_t hash,
                                       uint64_t weight, int32_t tgid) {}
static __always_inline void leave_out_of_truth(uint32_t half, uint32_t vital, uint64_t hash) {}
#endif

#endif /* TELLTALE_SENSOR_TRUTH_BPF_H_ */
