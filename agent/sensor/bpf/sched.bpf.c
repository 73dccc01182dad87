// SPDX-License-Identifier: GPL-2.0
//
// Vitals sched_delay and blocking, and with them the account of every task: at each switch the
// outgoing task's time on the CPU ends, and the incoming one's wait is split into time asleep and
// time in the queue. The two hooks of a task's end are here as well, because its last row needs
// them.

#include "agent/sensor/bpf/waker.bpf.h"

/* Takes the sample of a pending interval. Called in the incoming task (both stacks) or, without
 * sched_exit_tp, at the switch for the task about to run (kernel stack only). */
static __noinline int take_pending(void* ctx, struct telltale_cpu* c, struct task_struct* task,
                                   struct telltale_pending* p, uint32_t at_exit) {
  struct telltale_task* st;
  struct telltale_sample* s;

  p->live = 0;
  if (p->tid != (uint32_t)task->pid) {
    refuse(&c->half[p->half & 1], p->vital, TELLTALE_LOST_SLOT, p->hash, p->weight);
    return 0;
  }
  s = sample_begin(c, task, SAMPLE_WHAT(p->vital, p->sub, p->half & 1, 0), p->hash, p->weight);
  if (!s) return 0;
  s->before = p->before;
  st = bpf_task_storage_get(&tasks, task, 0, 0);
  if (p->vital == TELLTALE_LOCK) {
    s->label[0] = TELLTALE_LOCK_FUTEX;
    s->label[1] = p->syscall;
    s->label[2] = p->ip;
    if (st) {
      s->detail[0] = st->futex_address;
      s->detail[1] = name_owner(s, task, st->futex_owner, false);
      add_holder_stack(&c->half[p->half & 1], s, st);
    }
    take_stacks(ctx, s, false, at_exit);
    sample_end(s);
    return 0;
  }
  s->label[0] = task->pid;
  s->label[1] = p->syscall;
  s->label[2] = p->ip;
  s->label[3] = p->stack_place;
  s->detail[0] = task->prio;
  if (p->vital == TELLTALE_SCHED_DELAY) {
    s->detail[1] = task->policy;
    s->detail[2] = s->time_ns - s->who.start_ns;
    s->peer = c->ran;
  } else {
    s->detail[1] = s->time_ns - s->who.start_ns;
    if (st) name_waker(&c->half[p->half & 1], s, st);
  }
  if (at_exit) {
    take_stacks(ctx, s, true, !(task->flags & PF_KTHREAD));
  } else if (control.switch_level == TELLTALE_SWITCH_ALL) {
    s->flags |= TELLTALE_SAMPLE_KSTACK;
    s->kernel_bytes = bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0);
  }
  sample_end(s);
  return 0;
}

static __always_inline void take_both(void* ctx, struct telltale_cpu* c, struct task_struct* task,
                                      uint32_t at_exit) {
  c->pending_live = 0;
  if (c->pending[0].live) take_pending(ctx, c, task, &c->pending[0], at_exit);
  if (c->pending[1].live) take_pending(ctx, c, task, &c->pending[1], at_exit);
  if (c->pending[2].live) take_pending(ctx, c, task, &c->pending[2], at_exit);
}

/* Waits whose stacks were to be taken in a moment, before switches were only counted. */
static __noinline int drop_pending(struct telltale_cpu* c) {
  c->pending_live = 0;
  for (int i = 0; i < 3; i++) {
    struct telltale_pending* p = &c->pending[i];

    if (!p->live) continue;
    p->live = 0;
    refuse(&c->half[p->half & 1], p->vital, TELLTALE_LOST_SLOT, p->hash, p->weight);
  }
  return 0;
}

static __always_inline bool half_used(const struct telltale_task_half* t) {
  return t->touched || t->queue_ns || t->blocked_ns || t->run_ns;
}

/* The last row of a task, at its last switch, when all it did has been given to it. What it did in
 * an epoch that was cut but not yet collected goes out first, together with its accounts. */
