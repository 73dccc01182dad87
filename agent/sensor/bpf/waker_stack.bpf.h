/* SPDX-License-Identifier: GPL-2.0
 *
 * The kernel stack of who ended a wait, from the wakeup (waker.bpf.h) until a sample of that wait
 * is kept: in the switch that follows, or, of a lock of the kernel, when it has been taken
 * (lock.bpf.c).
 */
#ifndef TELLTALE_SENSOR_WAKER_STACK_BPF_H_
#define TELLTALE_SENSOR_WAKER_STACK_BPF_H_

#include "agent/sensor/bpf/stack.bpf.h"

#define WAKER_STACKS 512
struct waker_stack {
  uint32_t woken_tid; /* whose waker it is; 0 while it is written */
  int32_t bytes;
  uint64_t frame[TELLTALE_PEER_FRAMES];
};
/* In a place picked by the woken task's tid. Another task may take it over: counted as
 * TELLTALE_LOST_SLOT. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WAKER_STACKS);
  __type(key, uint32_t);
  __type(value, struct waker_stack);
} waker_stacks SEC(".maps");

static __always_inline struct waker_stack* stack_of_waker(uint32_t woken_tid) {
  uint32_t key = woken_tid & (WAKER_STACKS - 1);
  return bpf_map_lookup_elem(&waker_stacks, &key);
}

static __always_inline void add_waker_stack(struct telltale_half* h, struct telltale_sample* s,
                                            const struct telltale_task* st) {
  struct waker_stack* stack;

  if (!st->waker_stack) return;
  stack = stack_of_waker(s->who.tid);
  if (!stack) return;
  s->peer_bytes = stack->bytes;
  __builtin_memcpy(s->peer_kernel, stack->frame, sizeof(s->peer_kernel));
  if (stack->woken_tid != s->who.tid) {
    s->peer_bytes = 0;
    lose(h, s->vital, TELLTALE_LOST_SLOT, 0);
  }
}

/* Who holds a lock lets go of it by waking who waits: if that was the one that held it when the
 * wait began, its stack says what it held it for. */
static __always_inline void add_holder_stack(struct telltale_half* h, struct telltale_sample* s,
                                             const struct telltale_task* st) {
  if (s->peer.tid && st->waker_tid == s->peer.tid) add_waker_stack(h, s, st);
}

#endif /* TELLTALE_SENSOR_WAKER_STACK_BPF_H_ */
