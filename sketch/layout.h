/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
 *
 * The memory that the kernel programs (C, agent/sensor/bpf) and the agent (C++) share: dimensions
 * of the sketch, the control words, one block of counters per CPU, and the records of the ring
 * buffer and of the task iterator. Only plain structs, largest members first, sizes asserted on
 * both sides.
 *
 * Times: *_ns is CLOCK_MONOTONIC except where a name says rq (run-queue clock, see task.bpf.h).
 * Weights are in the unit of their vital (sketch/vitals.h).
 */
#ifndef TELLTALE_SKETCH_LAYOUT_H_
#define TELLTALE_SKETCH_LAYOUT_H_

#include "sketch/vital_ids.h"

#ifndef __bpf__
#include <stdint.h>
#endif

#include "sketch/slot.h"

/* Sketch: one row of 256 cells with candidates per vital, CPU and half: 16 bytes a cell, so an
 * event touches one cache line of it (tests/bench/COVERAGE.md says why this many and not plain
 * ones). Bits 56..63 of a label's hash pick the cell, bits 43..55 its place in the bitmap of
 * distinct labels, bits 31..42 where it is looked for in the control group, bits 16..23 say whether
 * it is of that group, bits 0..15 are its mark in the cell. */
#ifndef TELLTALE_LOCAL_VITAL_COUNT /* a site's own (cmake/LocalVitals.cmake), behind Telltale's */
#define TELLTALE_LOCAL_VITAL_COUNT 0
#define TELLTALE_LOCAL_SUB_COUNT 0
#endif
/* Dense: the number of a vital here, less one. Telltale's own have their id for a number. */
#define TELLTALE_VITALS (14 + TELLTALE_LOCAL_VITAL_COUNT)
#define TELLTALE_COLUMNS 256
#define TELLTALE_CELL_SHIFT 56
#define TELLTALE_BITMAP_BITS 8192
#define TELLTALE_BITMAP_SHIFT 43
#define TELLTALE_GROUP_SHIFT 16
#define TELLTALE_GROUP_LABELS 4096
#define TELLTALE_GROUP_PLACE_SHIFT 31
#define TELLTALE_GROUP_PROBES 8
#define TELLTALE_SECONDS 64 /* the longest epoch is 60 s; a late cut adds to the last slot */

/* Every sub-series has one dense index; these are the first ones of each vital. */
enum telltale_sub_base {
  TELLTALE_SUBS_CPU = 0,
  TELLTALE_SUBS_LLC = 3,
  TELLTALE_SUBS_SCHED_DELAY = 4,
  TELLTALE_SUBS_BLOCKING = 6,
  TELLTALE_SUBS_DISK_IO = 14,
  TELLTALE_SUBS_USER_PAGE = 20,
  TELLTALE_SUBS_KERNEL_PAGE = 22,
  TELLTALE_SUBS_SYSCALL = 24,
  TELLTALE_SUBS_SIGNAL = 26,
  TELLTALE_SUBS_SOCKET = 28,
  TELLTALE_SUBS_LOCK = 30,
  TELLTALE_SUBS_SOFTIRQ = 34,
  TELLTALE_SUBS_RECLAIM = 41,
  TELLTALE_SUBS_RETRANSMIT = 43,
  TELLTALE_LOCAL_SUBS = 44,
  TELLTALE_SUBS = TELLTALE_LOCAL_SUBS + TELLTALE_LOCAL_SUB_COUNT
};

/* Vitals with a backlog: begun minus ended. */
enum telltale_backlog {
  TELLTALE_BACKLOG_BLOCKED = 0,
  TELLTALE_BACKLOG_DISK = 1,
  TELLTALE_BACKLOG_PAGES = 2,
  TELLTALE_BACKLOG_LOCK = 3,
  TELLTALE_BACKLOGS = 4
};

/* Histograms of durations in ns: 4 buckets an octave from 256 ns; bucket 0 holds all below, the
 * last all from 2^37 ns (137 s) on. */
