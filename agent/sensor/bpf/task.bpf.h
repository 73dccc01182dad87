/* SPDX-License-Identifier: GPL-2.0
 *
 * Who a task is, what the kernel accounts to it, and how the totals of the running task reach its
 * storage: at each switch, what the CPU's totals grew by since the last one is given to the task
 * that ran. So an event costs no lookup of its task: only the first of a turn does, and only where
 * switches are counted and no more.
 */
#ifndef TELLTALE_SENSOR_TASK_BPF_H_
#define TELLTALE_SENSOR_TASK_BPF_H_

#include "agent/sensor/bpf/scope.bpf.h"

#define TELLTALE_NO_SYSCALL (~0ULL)

/* What labels take of a code address: its place in the program (or in the kernel), and not where
 * this process was laid out. */
static __always_inline uint64_t code_place(const struct telltale_bases* bases, uint64_t ip) {
  if ((int64_t)ip < 0) return ip - control.kernel_text;
  if (ip - bases->image < bases->image_bytes) return ip - bases->image;
  return bases->mappings - ip;
}

/* The same for where a system call was made. What lies in a library is told by its place in its
 * page: the kernel aligns large libraries to huge pages (since 6.7), and which small ones fill the
 * gaps differs from process to process. The number of the call, in most labels too, tells the
 * rest. */
static __always_inline uint64_t call_place(const struct telltale_bases* bases, uint64_t ip) {
  return ip - bases->image < bases->image_bytes ? ip - bases->image : ip & 0xfff;
}

/* How deep its stack is, in blocks of 256 bytes: what called what, roughly. Stacks of threads are
 * mapped like libraries. */
static __always_inline uint64_t stack_place(const struct telltale_bases* bases, uint64_t sp) {
  return ((sp > bases->mappings ? bases->stack : bases->mappings) - sp) >> 8;
}

/* Where a task entered the kernel; all 0 for kernel threads. */
struct user_regs {
  uint64_t ip, place, stack_place, syscall;
};
static __always_inline void no_regs(struct user_regs* u) {
  u->ip = u->place = u->stack_place = 0;
  u->syscall = TELLTALE_NO_SYSCALL;
}
static __always_inline void read_regs(struct pt_regs* regs, const struct telltale_bases* bases,
                                      struct user_regs* u) {
  u->ip = regs->ip;
  u->stack_place = stack_place(bases, regs->sp);
  /* An interrupt or exception from user mode leaves a negative number here. */
  if ((int64_t)regs->orig_ax >= 0) {
    u->syscall = regs->orig_ax;
    u->place = call_place(bases, regs->ip);
  } else {
    u->place = code_place(bases, regs->ip);
  }
}
static __always_inline void user_regs(struct task_struct* task, const struct telltale_bases* bases,
                                      struct user_regs* u) {
  no_regs(u);
  if (task->flags & PF_KTHREAD) return;
  read_regs((struct pt_regs*)bpf_task_pt_regs(task), bases, u);
}

/* The kernel puts no call in its place. Since 6.2; used since 6.4, which the other one tells:
 * before, no instruction may read through such a pointer here and through a helper's there. */
extern void* bpf_rdonly_cast(const void* object, uint32_t type) __ksym __weak;
struct bpf_dynptr {
  uint64_t of_the_kernel[2];
};
extern void* bpf_dynptr_slice(const struct bpf_dynptr* from, uint32_t offset, void* buffer,
                              uint32_t size) __ksym __weak;
#define TELLTALE_CASTS (bpf_rdonly_cast && bpf_dynptr_slice)

/* Where a task keeps its user registers does not change in its life, so the switch (or, where it
 * is only counted, the first event) notes it, and an event of the running task reads them without
 * asking for the task and then for the place: a call of a helper costs 10 to 20 ns where the kernel
 * must guard each return. */
#define TELLTALE_NO_REGS 1ULL
static __always_inline struct pt_regs* regs_at(uint64_t place) {
  return bpf_rdonly_cast((void*)place, bpf_core_type_id_kernel(struct pt_regs));
}
static __always_inline void running_regs(const struct telltale_cpu* c, struct user_regs* u) {
  uint64_t at = c->regs;

  if (!TELLTALE_CASTS || !at) {
    user_regs(bpf_get_current_task_btf(), &c->bases, u);
    return;
  }
  no_regs(u);
  if (at == TELLTALE_NO_REGS) return;
  read_regs(regs_at(at), &c->bases, u);
}

/* `begin`: seed and who waits. */
static __always_inline uint64_t lock_label(uint64_t begin, uint32_t kind,
                                           const struct user_regs* u) {
  return mix(mix(begin, (uint64_t)kind << 32 | (u->syscall & 0xffffffff)), u->place);
}

static __always_inline void read_exe(struct task_struct* task, struct telltale_exe* exe) {
  struct mm_struct* mm = task->mm;
  struct inode* inode;
  struct file* file;

  exe->inode = 0;
  exe->device = exe->generation = 0;
  if (!mm || (task->flags & PF_KTHREAD)) return;
  file = mm->exe_file;
  if (!file) return;
  inode = file->f_inode;
  if (!inode) return;
  exe->inode = inode->i_ino;
  exe->generation = inode->i_generation;
  exe->device = inode->i_sb->s_dev;
}