static __noinline int send_last_row(struct telltale_cpu* c, struct task_struct* task,
                                    struct telltale_task* st, uint32_t half, uint32_t exited) {
  bool accounts_out = false;

  st->state = TELLTALE_TASK_GONE;
  for (int i = 0; i < 2; i++) {
    uint32_t which = (half + 1 + i) & 1;
    struct telltale_row* row;

    if (i == 0 && !half_used(&st->half[which])) continue;
    row = bpf_ringbuf_reserve(&ring, sizeof(*row), 0);
    if (!row) {
      c->half[half & 1].lost_records++;
      continue;
    }
    row->kind = TELLTALE_RECORD_ROW;
    row->half = which;
    row->exited = exited;
    fill_who(&row->who, task, st);
    row->memory = st->memory;
    row->open_files = 0;
    row->did = st->half[which];
    row->task_ns = 0;
    if (!accounts_out) {
      uint64_t now = bpf_ktime_get_ns();
      row->task_ns = now > st->first_ns ? now - st->first_ns : 0;
      read_accounts(task, &row->used);
      subtract_accounts(&row->used, &st->base);
      accounts_out = true;
    } else {
      __builtin_memset(&row->used, 0, sizeof(row->used));
    }
    bpf_ringbuf_submit(row, rouse(false));
    __builtin_memset(&st->half[which], 0, sizeof(st->half[which]));
  }
  return 0;
}

/* A fault is known to be major only when it is over, so each was counted as minor. Here, where all
 * counts have just been given to the task, those that were major change their sub-series. Seconds
 * may go below zero for it; the reader evens that out. */
static __noinline int move_major(struct telltale_cpu* c, uint32_t half, struct telltale_task* st,
                                 uint64_t seen) {
  const uint32_t minor = TELLTALE_SUBS_USER_PAGE + TELLTALE_FAULT_MINOR;
  const uint32_t major = TELLTALE_SUBS_USER_PAGE + TELLTALE_FAULT_MAJOR;
  struct telltale_task_half* t = &st->half[half & 1];
  struct telltale_half* h = &c->half[half & 1];
  uint64_t step = seen - st->faults_major_seen;

  st->faults_major_seen = seen;
  if (t->share[minor].events < step) return 0; /* they were counted before the cut: they stay */
  t->touched |= 1ULL << major;
  t->share[minor].events -= step;
  t->share[minor].weight -= step;
  t->share[major].events += step;
  t->share[major].weight += step;
  h->total[minor].events -= step;
  h->total[minor].weight -= step;
  h->given[minor].events -= step;
  h->given[minor].weight -= step;
  h->total[major].events += step;
  h->total[major].weight += step;
  h->given[major].events += step;
  h->given[major].weight += step;
  return 0;
}

static __always_inline void count_end(struct telltale_cpu* c, const struct telltale_task* st) {
  c->ends++;
  if (!st) c->unknown_ends++;
}

static __always_inline void switch_out(struct telltale_cpu* c, struct task_struct* prev,
                                       uint32_t half, uint64_t now, bool preempted,
                                       uint32_t state) {
  struct telltale_task* st;

  if (!counted(c)) return;
  if (!prev->pid) {
    if (unlikely(c->touched[0])) give_to(c, 0, 0, 0);
    if (unlikely(c->touched[1])) give_to(c, 1, 0, 0);
    return;
  }
  st = bpf_task_storage_get(&tasks, prev, 0, 0);
  if (c->touched[0]) give_to(c, 0, prev->pid, st);
  if (c->touched[1]) give_to(c, 1, prev->pid, st);
  if (unlikely(state & TASK_DEAD)) count_end(c, st);
  if (!st) return;
  if (unlikely(prev->maj_flt != st->faults_major_seen)) move_major(c, half, st, prev->maj_flt);
  if (now > st->since_rq_ns) st->half[half & 1].run_ns += now - st->since_rq_ns;
  st->since_rq_ns = now;
  st->began_rq_ns = now;
  st->run_delay_ns = prev->sched_info.run_delay;
  st->woken_rq_ns = 0;
  st->gave_way = preempted;
  if (preempted || state == TASK_RUNNING) {
    st->state = TELLTALE_TASK_RUNNABLE;
  } else if (unlikely(state & TASK_DEAD)) {
    send_last_row(c, prev, st, half, 1);
  } else {
    st->block_sub = wait_class(c, prev, st, state);
    st->futex_owner = 0;
    st->waker_tid = TELLTALE_WAKER_UNSEEN;
    st->waker_stack = 0;
    if (st->block_sub == TELLTALE_BLOCK_LOCK) note_futex(st, prev);
    st->state = TELLTALE_TASK_BLOCKED;
    st->counted_blocked = 1;
    backlog_begin(&c->half[half & 1], half, TELLTALE_BACKLOG_BLOCKED, 1);
  }
}

