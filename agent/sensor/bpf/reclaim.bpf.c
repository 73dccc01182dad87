// SPDX-License-Identifier: GPL-2.0
//
// Vital reclaim: time that tasks spend freeing memory before they get any, because the host ran out
// of it (global) or their cgroup reached its limit.

#include "agent/sensor/bpf/sample.bpf.h"

static __always_inline int begin(uint32_t order) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  struct telltale_cpu* c = this_cpu();

  if (!c || !counted(c)) return 0;
  if (!st) {
    lose_unfollowed(c, TELLTALE_RECLAIM);
    return 0;
  }
  st->reclaim_begin_ns = bpf_ktime_get_ns();
  st->reclaim_order = order;
  return 0;
}

static __always_inline int end(void* ctx, uint64_t reclaimed, uint32_t sub) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  struct telltale_cpu* c = running_cpu();
  uint32_t half = control.half & 1;
  uint64_t ns, hash, before;
  struct telltale_sample* s;
  struct user_regs u;

  if (!st || !c || !st->reclaim_begin_ns) return 0;
  ns = bpf_ktime_get_ns() - st->reclaim_begin_ns;
  st->reclaim_begin_ns = 0;
  user_regs(task, &c->bases, &u);
  hash = mix(mix(label_begin(c, half), task->tgid), u.place);
  if (likely(!count(c, half, TELLTALE_RECLAIM, TELLTALE_SUBS_RECLAIM + sub, hash, ns, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_RECLAIM, sub, hash, before, ns);
  if (!s) return 0;
  s->label[0] = task->tgid;
  s->label[1] = u.ip;
  s->detail[0] = st->reclaim_order;
  s->detail[1] = reclaimed;
  take_stacks(ctx, s, true, !(task->flags & PF_KTHREAD));
  sample_end(s);
  return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int on_global(uint64_t* ctx) { return begin(ctx[0]); }

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int on_global_end(uint64_t* ctx) { return end(ctx, ctx[0], TELLTALE_RECLAIM_GLOBAL); }

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_cgroup(uint64_t* ctx) { return begin(ctx[0]); }

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_cgroup_end(uint64_t* ctx) { return end(ctx, ctx[0], TELLTALE_RECLAIM_CGROUP); }
