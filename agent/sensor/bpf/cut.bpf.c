// SPDX-License-Identifier: GPL-2.0
//
// The agent's own programs: the second's beat, the flush of one CPU, and the pass over all tasks
// that adopts them at the start, charges open intervals before a cut, and collects rows after it.

#include "agent/sensor/bpf/brief.bpf.h"
#include "agent/sensor/bpf/look.bpf.h"

struct beat {
  struct bpf_timer timer;
};
/* One timer that moves control.second on at each second of the epoch. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct beat);
} beats SEC(".maps");

/* The row being built by the iterator; only one pass runs at a time. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct telltale_row);
} rows SEC(".maps");

#define SECOND_NS 1000000000ULL
#define CLOCK_MONOTONIC 1
#define ENOENT 2
#define EBUSY 16

/* An epoch ends about when its last second does, so this meets the flip: which half is in use is
 * asked once, or the next epoch would get this one's second and no beat for as long. */
static int on_beat(void* map, uint32_t* key, struct beat* b) {
  uint32_t half = *(volatile uint32_t*)&control.half & 1;
  uint64_t now = bpf_ktime_get_ns(), start = control.epoch_start_ns[half];
  uint64_t second = now > start ? (now - start) / SECOND_NS : 0;

  control.second[half] = second < TELLTALE_SECONDS ? second : TELLTALE_SECONDS - 1;
  bpf_timer_start(&b->timer, start + (second + 1) * SECOND_NS - now, 0);
  return 0;
}

/* 0 or a negative errno: the agent tries again and says why. The kernel takes the timer's memory
 * without waiting for any, so that may fail on a busy host and succeed a moment later. */
SEC("syscall")
int start_beat(void* ctx) {
  uint32_t key = 0;
  struct beat* b = bpf_map_lookup_elem(&beats, &key);
  long error;

  if (!b) return -ENOENT;
  error = bpf_timer_init(&b->timer, &beats, CLOCK_MONOTONIC);
  if (error && error != -EBUSY) return error; /* EBUSY: an earlier try got this far */
  error = bpf_timer_set_callback(&b->timer, on_beat);
  return error ? error : bpf_timer_start(&b->timer, 1, 0);
}

/* Run once on each CPU by test_run after the flip: gives what the running task did in the old half
 * since it came on. Nobody else writes the old half by then. */
SEC("raw_tp")
int flush_cpu(void* ctx) {
  struct telltale_cpu* c = this_cpu();
  uint32_t old = (control.half & 1) ^ 1;
  struct task_struct* task = bpf_get_current_task_btf();

  /* At the start nobody has seen yet who runs. */
  if (SCOPED && c && control.pass == TELLTALE_PASS_ADOPT) c->in_scope = in_scope(task);
  if (!c) return 0;
  end_brief_lives(c);
  if (!c->touched[old]) return 0;
  give_to(c, old, task->pid, task->pid ? bpf_task_storage_get(&tasks, task, 0, 0) : 0);
  return 0;
}

/* `first_ns`: from when on what it does is known. */
static __always_inline void adopt(struct task_struct* task, uint64_t now, uint64_t first_ns) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

  if (!st || task->exit_state) {
    if (st) st->state = TELLTALE_TASK_GONE;
    return;
  }
  st->faults_major_seen = task->maj_flt;
  if (st->state != TELLTALE_TASK_UNKNOWN) {
    /* Switched in between attaching and here: known since then, born long before. */
    st->first_ns = first_ns;
    read_accounts(task, &st->base);
    return;
  }
  refresh_ident(st, task);
  st->first_ns = first_ns;
  st->since_rq_ns = st->began_rq_ns = now;
  st->run_delay_ns = task->sched_info.run_delay;
  st->woken_rq_ns = 0;
  read_accounts(task, &st->base);
  if (task->on_cpu) {
    st->state = TELLTALE_TASK_RUNNING;
  } else if (task->on_rq && !task->__state) {
    st->state = TELLTALE_TASK_RUNNABLE;
  } else {
    struct telltale_cpu* own = cpu_block(control.cpus);
    uint32_t half = control.half & 1;

    st->block_sub = wait_class(0, task, st, task->__state);
    st->state = TELLTALE_TASK_BLOCKED;
    st->counted_blocked = 1;
    if (own) backlog_begin(&own->half[half], half, TELLTALE_BACKLOG_BLOCKED, 1);
  }
}

/* One that has hardly run and is there all the same: no short life, but one that waits. Storage
 * costs some microseconds: where tens of thousands begin at once, others are left for later passes.
 */