static __always_inline void leave_pending(struct telltale_cpu* c, uint32_t slot, uint32_t tid,
                                          uint32_t vital, uint32_t sub, uint32_t half,
                                          uint64_t hash, uint64_t before, uint64_t weight,
                                          const struct user_regs* u) {
  struct telltale_pending* p = &c->pending[slot];

  p->hash = hash;
  p->before = before;
  p->weight = weight;
  p->ip = u->ip;
  p->stack_place = u->stack_place;
  p->syscall = u->syscall;
  p->vital = vital;
  p->sub = sub;
  p->half = half & 1;
  p->tid = tid;
  p->live = 1;
  c->pending_live = 1;
}

#if SCOPED
/* It was in the cgroup before, and is again. */
static __always_inline bool came_in(const struct telltale_task* st) {
  return st->state == TELLTALE_TASK_GONE;
}

/* Whether a task was one of the cgroup's when it was last seen. */
static __always_inline bool was_in(struct task_struct* task) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  return st && st->state != TELLTALE_TASK_UNKNOWN && st->state != TELLTALE_TASK_GONE;
}

/* A task begins to run that is none of the cgroup's. One that was has been moved: what it did until
 * here is its last row, and what it is in the midst of is over for us. */
static __noinline int stay_out(struct telltale_cpu* c, struct task_struct* task, uint32_t half) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);

  c->ident = 1;
  c->tid = task->pid;
  c->regs = TELLTALE_NO_REGS;
  c->outside[TELLTALE_SCHED_DELAY - 1]++;
  if (!st || st->state == TELLTALE_TASK_GONE) return 0;
  for (int i = 0; i < 2; i++) {
    if (st->lock_begin_ns[i])
      backlog_end(&c->half[half & 1], half, TELLTALE_BACKLOG_LOCK, lock_stands_for(st, i));
    st->lock_begin_ns[i] = 0;
  }
  st->reclaim_begin_ns = 0;
  st->memory.rss_pages = 0;
  st->memory.own_pages = 0;
  return send_last_row(c, task, st, half, 0);
}
#else
static __always_inline bool came_in(const struct telltale_task* st) { return false; }
static __always_inline bool was_in(struct task_struct* task) { return false; }
static __always_inline int stay_out(struct telltale_cpu* c, struct task_struct* task,
                                    uint32_t half) {
  return 0;
}
#endif

