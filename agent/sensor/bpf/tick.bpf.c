// SPDX-License-Identifier: GPL-2.0
//
// Vital cpu: who runs when the timer ticks. The tick comes anyway (HZ on a busy CPU, never on an
// idle one), so this costs no extra interrupt; each stands for one tick of CPU time.

#include "agent/sensor/bpf/sample.bpf.h"

#define TICK_FRAMES 24

/* Kernel frames of the tick being handled, one entry per CPU (set by the loader). */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, uint64_t[TICK_FRAMES]);
} tick_frames SEC(".maps");

/* Address of the kernel code that the timer interrupted: the frame below the interrupt's entry. */
static __always_inline uint64_t interrupted_ip(void* ctx) {
  uint32_t key = bpf_get_smp_processor_id();
  uint64_t* frame = bpf_map_lookup_elem(&tick_frames, &key);
  long bytes;

  if (!frame || !control.timer_entry_begin) return 0;
  bytes = bpf_get_stack(ctx, frame, TICK_FRAMES * sizeof(uint64_t), 0);
  for (int i = 0; i + 1 < TICK_FRAMES; i++) {
    if ((i + 2) * (long)sizeof(uint64_t) > bytes) break;
    if (frame[i] >= control.timer_entry_begin && frame[i] < control.timer_entry_end)
      return frame[i + 1];
  }
  return 0;
}

static __always_inline int tick(void* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_cpu* c = this_cpu();
  uint32_t half = control.half & 1, sub;
  uint64_t ip, place, hash, before;
  struct telltale_sample* s;

  if (!c) return 0;
  if (!task->pid && !c->irq_depth) return 0; /* idle is no use of the CPU */
  if (c->irq_depth) {
    sub = TELLTALE_CPU_IRQ;
    ip = interrupted_ip(ctx);
  } else {
    struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
    /* The frame at the top of the stack is this interrupt's iff it came from user mode. */
    if (!(task->flags & PF_KTHREAD) && (int64_t)regs->orig_ax < 0) {
      sub = TELLTALE_CPU_USER;
      ip = regs->ip;
    } else {
      sub = TELLTALE_CPU_KERNEL;
      ip = interrupted_ip(ctx);
    }
  }
  place = code_place(&c->bases, ip) >> 8;
  hash = mix(label_begin(c, half), place);
  if (likely(
          !count(c, half, TELLTALE_CPU, TELLTALE_SUBS_CPU + sub, hash, control.tick_ns, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_CPU, sub, hash, before, control.tick_ns);
  if (!s) return 0;
  s->label[0] = place;
  s->detail[0] = ip;
  s->detail[1] = sub;
  take_stacks(ctx, s, sub != TELLTALE_CPU_USER,
              sub != TELLTALE_CPU_IRQ && !(task->flags & PF_KTHREAD));
  sample_end(s);
  return 0;
}

/* The tick is one of the timers that this interrupt runs; others come more often. A CPU that ticks
 * has its tick at most once per period. */
static __always_inline bool due(struct telltale_cpu* c) {
  uint64_t jiffies = bpf_jiffies64();

  if (c->tick_jiffies == jiffies) return false;
  c->tick_jiffies = jiffies;
  return true;
}

SEC("tp_btf/local_timer_entry")
int on_timer(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  if (due(c)) tick(ctx);
  c->irq_depth++;
  return 0;
}

/* Where the local timer has no tracepoint of its own: any high-resolution timer, once a tick. */
SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c && due(c)) tick(ctx);
  return 0;
}

SEC("tp_btf/local_timer_exit")
int on_timer_exit(uint64_t* ctx) {
  struct telltale_cpu* c = this_cpu();

  if (c && c->irq_depth) c->irq_depth--;
  return 0;
}
