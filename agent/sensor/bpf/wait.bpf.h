/* SPDX-License-Identifier: GPL-2.0
 *
 * What the switch programs and the task iterator have in common: which kind of wait a task is in,
 * and how an interval that it did not run is charged to the task.
 *
 * Time here is the run-queue clock, which the scheduler has just read (2 ns instead of 30 for
 * ktime). It agrees between CPUs only with a stable TSC, else control.use_ktime is set. What the
 * scheduler itself noted is compared with the run-queue clock in either case.
 */
#ifndef TELLTALE_SENSOR_WAIT_BPF_H_
#define TELLTALE_SENSOR_WAIT_BPF_H_

#include "agent/sensor/bpf/sample.bpf.h"

#define TELLTALE_CLASS_BY_FILE 0xff /* in control.syscall_class: look at the file */
#define SYS_FUTEX 202               /* x86-64 */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFIFO 0010000

/* Looking up the descriptor's file costs some 60 ns, so a task that waits on the same descriptor
 * again and again (a pipe, a connection) is believed to wait for the same kind of file 15 times. */
#define FILE_USES 16

static __noinline uint32_t class_by_file(struct task_struct* task, struct telltale_task* st,
                                         uint64_t fd) {
  uint32_t class = TELLTALE_BLOCK_OTHER, mode;
  struct fdtable* fdt = BPF_CORE_READ(task, files, fdt);
  struct file* file = 0;

  if (fdt && fd < BPF_CORE_READ(fdt, max_fds))
    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(fdt, fd) + fd);
  if (file) {
    mode = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
    if (mode == S_IFSOCK) class = TELLTALE_BLOCK_SOCKET;
    if (mode == S_IFIFO) class = TELLTALE_BLOCK_PIPE;
  }
  st->file_fd = fd;
  st->file_class = class;
  st->file_uses = FILE_USES;
  return class;
}

/* Sub-series of the wait that a task goes into with this state; `c`: of the CPU that it leaves, or
 * null. Idle kernel threads wait for work by choice, like a poll. */
static __always_inline uint32_t wait_class(const struct telltale_cpu* c, struct task_struct* task,
                                           struct telltale_task* st, uint32_t state) {
  struct pt_regs* regs;
  uint64_t nr;
  uint32_t class;

  if (state & TASK_UNINTERRUPTIBLE) {
    if (state & TASK_NOLOAD) return TELLTALE_BLOCK_POLL;
    if (BPF_CORE_READ_BITFIELD(task, in_iowait)) return TELLTALE_BLOCK_DISK;
    return TELLTALE_BLOCK_UNINTERRUPTIBLE;
  }
  if (task->flags & PF_KTHREAD) return TELLTALE_BLOCK_POLL;
  if (TELLTALE_CASTS && c && c->tid == (uint32_t)task->pid && c->regs > TELLTALE_NO_REGS) {
    regs = regs_at(c->regs);
  } else {
    regs = (struct pt_regs*)bpf_task_pt_regs(task);
  }
  nr = regs->orig_ax;
  if (nr >= TELLTALE_SYSCALL_CLASSES) return TELLTALE_BLOCK_OTHER;
  class = control.syscall_class[nr];
  if (class == TELLTALE_CLASS_BY_FILE) {
    if (st->file_fd != regs->di || !st->file_uses) return class_by_file(task, st, regs->di);
    st->file_uses--;
    return st->file_class;
  }
  return class && class <= TELLTALE_BLOCK_SUBS ? class - 1 : TELLTALE_BLOCK_OTHER;
}

/* A futex wait whose word looks like a contended glibc mutex (locked with waiters, an owner two
 * words on) is taken for a lock; a condition variable's is not. The going task's memory is read
 * without faulting. */
static __always_inline void note_futex(struct telltale_task* st, struct task_struct* task) {
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  uint32_t word[3] = {};

  if (regs->orig_ax != SYS_FUTEX) return;
  if (bpf_probe_read_user(word, sizeof(word), (void*)regs->di)) return;
  if (word[0] != 2 || !word[2] || word[2] > 4194304) return;
  st->futex_owner = word[2];
  st->futex_address = regs->di;
}

/* How much of the `off` ns since it was last charged the task stood in the queue: what the
 * scheduler accounts as queue time since it left the CPU, plus the turn that has not ended. Works
 * across migrations, where last_queued starts anew. `rq_now`: the run-queue clock.
 *
 * Since 6.12 a task that went to sleep may stay on its run queue for a while (delayed dequeue). If
 * it is moved to another CPU then, the scheduler takes it for queued from that moment until it next
 * runs, however long it sleeps: `woken_rq_ns` (queued_asleep) knows better. */