static __always_inline void switch_in(struct telltale_cpu* c, struct task_struct* next,
                                      uint32_t half, uint64_t now, uint64_t rq_now) {
  struct telltale_half* h = &c->half[half & 1];
  uint64_t off, delay, block, hash, before, create;
  struct pt_regs* regs = 0;
  struct telltale_task* st;
  struct user_regs u;
  uint32_t sub;

  if (!next->pid) {
    c->ident = 1;
    c->tid = 0;
    c->regs = TELLTALE_NO_REGS;
    return;
  }
  if (!(next->flags & PF_KTHREAD)) regs = (struct pt_regs*)bpf_task_pt_regs(next);
  c->regs = regs ? (uint64_t)regs : TELLTALE_NO_REGS;
  create = follow(next);
  st = bpf_task_storage_get(&tasks, next, 0, create);
  c->tid = next->pid;
  if (unlikely(!st)) {
    unknown_runs(c, next);
    if (create) lose(h, TELLTALE_SCHED_DELAY, TELLTALE_LOST_MAP, 0);
    return;
  }
  refresh_ident(st, next);
  now_runs(c, st);
  if (unlikely(st->state == TELLTALE_TASK_UNKNOWN || came_in(st))) {
    /* Its first time on a CPU: all it did since its birth is wait in the queue. (Where it was not
     * followed at first: since it was queued last.) */
    uint64_t queued = next->sched_info.last_queued;
    begin_life(st, next);
    st->since_rq_ns = queued && queued < rq_now ? now - (rq_now - queued) : now;
    st->began_rq_ns = st->since_rq_ns;
    st->run_delay_ns = 0;
    st->state = TELLTALE_TASK_RUNNABLE;
    sub = TELLTALE_DELAY_WOKEN;
  } else {
    sub = st->state == TELLTALE_TASK_RUNNABLE ? TELLTALE_DELAY_PREEMPTED : TELLTALE_DELAY_WOKEN;
  }
  if (unlikely(st->state == TELLTALE_TASK_RUNNING)) {
    /* Some kernels run no program while certain tasks are current, so its switch away was not seen.
     */
    lose(h, TELLTALE_BLOCKING, TELLTALE_LOST_INTERVAL, 0);
    st->since_rq_ns = now;
    return;
  }
  off = now > st->since_rq_ns ? now - st->since_rq_ns : 0;
  delay = queue_time(next, st, rq_now, off);
  block = off - delay;
  st->since_rq_ns = now;
  if (st->counted_blocked) {
    st->counted_blocked = 0;
    backlog_end(h, half, TELLTALE_BACKLOG_BLOCKED, 1);
  }
  if (delay || block) {
    no_regs(&u);
    if (regs) read_regs(regs, &st->bases, &u);
    hash = wait_label(st, half, next->pid, &u);
    if (delay) {
      st->half[half & 1].queue_ns += delay;
      hist_add(h, TELLTALE_HIST_RUNQUEUE, delay);
      if (unlikely(charge(c, half, st, next->tgid, TELLTALE_SCHED_DELAY,
                          TELLTALE_SUBS_SCHED_DELAY + sub, hash, delay, &before)))
        leave_pending(c, 0, next->pid, TELLTALE_SCHED_DELAY, sub, half, hash, before, delay, &u);
    }
    st->waited_long = block >= FORESEEN_NS;
    if (block) {
      uint32_t class = st->block_sub & (TELLTALE_BLOCK_SUBS - 1);
      uint64_t whole = now - st->began_rq_ns;
      st->half[half & 1].blocked_ns += block;
      hist_add(h, TELLTALE_HIST_BLOCK + class, whole > delay ? whole - delay : block);
      if (unlikely(charge(c, half, st, next->tgid, TELLTALE_BLOCKING,
                          TELLTALE_SUBS_BLOCKING + class, hash, block, &before)))
        leave_pending(c, 1, next->pid, TELLTALE_BLOCKING, class, half, hash, before, block, &u);
      if (st->futex_owner) {
        hash = mix(hash, TELLTALE_LOCK_FUTEX);
        if (unlikely(charge(c, half, st, next->tgid, TELLTALE_LOCK,
                            TELLTALE_SUBS_LOCK + TELLTALE_LOCK_FUTEX, hash, block, &before)))
          leave_pending(c, 2, next->pid, TELLTALE_LOCK, TELLTALE_LOCK_FUTEX, half, hash, before,
                        block, &u);
      }
    }
  }
  st->state = TELLTALE_TASK_RUNNING;
}