static __always_inline void read_bases(struct mm_struct* mm, struct telltale_bases* bases) {
  bases->image = mm->start_code;
  bases->image_bytes = mm->end_code - bases->image;
  bases->mappings = mm->mmap_base;
  bases->stack = mm->start_stack;
}

static __always_inline uint64_t ident_of(const struct telltale_exe* exe, uint32_t uid) {
  return mix(mix(mix(1, exe->inode), (uint64_t)exe->device << 32 | exe->generation), uid) | 1;
}

/* Brings st->ident, bases, exe and uid up to date after an exec or a change of user. A task that is
 * leaving has lost its mm; it keeps the identity it had. */
static __always_inline void refresh_ident(struct telltale_task* st, struct task_struct* task) {
  uint64_t mm = (uint64_t)task->mm, cred = (uint64_t)task->cred;

  if (likely(st->mm == mm && st->cred == cred && st->ident)) return;
  if (mm || !st->ident) read_exe(task, &st->exe);
  if (mm) read_bases(task->mm, &st->bases);
  st->uid = task->cred->uid.val;
  st->mm = mm;
  st->cred = cred;
  st->ident = ident_of(&st->exe, st->uid);
}

/* `ident` last, as it tells that the others hold. */
static __always_inline void now_runs(struct telltale_cpu* c, const struct telltale_task* st) {
  c->bases = st->bases;
  barrier();
  c->ident = st->ident;
}

/* The same for a task without storage: its events are counted and kept like all others, and belong
 * to no process. */
static __noinline int unknown_runs(struct telltale_cpu* c, struct task_struct* task) {
  struct mm_struct* mm = task->mm;
  struct telltale_exe exe;

  read_exe(task, &exe);
  if (mm) read_bases(mm, &c->bases);
  barrier();
  c->ident = ident_of(&exe, task->cred->uid.val);
  return 0;
}

/* Between the switch programs and the switch itself the task before is still the current one: an
 * event there (a cache miss) has the label of no program. Not static, as bits_set. */
__noinline int find_out_who_runs(struct telltale_cpu* c) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_task* st;

  if (!c || c->tid != (uint32_t)task->pid) return 0;
  c->regs = task->flags & PF_KTHREAD ? TELLTALE_NO_REGS : (uint64_t)bpf_task_pt_regs(task);
  st = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!st) return unknown_runs(c, task);
  refresh_ident(st, task);
  now_runs(c, st);
  return 0;
}

static __always_inline void read_accounts(struct task_struct* task, struct telltale_accounts* a) {
  a->run_ns = task->se.sum_exec_runtime;
  a->user_ns = task->utime;
  a->system_ns = task->stime;
  a->voluntary = task->nvcsw;
  a->involuntary = task->nivcsw;
  a->faults_minor = task->min_flt;
  a->faults_major = task->maj_flt;
  a->read_bytes = task->ioac.read_bytes;
  a->write_bytes = task->ioac.write_bytes;
}
static __always_inline void add_accounts(struct telltale_accounts* a,
                                         const struct telltale_accounts* more) {
  a->run_ns += more->run_ns;
  a->user_ns += more->user_ns;
  a->system_ns += more->system_ns;
  a->voluntary += more->voluntary;
  a->involuntary += more->involuntary;
  a->faults_minor += more->faults_minor;
  a->faults_major += more->faults_major;
  a->read_bytes += more->read_bytes;
  a->write_bytes += more->write_bytes;
}
static __always_inline void subtract_accounts(struct telltale_accounts* a,
                                              const struct telltale_accounts* base) {
  a->run_ns -= base->run_ns;
  a->user_ns -= base->user_ns;
  a->system_ns -= base->system_ns;
  a->voluntary -= base->voluntary;
  a->involuntary -= base->involuntary;
  a->faults_minor -= base->faults_minor;
  a->faults_major -= base->faults_major;
  a->read_bytes -= base->read_bytes;
  a->write_bytes -= base->write_bytes;
}

/* A life costs 4 us to follow: storage, and a last row. Where many thousands of tasks live for a
 * moment only, those are left out (control.least_run_ns). */
static __always_inline uint64_t follow(struct task_struct* task) {
  return task->se.sum_exec_runtime >= control.least_run_ns ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0;
}

/* [st] was just made. One that has run before was not followed so far: what it did is not its own.
 */
static __always_inline void begin_life(struct telltale_task* st, struct task_struct* task) {
  st->first_ns = task->start_time;
  if (!task->se.sum_exec_runtime) return;
  st->first_ns = bpf_ktime_get_ns();
  st->faults_major_seen = task->maj_flt;
  read_accounts(task, &st->base);
}

static __always_inline uint64_t cgroup_id(struct task_struct* task) {
  uint32_t subsys = control.cgroup_subsys;
  struct css_set* set = task->cgroups;
  struct cgroup_subsys_state* css = 0;

  if (subsys >= 12) return set->dfl_cgrp->kn->id;
  bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[subsys]);
  return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