enum telltale_hist {
  TELLTALE_HIST_DISK_READ = 0,
  TELLTALE_HIST_DISK_WRITE = 1,
  TELLTALE_HIST_DISK_FLUSH = 2,
  TELLTALE_HIST_RUNQUEUE = 3,
  TELLTALE_HIST_LOCK = 4,
  TELLTALE_HIST_BLOCK = 5, /* + blocking sub-series */
  TELLTALE_HISTS = 13
};
#define TELLTALE_HIST_R 4
#define TELLTALE_HIST_MIN_LOG2 8
#define TELLTALE_HIST_BUCKETS 118

#define TELLTALE_KERNEL_FRAMES 40
#define TELLTALE_USER_FRAMES 48
#define TELLTALE_PEER_FRAMES 24

struct telltale_total {
  uint64_t events;
  uint64_t weight;
};

struct telltale_histogram {
  uint64_t sum;
  uint64_t entries;
  uint32_t bucket[TELLTALE_HIST_BUCKETS];
};

/* Why a sample or record was lost, per vital; sums of events and their weight. */
enum telltale_loss {
  TELLTALE_LOST_TOKENS = 0,
  TELLTALE_LOST_RING = 1,
  TELLTALE_LOST_MAP = 2,      /* no task storage: its interval is unknown; disk_io: no room for a
                                 request sent back, it is counted twice */
  TELLTALE_LOST_INTERVAL = 3, /* the kernel did not show us when the task left the CPU */
  TELLTALE_LOST_SLOT = 4, /* what was put aside for a task, a wait or its waker's stack, gave way */
  TELLTALE_LOST_COPY = 5, /* no room for the copy of a user stack; the sample itself is kept */
  TELLTALE_LOST_UNFOLLOWED = 6, /* a wait of a task that control.least_run_ns leaves out */
  TELLTALE_LOSSES = 7
};

/* Sketch of one vital. */
struct telltale_sketch {
  struct telltale_slot slot[TELLTALE_COLUMNS];
};

/* Which labels occurred, of all CPUs: an event reads its word, and writes it only if it is the
 * first of its label, so that the line stays in every CPU's cache. */
struct telltale_bitmaps {
  uint64_t word[2][TELLTALE_VITALS][TELLTALE_BITMAP_BITS / 64]; /* per half */
};

/* The control group (sketch/miss_control.h): labels that are counted exactly beside the sketch. A
 * table with open addressing: a label stands at its place or one of the next ones. */
struct telltale_exact {
  uint64_t hash; /* 0: free */
  uint64_t weight;
};
#define TELLTALE_EXACT_LEFT_OUT (1ULL << 63) /* in weight: of a kind that is never sampled */
struct telltale_group_half {
  struct telltale_exact label[TELLTALE_VITALS][TELLTALE_GROUP_LABELS];
  uint64_t dropped[TELLTALE_VITALS]; /* events whose label found no room */
};
struct telltale_group {
  struct telltale_group_half half[2];
};

/* What one CPU counted in one epoch. Two of them alternate; the agent reads and clears the one the
 * programs have left. */
struct telltale_half {
  uint32_t second; /* that totals now belong to; in the page of the totals, as each event asks */
  uint32_t pad[3];
  struct telltale_total total[TELLTALE_SUBS];
  /* The part of total already given to a task (or to [irq]); the rest belongs to the running task.
   */
  struct telltale_total given[TELLTALE_SUBS];
  struct telltale_total irq[TELLTALE_SUBS];
  uint64_t second_base[TELLTALE_SUBS]; /* total.weight when the current second began */
  struct telltale_sketch sketch[TELLTALE_VITALS];
  uint64_t second_weight[TELLTALE_SUBS][TELLTALE_SECONDS];
  /* Within the second. Apart, so that an interrupt that ends one cannot undo the beginning of
   * another it came into the middle of. */
  uint64_t begun[TELLTALE_BACKLOGS][TELLTALE_SECONDS];
  uint64_t ended[TELLTALE_BACKLOGS][TELLTALE_SECONDS];
  struct telltale_histogram hist[TELLTALE_HISTS];
  struct telltale_total lost[TELLTALE_VITALS][TELLTALE_LOSSES];
  uint64_t lost_records; /* execs, ends of processes and tasks, OOM kills: no room in the ring */
  uint32_t dry_spells[TELLTALE_VITALS]; /* times the tokens ran out */
};

