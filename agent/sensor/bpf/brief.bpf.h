/* SPDX-License-Identifier: GPL-2.0
 *
 * Ends of lives that were too short to be followed. Where processes come and go by the thousand a
 * record of each would cost more than all else: of one program, those that end on a CPU soon after
 * another are told as one.
 */
#ifndef TELLTALE_SENSOR_BRIEF_BPF_H_
#define TELLTALE_SENSOR_BRIEF_BPF_H_

#include "agent/sensor/bpf/rouse.bpf.h"

/* After the first, the others wait for no longer than that for one more; the cut ends each. */
#define BRIEF_TOGETHER_NS 100000000ULL

struct brief_lives {
  struct telltale_event exit; /* unfollowed: how many; 0: all are told */
  uint64_t busy; /* on_exit is in it; the cut, which may interrupt it, leaves it alone */
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct brief_lives);
} briefs SEC(".maps");

static __always_inline void tell_brief_lives(struct telltale_cpu* c, struct brief_lives* lives) {
  struct telltale_event* exit = &lives->exit;

  if (!exit->unfollowed) return;
  if (bpf_ringbuf_output(&ring, exit, sizeof(*exit), rouse(false)))
    c->half[exit->half & 1].lost_records += exit->unfollowed;
  exit->unfollowed = 0;
}

/* By the cut, on each CPU, when the half has been left. */
static __always_inline void end_brief_lives(struct telltale_cpu* c) {
  uint32_t key = 0;
  struct brief_lives* lives = bpf_map_lookup_elem(&briefs, &key);

  if (lives && !lives->busy) tell_brief_lives(c, lives);
}

#endif /* TELLTALE_SENSOR_BRIEF_BPF_H_ */
