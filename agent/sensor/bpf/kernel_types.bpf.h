/* SPDX-License-Identifier: GPL-2.0
 *
 * The kernel types our programs look into, reduced to the members they use. Offsets are corrected
 * at load (CO-RE), so neither kernel headers nor a BTF kernel are needed to build, the object stays
 * small, and names such as `struct sample` stay free. A member that a kernel lacks fails only the
 * program that uses it.
 */
#ifndef TELLTALE_SENSOR_KERNEL_TYPES_BPF_H_
#define TELLTALE_SENSOR_KERNEL_TYPES_BPF_H_

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
/* Names that libbpf's helper declarations expect. */
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int8_t __s8;
typedef int16_t __s16;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint32_t __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_F_USER_STACK = 256, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };

#define TASK_RUNNING 0
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_NOLOAD 0x400
#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  uint32_t val;
} kuid_t;
typedef struct {
  int counter;
} atomic_t;
typedef struct {
  long counter;
} atomic_long_t;

struct pt_regs {
  unsigned long bp, ax, dx, si, di, orig_ax, ip, cs, sp;
};

struct super_block {
  uint32_t s_dev;
};
struct inode {
  unsigned short i_mode;
  struct super_block* i_sb;
  unsigned long i_ino;
  uint32_t i_generation;
};
struct file {
  struct inode* f_inode;
};
struct fdtable {
  unsigned int max_fds;
  struct file** fd;
  unsigned long* open_fds; /* a bit for each */
};
struct files_struct {
  struct fdtable* fdt;
};
struct percpu_counter {
  int64_t count;
};
typedef struct {
  void* vdso;
} mm_context_t;
struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  unsigned long vm_flags;
  unsigned long vm_pgoff;
  struct file* vm_file;
};
struct mm_struct {
  mm_context_t context;
  unsigned long mmap_base;
  unsigned long start_code, end_code;
  unsigned long start_stack;
  struct file* exe_file;
  struct percpu_counter rss_stat[4];
};
/* Before 6.2. What stands behind ___ is no part of the kernel's name. */
struct mm_rss_stat {
  atomic_long_t count[4];
};
struct mm_struct___before_6_2 {
  struct mm_rss_stat rss_stat;
};
struct kernfs_node {
  uint64_t id;
};
struct cgroup {
  int level; /* the root's is 0 */
  struct kernfs_node* kn;
  struct cgroup* ancestors[1]; /* by level, itself last */
};
struct cgroup___before_6_1 {
  uint64_t ancestor_ids[1];
};
struct cgroup_subsys_state {
  struct cgroup* cgroup;
};
struct css_set {
  struct cgroup_subsys_state* subsys[12];
  struct cgroup* dfl_cgrp;
};
struct cred {
  kuid_t uid;
};
struct sched_info {
  unsigned long pcount;
  unsigned long long run_delay;
  unsigned long long last_queued;
};
struct rq {
  struct task_struct* curr;
  uint64_t clock;
  uint64_t clock_task; /* without the time of interrupts */
};
struct cfs_rq {
  struct rq* rq;
};
struct sched_entity {
  uint64_t exec_start; /* of clock_task: up to then its run time is accounted */
  uint64_t sum_exec_runtime;
  struct cfs_rq* cfs_rq;
};
struct task_io_accounting {
  uint64_t read_bytes;
  uint64_t write_bytes;
};
struct list_head {
  struct list_head* next;
};
struct signal_struct {
  atomic_t live;
  struct list_head thread_head;
  int group_exit_code;
  unsigned int flags;
};
struct thread_info {
  uint32_t cpu;
};
struct upid {
  int nr;
};
struct pid {
  unsigned int level;     /* of its namespace; 0: the first one */
  struct upid numbers[1]; /* by level */
};
struct thread_struct {
  unsigned long fsbase;
};
struct task_struct {
  struct thread_info thread_info;
  struct thread_struct thread;
  unsigned int __state;
  void* stack;
  unsigned int flags;
  int on_cpu;
  int on_rq;
  int prio;
  unsigned int policy;
  struct sched_entity se;
  struct sched_info sched_info;
  struct mm_struct* mm;
  int exit_state;
  int exit_code;
  unsigned in_iowait : 1;
  int pid;
  int tgid;
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct pid* thread_pid;
  struct list_head thread_node;
  uint64_t utime;
  uint64_t stime;
  unsigned long nvcsw;
  unsigned long nivcsw;
  uint64_t start_time;
  unsigned long min_flt;
  unsigned long maj_flt;
  const struct cred* cred;
  char comm[16];
  struct files_struct* files;
  struct signal_struct* signal;
  struct sighand_struct* sighand;
  struct task_io_accounting ioac;
  struct css_set* cgroups;
  uint64_t self_exec_id;
  uint32_t parent_exec_id;
};

struct linux_binprm {
  const char* filename; /* what was asked for */
  const char* interp;   /* what runs: for a script the program that it names */
};

struct gendisk {
  int major;
  int first_minor;
};
struct request_queue {
  struct gendisk* disk;
};
struct bio {
  void* bi_end_io;
};
struct request {
  struct request_queue* q;
  unsigned int cmd_flags;
  unsigned int __data_len;
  uint64_t __sector;
  struct bio* bio;
  uint64_t start_time_ns;
  void* end_io;
};

struct kernel_siginfo {
  int si_code;
};
struct sigaction {
  void* sa_handler;
};
struct k_sigaction {
  struct sigaction sa;
};
struct sighand_struct {
  struct k_sigaction action[64];
};

struct in6_addr {
  uint8_t bytes[16];
};
struct sock_common {
  uint32_t skc_daddr;
  uint32_t skc_rcv_saddr;
  uint16_t skc_dport;
  uint16_t skc_num;
  unsigned short skc_family;
  volatile unsigned char skc_state;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
};
struct sock {
  struct sock_common __sk_common;
  uint16_t sk_protocol;
};
struct socket {
  struct sock* sk;
};
struct sk_buff;

struct mutex {
  atomic_long_t owner;
  struct list_head wait_list;
};
struct rw_semaphore {
  atomic_long_t owner;
  struct list_head wait_list;
};

struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

#pragma clang attribute pop

/* Since 6.7. */
struct bpf_iter_task_vma {
  uint64_t opaque[1];
} __attribute__((aligned(8)));

struct bpf_timer {
  uint64_t opaque[2];
} __attribute__((aligned(8)));

#endif /* TELLTALE_SENSOR_KERNEL_TYPES_BPF_H_ */