struct telltale_bucket {
  uint64_t refilled_ns;
  uint32_t tokens;
  uint32_t dry;
};

/* An interval whose stack is taken a moment later, in the incoming task (sched_exit_tp). */
struct telltale_pending {
  uint64_t hash;
  uint64_t before;
  uint64_t weight;
  uint64_t ip;
  uint64_t stack_place;
  uint64_t syscall;
  uint32_t tid;
  uint32_t live; /* 0: empty */
  uint8_t vital;
  uint8_t sub;
  uint8_t half;
  uint8_t pad[5];
};

/* Another task that a sample names. With tid 0 and a comm: the pseudo-process of that name. */
struct telltale_peer {
  uint64_t start_ns;
  uint32_t tid;
  uint32_t tgid;
  char comm[16];
};

/* Where a program's code and stack lie. The kernel lays them out anew for each process; what labels
 * take of an address is its distance from these, the same in each process of a program. */
struct telltale_bases {
  uint64_t image; /* the executable's code, and its size */
  uint64_t image_bytes;
  uint64_t mappings; /* libraries are mapped from here downwards */
  uint64_t stack;    /* of the first thread */
};

/* All of one CPU. Written by programs running there with preemption off; one more block past the
 * last CPU belongs to the agent's own iterator. */
struct telltale_cpu {
  /* The first line is all that the common path of most events reads besides its counters. */
  uint64_t ident;      /* hash of the running task's (executable, uid), not keyed; 0: not known */
  uint64_t touched[2]; /* per half: sub-series with totals not yet given to the running task */
  uint32_t irq_depth;  /* > 0: interrupt or soft interrupt running */
  uint32_t tid;        /* of the running task; 0: idle, or no switch seen yet */
  struct telltale_bases bases; /* of the task of ident; not of idle and kernel threads */
  uint64_t regs; /* where the running task keeps its user registers; 1: it has none; 0: not known */
  uint64_t softirq_begin_ns; /* 0: this one is not timed */
  uint32_t softirq_count;
  uint32_t in_scope; /* the running task is one of the cgroup that is watched, if only one is */
  uint64_t switches;
  uint64_t ends;         /* of tasks */
  uint64_t unknown_ends; /* of those that never had storage */
  uint32_t pending_live; /* some entry of pending is live */
  uint32_t of_passes;    /* not 0: the task iterator's, for waits on all CPUs */
  uint64_t tick_jiffies;
  uint32_t rest;         /* the agent's rest that rest_busy_ns is of */
  uint64_t rest_busy_ns; /* how long this CPU was busy in it, by its ticks */
  struct telltale_bucket bucket[TELLTALE_VITALS];
  struct telltale_bucket own; /* for the agent itself */
  uint64_t copies;            /* of user stacks made here */
  uint64_t irq_lock_begin_ns; /* spinning lock waited for in an interrupt or by the idle task */
  uint64_t irq_lock_address;
  uint64_t irq_lock_duty_log2; /* when the wait began: so much it stands for in the backlog */
  uint64_t open_locks;         /* the iterator's: what its last collection met of waits of tasks */
  uint64_t
      outside[TELLTALE_VITALS]; /* events that were not the cgroup's; of sched_delay: switches */
  uint64_t unseen[TELLTALE_VITALS];   /* events whose programs ran outside of their windows */
  struct telltale_pending pending[3]; /* delay, blocking, futex */
  struct telltale_peer ran;           /* who ran before the incoming task */
  struct telltale_half half[2];
};

/* Knobs of one vital. */
struct telltale_knobs {
  uint64_t powers;       /* bits at multiples of t_log2: the powers of t as a bit mask */
  uint32_t tokens_per_s; /* per CPU */
  uint32_t token_burst;
  uint8_t quantum_log2; /* quantum is a power of two: a shift instead of a division an event */
  uint8_t t_log2;
  uint8_t heavy_log2; /* from so many quanta on a label's first sample may take the last tokens */
  uint8_t duty_log2;  /* counted 1/2^duty_log2 of the time, at random: events stand for more */
  uint8_t closed;     /* they are attached, but not to count now */
  uint8_t group_mask[2]; /* per half: of the control group are labels whose bits here are 0 */
  uint8_t pad;
};

