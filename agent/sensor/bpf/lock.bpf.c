// SPDX-License-Identifier: GPL-2.0
//
// Vital lock, the kernel's own locks: time spent waiting, only when there is a wait. Futexes are
// seen by the switch program (wait.bpf.h). Addresses of locks stay in the kernel: samples carry a
// hash.

#include "agent/sensor/bpf/sample.bpf.h"
#include "agent/sensor/bpf/waker_stack.bpf.h"

/* Flags of contention_begin (include/trace/events/lock.h). */
#define LCB_F_SPIN 1
#define LCB_F_READ 2
#define LCB_F_WRITE 4
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32
#define OWNER_FLAGS 7UL  /* low bits of a mutex's or rwsem's owner word */
#define READER_OWNED 1UL /* of an rwsem's: the owner is only one of the readers, or was */
#define MOST_WAITERS 8

static __always_inline uint32_t kind_of(uint32_t flags) {
  if (flags & LCB_F_MUTEX) return TELLTALE_LOCK_MUTEX;
  if (flags & LCB_F_SPIN) return TELLTALE_LOCK_SPIN;
  if (flags & (LCB_F_READ | LCB_F_WRITE | LCB_F_PERCPU)) return TELLTALE_LOCK_RWSEM;
  return TELLTALE_LOCK_MUTEX;
}

static __always_inline uint32_t queue_of(uint32_t flags) {
  if (flags & LCB_F_MUTEX) return TELLTALE_QUEUE_MUTEX;
  if (flags & (LCB_F_SPIN | LCB_F_PERCPU)) return TELLTALE_QUEUE_UNKNOWN;
  return flags & (LCB_F_READ | LCB_F_WRITE) ? TELLTALE_QUEUE_RWSEM : TELLTALE_QUEUE_UNKNOWN;
}

static __always_inline void note_holder(struct telltale_task* st, uint64_t lock) {
  struct task_struct* owner;
  unsigned long word = 0;

  __builtin_memset(&st->lock_holder, 0, sizeof(st->lock_holder));
  if (st->lock_queue == TELLTALE_QUEUE_MUTEX) {
    if (bpf_core_read(&word, sizeof(word), &((struct mutex*)lock)->owner.counter)) return;
  } else if (st->lock_queue == TELLTALE_QUEUE_RWSEM) {
    if (bpf_core_read(&word, sizeof(word), &((struct rw_semaphore*)lock)->owner.counter)) return;
    if (word & READER_OWNED) return;
  }
  owner = (struct task_struct*)(word & ~OWNER_FLAGS);
  if (!owner) return; /* released since */
  st->lock_holder.tid = BPF_CORE_READ(owner, pid);
  st->lock_holder.tgid = BPF_CORE_READ(owner, tgid);
  st->lock_holder.start_ns = BPF_CORE_READ(owner, group_leader, start_time);
  bpf_core_read(st->lock_holder.comm, sizeof(st->lock_holder.comm), &owner->comm);
}

/* How many stand in the lock's queue with this task, which has just left it; at most 1 + 8. 0: this
 * kind of lock does not tell. Read without the queue's own lock: off by those who come and go. */
static __noinline uint32_t waiters(uint64_t lock, uint32_t queue) {
  uint64_t head, at;
  uint32_t number = 1;

  if (queue == TELLTALE_QUEUE_MUTEX) {
    head = (uint64_t) & ((struct mutex*)lock)->wait_list;
  } else if (queue == TELLTALE_QUEUE_RWSEM) {
    head = (uint64_t) & ((struct rw_semaphore*)lock)->wait_list;
  } else {
    return 0;
  }
  at = head;
  for (int i = 0; i < MOST_WAITERS; i++) {
    if (bpf_probe_read_kernel(&at, sizeof(at), (void*)at) || !at || at == head) break;
    number++;
  }
  return number;
}

/* The CPU's own wait: in an interrupt, or of its idle task, which has no storage. */
static __always_inline bool of_cpu(const struct telltale_cpu* c, const struct task_struct* task) {
  return c->irq_depth || !task->pid;
}

/* One that was interrupted by another, or whose end nobody saw, gives way. */
static __always_inline void begin_of_cpu(struct telltale_cpu* c, uint64_t lock) {
  struct telltale_half* h = &c->half[control.half & 1];

  if (c->irq_lock_begin_ns) {
    backlog_end(h, control.half, TELLTALE_BACKLOG_LOCK, cpu_lock_stands_for(c));
    lose(h, TELLTALE_LOCK, TELLTALE_LOST_SLOT, 0);
  }
  c->irq_lock_begin_ns = bpf_ktime_get_ns();
  c->irq_lock_address = lock;
  c->irq_lock_duty_log2 = control.knobs[TELLTALE_LOCK - 1].duty_log2;
  backlog_begin(h, control.half, TELLTALE_BACKLOG_LOCK, cpu_lock_stands_for(c));
}