/* Whose lock it goes to wait for cannot be read by those who look at it then (look.bpf.h). */
static __always_inline void note_lock(struct task_struct* prev, uint32_t state) {
  struct telltale_task* st;

  if (state == TASK_RUNNING || state & TASK_DEAD || prev->flags & PF_KTHREAD) return;
  if (((struct pt_regs*)bpf_task_pt_regs(prev))->orig_ax != SYS_FUTEX) return;
  st = bpf_task_storage_get(&tasks, prev, 0, 0);
  if (!st) return;
  st->futex_owner = 0;
  note_futex(st, prev);
}

/* As switch_in, for whoever it is that begins to run. */
static __always_inline void begins_to_run(struct telltale_cpu* c, struct task_struct* next,
                                          uint32_t half, uint64_t now, uint64_t rq_now) {
  bool in = enters(c, next);

  if (in || was_in(next)) switch_in(c, next, half, now, rq_now);
  if (!in) stay_out(c, next, half);
}

/* Where switches are only counted, the task's first turns on a CPU are looked up and then one in so
 * many: its storage may have been refused, or it have run too little to be followed (follow). A
 * cgroup's tasks may have been moved at any. */
#define LOOKED_UP_TURNS 16

static __always_inline bool is_looked_up(struct task_struct* task) {
  uint64_t turn = task->sched_info.pcount;

  if (SCOPED || control.pass == TELLTALE_PASS_RESUME) return true;
  return (turn < LOOKED_UP_TURNS || turn % LOOKED_UP_TURNS == 0) && follow(task);
}

/* Notes who runs; the first event finds out more (find_out_who_runs), and most turns see none: to
 * ask at each took a quarter to half of this program's time. To the agent a task that is looked up
 * is running from now on. While waits begin to be followed again (TELLTALE_PASS_RESUME) all are,
 * and one that was switched in meanwhile counts as an interval lost. */
static __always_inline int note_runner(struct telltale_cpu* c, struct task_struct* next) {
  struct telltale_task* st;
  uint64_t create, rq_now;

  if (!enters(c, next)) return stay_out(c, next, control.half);
  c->tid = next->pid;
  barrier(); /* what interrupts here and cannot be put off finds the task before, or nobody */
  c->ident = next->pid ? 0 : 1;
  c->regs = next->pid ? 0 : TELLTALE_NO_REGS;
  if (!next->pid || !is_looked_up(next)) return 0;
  create = follow(next);
  st = bpf_task_storage_get(&tasks, next, 0, create);
  if (!st) {
    if (create) lose(&c->half[control.half & 1], TELLTALE_SCHED_DELAY, TELLTALE_LOST_MAP, 0);
    return 0;
  }
  refresh_ident(st, next);
  now_runs(c, st);
  if (st->state == TELLTALE_TASK_UNKNOWN || came_in(st)) {
    rq_now = next->se.cfs_rq->rq->clock;
    begin_life(st, next);
    look_from(next, st, control.use_ktime ? bpf_ktime_get_ns() : rq_now,
              queued_in_all(next, rq_now, true));
    st->block_sub = TELLTALE_BLOCK_OTHER;
  }
  st->state = TELLTALE_TASK_RUNNING;
  return 0;
}

static __noinline int only_count(struct telltale_cpu* c, struct task_struct* prev,
                                 struct task_struct* next, uint32_t state) {
  struct telltale_task* st = 0;

  if (counted(c) && prev->pid && (c->touched[0] || c->touched[1] || state & TASK_DEAD))
    st = bpf_task_storage_get(&tasks, prev, 0, 0);
  if (c->touched[0]) give_to(c, 0, prev->pid, st);
  if (c->touched[1]) give_to(c, 1, prev->pid, st);
  /* Whose fault was counted is known here. */
  if (st && unlikely(prev->maj_flt != st->faults_major_seen))
    move_major(c, control.half, st, prev->maj_flt);
  if (counted(c)) note_lock(prev, state);
  if (unlikely(prev->pid && state & TASK_DEAD && counted(c))) {
    count_end(c, st);
    if (st && st->counted_blocked) {
      st->counted_blocked = 0;
      backlog_end(&c->half[control.half & 1], control.half, TELLTALE_BACKLOG_BLOCKED, 1);
    }
    if (st) send_last_row(c, prev, st, control.half, 1);
  }
  return note_runner(c, next);
}

