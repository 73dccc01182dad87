/* SPDX-License-Identifier: GPL-2.0
 *
 * Who ended a wait. At each wakeup the waker leaves its tid with the task it wakes. Its name is
 * looked up only if the wait is kept. Its stack must be taken at once, long before that is known:
 * it is, when by a cell that the wait may be added to, as one of a task or for a lock, it would be
 * due.
 */
#ifndef TELLTALE_SENSOR_WAKER_BPF_H_
#define TELLTALE_SENSOR_WAKER_BPF_H_

#include "agent/sensor/bpf/peer.bpf.h"
#include "agent/sensor/bpf/waker_stack.bpf.h"

/* An eighth of the quantum. Shorter waits are too many to look at each one's cell; where they pass
 * a power of t together, one is kept with its waker's name and without the stack. */
#define FORESEEN_NS (1ULL << 17)

/* Whether a wait of that label, were it to end on this CPU now, would be kept. */
static __always_inline bool would_be_due_on(uint32_t cpu, uint32_t half, uint32_t vital,
                                            uint64_t hash, uint64_t ns) {
  struct telltale_cpu* c = cpu_block(cpu);
  struct telltale_slot trial;
  const uint32_t v = vital - 1;

  if (!c) return false;
  trial = c->half[half & 1].sketch[v].slot[hash >> TELLTALE_CELL_SHIFT];
  return add(c, v, &trial, hash, ns);
}

/* It will run where it ran last or where its waker runs. The vital as a constant in each case: it
 * is an index whose bounds the verifier must know. */
static __noinline int would_be_due(struct task_struct* woken, uint32_t vital, uint64_t hash,
                                   uint64_t ns) {
  uint32_t half = control.half & 1;

  if (vital == TELLTALE_LOCK)
    return would_be_due_on(woken->thread_info.cpu, half, TELLTALE_LOCK, hash, ns) ||
           would_be_due_on(bpf_get_smp_processor_id(), half, TELLTALE_LOCK, hash, ns);
  return would_be_due_on(woken->thread_info.cpu, half, TELLTALE_BLOCKING, hash, ns) ||
         would_be_due_on(bpf_get_smp_processor_id(), half, TELLTALE_BLOCKING, hash, ns);
}

static __noinline int keep_stack(void* ctx, struct task_struct* woken, struct telltale_task* st,
                                 uint64_t ns) {
  uint32_t half = control.half & 1;
  struct waker_stack* stack;
  struct user_regs u;
  uint64_t hash;
  bool due;

  user_regs(woken, &st->bases, &u);
  hash = wait_label(st, half, woken->pid, &u);
  due = would_be_due(woken, TELLTALE_BLOCKING, hash, ns);
  if (!due && st->futex_owner)
    due = would_be_due(woken, TELLTALE_LOCK, mix(hash, TELLTALE_LOCK_FUTEX), ns);
  if (!due && st->lock_begin_ns[TELLTALE_LOCK_SLEEPING]) {
    hash =
        lock_label(mix(control.seed[half], st->ident), st->lock_kind[TELLTALE_LOCK_SLEEPING], &u);
    ns = bpf_ktime_get_ns() - st->lock_begin_ns[TELLTALE_LOCK_SLEEPING];
    due = would_be_due(woken, TELLTALE_LOCK, hash, stands_for(TELLTALE_LOCK, ns));
  }
  if (!due) return 0;
  stack = stack_of_waker(woken->pid);
  if (!stack) return 0;
  stack->woken_tid = 0;
  stack->bytes = bpf_get_stack(ctx, stack->frame, sizeof(stack->frame), 0);
  stack->woken_tid = woken->pid;
  st->waker_stack = 1;
  return 0;
}

static __always_inline void note_waker(void* ctx, struct telltale_cpu* c,
                                       struct task_struct* woken) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, woken, 0, 0);
  struct task_struct* waker = bpf_get_current_task_btf();
  bool in_irq = c->irq_depth || !waker->pid;
  uint64_t now;

  if (!st || st->state != TELLTALE_TASK_BLOCKED) return;
  if (queued_asleep(woken, st)) st->woken_rq_ns = bpf_ktime_get_ns() + control.rq_clock_offset_ns;
  st->waker_tid = in_irq ? TELLTALE_WAKER_IRQ : waker->pid;
  st->waker_task = (uint64_t)waker;
  /* The waker's run-queue clock stands since its last switch or tick, on an idle CPU for longer. It
   * is enough to tell those who wake each other all the time, who can least afford the real one. */
  if (!in_irq && !st->waited_long && !control.use_ktime &&
      waker->se.cfs_rq->rq->clock < st->since_rq_ns + FORESEEN_NS)
    return;
  now = bpf_ktime_get_ns() + (control.use_ktime ? 0 : control.rq_clock_offset_ns);
  if (now > st->since_rq_ns + FORESEEN_NS) keep_stack(ctx, woken, st, now - st->since_rq_ns);
}

static __noinline int name_waker(struct telltale_half* h, struct telltale_sample* s,
                                 struct telltale_task* st) {
  if (st->waker_tid == TELLTALE_WAKER_IRQ) {
    __builtin_memcpy(s->peer.comm, "[irq]", 6);
  } else if (st->waker_tid != TELLTALE_WAKER_UNSEEN) {
    name_peer(&s->peer, st->waker_task, st->waker_tid);
  }
  add_waker_stack(h, s, st);
  return 0;
}

#endif /* TELLTALE_SENSOR_WAKER_BPF_H_ */
