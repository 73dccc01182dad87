/* SPDX-License-Identifier: GPL-2.0
 *
 * Waits without following switches: where those are only counted, the task iterator looks at each
 * task some times a second. How long it ran, how long it stood in the queue and how often it waited
 * since the last look the kernel's own accounts say, so what is left is time it was blocked. What
 * for is told by what it waits for now; or, if it does not now, by what it was last seen to wait
 * for. The sums are exact, their division among kinds of waits is an estimate.
 */
#ifndef TELLTALE_SENSOR_LOOK_BPF_H_
#define TELLTALE_SENSOR_LOOK_BPF_H_

#include "agent/sensor/bpf/peer.bpf.h"

/* Keeps time waited, of the label that these registers gave. Of who waits now its kernel stack says
 * where; of waits that are over nothing does any more. Open is what goes on at the cut: what a look
 * in between meets may be over by then. `others`: of the time a part may be of waits before. */
static __always_inline void keep_wait(struct telltale_cpu* own, struct task_struct* task,
                                      const struct user_regs* u, uint32_t vital, uint32_t sub,
                                      bool waits, bool others, uint64_t hash, uint64_t before,
                                      uint64_t ns) {
  bool open = waits && control.pass != TELLTALE_PASS_LOOK;
  uint64_t last = others ? TELLTALE_WAIT_OPEN_SEVERAL : TELLTALE_WAIT_OPEN;
  uint32_t flags = TELLTALE_SAMPLE_OF_PASS | (open ? TELLTALE_SAMPLE_OPEN : 0);
  struct telltale_sample* s =
      sample_begin(own, task, SAMPLE_WHAT(vital, sub, control.half & 1, flags), hash, ns);

  if (!s) return;
  s->before = before;
  s->cpu = task->thread_info.cpu;
  s->label[0] = task->pid;
  s->label[1] = u->syscall;
  s->label[2] = u->ip;
  s->label[3] = u->stack_place;
  s->detail[0] = task->prio;
  if (vital == TELLTALE_SCHED_DELAY) {
    s->detail[1] = task->policy;
    s->detail[2] = s->time_ns - s->who.start_ns;
    s->detail[3] = open ? last : TELLTALE_WAIT_SEVERAL;
    if (waits) name_runner(&s->peer, task);
  } else {
    s->detail[1] = s->time_ns - s->who.start_ns;
    s->detail[2] = open ? last : TELLTALE_WAIT_SEVERAL;
  }
  if (waits) {
    s->flags |= TELLTALE_SAMPLE_KSTACK;
    s->kernel_bytes = bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0);
  }
  sample_end(s);
}

/* Whether to keep a wait of that label: if it is due; and at the cut, if it goes on and leads its
 * cell, for in pieces it may pass no power of t. */
static __always_inline bool keeps(struct telltale_cpu* own, uint32_t half, uint32_t vital,
                                  uint64_t hash, bool due, bool waits) {
  uint32_t v = vital - 1;
  struct telltale_slot* slot;

  opaque(v);
  if (v >= TELLTALE_VITALS) return false;
  if (due || control.pass == TELLTALE_PASS_LOOK || !waits) return due;
  slot = &own->half[half & 1].sketch[v].slot[hash >> TELLTALE_CELL_SHIFT];
  return ((slot->lead ^ hash) & TELLTALE_MARK_MASK) == 0;
}

struct look_at {
  uint64_t now, rq_now;
  uint64_t ran, queue, block; /* ns since the last look */
  uint64_t waits, turns;      /* begun since: to sleep; in the queue */
  bool asleep, queued;        /* now */
};

/* It was not looked at yet: what it did till now is not known, or charged. */
static __always_inline void begin_looks(struct task_struct* task, struct telltale_task* st,
                                        const struct look_at* at) {
  look_from(task, st, at->now, queued_in_all(task, at->rq_now, at->queued));
  st->state = TELLTALE_TASK_RUNNING; /* all the while: TELLTALE_PASS_RESUME says what it is in */
  if (at->asleep) st->block_sub = wait_class(0, task, st, task->__state);
}

/* Divides the time since the last look by the accounts. */
static __always_inline void divide(struct task_struct* task, struct telltale_task* st,
                                   struct look_at* at) {
  uint64_t off = at->now > st->since_rq_ns ? at->now - st->since_rq_ns : 0;
  uint64_t run = task->se.sum_exec_runtime;
  uint64_t queue = queued_in_all(task, at->rq_now, at->queued);

  at->ran = run - st->looked_run_ns;
  at->queue = queue > st->run_delay_ns ? queue - st->run_delay_ns : 0;
  at->waits = task->nvcsw - st->looked_voluntary;
  at->turns = at->waits + task->nivcsw - st->looked_involuntary;
  /* The scheduler may have counted its sleep as queue time (queue_time in wait.bpf.h). */
  if (st->queued_asleep && at->queue) at->queue = 0;
  if (at->ran > off) at->ran = off;
  if (at->queue > off - at->ran) at->queue = off - at->ran;
  at->block = off - at->ran - at->queue;
  look_from(task, st, at->now, queue);
  st->queued_asleep = at->asleep && task->sched_info.last_queued;
}