static __always_inline void adopt_late(struct task_struct* task, uint64_t now) {
  uint64_t first_ns = bpf_ktime_get_ns();

  if (!task->pid || task->exit_state || first_ns < task->start_time + SECOND_NS) return;
  if (!control.adoptions_left) return;
  control.adoptions_left--;
  adopt(task, now, first_ns);
}

/* Waits were not followed for a while: those going on begin now. */
static __always_inline void resume(struct task_struct* task, struct telltale_task* st,
                                   uint64_t now) {
  struct telltale_cpu* own = cpu_block(control.cpus);
  uint32_t half = control.half & 1;

  if (st->counted_blocked && own) backlog_end(&own->half[half], half, TELLTALE_BACKLOG_BLOCKED, 1);
  st->counted_blocked = 0;
  st->looked = 0;
  if (st->state == TELLTALE_TASK_GONE || task->exit_state) return;
  st->since_rq_ns = st->began_rq_ns = now;
  st->run_delay_ns = task->sched_info.run_delay;
  st->woken_rq_ns = 0;
  st->faults_major_seen = task->maj_flt;
  if (task->on_cpu) {
    st->state = TELLTALE_TASK_RUNNING;
  } else if (task->on_rq && !task->__state) {
    st->state = TELLTALE_TASK_RUNNABLE;
  } else {
    st->block_sub = wait_class(0, task, st, task->__state);
    st->futex_owner = 0;
    st->waker_tid = TELLTALE_WAKER_UNSEEN; /* of a wait long ago */
    st->waker_stack = 0;
    st->state = TELLTALE_TASK_BLOCKED;
    st->counted_blocked = 1;
    if (own) backlog_begin(&own->half[half], half, TELLTALE_BACKLOG_BLOCKED, 1);
  }
}

/* What began and whose end was not seen. */
static __always_inline void forget_begun(struct telltale_task* st) {
  struct telltale_cpu* own = cpu_block(control.cpus);
  uint32_t half = control.half & 1;

  st->reclaim_begin_ns = 0;
  for (int slot = 0; slot < 2; slot++) {
    if (!st->lock_begin_ns[slot]) continue;
    st->lock_begin_ns[slot] = 0;
    if (own) backlog_end(&own->half[half], half, TELLTALE_BACKLOG_LOCK, lock_stands_for(st, slot));
  }
}

/* Charges the interval up to `now`. The switch program may end the same interval on another CPU at
 * this moment: whoever moves since_rq_ns on charges it. */
static __always_inline void charge_open(struct task_struct* task, struct telltale_task* st,
                                        uint64_t now, uint64_t rq_now) {
  uint32_t half = control.half & 1, vital, sub;
  struct telltale_cpu* own = cpu_block(control.cpus);
  uint64_t since = st->since_rq_ns, off, delay, hash, before;
  struct telltale_task_half* t = &st->half[half];
  struct user_regs u;
  bool keep;

  if (!own || now <= since) return;
  off = now - since;
  if (st->state == TELLTALE_TASK_RUNNING) {
    if (__sync_val_compare_and_swap(&st->since_rq_ns, since, now) == since)
      __sync_fetch_and_add(&t->run_ns, off);
    return;
  }
  if (st->state != TELLTALE_TASK_RUNNABLE && st->state != TELLTALE_TASK_BLOCKED) return;
  if (task->__state && task->__state != TASK_WAKING && !st->woken_rq_ns && queued_asleep(task, st))
    st->woken_rq_ns = TELLTALE_WOKEN_UNSEEN;
  delay = queue_time(task, st, rq_now, off);
  if (delay > off - delay) {
    vital = TELLTALE_SCHED_DELAY;
    sub = st->state == TELLTALE_TASK_RUNNABLE ? TELLTALE_DELAY_PREEMPTED : TELLTALE_DELAY_WOKEN;
  } else {
    vital = TELLTALE_BLOCKING;
    sub = st->block_sub & (TELLTALE_BLOCK_SUBS - 1);
  }
  if (!(off >> control.knobs[vital - 1].quantum_log2)) return;
  if (__sync_val_compare_and_swap(&st->since_rq_ns, since, now) != since) return;
  user_regs(task, &st->bases, &u);
  hash = wait_label(st, half, task->pid, &u);
  if (vital == TELLTALE_SCHED_DELAY) {
    __sync_fetch_and_add(&t->queue_ns, off);
    keep = charge(own, half, st, task->tgid, vital, TELLTALE_SUBS_SCHED_DELAY + sub, hash, off,
                  &before);
  } else {
    __sync_fetch_and_add(&t->blocked_ns, off);
    keep =
        charge(own, half, st, task->tgid, vital, TELLTALE_SUBS_BLOCKING + sub, hash, off, &before);
    /* A task that cannot even be killed is shown at every cut; an idle kernel thread never. */
    if (sub == TELLTALE_BLOCK_DISK || sub == TELLTALE_BLOCK_UNINTERRUPTIBLE) keep = true;
    if (sub == TELLTALE_BLOCK_LOCK) charge_open_lock(own, task, off);
    if (by_choice(vital, sub) && (task->flags & PF_KTHREAD)) {
      keep = false;
      leave_out_of_group(half, vital, hash);
      leave_out_of_truth(half, vital, hash);
    }
  }
  if (keep) keep_wait(own, task, &u, vital, sub, true, false, hash, before, off);
}

