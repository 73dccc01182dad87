// SPDX-License-Identifier: GPL-2.0
//
// Vital syscall. Only the exit is hooked: number, first argument, stack pointer and result are all
// known there, and each enabled hook costs every system call of the host.

#include "agent/sensor/bpf/sample.bpf.h"

#define MAX_ERRNO 4095

SEC("tp_btf/sys_exit")
int on_syscall(uint64_t* ctx) {
  struct pt_regs* regs = (struct pt_regs*)ctx[0];
  int64_t result = ctx[1];
  uint32_t sub = result < 0 && result >= -MAX_ERRNO ? TELLTALE_SYSCALL_FAILED : TELLTALE_SYSCALL_OK;
  uint64_t nr = regs->orig_ax, place, hash, before;
  struct telltale_cpu* c = watched_cpu(TELLTALE_SYSCALL);
  uint32_t half = control.half & 1;
  struct telltale_sample* s;

  if (!c || closed(c, TELLTALE_SYSCALL)) return 0;
  place = stack_place(&c->bases, regs->sp);
  hash = mix(mix(label_begin(c, half), nr), place);
  if (likely(!count(c, half, TELLTALE_SYSCALL, TELLTALE_SUBS_SYSCALL + sub, hash, 1, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_SYSCALL, sub, hash, before, 1);
  if (!s) return 0;
  s->label[0] = nr;
  s->label[1] = place;
  s->detail[0] = regs->di;
  s->detail[1] = result;
  take_stacks(ctx, s, false, true);
  sample_end(s);
  return 0;
}
