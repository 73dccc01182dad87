/* SPDX-License-Identifier: GPL-2.0
 *
 * The running task's user stack, copied for the agent to unwind: most programs keep no frame
 * pointers, so the kernel itself finds a few frames at best. Registers and up to 32 KB from the
 * stack pointer on go into a record of their own, which the agent reads and forgets.
 *
 * The user registers are at the bottom of the task's kernel stack, whether an interrupt, a fault or
 * a system call brought it into the kernel, and however deep it is there; the task is the running
 * one also after a switch, in sched_exit_tp.
 */
#ifndef TELLTALE_SENSOR_STACK_BPF_H_
#define TELLTALE_SENSOR_STACK_BPF_H_

#include "agent/sensor/bpf/task.bpf.h"

#define PAGE_BYTES 4096ULL
#define SYS_EXECVE 59 /* x86-64 */
#define SYS_EXECVEAT 322
#define BEGIN_BYTES 64  /* as the walker expects (agent/unwind/stack_walker.cc) */
#define USER_CS_64 0x33 /* code segment of 64-bit user code (asm/segment.h, __USER_CS) */

static __always_inline void lose(struct telltale_half* h, uint32_t vital, uint32_t why,
                                 uint64_t weight) {
  uint32_t v = vital - 1;

  opaque(v);
  if (v >= TELLTALE_VITALS) return;
  h->lost[v][why].events++;
  h->lost[v][why].weight += weight;
}

/* What is begun by a task without storage: how long it takes nobody can note. */
static __always_inline void lose_unfollowed(struct telltale_cpu* c, uint32_t vital) {
  struct telltale_half* h = &c->half[control.half & 1];

  if (control.least_run_ns) {
    lose(h, vital, TELLTALE_LOST_UNFOLLOWED, 0);
  } else {
    lose(h, vital, TELLTALE_LOST_MAP, 0);
  }
}

/* A page that is not there fails the whole read: then what lies before a page's begin is read, the
 * farthest first. `room` is the record's, at most 32 KB, so eight pages after the first one. */
static __always_inline uint32_t copy_bytes(void* to, uint64_t sp, uint64_t bytes, uint64_t room) {
  uint64_t first = PAGE_BYTES - (sp & (PAGE_BYTES - 1));

  if (bytes > room) bytes = room;
  opaque(bytes);
  if (bytes <= room && !bpf_probe_read_user(to, bytes, (void*)sp)) return bytes;
#pragma unroll
  for (int pages = 7; pages >= 0; pages--) {
    uint64_t part = first + (uint64_t)pages * PAGE_BYTES;

    opaque(part);
    if (part < bytes && part <= room && !bpf_probe_read_user(to, part, (void*)sp)) return part;
  }
  return 0;
}

static __always_inline bool fill_copy(struct telltale_copy* copy, struct telltale_sample* s,
                                      struct pt_regs* regs, uint64_t number, uint64_t bytes,
                                      uint64_t room) {
  uint64_t sp = regs->sp;
  uint32_t copied;

  if (!copy) return false;
  copy->kind = TELLTALE_RECORD_COPY;
  copy->number = number;
  copy->address = sp;
  bpf_probe_read_kernel(copy->registers, sizeof(copy->registers), regs);
  copied = copy_bytes(copy + 1, sp, bytes, room);
  copy->bytes = copied;
  bpf_ringbuf_submit(copy, BPF_RB_NO_WAKEUP);
  /* In the second half of an exec the old program's stack is gone and the new one's not begun. */
  if (!copied && (regs->orig_ax == SYS_EXECVE || regs->orig_ax == SYS_EXECVEAT)) {
    s->flags &= ~TELLTALE_SAMPLE_USTACK;
  } else {
    s->copy = number;
  }
  return true;
}

/* False: it was not copied (counted where that was meant to be). */
static __noinline int copy_user_stack(struct telltale_sample* s) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  uint64_t bytes = control.stack_bytes, number, above;
  struct mm_struct* mm;
  struct telltale_cpu* c = this_cpu();
  struct telltale_task* first;
  bool done;

  if (!c || !bytes || regs->cs != USER_CS_64) return 0;
  /* A main thread's stack begins at start_stack; above are its arguments and environment, which
   * are nobody's business. 64: what _start itself finds there. Other threads' begins below their
   * control block, which C libraries put at the end of the stack. Elsewhere the differences are
   * huge. */
  mm = task->mm;
  if (!mm) return 0;
  above = mm->start_stack + BEGIN_BYTES - regs->sp;
  if (above < bytes) bytes = above;
  above = task->thread.fsbase + BEGIN_BYTES - regs->sp;
  if (above < bytes) bytes = above;
  number = (__sync_fetch_and_add(&c->copies, 1) + 1) << 16 | (uint16_t)bpf_get_smp_processor_id();
  if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > TELLTALE_RING_COPIES) {
    done = false;
  } else if (bytes <= 1024) {
    done = fill_copy(bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + 1024, 0), s, regs,
                     number, bytes, 1024);
  } else if (bytes <= 2048) {
    done = fill_copy(bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + 2048, 0), s, regs,
                     number, bytes, 2048);
  } else if (bytes <= 4096) {
    done = fill_copy(bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + 4096, 0), s, regs,
                     number, bytes, 4096);
  } else if (bytes <= 8192) {
    done = fill_copy(bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + 8192, 0), s, regs,
                     number, bytes, 8192);
  } else if (bytes <= 16384) {
    done = fill_copy(bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + 16384, 0), s, regs,
                     number, bytes, 16384);
  } else {
    done = fill_copy(
        bpf_ringbuf_reserve(&ring, sizeof(struct telltale_copy) + TELLTALE_STACK_BYTES, 0), s, regs,
        number, bytes, TELLTALE_STACK_BYTES);
  }
  first = bpf_task_storage_get(&tasks, task->group_leader, 0, 0);
  if (first) first->copied_before = control.next_drain;
  if (!done) lose(&c->half[s->half & 1], s->vital, TELLTALE_LOST_COPY, s->weight);
  return done;
}

#endif /* TELLTALE_SENSOR_STACK_BPF_H_ */
