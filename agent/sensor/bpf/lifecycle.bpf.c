// SPDX-License-Identifier: GPL-2.0
//
// Discrete events, always kept: exec, exit with its cause, OOM kill.

#include "agent/sensor/bpf/brief.bpf.h"
#include "agent/sensor/bpf/sample.bpf.h"

#define SIGNAL_GROUP_EXIT 4

static __always_inline struct telltale_event* event_begin(uint32_t kind, struct task_struct* task,
                                                          struct telltale_task* st) {
  struct telltale_cpu* c = this_cpu();
  struct telltale_event* e;

  if (!c) return 0;
  e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
  if (!e) {
    c->half[control.half & 1].lost_records++;
    return 0;
  }
  e->kind = kind;
  e->half = control.half & 1;
  e->time_ns = bpf_ktime_get_ns();
  e->code = e->unfollowed = 0;
  e->path[0] = 0;
  fill_who(&e->who, task, st);
  return e;
}

SEC("tp_btf/sched_process_exec")
int on_exec(uint64_t* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct linux_binprm* bprm = (struct linux_binprm*)ctx[2];
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  struct telltale_cpu* c = this_cpu();
  struct telltale_event* e;

  if (!counts_here()) return 0;
  if (st) {
    st->mm = 0; /* a switch in the middle of it may have read a layout that was not done */
    refresh_ident(st, task);
    if (c) now_runs(c, st);
  } else if (c) {
    unknown_runs(c, task);
  }
  e = event_begin(TELLTALE_RECORD_EXEC, task, st);
  if (!e) return 0;
  bpf_probe_read_kernel_str(e->path, sizeof(e->path), bprm->filename);
  e->code = bprm->interp != bprm->filename;
  bpf_ringbuf_submit(e, rouse(true));
  return 0;
}

/* Its last turn on the CPU is in no account before it ends. */
static __always_inline uint64_t run_so_far(struct task_struct* task, uint64_t now) {
  struct rq* rq = task->se.cfs_rq->rq;
  uint64_t since = now + control.rq_clock_offset_ns - rq->clock + rq->clock_task;
  uint64_t turn = since > task->se.exec_start ? since - task->se.exec_start : 0;
  uint64_t run = task->se.sum_exec_runtime + turn, age = now - task->start_time;

  return run < age ? run : age;
}

static __always_inline bool is_another(const struct telltale_who* a, const struct telltale_who* b) {
  const uint64_t *one = (const uint64_t*)a->comm, *other = (const uint64_t*)b->comm;

  return a->exe.inode != b->exe.inode || a->exe.device != b->exe.device ||
         a->exe.generation != b->exe.generation || a->uid != b->uid || a->cgroup != b->cgroup ||
         one[0] != other[0] || one[1] != other[1];
}

static __always_inline void exiting_unfollowed(struct telltale_cpu* c, struct task_struct* task,
                                               uint32_t code) {
  uint32_t key = 0, half = control.half & 1;
  struct brief_lives* lives = bpf_map_lookup_elem(&briefs, &key);
  uint64_t now = bpf_ktime_get_ns();
  struct telltale_accounts used;
  struct telltale_event* e;
  struct telltale_who who;

  if (!lives) return;
  e = &lives->exit;
  fill_who(&who, task, 0);
  read_accounts(task, &used);
  used.run_ns = run_so_far(task, now);
  lives->busy = 1;
  barrier();
  if (e->unfollowed && e->half != half) {
    /* The cut was not here yet, or found this CPU here. */
    e->half = half;
    e->time_ns = now;
    tell_brief_lives(c, lives);
  }
  if (e->unfollowed &&
      (e->code != code || is_another(&e->who, &who) || now - e->time_ns >= BRIEF_TOGETHER_NS))
    tell_brief_lives(c, lives);
  if (!e->unfollowed) {
    e->kind = TELLTALE_RECORD_EXIT;
    e->half = half;
    e->time_ns = now;
    e->who = who;
    e->code = code;
    e->path[0] = 0;
    __builtin_memset(&e->used, 0, sizeof(e->used));
  }
  e->who.start_ns = who.start_ns;
  e->who.tgid = who.tgid;
  e->who.tid = who.tid;
  e->unfollowed++;
  add_accounts(&e->used, &used);
  barrier();
  lives->busy = 0;
}

/* The last row, sent at the last switch, takes the memory's size from here, if it is still there.
 */
static __always_inline int exiting(struct task_struct* task, bool group_dead) {
  struct telltale_task* st = bpf_task_storage_get(&tasks, task, 0, 0);
  struct telltale_cpu* c = this_cpu();
  struct telltale_event* e;
  uint32_t code;

  if (!counts_here()) return 0;
  if (st) {
    refresh_ident(st, task);
    read_memory(task, &st->memory);
  }
  if (!group_dead || !c) return 0;
  code = task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code : task->exit_code;
  if (!st) {
    exiting_unfollowed(c, task, code);
    return 0;
  }
  e = event_begin(TELLTALE_RECORD_EXIT, task, st);
  if (!e) return 0;
  e->code = code;
  bpf_ringbuf_submit(e, rouse(false));
  return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(uint64_t* ctx) { return exiting((struct task_struct*)ctx[0], ctx[1]); }

/* Before 6.16 the tracepoint does not say whether it is the process that ends, and the memory is
 * gone by then. Two threads that end together may both find none alive: the first one tells. */
SEC("tp_btf/sched_process_exit")
int on_exit_of_task(uint64_t* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct telltale_task* leader = bpf_task_storage_get(&tasks, task->group_leader, 0, 0);
  bool group_dead = BPF_CORE_READ(task, signal, live.counter) == 0;

  if (group_dead && leader) group_dead = !__sync_lock_test_and_set(&leader->exit_told, 1);
  return exiting(task, group_dead);
}

/* Before 6.8 it names the victim by its pid only, in the task that asked for memory. */
SEC("tp_btf/mark_victim")
int on_oom_of_pid(uint64_t* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_event* e;
  uint32_t pid = ctx[0];

  if (!in_scope(task)) return 0;
  e = event_begin(TELLTALE_RECORD_OOM, task, 0);
  if (!e) return 0;
  if (e->who.tgid != pid) {
    __builtin_memset(&e->who, 0, sizeof(e->who));
    e->who.tid = e->who.tgid = pid;
  }
  bpf_ringbuf_submit(e, rouse(false));
  return 0;
}

SEC("tp_btf/mark_victim")
int on_oom(uint64_t* ctx) {
  struct task_struct* victim = (struct task_struct*)ctx[0];
  struct telltale_event* e;

  if (!in_scope(victim)) return 0;
  e = event_begin(TELLTALE_RECORD_OOM, victim, 0);
  if (e) bpf_ringbuf_submit(e, rouse(false));
  return 0;
}