static __always_inline bool gave_way(struct task_struct* task) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  return st && st->gave_way;
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t* ctx) {
  bool preempted = ctx[0];
  struct task_struct* prev = (struct task_struct*)ctx[1];
  struct task_struct* next = (struct task_struct*)ctx[2];
  uint32_t state = ctx[3];
  struct telltale_cpu* c = this_cpu();
  uint32_t half = control.half;
  uint64_t now, rq_now;

  if (!c) return 0;
  c->switches++;
  if (unlikely(control.switch_level == TELLTALE_SWITCH_COUNT)) {
    c->irq_depth = 0;
    if (unlikely(c->pending_live)) drop_pending(c);
    return only_count(c, prev, next, preempted ? TASK_RUNNING : state);
  }
  rq_now = next->se.cfs_rq->rq->clock;
  now = control.use_ktime ? bpf_ktime_get_ns() : rq_now;
  /* A new task's first time on a CPU does not pass sched_exit_tp: it is asked on its way out. */
  if (unlikely(c->pending_live)) take_both(ctx, c, prev, 1);
  c->irq_depth = 0; /* no switch happens in an interrupt: heals a count gone astray */
  switch_out(c, prev, half, now, preempted, state);
  begins_to_run(c, next, half, now, rq_now);
  if (unlikely(c->pending_live)) {
    c->ran.tid = prev->pid;
    c->ran.tgid = prev->tgid;
    c->ran.start_ns = prev->group_leader->start_time;
    bpf_probe_read_kernel(c->ran.comm, sizeof(c->ran.comm), prev->comm);
    if (control.exit_hook == TELLTALE_EXIT_NONE ||
        control.switch_level == TELLTALE_SWITCH_NO_STACKS ||
        (control.exit_hook == TELLTALE_EXIT_SCHEDULE && gave_way(next)))
      take_both(ctx, c, next, 0);
  }
  if (unlikely(next->tgid == control.own_tgid))
    control.rq_clock_offset_ns = rq_now - bpf_ktime_get_ns();
  return 0;
}

/* Some kernels run no program while certain tasks are current, so nobody saw the switch from one of
 * them to this task: its wait ends here, a moment late, and who ran instead is not known. Meanwhile
 * the CPU worked for a task unknown to us or for interrupts. */
static __noinline int switch_in_late(struct telltale_cpu* c, struct task_struct* task) {
  uint32_t half = control.half;
  uint64_t rq_now = task->se.cfs_rq->rq->clock;

  if (c->touched[0]) give_to(c, 0, 0, 0);
  if (c->touched[1]) give_to(c, 1, 0, 0);
  if (unlikely(control.switch_level == TELLTALE_SWITCH_COUNT)) return note_runner(c, task);
  __builtin_memset(&c->ran, 0, sizeof(c->ran));
  begins_to_run(c, task, half, control.use_ktime ? bpf_ktime_get_ns() : rq_now, rq_now);
  return 0;
}

/* In a task that has just come back. */
static __always_inline int came_back(void* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  if (unlikely(c->tid != (uint32_t)task->pid)) switch_in_late(c, task);
  if (likely(!c->pending_live)) return 0;
  take_both(ctx, c, task, 1);
  return 0;
}

SEC("tp_btf/sched_exit_tp")
int on_switch_exit(uint64_t* ctx) { return came_back(ctx); }

/* Before 6.15. */
SEC("fexit/schedule")
int on_schedule_exit(uint64_t* ctx) { return came_back(ctx); }

SEC("tp_btf/sched_waking")
int on_waking(uint64_t* ctx) {
  struct task_struct* woken = (struct task_struct*)ctx[0];
  struct telltale_cpu* c = this_cpu();

  if (!c) return 0;
  note_waker(ctx, c, woken);
  return 0;
}