#define TELLTALE_WOKEN_UNSEEN (~0ULL)
static __always_inline uint64_t queue_time(struct task_struct* task, struct telltale_task* st,
                                           uint64_t rq_now, uint64_t off) {
  uint64_t queued = task->sched_info.last_queued;
  uint64_t delay = task->sched_info.run_delay - st->run_delay_ns;

  if (st->state == TELLTALE_TASK_RUNNABLE) return off;
  if (st->woken_rq_ns) {
    delay = rq_now > st->woken_rq_ns ? rq_now - st->woken_rq_ns : 0;
  } else if (queued && queued < rq_now) {
    delay += rq_now - queued;
  }
  return delay < off ? delay : off;
}

/* Of a task that was seen to go to sleep and not yet to run: whether the scheduler takes it for
 * queued all the same. Asked while it sleeps or is being woken. */
static __always_inline bool queued_asleep(struct task_struct* task, struct telltale_task* st) {
  return unlikely(task->sched_info.last_queued) && st->state == TELLTALE_TASK_BLOCKED;
}

static __always_inline uint64_t wait_label(struct telltale_task* st, uint32_t half, uint32_t pid,
                                           const struct user_regs* u) {
  uint64_t hash =
      mix(mix(control.seed[half & 1], st->ident), (uint64_t)pid << 32 | (u->syscall & 0xffffffff));
  return mix(mix(hash, u->place), u->stack_place);
}

/* Shorter waits stand in the second they are charged in: one in 2^24 ns blurs less than 2 % of it.
 */
#define TELLTALE_SPREAD_LOG2 24

/* Gives each second of the epoch its part of a wait of `ns` that ends now and that the total has
 * already: else the second of its end, or of the cut, would hold more than its tasks can wait. Not
 * static: so the verifier follows its loop once, and not once for each path that leads to it. */
__noinline int spread(struct telltale_half* h, uint32_t half, uint32_t sub, uint64_t ns) {
  const uint64_t second_ns = 1000000000ULL;
  uint64_t start = control.epoch_start_ns[half & 1], end = bpf_ktime_get_ns() - start;
  uint64_t at = end > ns ? end - ns : 0;
  uint32_t second = at / second_ns;

  if (!h || sub >= TELLTALE_SUBS) return 0;
  h->second_base[sub] += ns;
  for (int i = 0; i < TELLTALE_SECONDS; i++) {
    uint64_t upto = (second + 1) * second_ns, part = upto - at;

    if (part > ns || second + 1 >= TELLTALE_SECONDS) part = ns;
    h->second_weight[sub][second & (TELLTALE_SECONDS - 1)] += part;
    ns -= part;
    if (!ns) break;
    at = upto;
    second++;
  }
  return 0;
}

/* Adds time that a task, of that process, did not run: so many waits of it, or a part of one. */
static __always_inline bool charge_waits(struct telltale_cpu* c, uint32_t half,
                                         struct telltale_task* st, int32_t tgid, uint32_t vital,
                                         uint32_t sub, uint64_t hash, uint64_t waits, uint64_t ns,
                                         uint64_t* before) {
  struct telltale_half* h = &c->half[half & 1];
  struct telltale_task_half* t = &st->half[half & 1];
  bool keep;

  h->given[sub].events += waits;
  h->given[sub].weight += ns;
  t->share[sub].events += waits;
  t->share[sub].weight += ns;
  t->touched |= 1ULL << sub;
  if (unlikely(in_group(half, vital, hash))) count_exactly(half, vital, hash, ns, tgid);
  tell_truth(half & 1, vital, hash, ns, tgid);
  keep = weigh(c, half, vital, sub, hash, waits, ns, before);
  if (unlikely(ns >> TELLTALE_SPREAD_LOG2)) spread(h, half, sub, ns);
  return keep;
}

/* One. */
static __always_inline bool charge(struct telltale_cpu* c, uint32_t half, struct telltale_task* st,
                                   int32_t tgid, uint32_t vital, uint32_t sub, uint64_t hash,
                                   uint64_t ns, uint64_t* before) {
  return charge_waits(c, half, st, tgid, vital, sub, hash, 1, ns, before);
}

/* How long it stood in the queue since it was born, with the turn it waits for now. */
static __always_inline uint64_t queued_in_all(struct task_struct* task, uint64_t rq_now,
                                              bool waits) {
  uint64_t queued = task->sched_info.last_queued;

  return task->sched_info.run_delay + (waits && queued && queued < rq_now ? rq_now - queued : 0);
}

/* Where switches are only counted: what the accounts say from here on is charged by the looks
 * (look.bpf.h). */
static __always_inline void look_from(struct task_struct* task, struct telltale_task* st,
                                      uint64_t now, uint64_t queue_ns) {
  st->since_rq_ns = now;
  st->looked_run_ns = task->se.sum_exec_runtime;
  st->run_delay_ns = queue_ns;
  st->looked_voluntary = task->nvcsw;
  st->looked_involuntary = task->nivcsw;
  st->looked = 1;
  st->queued_asleep = 0;
}

#endif /* TELLTALE_SENSOR_WAIT_BPF_H_ */