static __always_inline uint32_t whole_pages(int64_t pages) {
  if (pages < 0) return 0;
  return pages > 0xffffffffLL ? 0xffffffffU : pages;
}

/* Off by the counters' per-CPU batches. */
static __always_inline void read_memory(struct task_struct* task, struct telltale_memory* to) {
  struct mm_struct* mm = task->mm;
  int64_t file, anonymous, swapped, shared;

  to->rss_pages = 0;
  to->own_pages = 0;
  if (!mm || (task->flags & PF_KTHREAD)) return;
  if (bpf_core_type_exists(struct mm_rss_stat)) {
    struct mm_struct___before_6_2* old = (void*)mm;
    file = BPF_CORE_READ(old, rss_stat.count[0].counter);
    anonymous = BPF_CORE_READ(old, rss_stat.count[1].counter);
    swapped = BPF_CORE_READ(old, rss_stat.count[2].counter);
    shared = BPF_CORE_READ(old, rss_stat.count[3].counter);
  } else {
    file = mm->rss_stat[0].count;
    anonymous = mm->rss_stat[1].count;
    swapped = mm->rss_stat[2].count;
    shared = mm->rss_stat[3].count;
  }
  to->rss_pages = whole_pages(file + anonymous + shared);
  to->own_pages = whole_pages(anonymous + swapped);
}

/* Words of 64 bits each that are looked at, of a process's table of open files: 65,536 files. */
#define FILE_WORDS 1024

/* Not static: so the verifier follows its loop once, and not once for each path that leads to it.
 */
__noinline int bits_set(uint64_t from, uint32_t words) {
  uint32_t count = 0;

  for (uint32_t i = 0; i < FILE_WORDS; i++) {
    uint64_t word;

    if (i >= words || bpf_probe_read_kernel(&word, sizeof(word), (void*)(from + i * sizeof(word))))
      break;
    count += __builtin_popcountll(word);
  }
  return count;
}

/* How many files a process has open; what is beyond FILE_WORDS is not counted. */
static __always_inline uint16_t open_files(struct task_struct* task) {
  struct fdtable* fdt = BPF_CORE_READ(task, files, fdt);
  uint32_t count = 0;

  if (fdt)
    count = bits_set((uint64_t)BPF_CORE_READ(fdt, open_fds), BPF_CORE_READ(fdt, max_fds) / 64);
  return count < 0xffff ? count : 0xffff;
}

/* The two count execs: of a process itself, and of its parent when it was forked. */
static __always_inline uint32_t forked_from(struct task_struct* task) {
  struct task_struct* leader = task->group_leader;

  if ((uint32_t)leader->self_exec_id != leader->parent_exec_id) return 0;
  return leader->real_parent->tgid;
}

/* Everything about a task that costs more than the hot path may. */
static __always_inline void fill_who(struct telltale_who* who, struct task_struct* task,
                                     struct telltale_task* st) {
  who->tid = task->pid;
  who->tgid = task->tgid;
  who->start_ns = task->group_leader->start_time;
  who->cgroup = cgroup_id(task);
  who->parent = forked_from(task);
  bpf_probe_read_kernel(who->comm, sizeof(who->comm), task->comm);
  if (st) {
    who->exe = st->exe;
    who->uid = st->uid;
  } else {
    read_exe(task, &who->exe);
    who->uid = BPF_CORE_READ(task, cred, uid.val);
  }
}

/* Gives what this CPU counted in one half since the last switch to the task that ran, or to [irq]
 * when that was the idle one. What a task without storage did stays nobody's. Not static, as
 * bits_set. */
__noinline int give_to(struct telltale_cpu* c, uint32_t half, uint32_t pid,
                       struct telltale_task* st) {
  struct telltale_half* h;
  uint64_t left;

  if (!c) return 0;
  h = &c->half[half & 1];
  left = c->touched[half & 1];
  if (st) st->half[half & 1].touched |= left;
  c->touched[half & 1] = 0;
  for (int i = 0; i < TELLTALE_SUBS; i++) {
    uint64_t lowest, events, weight;
    uint32_t sub;

    if (!left) break;
    lowest = left & (0 - left);
    left ^= lowest;
    sub = control.bit_index[(lowest * 0x03f79d71b4cb0a89ULL) >> 58];
    if (sub >= TELLTALE_SUBS) continue;
    events = h->total[sub].events;
    weight = h->total[sub].weight;
    if (st) {
      st->half[half & 1].share[sub].events += events - h->given[sub].events;
      st->half[half & 1].share[sub].weight += weight - h->given[sub].weight;
    } else if (!pid) {
      h->irq[sub].events += events - h->given[sub].events;
      h->irq[sub].weight += weight - h->given[sub].weight;
    }
    h->given[sub].events = events;
    h->given[sub].weight = weight;
  }
  return 0;
}

#endif /* TELLTALE_SENSOR_TASK_BPF_H_ */