#define TELLTALE_SYSCALL_CLASSES 512

#define TELLTALE_LEVEL_UNKNOWN 0xffffffffu

/* Where a task that comes back after a wait is asked for its stacks, running again. */
enum telltale_exit_hook {
  TELLTALE_EXIT_NONE = 0,     /* nowhere: at the switch, kernel stack only */
  TELLTALE_EXIT_SWITCH = 1,   /* sched_exit_tp */
  TELLTALE_EXIT_SCHEDULE = 2, /* schedule() returns; tasks that gave way elsewhere never pass it */
};

/* Control words, written by the agent, read by every program at a fixed address. */
struct telltale_control {
  uint32_t half; /* index of the half in use; flipped by the cut */
  uint32_t second[2];
  uint32_t cpus; /* possible CPUs */
  uint64_t seed[2];
  struct telltale_knobs knobs[TELLTALE_VITALS];
  uint64_t epoch_start_ns[2];
  uint64_t tick_ns;
  int64_t
      rq_clock_offset_ns; /* run-queue clock minus CLOCK_MONOTONIC; from the agent's own switches */
  uint64_t timer_entry_begin; /* address range of the timer interrupt's entry code, 0: unknown */
  uint64_t timer_entry_end;
  uint64_t kernel_text;     /* where the kernel's code begins, 0: unknown */
  uint64_t swap_free_pages; /* as of the agent's last drain */
  uint64_t scope_cgroup;    /* id of the only cgroup whose tasks are counted; 0: all are */
  int32_t own_tgid;
  uint32_t cgroup_subsys;     /* index into css_set.subsys, or 0xffffffff: the unified hierarchy */
  uint32_t use_ktime;         /* run-queue clocks of the CPUs do not agree: take CLOCK_MONOTONIC */
  uint32_t exit_hook;         /* enum telltale_exit_hook */
  uint32_t pass;              /* of the task iterator, enum telltale_pass */
  uint32_t adoptions_left;    /* in this pass, of tasks that were not followed from their birth */
  uint32_t stack_bytes;       /* of a user stack copied with a sample; 0: frame pointers only */
  uint32_t no_user_stacks;    /* samples take kernel stacks only */
  uint32_t pass_tokens_per_s; /* of each vital, for what the task iterator meets, of any CPU */
  uint32_t pass_token_burst;
  uint32_t full_token_burst; /* of each vital on each CPU, where the governor leaves them all */
  uint32_t switch_level;     /* enum telltale_switch_level */
  uint32_t resting; /* number of the rest of the agent's thread; 0: none, or roused (rouse.bpf.h) */
  uint32_t next_drain;         /* number of the drain that the agent's thread does next; from 1 */
  uint32_t least_run_ns;       /* a new task is followed once it has run so long; 0: at once */
  uint32_t scope_level;        /* of that cgroup, below its root; TELLTALE_LEVEL_UNKNOWN */
  uint16_t ephemeral_ports[2]; /* first and last port that the kernel gives to clients */
  uint8_t syscall_class[TELLTALE_SYSCALL_CLASSES]; /* blocking sub-series + 1 by syscall number */
  uint8_t bit_index[64];                           /* de Bruijn: index of the lowest set bit */
};

/* What the governor lets the switch programs do. */
enum telltale_switch_level {
  TELLTALE_SWITCH_ALL = 0,
  TELLTALE_SWITCH_NO_STACKS = 1, /* samples of waits without stacks and without who woke */
  TELLTALE_SWITCH_COUNT = 2      /* who runs is noted; waits are looked at some times a second */
};

enum telltale_pass {
  TELLTALE_PASS_ADOPT = 0,   /* at the start: make storage for the tasks that exist */
  TELLTALE_PASS_CHARGE = 1,  /* before the flip: charge open intervals up to now */
  TELLTALE_PASS_COLLECT = 2, /* after it: give out and clear the old half */
  TELLTALE_PASS_RESUME = 3,  /* waits are followed again: those going on begin now */
  TELLTALE_PASS_LOOK = 4,    /* switches are only counted: charge waits by the kernel's accounts */
  TELLTALE_PASS_LOOK_AT_CUT = 5, /* the same before the flip: who leads a cell and waits is kept */
  TELLTALE_PASS_RETURN = 6,      /* as RESUME after nothing was attached: ends were missed, too */
};

