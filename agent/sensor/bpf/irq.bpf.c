// SPDX-License-Identifier: GPL-2.0
//
// Vital softirq, and the knowledge that a CPU is in an interrupt: what is counted meanwhile belongs
// to [irq] and not to the task that happened to be interrupted. One soft interrupt in 16 is timed
// and stands for all.

#include "agent/sensor/bpf/sample.bpf.h"

#define TIMED_EVERY 16

SEC("tp_btf/irq_handler_entry")
int on_irq(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c) c->irq_depth++;
  return 0;
}

SEC("tp_btf/irq_handler_exit")
int on_irq_exit(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c && c->irq_depth) c->irq_depth--;
  return 0;
}

/* Vectors HI, TIMER, NET_TX, NET_RX, BLOCK, IRQ_POLL, TASKLET, SCHED, HRTIMER, RCU in this order.
 */
static __always_inline uint32_t sub_of(uint32_t vector) {
  switch (vector) {
    case 0:
    case 1:
    case 8:
      return TELLTALE_SOFTIRQ_TIMER;
    case 2:
      return TELLTALE_SOFTIRQ_NET_TX;
    case 3:
      return TELLTALE_SOFTIRQ_NET_RX;
    case 4:
    case 5:
      return TELLTALE_SOFTIRQ_BLOCK;
    case 7:
      return TELLTALE_SOFTIRQ_SCHED;
    case 9:
      return TELLTALE_SOFTIRQ_RCU;
    default:
      return TELLTALE_SOFTIRQ_OTHER;
  }
}

SEC("tp_btf/softirq_entry")
int on_softirq(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  c->irq_depth++;
  c->softirq_begin_ns = c->softirq_count++ % TIMED_EVERY || SCOPED ? 0 : bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/softirq_exit")
int on_softirq_exit(uint64_t* ctx) {
  uint32_t vector = ctx[0], half = control.half & 1, sub = sub_of(vector);
  struct telltale_cpu* c = this_cpu();
  uint64_t begun, weight, hash, before;
  struct telltale_sample* s;

  if (!c) return 0;
  begun = c->softirq_begin_ns;
  c->softirq_begin_ns = 0;
  if (!c->irq_depth) return 0; /* attached in the middle of one */
  if (unlikely(begun)) {
    weight = (bpf_ktime_get_ns() - begun) * TIMED_EVERY;
    hash = mix(mix(control.seed[half], TELLTALE_IRQ_IDENT), vector);
    opaque(sub);
    if (sub < TELLTALE_SOFTIRQ_SUBS && !closed(c, TELLTALE_SOFTIRQ) &&
        unlikely(
            count(c, half, TELLTALE_SOFTIRQ, TELLTALE_SUBS_SOFTIRQ + sub, hash, weight, &before)) &&
        (s = sample_current(c, half, TELLTALE_SOFTIRQ, sub, hash, before, weight))) {
      s->label[0] = vector;
      s->detail[0] = ((struct task_struct*)bpf_get_current_task_btf())->pid;
      sample_end(s);
    }
  }
  c->irq_depth--;
  return 0;
}
