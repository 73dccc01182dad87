/* SPDX-License-Identifier: GPL-2.0
 *
 * The other task that a sample names: who ended the wait, who holds the lock.
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

/* The owner of a futex is known by its tid only, by which its own pid namespace knows it. Where
 * that is a container's, or where there is no way to look a task up, it is looked for among the
 * threads of the same process, of which the owner of most mutexes is one. Returns its tid on the
 * host, be it gone; 0: it is not known. */
static __noinline uint32_t name_owner(struct telltale_peer* peer, struct task_struct* task,
                                      uint32_t tid) {
  struct task_struct* owner;
  uint64_t thread;

  if (!BPF_CORE_READ(task, thread_pid, level) && bpf_task_from_pid && bpf_task_release) {
    owner = bpf_task_from_pid(tid);
    if (!owner) return tid;
    name_peer(peer, (uint64_t)owner, tid);
    bpf_task_release(owner);
    return tid;
  }
  /* As a number: the verifier hands no pointers to other functions than those it looks into. */
  if (bpf_probe_read_kernel(&thread, sizeof(thread), &task)) return 0;
  thread = thread_by_number(thread, tid);
  if (!thread) return 0;
  tid = BPF_CORE_READ((struct task_struct*)thread, pid);
  name_peer(peer, thread, tid);
  return tid;
}

#endif /* TELLTALE_SENSOR_PEER_BPF_H_ */