SEC("tp_btf/contention_begin")
int on_contention(uint64_t* ctx) {
  uint64_t lock = ctx[0];
  uint32_t flags = ctx[1], kind = kind_of(flags);
  uint32_t slot = kind == TELLTALE_LOCK_SPIN ? TELLTALE_LOCK_SPINNING : TELLTALE_LOCK_SLEEPING;
  struct telltale_cpu* c = watched_cpu(TELLTALE_LOCK);
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_task* st;

  if (!c || closed(c, TELLTALE_LOCK)) return 0;
  if (of_cpu(c, task)) {
    begin_of_cpu(c, lock);
    return 0;
  }
  st = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!st) {
    lose_unfollowed(c, TELLTALE_LOCK);
    return 0;
  }
  /* A mutex says so twice: when it begins to spin and when it gives that up. */
  if (slot == TELLTALE_LOCK_SLEEPING && st->lock_begin_ns[slot] && st->lock_address[slot] == lock)
    return 0;
  if (!st->lock_begin_ns[slot]) {
    st->lock_duty_log2[slot] = control.knobs[TELLTALE_LOCK - 1].duty_log2 & 15;
    backlog_begin(&c->half[control.half & 1], control.half, TELLTALE_BACKLOG_LOCK,
                  lock_stands_for(st, slot));
  } else {
    lose(&c->half[control.half & 1], TELLTALE_LOCK, TELLTALE_LOST_SLOT, 0);
  }
  st->lock_begin_ns[slot] = bpf_ktime_get_ns();
  st->lock_address[slot] = lock;
  st->lock_kind[slot] = kind;
  if (slot == TELLTALE_LOCK_SLEEPING) {
    st->lock_queue = queue_of(flags);
    st->waker_stack = 0; /* of a wait before */
    note_holder(st, lock);
  }
  return 0;
}

static __always_inline int waited(void* ctx, struct telltale_cpu* c, struct telltale_task* st,
                                  uint64_t lock, uint32_t kind, uint64_t ns) {
  uint32_t half = control.half & 1;
  struct telltale_half* h = &c->half[half];
  struct telltale_sample* s;
  uint64_t hash, before;
  struct user_regs u;

  know_who_runs(c);
  no_regs(&u);
  if (!c->irq_depth) running_regs(c, &u);
  hist_add(h, TELLTALE_HIST_LOCK, ns);
  hash = lock_label(label_begin(c, half), kind, &u);
  opaque(kind);
  if (kind >= TELLTALE_LOCK_SUBS) return 0;
  if (likely(!count(c, half, TELLTALE_LOCK, TELLTALE_SUBS_LOCK + kind, hash, ns, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_LOCK, kind, hash, before, ns);
  if (!s) return 0;
  s->label[0] = kind;
  s->label[1] = u.syscall;
  s->label[2] = u.ip;
  s->detail[0] = mix(control.seed[half], lock);
  if (st && kind != TELLTALE_LOCK_SPIN) {
    s->peer = st->lock_holder;
    s->detail[1] = st->lock_holder.tid;
    s->detail[2] = waiters(lock, st->lock_queue);
    add_holder_stack(h, s, st);
  }
  take_stacks(ctx, s, true, !c->irq_depth && has_user_side());
  sample_end(s);
  return 0;
}

SEC("tp_btf/contention_end")
int on_contention_end(uint64_t* ctx) {
  uint64_t lock = ctx[0], begun;
  struct telltale_cpu* c = this_cpu();
  uint32_t half = control.half & 1, slot;
  struct task_struct* task = bpf_get_current_task_btf();
  struct telltale_task* st;

  if (!c) return 0;
  if (of_cpu(c, task)) {
    begun = c->irq_lock_begin_ns;
    if (!begun || c->irq_lock_address != lock) return 0;
    c->irq_lock_begin_ns = 0;
    backlog_end(&c->half[half], half, TELLTALE_BACKLOG_LOCK, cpu_lock_stands_for(c));
    return waited(ctx, c, 0, lock, TELLTALE_LOCK_SPIN, bpf_ktime_get_ns() - begun);
  }
  st = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!st) return 0;
  slot =
      st->lock_begin_ns[TELLTALE_LOCK_SPINNING] && st->lock_address[TELLTALE_LOCK_SPINNING] == lock
          ? TELLTALE_LOCK_SPINNING
          : TELLTALE_LOCK_SLEEPING;
  begun = st->lock_begin_ns[slot];
  if (!begun || st->lock_address[slot] != lock) return 0;
  st->lock_begin_ns[slot] = 0;
  backlog_end(&c->half[half], half, TELLTALE_BACKLOG_LOCK, lock_stands_for(st, slot));
  return waited(ctx, c, st, lock, st->lock_kind[slot], bpf_ktime_get_ns() - begun);
}
