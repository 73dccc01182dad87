/* SPDX-License-Identifier: GPL-2.0
 *
 * All that the program of a new vital needs (NEW_VITAL.md): says what happened, in a struct, and
 * calls tell(). Cell, totals, sample, stacks and whose event it was are seen to here.
 */
#ifndef TELLTALE_SENSOR_VITAL_BPF_H_
#define TELLTALE_SENSOR_VITAL_BPF_H_

#include "agent/sensor/bpf/sample.bpf.h"
#include "telltale_local_vitals.h"

/* One event. Label fields make two events "the same", besides executable and user; details are
 * kept with a sample. Both in the order of the vital's description. */
struct vital_event {
  uint32_t vital, sub, first_sub, labels;
  uint64_t weight; /* in the vital's unit */
  uint64_t label[5];
  uint64_t detail[7];
};

/* EVENT(NET_DROP, DROPPED): an event of weight 1 of that vital and sub-series. */
#define EVENT(vital_name, sub_name)                                                               \
  {                                                                                               \
    .vital = TELLTALE_##vital_name, .sub = TELLTALE_##vital_name##_##sub_name,                    \
    .first_sub = TELLTALE_SUBS_##vital_name, .labels = TELLTALE_LABELS_##vital_name, .weight = 1, \
  }

/* A code address as a label wants it: the same in each process of a program, in blocks of 2^log2
 * bytes. */
static __always_inline uint64_t code_block(uint64_t ip, uint32_t log2) {
  struct telltale_cpu* c = running_cpu();

  return c ? code_place(&c->bases, ip) >> log2 : 0;
}

/* `ctx` is the program's own. Returns 0, as programs do. */
static __always_inline int tell(void* ctx, struct vital_event* e) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_cpu* c = watched_cpu(e->vital);
  uint32_t half = control.half & 1;
  struct telltale_sample* s;
  uint64_t hash, before;

  if (!c) return 0;
  hash = label_begin(c, half);
#pragma unroll
  for (uint32_t i = 0; i < 5; i++)
    if (i < e->labels) hash = mix(hash, e->label[i]);
  if (likely(!count(c, half, e->vital, e->first_sub + e->sub, hash, e->weight, &before))) return 0;
  s = sample_current(c, half, e->vital, e->sub, hash, before, e->weight);
  if (!s) return 0;
  __builtin_memcpy(s->label, e->label, sizeof(s->label));
  __builtin_memcpy(s->detail, e->detail, sizeof(s->detail));
  take_stacks(ctx, s, true, !c->irq_depth && !(task->flags & PF_KTHREAD));
  sample_end(s);
  return 0;
}

#endif /* TELLTALE_SENSOR_VITAL_BPF_H_ */
