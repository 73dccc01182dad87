// SPDX-License-Identifier: GPL-2.0
//
// Vital llc: which code misses the last-level cache. A hardware counter interrupts after so many
// misses; all of them are laid at the door of the code that made the last. On a PMU that is a
// non-maskable interrupt, which may come in the middle of any other program: what this one writes
// is its own, but for who runs, which is the same whoever finds it out, and for the bit in
// `touched`, which the other may put back; the next miss sets it again, and until then a switch
// leaves the weight for the task that comes after.

#include "agent/sensor/bpf/sample.bpf.h"

/* As the kernel shows it to programs (uapi/linux/bpf_perf_event.h): no relocation here. */
struct bpf_perf_event_data {
  uint64_t regs[21]; /* struct pt_regs of x86-64: where the counter interrupted */
  uint64_t sample_period;
  uint64_t addr;
};
#define REGS_IP 16
#define REGS_CS 17

SEC("perf_event")
int on_miss(struct bpf_perf_event_data* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_cpu* c = watched_cpu(TELLTALE_LLC);
  uint32_t half = control.half & 1;
  uint64_t ip = ctx->regs[REGS_IP], misses = ctx->sample_period, place, hash, before;
  bool user = (ctx->regs[REGS_CS] & 3) == 3;
  struct telltale_sample* s;

  if (!c) return 0;
  if (!task->pid && !c->irq_depth) return 0; /* idle, as in the vital cpu */
  place = code_place(&c->bases, ip) >> 8;
  hash = mix(label_begin(c, half), place);
  if (likely(!count(c, half, TELLTALE_LLC, TELLTALE_SUBS_LLC, hash, misses, &before))) return 0;
  s = sample_current(c, half, TELLTALE_LLC, 0, hash, before, misses);
  if (!s) return 0;
  s->label[0] = place;
  s->detail[0] = ip;
  take_stacks(ctx, s, !user, !c->irq_depth && !(task->flags & PF_KTHREAD));
  sample_end(s);
  return 0;
}
