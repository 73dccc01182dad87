// SPDX-License-Identifier: GPL-2.0
//
// Vitals user_page (pages that programs fault in) and kernel_page (pages taken from and given back
// to the page allocator).

#include "agent/sensor/bpf/memory.bpf.h"

/* All faults count as minor here; the switch program moves those that turn out major. */
SEC("tp_btf/page_fault_user")
int on_fault(uint64_t* ctx) {
  uint64_t address = ctx[0];
  struct pt_regs* regs = (struct pt_regs*)ctx[1];
  struct telltale_cpu* c = watched_cpu(TELLTALE_USER_PAGE);
  uint32_t half = control.half & 1;
  uint64_t ip = regs->ip, place, hash, before;
  struct telltale_sample* s;
  struct free_memory free;

  if (!c || closed(c, TELLTALE_USER_PAGE)) return 0;
  place = code_place(&c->bases, ip) >> 4;
  hash = mix(label_begin(c, half), place);
  if (likely(!count(c, half, TELLTALE_USER_PAGE, TELLTALE_SUBS_USER_PAGE + TELLTALE_FAULT_MINOR,
                    hash, 1, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_USER_PAGE, TELLTALE_FAULT_MINOR, hash, before, 1);
  if (!s) return 0;
  s->label[0] = place;
  s->detail[0] = ip;
  s->detail[1] = address;
  read_free_memory(&free);
  s->detail[2] = free.all;
  s->detail[3] = free.low;
  s->detail[4] = free.swap;
  take_stacks(ctx, s, false, true);
  sample_end(s);
  return 0;
}

static __always_inline int pages(void* ctx, uint32_t sub, uint64_t gfp, uint32_t order) {
  struct telltale_cpu* c = watched_cpu(TELLTALE_KERNEL_PAGE);
  uint32_t half = control.half & 1;
  uint64_t weight = 1ULL << (order & 31), hash, before;
  struct telltale_sample* s;
  struct free_memory free;
  struct user_regs u;

  if (!c || closed(c, TELLTALE_KERNEL_PAGE)) return 0;
  no_regs(&u);
  if (likely(!c->irq_depth)) running_regs(c, &u);
  if (sub == TELLTALE_PAGE_ALLOC) {
    backlog_begin(&c->half[half], half, TELLTALE_BACKLOG_PAGES,
                  stands_for(TELLTALE_KERNEL_PAGE, weight));
  } else {
    backlog_end(&c->half[half], half, TELLTALE_BACKLOG_PAGES,
                stands_for(TELLTALE_KERNEL_PAGE, weight));
  }
  hash = mix(mix(label_begin(c, half), gfp << 32 | (u.syscall & 0xffffffff)), u.place);
  if (likely(!count(c, half, TELLTALE_KERNEL_PAGE, TELLTALE_SUBS_KERNEL_PAGE + sub, hash, weight,
                    &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_KERNEL_PAGE, sub, hash, before, weight);
  if (!s) return 0;
  s->label[0] = gfp;
  s->label[1] = u.syscall;
  s->label[2] = u.ip;
  s->detail[0] = order;
  read_free_memory(&free);
  s->detail[1] = free.all;
  s->detail[2] = free.low;
  s->detail[3] = free.swap;
  take_stacks(ctx, s, true, !c->irq_depth && has_user_side());
  sample_end(s);
  return 0;
}

SEC("tp_btf/mm_page_alloc")
int on_alloc(uint64_t* ctx) {
  if (!ctx[0]) return 0; /* there was none */
  return pages(ctx, TELLTALE_PAGE_ALLOC, (uint32_t)ctx[2], ctx[1]);
}

SEC("tp_btf/mm_page_free")
int on_free(uint64_t* ctx) { return pages(ctx, TELLTALE_PAGE_FREE, 0, ctx[1]); }