/* Cumulative kernel accounts of one task. */
struct telltale_accounts {
  uint64_t run_ns;
  uint64_t user_ns;
  uint64_t system_ns;
  uint64_t voluntary;
  uint64_t involuntary;
  uint64_t faults_minor;
  uint64_t faults_major;
  uint64_t read_bytes;
  uint64_t write_bytes;
};

struct telltale_exe {
  uint64_t inode;
  uint32_t device;
  uint32_t generation;
};

enum telltale_task_state {
  TELLTALE_TASK_UNKNOWN = 0, /* storage just made */
  TELLTALE_TASK_RUNNING = 1,
  TELLTALE_TASK_RUNNABLE = 2,
  TELLTALE_TASK_BLOCKED = 3,
  TELLTALE_TASK_GONE = 4, /* its last row is out */
};

#define TELLTALE_WAKER_UNSEEN 0u
#define TELLTALE_WAKER_IRQ 0xffffffffu

/* Where a lock keeps those who wait for it. */
enum telltale_lock_queue {
  TELLTALE_QUEUE_UNKNOWN = 0,
  TELLTALE_QUEUE_MUTEX = 1,
  TELLTALE_QUEUE_RWSEM = 2,
};

/* A wait for a spinning lock may nest in one for a lock that lets its waiters sleep. */
enum telltale_lock_slot {
  TELLTALE_LOCK_SLEEPING = 0,
  TELLTALE_LOCK_SPINNING = 1,
};

/* What a task did in one epoch. */
struct telltale_task_half {
  struct telltale_total share[TELLTALE_SUBS];
  uint64_t run_ns;
  uint64_t queue_ns;
  uint64_t blocked_ns;
  uint64_t touched;
};

/* A process's memory; more than fits reads as the most there can be. */
struct telltale_memory {
  uint32_t rss_pages; /* resident: anonymous, shared, and files it has mapped */
  uint32_t own_pages; /* anonymous, resident or swapped out: what it took and may give back */
};

/* Task storage. Written by the CPU that switches the task, and by the iterator. */
struct telltale_task {
  uint64_t since_rq_ns; /* all time before is charged */
  uint64_t ident;
  struct telltale_bases bases;
  uint64_t cred; /* ident, bases, exe and uid hold while these two pointers are the task's */
  uint64_t mm;
  uint64_t began_rq_ns;  /* when it left the CPU: the whole wait, for the histograms */
  uint64_t run_delay_ns; /* the scheduler's account of queue time when it left the CPU */
  uint64_t woken_rq_ns; /* when it was woken, if the scheduler's account of that is wrong; else 0 */
  struct telltale_memory memory; /* left by the exit hook for the last row */
  uint64_t lock_begin_ns[2];     /* by enum telltale_lock_slot */
  uint64_t lock_address[2];
  struct telltale_peer lock_holder; /* of the sleeping lock, when the wait began */
  uint64_t reclaim_begin_ns;
  uint64_t futex_address;
  uint64_t first_ns; /* CLOCK_MONOTONIC: begin of the task's time not yet given out */
  struct telltale_exe exe;
  uint32_t uid;
  uint8_t state;
  uint8_t block_sub;
  uint8_t waker_stack;     /* the waker's stack was put aside (waker.bpf.h) */
  uint8_t counted_blocked; /* it is in the backlog of blocked tasks */
  uint32_t lock_kind[2];
  uint32_t futex_owner; /* > 0: the wait is one for a glibc mutex with this owner (a guess) */
  uint32_t reclaim_order;
  uint64_t faults_major_seen;
  uint64_t exit_told; /* of a process's first thread */
  uint64_t gave_way;  /* it left the CPU in the midst of kernel code, not through schedule() */
  uint64_t file_fd;   /* what the last wait on a descriptor was for, kept for a few waits */
  uint8_t file_class;
  uint8_t file_uses;
  uint8_t lock_queue;        /* enum telltale_lock_queue: of the sleeping lock */
  uint8_t waited_long;       /* its last wait was worth a look at its waker */
  uint8_t looked;            /* the accounts below hold */
  uint8_t queued_asleep;     /* when it was looked at the scheduler took it for queued */
  uint8_t lock_duty_log2[2]; /* when the wait began: so much it stands for in the backlog */
  uint32_t waker_tid;        /* who ended the wait; or TELLTALE_WAKER_* */
  uint32_t copied_before; /* of a process's first thread: the drain its last stack copy waits for */
  uint64_t waker_task;    /* its address; it may be gone by the time it is looked at */
  uint64_t looked_run_ns; /* as of the last look; its queue time then is run_delay_ns */
  uint64_t looked_voluntary;
  uint64_t looked_involuntary;
  struct telltale_accounts base; /* accounts at the last cut */
  struct telltale_task_half half[2];
};