static __noinline int charge_queue(struct telltale_cpu* own, struct task_struct* task,
                                   struct look_at* at) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  uint32_t half = control.half & 1;
  uint64_t hash, before;
  struct user_regs u;
  uint32_t sub;
  bool due;

  if (!st) return 0;
  sub = at->turns > 2 * at->waits ? TELLTALE_DELAY_PREEMPTED : TELLTALE_DELAY_WOKEN;
  user_regs(task, &st->bases, &u);
  hash = wait_label(st, half, task->pid, &u);
  st->half[half].queue_ns += at->queue;
  due = charge_waits(own, half, st, task->tgid, TELLTALE_SCHED_DELAY,
                     TELLTALE_SUBS_SCHED_DELAY + sub, hash, at->turns, at->queue, &before);
  if (keeps(own, half, TELLTALE_SCHED_DELAY, hash, due, at->queued))
    keep_wait(own, task, &u, TELLTALE_SCHED_DELAY, sub, at->queued, at->turns > 0, hash, before,
              at->queue);
  return 0;
}

static __noinline int charge_block(struct telltale_cpu* own, struct task_struct* task,
                                   struct look_at* at) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  uint32_t half = control.half & 1, class;
  uint64_t hash, before;
  struct user_regs u;
  bool due, idle;

  if (!st) return 0;
  class = st->block_sub & (TELLTALE_BLOCK_SUBS - 1);
  user_regs(task, &st->bases, &u);
  hash = wait_label(st, half, task->pid, &u);
  st->half[half].blocked_ns += at->block;
  due = charge_waits(own, half, st, task->tgid, TELLTALE_BLOCKING, TELLTALE_SUBS_BLOCKING + class,
                     hash, at->waits, at->block, &before);
  idle = by_choice(TELLTALE_BLOCKING, class) && (task->flags & PF_KTHREAD);
  if (idle) {
    leave_out_of_group(half, TELLTALE_BLOCKING, hash);
    leave_out_of_truth(half, TELLTALE_BLOCKING, hash);
    return 0;
  }
  if (keeps(own, half, TELLTALE_BLOCKING, hash, due, at->asleep))
    keep_wait(own, task, &u, TELLTALE_BLOCKING, class, at->asleep, at->waits > 0, hash, before,
              at->block);
  return 0;
}

/* The same of a wait for a lock in the process's memory that goes on now. By itself, as what calls
 * what may take 512 bytes of stack together. */
static __noinline int charge_lock(struct telltale_cpu* own, struct task_struct* task,
                                  struct look_at* at) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  uint32_t half = control.half & 1, flags = TELLTALE_SAMPLE_OF_PASS;
  struct telltale_sample* s;
  uint64_t hash, before;
  struct user_regs u;
  bool due;

  if (!st || !st->futex_owner || st->block_sub != TELLTALE_BLOCK_LOCK) return 0;
  user_regs(task, &st->bases, &u);
  hash = mix(wait_label(st, half, task->pid, &u), TELLTALE_LOCK_FUTEX);
  due = charge_waits(own, half, st, task->tgid, TELLTALE_LOCK,
                     TELLTALE_SUBS_LOCK + TELLTALE_LOCK_FUTEX, hash, at->waits, at->block, &before);
  if (!keeps(own, half, TELLTALE_LOCK, hash, due, true)) return 0;
  if (control.pass != TELLTALE_PASS_LOOK) flags |= TELLTALE_SAMPLE_OPEN;
  s = sample_begin(own, task, SAMPLE_WHAT(TELLTALE_LOCK, TELLTALE_LOCK_FUTEX, half, flags), hash,
                   at->block);
  if (!s) return 0;
  s->before = before;
  s->cpu = task->thread_info.cpu;
  s->label[0] = TELLTALE_LOCK_FUTEX;
  s->label[1] = u.syscall;
  s->label[2] = u.ip;
  s->detail[0] = st->futex_address;
  s->detail[1] = name_owner(s, task, st->futex_owner, true);
  s->flags |= TELLTALE_SAMPLE_KSTACK;
  s->kernel_bytes = bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0);
  sample_end(s);
  return 0;
}

/* A wait for a lock goes on, of which `ns` were just charged to the task as blocked. */
static __always_inline void charge_open_lock(struct telltale_cpu* own, struct task_struct* task,
                                             uint64_t ns) {
  struct look_at at = {};

  at.waits = 1;
  at.block = ns;
  charge_lock(own, task, &at);
}

/* `now`: of the clock that waits are measured by (wait.bpf.h). */
static __always_inline void look(struct task_struct* task, struct telltale_task* st, uint64_t now,
                                 uint64_t rq_now) {
  struct telltale_cpu* own = cpu_block(control.cpus);
  struct look_at at = {};

  if (!own || task->exit_state) return;
  /* Its last turns may have been counted and no more, so nobody saw it change its user. Who runs
   * may be in the midst of an exec. */
  if (!task->on_cpu) refresh_ident(st, task);
  at.now = now;
  at.rq_now = rq_now;
  at.asleep = !task->on_cpu && task->__state && task->__state != TASK_WAKING;
  at.queued = !task->on_cpu && !at.asleep;
  if (!st->looked) {
    begin_looks(task, st, &at);
    return;
  }
  divide(task, st, &at);
  if (at.asleep) st->block_sub = wait_class(0, task, st, task->__state);
  /* Who looks is never met asleep. It waits for the next look, not for what it waited for when its
   * switches were last followed. */
  if (task->pid == bpf_get_current_task_btf()->pid) st->block_sub = TELLTALE_BLOCK_POLL;
  if (at.queue) charge_queue(own, task, &at);
  if (at.block) charge_block(own, task, &at);
  if (at.block && at.asleep) charge_lock(own, task, &at);
}

#endif /* TELLTALE_SENSOR_LOOK_BPF_H_ */
