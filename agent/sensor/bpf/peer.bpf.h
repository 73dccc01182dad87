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

/* The owner of a futex is known by its tid only. Without a way to look it up it is taken for a
 * thread of the same process, as the owner of most mutexes is. */
static __noinline int name_owner(struct telltale_peer* peer, struct task_struct* task,
                                 uint32_t tid) {
  struct task_struct* owner;

  if (!bpf_task_from_pid || !bpf_task_release) {
    owner = BPF_CORE_READ(task, group_leader);
    name_peer(peer, (uint64_t)owner, BPF_CORE_READ(owner, pid));
    if (peer->tid != tid) peer->comm[0] = 0; /* another thread may have another name */
    peer->tid = tid;
    return 0;
  }
  owner = bpf_task_from_pid(tid);
  if (!owner) return 0;
  name_peer(peer, (uint64_t)owner, tid);
  bpf_task_release(owner);
  return 0;
}

#endif /* TELLTALE_SENSOR_PEER_BPF_H_ */