/* The ring of samples, their stack copies, events and last rows. Copies may fill it only up to
 * TELLTALE_RING_COPIES, so that a burst of them cannot cost a sample. */
#define TELLTALE_RING_BYTES (4 * 1024 * 1024)
#define TELLTALE_RING_COPIES (3 * 1024 * 1024)
/* What ends a rest of the agent's thread: so much in the ring, or so long a CPU was busy in it. */
#define TELLTALE_RING_QUIET (256 * 1024)
#define TELLTALE_REST_BUSY_NS 100000000ULL
#define TELLTALE_STACK_BYTES 32768 /* most that is copied of one stack */
#define TELLTALE_REGISTERS 21      /* 8-byte words of the kernel's pt_regs on x86-64 */

/* Records of the ring buffer. */
enum telltale_record_kind {
  TELLTALE_RECORD_SAMPLE = 1,
  TELLTALE_RECORD_EXEC = 2,
  TELLTALE_RECORD_EXIT = 3,
  TELLTALE_RECORD_OOM = 4,
  TELLTALE_RECORD_ROW = 5,  /* a task's last row */
  TELLTALE_RECORD_COPY = 6, /* registers and stack bytes; follows the sample it belongs to */
};

/* What a sample of sched_delay or blocking says of the wait in its detail "state". */
enum telltale_wait_end {
  TELLTALE_WAIT_ENDED = 0,
  TELLTALE_WAIT_OPEN = 1,         /* it goes on at the cut */
  TELLTALE_WAIT_SEVERAL = 2,      /* all of a task's since it was looked at last, in one sum */
  TELLTALE_WAIT_OPEN_SEVERAL = 3, /* such a sum, of which the last, or the only one that began
                                     since, goes on at the cut */
};

#define TELLTALE_SAMPLE_OPEN 1u
#define TELLTALE_SAMPLE_IRQ 2u
#define TELLTALE_SAMPLE_KSTACK 4u /* asked for */
#define TELLTALE_SAMPLE_USTACK 8u
#define TELLTALE_SAMPLE_OF_PASS 16u /* met by the task iterator, not at an event */

struct telltale_who {
  uint64_t start_ns; /* of the thread group's leader */
  uint64_t cgroup;
  struct telltale_exe exe;
  uint32_t tid;
  uint32_t tgid;
  uint32_t uid;
  uint32_t
      parent; /* process it was forked from and whose program it still runs; 0: it has its own */
  char comm[16];
};

struct telltale_sample {
  uint32_t kind;
  uint8_t vital;
  uint8_t sub;
  uint8_t half; /* of the epoch it belongs to */
  uint8_t flags;
  uint64_t time_ns;
  uint64_t hash;
  uint64_t before;
  uint64_t weight;
  struct telltale_who who;
  struct telltale_peer peer; /* sched_delay: ran instead; blocking: waker; lock: holder */
  uint64_t label[5];
  uint64_t detail[7];
  uint8_t address[2][16]; /* local, remote */
  uint8_t address_family; /* 0, 4 or 6 */
  uint8_t t_log2;
  uint16_t cpu;
  int32_t peer_bytes;   /* of the peer's kernel stack; 0: none; negative: -errno */
  int32_t kernel_bytes; /* of the stack; negative: -errno */
  int32_t user_bytes;
  uint64_t copy; /* number of the copy of its user stack; 0: none, then `user` was walked */
  uint64_t
      duty_log2; /* of the vital: `weight` and `before` stand for 2^duty_log2 times what was seen */
  uint64_t kernel[TELLTALE_KERNEL_FRAMES];
  uint64_t user[TELLTALE_USER_FRAMES];
  uint64_t peer_kernel[TELLTALE_PEER_FRAMES];
};

