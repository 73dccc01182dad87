/* SPDX-License-Identifier: GPL-2.0
 *
 * The other task that a sample names: who ended the wait, who holds the lock, who runs instead.
 */
#ifndef TELLTALE_SENSOR_PEER_BPF_H_
#define TELLTALE_SENSOR_PEER_BPF_H_

#include "agent/sensor/bpf/wait.bpf.h"

/* Kernels before 6.2 lack them. */
extern struct task_struct* bpf_task_from_pid(int pid) __ksym __weak;
extern void bpf_task_release(struct task_struct* task) __ksym __weak;

/* Who a task is. It may have ended meanwhile, and its memory be another task's: then only `tid`. */
static __noinline int name_peer(struct telltale_peer* peer, uint64_t address, uint32_t tid) {
  struct task_struct* task = (struct task_struct*)address;

  peer->tid = tid;
  if ((uint32_t)BPF_CORE_READ(task, pid) != tid) return 0;
  peer->tgid = BPF_CORE_READ(task, tgid);
  peer->start_ns = BPF_CORE_READ(task, group_leader, start_time);
  bpf_core_read(peer->comm, sizeof(peer->comm), &task->comm);
  return 0;
}

/* Who runs now on the CPU in whose queue the task stands. */
static __noinline int name_runner(struct telltale_peer* peer, struct task_struct* task) {
  struct task_struct* runs = BPF_CORE_READ(task, se.cfs_rq, rq, curr);
  uint32_t tid = BPF_CORE_READ(runs, pid);

  if (tid && runs != task) name_peer(peer, (uint64_t)runs, tid);
  return 0;
}

/* Of a process with more threads only so many are looked at. */
#define MOST_THREADS 128

/* Address of the thread of a task's process that has this number in their own pid namespace; 0:
 * there is none. Not static: so the verifier follows its loop once. */
__noinline uint64_t thread_by_number(uint64_t of, uint32_t number) {
  struct task_struct* task = (struct task_struct*)of;
  uint64_t head = (uint64_t)BPF_CORE_READ(task, signal) +
                  bpf_core_field_offset(struct signal_struct, thread_head);
  uint64_t place = bpf_core_field_offset(struct pid, numbers) +
                   BPF_CORE_READ(task, thread_pid, level) * bpf_core_type_size(struct upid) +
                   bpf_core_field_offset(struct upid, nr);
  uint64_t node = head;

  for (int i = 0; i < MOST_THREADS; i++) {
    uint32_t there = 0;

    if (bpf_probe_read_kernel(&node, sizeof(node), (void*)node) || node == head) break;
    task = (struct task_struct*)(node - bpf_core_field_offset(struct task_struct, thread_node));
    bpf_probe_read_kernel(&there, sizeof(there), (char*)BPF_CORE_READ(task, thread_pid) + place);
    if (there == number) return (uint64_t)task;
  }
  return 0;
}

/* Whether a task asks the kernel about that futex: it waits for it in its turn, or lets go of it.
 */
static __always_inline bool waits_for(struct task_struct* task, uint64_t futex) {
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);

  return regs->orig_ax == SYS_FUTEX && regs->di == futex;
}

/* The verifier lets no helper see a task and a record that are both still to be given back, so the
 * frames go by this place. The iterator runs on one CPU at a time. */
struct holder_frames {
  uint64_t frame[TELLTALE_PEER_FRAMES];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, uint32_t);
  __type(value, struct holder_frames);
} holder_frames SEC(".maps");

static __always_inline void add_stack_of(struct task_struct* holder, struct telltale_sample* s) {
  uint32_t first = 0;
  struct holder_frames* frames = bpf_map_lookup_elem(&holder_frames, &first);

  if (!frames) return;
  s->peer_bytes = bpf_get_task_stack(holder, frames->frame, sizeof(frames->frame), 0);
  __builtin_memcpy(s->peer_kernel, frames->frame, sizeof(s->peer_kernel));
}

/* The owner of a futex is known by its tid only, by which its own pid namespace knows it. Where
 * that is a container's it is looked for among the threads of the same process, of which the owner
 * of most mutexes is one; so it is where there is no way to look a task up. `holds`: the
 * wait goes on, so the owner's stack says what for; it is the owner of when the wait began, and one
 * that asks for the futex itself is it no longer. Returns its tid on the host, be it gone; 0: it is
 * not known. */
static __noinline uint32_t name_owner(struct telltale_sample* s, struct task_struct* task,
                                      uint32_t tid, bool holds) {
  bool by_tid = bpf_task_from_pid && bpf_task_release;
  struct task_struct* owner;
  uint64_t thread = 0;

  if (BPF_CORE_READ(task, thread_pid, level) || !by_tid) {
    /* As a number: the verifier hands no pointers to other functions than those it looks into. */
    if (bpf_probe_read_kernel(&thread, sizeof(thread), &task)) return 0;
    thread = thread_by_number(thread, tid);
    if (!thread) return 0;
    tid = BPF_CORE_READ((struct task_struct*)thread, pid);
    name_peer(&s->peer, thread, tid);
    if (!holds || !by_tid) return tid;
  }
  s->peer.tid = tid;
  owner = bpf_task_from_pid(tid);
  if (!owner) return tid;
  name_peer(&s->peer, (uint64_t)owner, tid);
  if (holds && !waits_for(owner, s->detail[0])) add_stack_of(owner, s);
  bpf_task_release(owner);
  return tid;
}

#endif /* TELLTALE_SENSOR_PEER_BPF_H_ */
