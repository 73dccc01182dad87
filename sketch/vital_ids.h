/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
 *
 * Numbers of the vital signs and their sub-series, shared by the BPF programs (C) and user space
 * (C++). They are on the wire and on disk: frozen, never reused. What each one means (unit,
 * quantum, label) is in the one table in vitals.cc. Ids below 64 are Telltale's, 64..127 are a
 * site's own.
 */
#ifndef TELLTALE_SKETCH_VITAL_IDS_H_
#define TELLTALE_SKETCH_VITAL_IDS_H_

enum telltale_vital {
  TELLTALE_VITAL_NONE = 0,
  TELLTALE_CPU = 1,
  TELLTALE_LLC = 2,
  TELLTALE_SCHED_DELAY = 3,
  TELLTALE_BLOCKING = 4,
  TELLTALE_DISK_IO = 5,
  TELLTALE_USER_PAGE = 6,
  TELLTALE_KERNEL_PAGE = 7,
  TELLTALE_SYSCALL = 8,
  TELLTALE_SIGNAL = 9,
  TELLTALE_SOCKET = 10,
  TELLTALE_LOCK = 11,
  /* Beyond the paper. */
  TELLTALE_SOFTIRQ = 12,
  TELLTALE_RECLAIM = 13,
  TELLTALE_RETRANSMIT = 14,
  TELLTALE_BUILTIN_VITALS = 15, /* one past the last built-in id; not on the wire */
  TELLTALE_FIRST_LOCAL_VITAL = 64,
  TELLTALE_MAX_VITAL = 127,
};

/* Sub-series: index within the vital. */
enum telltale_cpu_sub {
  TELLTALE_CPU_USER = 0,
  TELLTALE_CPU_KERNEL = 1,
  TELLTALE_CPU_IRQ = 2,
  TELLTALE_CPU_SUBS = 3
};
enum telltale_sched_delay_sub {
  TELLTALE_DELAY_WOKEN = 0,
  TELLTALE_DELAY_PREEMPTED = 1,
  TELLTALE_DELAY_SUBS = 2
};
enum telltale_blocking_sub {
  TELLTALE_BLOCK_DISK = 0,
  TELLTALE_BLOCK_UNINTERRUPTIBLE = 1,
  TELLTALE_BLOCK_LOCK = 2,
  TELLTALE_BLOCK_SOCKET = 3,
  TELLTALE_BLOCK_PIPE = 4,
  TELLTALE_BLOCK_POLL = 5,  /* idle: left out of headlines and detectors */
  TELLTALE_BLOCK_TIMER = 6, /* idle */
  TELLTALE_BLOCK_OTHER = 7,
  TELLTALE_BLOCK_SUBS = 8
};
enum telltale_disk_sub {
  TELLTALE_DISK_READ_ISSUED = 0,
  TELLTALE_DISK_READ_DONE = 1,
  TELLTALE_DISK_WRITE_ISSUED = 2,
  TELLTALE_DISK_WRITE_DONE = 3,
  TELLTALE_DISK_FLUSH_ISSUED = 4,
  TELLTALE_DISK_FLUSH_DONE = 5,
  TELLTALE_DISK_SUBS = 6
};
enum telltale_user_page_sub {
  TELLTALE_FAULT_MINOR = 0,
  TELLTALE_FAULT_MAJOR = 1,
  TELLTALE_USER_PAGE_SUBS = 2
};
enum telltale_kernel_page_sub {
  TELLTALE_PAGE_ALLOC = 0,
  TELLTALE_PAGE_FREE = 1,
  TELLTALE_KERNEL_PAGE_SUBS = 2
};
enum telltale_syscall_sub {
  TELLTALE_SYSCALL_OK = 0,
  TELLTALE_SYSCALL_FAILED = 1,
  TELLTALE_SYSCALL_SUBS = 2
};
enum telltale_signal_sub {
  TELLTALE_SIGNAL_GENERATED = 0,
  TELLTALE_SIGNAL_DELIVERED = 1,
  TELLTALE_SIGNAL_SUBS = 2
};
enum telltale_socket_sub {
  TELLTALE_SOCKET_SENT = 0,
  TELLTALE_SOCKET_RECEIVED = 1,
  TELLTALE_SOCKET_SUBS = 2
};
enum telltale_lock_sub {
  TELLTALE_LOCK_MUTEX = 0,
  TELLTALE_LOCK_RWSEM = 1,
  TELLTALE_LOCK_SPIN = 2,
  TELLTALE_LOCK_FUTEX = 3,
  TELLTALE_LOCK_SUBS = 4
};
enum telltale_softirq_sub {
  TELLTALE_SOFTIRQ_TIMER = 0, /* HI and TIMER and HRTIMER vectors */
  TELLTALE_SOFTIRQ_NET_TX = 1,
  TELLTALE_SOFTIRQ_NET_RX = 2,
  TELLTALE_SOFTIRQ_BLOCK = 3, /* BLOCK and IRQ_POLL vectors */
  TELLTALE_SOFTIRQ_SCHED = 4,
  TELLTALE_SOFTIRQ_RCU = 5,
  TELLTALE_SOFTIRQ_OTHER = 6, /* TASKLET and anything newer */
  TELLTALE_SOFTIRQ_SUBS = 7
};
enum telltale_reclaim_sub {
  TELLTALE_RECLAIM_GLOBAL = 0,
  TELLTALE_RECLAIM_CGROUP = 1,
  TELLTALE_RECLAIM_SUBS = 2
};
enum telltale_retransmit_sub { TELLTALE_RETRANSMIT_SEGMENTS = 0, TELLTALE_RETRANSMIT_SUBS = 1 };

#endif /* TELLTALE_SKETCH_VITAL_IDS_H_ */
