/* SPDX-License-Identifier: GPL-2.0
 *
 * The control group: labels, picked by bits of their hash and so anew in each epoch, whose weight
 * is counted exactly beside the sketch. What it misses of them tells what it misses of all
 * (sketch/miss_control.h). One event in many goes this way; a label that finds no room is counted
 * as dropped.
 */
#ifndef TELLTALE_SENSOR_GROUP_BPF_H_
#define TELLTALE_SENSOR_GROUP_BPF_H_

#include "agent/sensor/bpf/maps.bpf.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps the compiler from proving a bound that the verifier cannot follow. */
#define opaque(x) asm volatile("" : "+r"(x))

static __always_inline bool in_group(uint32_t half, uint32_t vital, uint64_t hash) {
  return !(hash >> TELLTALE_GROUP_SHIFT & control.knobs[vital - 1].group_mask[half & 1]);
}

/* Of the running task; 0 in an interrupt. */
static __always_inline int32_t group_tgid(const struct telltale_cpu* c) {
  return c->irq_depth ? 0 : bpf_get_current_pid_tgid() >> 32;
}

/* `tgid`: whose event it is. The agent holds itself to a hundredth of the samples: what is missed
 * of it says nothing of others. Not static: so the verifier follows it once, and not once for each
 * path that leads to it. */
__noinline int count_exactly(uint32_t half, uint32_t vital, uint64_t hash, uint64_t weight,
                             int32_t tgid) {
  uint32_t v = vital - 1, place = hash >> TELLTALE_GROUP_PLACE_SHIFT, only = 0;
  struct telltale_group* group_map = bpf_map_lookup_elem(&group, &only);
  struct telltale_group_half* h;

  opaque(v);
  if (!group_map || v >= TELLTALE_VITALS || tgid == control.own_tgid) return 0;
  h = &group_map->half[half & 1];
#pragma unroll
  for (uint32_t i = 0; i < TELLTALE_GROUP_PROBES; i++, place++) {
    struct telltale_exact* label = &h->label[v][place & (TELLTALE_GROUP_LABELS - 1)];
    uint64_t there = label->hash;

    if (!there) there = __sync_val_compare_and_swap(&label->hash, 0, hash);
    if (there && there != hash) continue;
    if (weight == TELLTALE_EXACT_LEFT_OUT) {
      __sync_fetch_and_or(&label->weight, weight); /* as often as it is said */
    } else {
      __sync_fetch_and_add(&label->weight, weight);
    }
    return 0;
  }
  __sync_fetch_and_add(&h->dropped[v], 1);
  return 0;
}

/* The label is of a kind that is never kept whole. */
static __always_inline void leave_out_of_group(uint32_t half, uint32_t vital, uint64_t hash) {
  if (in_group(half, vital, hash)) count_exactly(half, vital, hash, TELLTALE_EXACT_LEFT_OUT, 0);
}

#endif /* TELLTALE_SENSOR_GROUP_BPF_H_ */