/* The backlog of locks begins each epoch with what is open: that of which an end was not seen must
 * not stay in it for ever. Where begins are seen part of the time only, the end of a spinning wait
 * may be refused by the kernel as nested: what began before the last epoch and does not sleep is
 * over. */
static __always_inline void note_open_locks(struct task_struct* task, struct telltale_task* st,
                                            uint64_t last_cut) {
  struct telltale_cpu* own = cpu_block(control.cpus);

  if (!own) return;
  for (int slot = 0; slot < 2; slot++) {
    bool over = slot == TELLTALE_LOCK_SPINNING || !task->__state;

    if (!st->lock_begin_ns[slot]) continue;
    if (over && st->lock_duty_log2[slot] && st->lock_begin_ns[slot] < last_cut) {
      st->lock_begin_ns[slot] = 0;
      lose(&own->half[control.half & 1], TELLTALE_LOCK, TELLTALE_LOST_SLOT, 0);
    } else {
      own->open_locks += lock_stands_for(st, slot);
    }
  }
}

/* Gives out the old half as one record. The kernel calls again for the same task when its page is
 * full, so nothing is cleared before the write has succeeded. */
static __always_inline int collect(struct seq_file* seq, struct task_struct* task,
                                   struct telltale_task* st) {
  uint32_t half = control.half & 1, old = half ^ 1, key = 0;
  uint64_t cut = control.epoch_start_ns[half];
  struct telltale_accounts accounts;
  struct telltale_row* row = bpf_map_lookup_elem(&rows, &key);

  if (!row) return 0;
  row->kind = TELLTALE_RECORD_ROW;
  row->half = old;
  row->exited = 0;
  row->task_ns = cut > st->first_ns ? cut - st->first_ns : 0;
  read_memory(task, &row->memory);
  row->open_files = 0;
  if (task->pid == task->tgid && !(task->flags & PF_KTHREAD)) row->open_files = open_files(task);
  fill_who(&row->who, task, st);
  read_accounts(task, &accounts);
  row->used = accounts;
  subtract_accounts(&row->used, &st->base);
  row->did = st->half[old];
  if (bpf_seq_write(seq, row, sizeof(*row))) return 0;
  st->base = accounts;
  if (cut > st->first_ns) st->first_ns = cut;
  __builtin_memset(&st->half[old], 0, sizeof(st->half[old]));
  note_open_locks(task, st, control.epoch_start_ns[old]);
  return 0;
}

SEC("iter/task")
int pass(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct telltale_task* st;
  uint64_t now, rq_now;

  if (!task) return 0;
  now = bpf_ktime_get_ns();
  rq_now = now + control.rq_clock_offset_ns;
  if (!control.use_ktime) now = rq_now;
  if (control.pass == TELLTALE_PASS_ADOPT) {
    if (in_scope(task)) adopt(task, now, control.epoch_start_ns[0]);
    return 0;
  }
  st = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!st && control.pass != TELLTALE_PASS_COLLECT && in_scope(task)) {
    adopt_late(task, now);
    st = bpf_task_storage_get(&tasks, task, 0, 0);
  }
  if (!st || st->state == TELLTALE_TASK_GONE || st->state == TELLTALE_TASK_UNKNOWN) return 0;
  if (control.pass == TELLTALE_PASS_RESUME || control.pass == TELLTALE_PASS_RETURN) {
    if (control.pass == TELLTALE_PASS_RETURN) forget_begun(st);
    resume(task, st, now);
    return 0;
  }
  if (control.pass == TELLTALE_PASS_CHARGE) {
    charge_open(task, st, now, rq_now);
    return 0;
  }
  if (control.pass == TELLTALE_PASS_LOOK || control.pass == TELLTALE_PASS_LOOK_AT_CUT) {
    look(task, st, now, rq_now);
    return 0;
  }
  return collect(ctx->meta->seq, task, st);
}