/* Reserved between its sample's reservation and submission, so it comes later in the ring and is
 * there as soon as the sample is. The record is as long as the copy may become. */
struct telltale_copy {
  uint32_t kind;
  uint32_t bytes; /* copied; what the record has beyond is not of the stack */
  uint64_t number;
  uint64_t address;                       /* of the first byte: the stack pointer */
  uint64_t registers[TELLTALE_REGISTERS]; /* struct pt_regs */
};

struct telltale_event {
  uint32_t kind;
  uint32_t half;
  uint64_t time_ns;
  struct telltale_who who;
  uint32_t code;       /* exit: wait status; exec: 1: `path` is a script, run by another program */
  uint32_t unfollowed; /* exit: lives too short to be followed that this tells of, one after the
                          other; no row but this. `who` is the last of them */
  struct telltale_accounts used; /* of such, in all their lives */
  char path[256];
};

/* What code a process had mapped when it ended or was replaced by another program, if copies of its
 * stacks still wait for the agent, which could not ask any more. In a ring of their own, so that
 * they are heard before the copies. */
#define TELLTALE_DEPARTURES_BYTES (512 * 1024)
#define TELLTALE_DEPARTED_REGIONS 96 /* executable ones, those of the lowest addresses */
#define TELLTALE_PAGE_LOG2 12
struct telltale_region {
  uint64_t start;
  uint64_t inode;  /* 0: no file */
  uint32_t device; /* as in telltale_exe */
  uint32_t pages;
  uint32_t file_page; /* of start */
  uint32_t unused;
};
struct telltale_departure {
  struct telltale_who who;
  uint64_t time_ns;
  uint64_t vdso;    /* where it begins; 0: there is none */
  uint32_t regions; /* met; those beyond TELLTALE_DEPARTED_REGIONS had no room */
  uint32_t cut;     /* it has more areas than were looked at */
  struct telltale_region region[TELLTALE_DEPARTED_REGIONS]; /* ascending */
};

/* One task's part of an epoch, from the iterator or, at its end, from the ring. */
struct telltale_row {
  uint32_t kind;
  uint8_t half;
  uint8_t exited;
  uint16_t open_files; /* of the process, 65,535 or more; 0: a thread's row, or a last one */
  uint64_t task_ns;    /* time it existed in the epoch */
  struct telltale_who who;
  struct telltale_memory memory;
  struct telltale_accounts used; /* in the epoch */
  struct telltale_task_half did;
};

#ifdef __cplusplus
#define TELLTALE_ASSERT_SIZE(type, size) static_assert(sizeof(type) == (size), #type)
static_assert(TELLTALE_SUBS <= 64, "telltale_cpu::touched has a bit for each");
#else
#define TELLTALE_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#endif
TELLTALE_ASSERT_SIZE(struct telltale_who, 64);
TELLTALE_ASSERT_SIZE(struct telltale_sample,
                     296 + 8 * (TELLTALE_KERNEL_FRAMES + TELLTALE_USER_FRAMES +
                                TELLTALE_PEER_FRAMES));
TELLTALE_ASSERT_SIZE(struct telltale_copy, 24 + 8 * TELLTALE_REGISTERS);
TELLTALE_ASSERT_SIZE(struct telltale_event, 416);
TELLTALE_ASSERT_SIZE(struct telltale_departure, 88 + 32 * TELLTALE_DEPARTED_REGIONS);
TELLTALE_ASSERT_SIZE(struct telltale_row, 192 + 16 * TELLTALE_SUBS);
TELLTALE_ASSERT_SIZE(struct telltale_slot, 16);
TELLTALE_ASSERT_SIZE(struct telltale_knobs, 24);

#endif /* TELLTALE_SKETCH_LAYOUT_H_ */
