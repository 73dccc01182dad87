/* Telltale's filter interface, version 1: how code of any origin watches the stored epochs of nodes and says what
 * it found. C11, no other header of Telltale needed. Built-in filters that watch one node use exactly this header.
 *
 * A filter is one constant `struct telltale_filter`. The host makes one instance of it per node and then
 *   create -> (load) -> epoch, epoch, ... (save now and then) -> destroy
 * with the node's epochs in ascending order of time, each once. Calls for one instance never overlap; those for
 * different instances may run in different threads, so state belongs into the instance.
 *
 * Late epochs. The host holds an epoch back until those before it have come or may no longer be expected. One that
 * comes after a later one was already shown is not shown any more; the host counts it. A hole in time is visible
 * as start_ns > end_ns of the epoch before.
 *
 * Repeatability. What an instance emits must be a function of the epochs it was shown (and of load): no clocks,
 * no randomness, no pointers as keys. After a restart the host makes the instance anew, loads what it saved last,
 * and shows the epochs since then again; what is emitted again must be equal and is stored once.
 *
 * Growth. Every struct begins with its size as its maker knew it. Fields are only ever added at the end; a reader
 * uses a field only if struct_size covers it (TELLTALE_FILTER_HAS). The version changes only when that is not
 * enough; a host refuses filters of a version it does not know, and says so.
 *
 * Strings are UTF-8, end with a zero byte, and live until the call returns. No exception may cross this
 * interface. Weights are integers in the vital's stored unit (ns, bytes, pages, calls ...).
 */
#ifndef TELLTALE_FILTER_H_
#define TELLTALE_FILTER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TELLTALE_FILTER_ABI 1u

/* Whether the struct that `p` points to has the field, by the size its maker wrote. */
#define TELLTALE_FILTER_HAS(p, type, field) \
  ((p)->struct_size >= offsetof(type, field) + sizeof((p)->field))

/* Element i of an array of such structs: the host's structs may be longer than the filter knows them. */
#define TELLTALE_FILTER_AT(type, array, i) \
  ((const type*)(const void*)((const char*)(array) + (size_t)(i) * (array)->struct_size))

/* What a filter is shown besides time and coverage. */
enum {
  TELLTALE_NEEDS_TOTALS = 1u << 0,  /* vitals[].subs */
  TELLTALE_NEEDS_LABELS = 1u << 1,  /* vitals[].labels: heaviest labels with bounds */
  TELLTALE_NEEDS_SAMPLES = 1u << 2,   /* labels[].exemplar */
  TELLTALE_NEEDS_PROCESSES = 1u << 3, /* epoch->processes */
  TELLTALE_NEEDS_EVENTS = 1u << 4     /* epoch->events */
};

/* Why an epoch is shorter or poorer than usual. */
enum {
  TELLTALE_EPOCH_FULL = 1,
  TELLTALE_EPOCH_SHORT = 2,   /* the first after a start, the last before a stop */
  TELLTALE_EPOCH_PARTIAL = 3, /* what was saved of an epoch that a crash ended */
  TELLTALE_EPOCH_WINDOW = 4   /* an hour of epochs added up, see telltale_filter_host.hour */
};

enum { TELLTALE_VITAL_ACTIVE = 1, TELLTALE_VITAL_DEGRADED = 2, TELLTALE_VITAL_UNAVAILABLE = 3 };

/* One sub-series of one vital in one epoch: exact after the losses of the epoch. */
struct telltale_filter_sub {
  uint32_t struct_size;
  uint32_t index;        /* in the vital's descriptor; stable */
  const char* name;
  uint64_t events;
  uint64_t weight;
  uint32_t idle;         /* 1: waiting by choice (poll, timer); detectors leave it out */
  uint32_t seconds;      /* length of second_weight */
  const uint64_t* second_weight; /* weight of each second of the epoch, 7 significant digits */
};

/* One sampled event, whole. */
struct telltale_filter_sample {
  uint32_t struct_size;
  uint32_t pid;
  uint32_t tid;
  uint32_t cpu;
  uint64_t time_ns;      /* after the epoch's start */
  uint64_t weight;
  const char* comm;
  const char* cgroup;
  uint32_t details;      /* length of detail */
  uint32_t waker_pid;    /* who ended the wait; 0: unknown */
  const uint64_t* detail; /* detail fields in the order of the vital's descriptor */
  const char* waker_comm;
  uint32_t holder_pid;   /* who held what was waited for; 0: unknown */
  uint32_t holder_tid;   /* its thread; 0: unknown */
  const char* holder_comm; /* that thread's name */
  const char* wait_site; /* "f < g": function of the kernel that waits, and who calls it; "": unknown */
  uint32_t duty_ppm;     /* share of time in which such events were looked at; `weight` stands for the others, too */
  uint32_t reserved;
};

/* Sampled events with one label (executable, user, label fields) and one stack. A label that several stacks led to
 * stands there once for each of them, every time with the weight of the whole label: who adds labels up counts each
 * (uid, exe, sub, value) once. */
struct telltale_filter_label {
  uint32_t struct_size;
  uint32_t uid;
  const char* exe;
  uint32_t sub;          /* index of the sub-series */
  uint32_t values;       /* length of value */
  const uint64_t* value; /* label fields in the order of the vital's descriptor */
  uint64_t samples;
  uint64_t low;          /* the label's weight in the epoch lies in [low, high] */
  uint64_t high;
  const struct telltale_filter_sample* exemplar; /* NULL unless samples are needed */
  uint64_t stable_id;    /* the same over restarts and upgrades: executable, files, operation */
  uint64_t exe_build;    /* digest of the executable's build id, 0: unknown */
};

struct telltale_filter_vital {
  uint32_t struct_size;
  uint32_t id;
  const char* name;
  const char* unit;      /* "ns", "bytes", "pages", "calls" ... */
  uint32_t state;        /* TELLTALE_VITAL_*; unavailable ones have no subs */
  uint32_t sub_count;
  const struct telltale_filter_sub* subs;
  uint32_t label_count;
  const struct telltale_filter_label* labels; /* heaviest first: by low, then by high */
  /* Time of the epoch in which this vital was counted: at most the epoch's watched_ns, less where an agent at its
   * budget stopped following it for a while. Rates are over this time; with none of it there are no subs. */
  uint64_t watched_ns;
  /* 1: to stay in its budget the agent looked a part of that time, chosen at random, and what it saw stands for the
   * rest: the weights of subs, labels and processes are estimates, and how far off is not known. Not told of hours. */
  uint32_t estimated;
  uint32_t backlog_seconds; /* length of backlog; 0: it is not told, or the vital has none */
  const int64_t* backlog;   /* what had begun and was not over (requests, waits) at the end of each second */
};

/* Columns of the process table; those of a vital's share are TELLTALE_PROCESS_SHARE. */
enum {
  TELLTALE_PROCESS_RUN_NS = 1,
  TELLTALE_PROCESS_USER_NS = 2,
  TELLTALE_PROCESS_SYSTEM_NS = 3,
  TELLTALE_PROCESS_QUEUE_NS = 4,   /* runnable and not running */
  TELLTALE_PROCESS_BLOCKED_NS = 5,
  TELLTALE_PROCESS_TASK_NS = 6,    /* time its threads existed */
  TELLTALE_PROCESS_SWITCHES_VOLUNTARY = 7,
  TELLTALE_PROCESS_SWITCHES_INVOLUNTARY = 8,
  TELLTALE_PROCESS_FAULTS_MINOR = 9,
  TELLTALE_PROCESS_FAULTS_MAJOR = 10,
  TELLTALE_PROCESS_RSS_BYTES = 11, /* resident, with mapped files, at the end of the epoch */
  TELLTALE_PROCESS_READ_BYTES = 12,
  TELLTALE_PROCESS_WRITE_BYTES = 13,
  TELLTALE_PROCESS_THREADS = 14,
  TELLTALE_PROCESS_OPEN_FILES = 15, /* descriptors, at the end of the epoch; at most 65,535 of a process */
  TELLTALE_PROCESS_OWN_BYTES = 16  /* anonymous, resident or swapped out, at the end of the epoch */
};
#define TELLTALE_PROCESS_SHARE(vital_id, sub_index, is_weight) \
  (64u + (vital_id) * 32u + (sub_index) * 2u + ((is_weight) ? 1u : 0u))

/* One process, or all short-lived ones of one (executable, user, cgroup) together. */
struct telltale_filter_process {
  uint32_t struct_size;
  uint32_t pid;          /* 0: several processes */
  uint32_t uid;
  uint32_t instances;    /* processes in this row */
  const char* exe;       /* "": the kernel's, comm names it */
  const char* comm;
  const char* cgroup;
  uint64_t start_ns;     /* on the node's monotonic clock: tells processes of one pid apart */
  const uint64_t* value; /* one per column of the epoch; less than a thousandth of the node's may stand as 0, but for
                          * rows that ran for the epoch's whole_from_run_ns */
  const char* user;      /* what the node calls uid; "": unknown */
  uint32_t policy;       /* SCHED_*, at the end of the epoch */
  uint32_t real_time_priority; /* 1 to 99; 0: none */
  const char* throttled_cgroup; /* whose CPU limit held the process longest; "": none did, or it is not known */
  uint64_t throttled_periods;
  uint64_t throttled_ns; /* of all CPUs together */
};

/* Kinds of requests to a disk. Whatever else changes it, as a discard, counts as a write. */
enum {
  TELLTALE_REQUEST_READ = 0,
  TELLTALE_REQUEST_WRITE = 1,
  TELLTALE_REQUEST_FLUSH = 2,
  TELLTALE_REQUEST_KINDS = 3
};

/* What the node calls a disk that labels have by number, and how fast it answered (of filters that watch disk_io). */
struct telltale_filter_disk {
  uint32_t struct_size;
  uint32_t sampled;      /* bit k: await_ns[k] is not of all requests of the kind, but of one */
  uint64_t device;       /* as in labels */
  const char* name;      /* "sda1" */
  /* By kind: requests that ended in the epoch, and how long one took on average, from its making to its end. Agents
   * measure that of all disks together, so it is one disk's where samples name no other; else it is of one
   * request that was sampled. 0: none ended, or it is not known. */
  uint64_t requests[TELLTALE_REQUEST_KINDS];
  uint64_t await_ns[TELLTALE_REQUEST_KINDS];
};

enum {
  TELLTALE_EVENT_EXEC = 1,
  TELLTALE_EVENT_EXIT = 2,
  TELLTALE_EVENT_OOM = 3,
  TELLTALE_EVENT_CLOCK_STEP = 4,
  TELLTALE_EVENT_AGENT_START = 5,
  TELLTALE_EVENT_AGENT_STOP = 6
};

struct telltale_filter_event {
  uint32_t struct_size;
  uint32_t type;         /* TELLTALE_EVENT_*, or one that came later */
  uint64_t time_ns;      /* after the epoch's start */
  uint32_t pid;
  uint32_t uid;
  uint32_t exit_code;
  uint32_t exit_signal;
  uint32_t count;        /* equal events in one */
  uint32_t reserved;
  const char* exe;
  const char* comm;
  const char* cgroup;
  const char* user;      /* what the node calls uid; "": unknown */
};

struct telltale_filter_epoch {
  uint32_t struct_size;
  uint32_t kind;         /* TELLTALE_EPOCH_* */
  uint64_t start_ns;     /* since 1970, collector's clock; [start, end) */
  uint64_t end_ns;
  uint64_t watched_ns;   /* of it a sensor counted */
  uint64_t lost_events;  /* by sensor and agent, all reasons */
  uint32_t vital_count;
  const struct telltale_filter_vital* vitals; /* those asked for, ascending by id */

  uint32_t process_columns; /* length of process_column and of each process's value */
  uint32_t process_count;
  const uint32_t* process_column; /* TELLTALE_PROCESS_* */
  const struct telltale_filter_process* processes; /* those with a row; many small ones have none */
  uint32_t event_count;
  uint32_t cpus;         /* online; 0: unknown */
  const struct telltale_filter_event* events; /* ascending by time */
  uint64_t memory_total_bytes; /* 0: unknown, as the three below */
  uint64_t memory_available_bytes;
  uint64_t swap_total_bytes;
  uint64_t swap_free_bytes;
  const uint64_t* other_value; /* one per column: what processes without a row did, all together; NULL: not told */
  uint64_t other_processes;    /* how many they are */
  uint32_t disk_count;
  uint32_t reserved;
  const struct telltale_filter_disk* disks; /* those whose names are known, ascending by device */
  uint64_t whole_from_run_ns; /* rows that ran so long leave out no value; 0: none does so for certain */
};

/* What a filter emits. Times lie within [start of the first epoch shown, end of the current one]; a mark or an anomaly may
 * begin up to seven days before the current one, an anomaly that is known as open at any time, and a point may be of the
 * hour since 1970 that the current one begins in or of the one before, later than the last of its series. A point or an
 * anomaly of a later hour than the current epoch's is not kept, nor are anomalies of a call that fails; the host counts
 * them. `vital` is a vital's name, `sub` a sub-series' or "" for the vital as a whole. */
struct telltale_filter_point {
  uint32_t struct_size;
  uint32_t reserved;
  const char* series;    /* name of the filter's own series, e.g. "expected" */
  const char* vital;
  const char* sub;
  uint64_t time_ns;
  double value;          /* base unit per second */
};

struct telltale_filter_mark {
  uint32_t struct_size;
  uint32_t reserved;
  const char* vital;
  const char* sub;
  uint64_t start_ns;
  uint64_t end_ns;
  const char* text;      /* one line */
};

/* One thing that a sentence says, for programs: a figure and its unit, or a name. */
struct telltale_filter_fact {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;      /* what it is: "waited", "holder" */
  double value;          /* of a figure */
  const char* unit;      /* "s", "bytes", "1/s", "1"; NULL or "": it is no figure */
  const char* text;      /* the name, where it is one: "postgres (pid 812, user pg)" */
};
#define TELLTALE_FILTER_FACTS 16 /* of an anomaly at most: who emits more is stopped */

/* One that was emitted with open = 1 goes on, however long nothing more is said of it, until it is emitted again with the
 * same identity and open = 0: a filter must end whatever it opens. Until then its incident is not resolved, and whom it
 * alerts is not told that it is over. */
struct telltale_filter_anomaly {
  uint32_t struct_size;
  uint32_t open;         /* 1: still going on; emitted again, with the same start_ns, when more is known; 0: over */
  const char* vital;
  const char* sub;
  uint64_t start_ns;     /* (vital, sub, subject, start_ns) identifies the anomaly within node and filter */
  uint64_t end_ns;
  double value;          /* base unit (s, bytes, 1) per second */
  double expected;
  double deviation;      /* what the series usually deviates by */
  double severity;       /* (value - expected) / deviation */
  uint64_t learned_epochs; /* history the judgement rests on */
  const char* text;      /* one sentence */
  const char* subject;   /* what of the node it is about: a process, a program, a site; "" or NULL: the node */
  const char* evidence;  /* figures that speak for it, one line */
  const char* against;   /* what speaks against it, or what it cannot tell apart; one line */
  const char* cause;     /* of a diagnosis: what it says is wrong; NULL: a symptom only */
  const char* next;      /* the command that shows more; NULL: none */
  /* What it is about besides `subject`; findings of one node that share one of them become one incident. */
  const char* cgroup;    /* a cgroup's path; NULL or "": not told, as the two below */
  const char* device;    /* a disk's name */
  const char* site;      /* the place in the code that waits */
  /* What `text` and `evidence` say, for programs. Emitted again without any, it keeps those it has. */
  uint32_t fact_count;
  uint32_t reserved;
  const struct telltale_filter_fact* facts; /* NULL: none */
};

/* Handed to create; lives as long as the instance. The callbacks may be called during epoch() only. */
struct telltale_filter_host {
  uint32_t struct_size;
  uint32_t abi;
  void* context;         /* first argument of the callbacks */
  const char* node;
  void (*point)(void* context, const struct telltale_filter_point* point);
  void (*mark)(void* context, const struct telltale_filter_mark* mark);
  void (*anomaly)(void* context, const struct telltale_filter_anomaly* anomaly);
  /* Shows the sums of one hour of the node's past (kind TELLTALE_EPOCH_WINDOW, subs only) if it is stored, at
   * start_ns, a whole hour since 1970, before the epoch being shown. 0: shown; else there is none, as of the hour
   * that is just over: it is stored some minutes after its end. */
  int (*hour)(void* context, uint64_t start_ns,
              void (*show)(void* argument, const struct telltale_filter_epoch* hour), void* argument);
  const char* machine;   /* "x86_64" as uname says: what system calls' numbers mean; NULL or "": unknown */
  const char* scope;     /* the one cgroup of the node's host that is watched: then processes, vitals and rates are its
                          * own, and cpus and memory the host's; NULL or "": the whole host */
};

/* Named numbers from the operator's configuration: those of `filters.options` that begin with the filter's name, without
 * it, and `learn`, epochs of a node before it should speak. A filter ignores names it does not know. */
struct telltale_filter_option {
  const char* name;
  double value;
};

/* How far an instance is with what it must have seen before it may speak. */
struct telltale_filter_learning {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t learned_epochs;
  uint64_t needed_epochs; /* learned_epochs >= needed_epochs: it may speak */
  const char* unit;      /* of what the two count; the host sets "epochs" */
  /* Programs it says nothing new of on this node, since what it looks for is usual of them: a line each. NULL or "":
   * none. Both strings live until the next call of the instance. */
  const char* muted;
  /* Labels, programs and the like that there was no room for in its tables since the instance was made or loaded, in
   * each epoch those of it: of them it may have said more. 0: none, or it does not count them. */
  uint64_t no_room;
};

struct telltale_filter {
  uint32_t struct_size;
  uint32_t abi;          /* TELLTALE_FILTER_ABI */
  const char* name;      /* 1..64 bytes of [a-z0-9_-] */
  uint32_t version;      /* another version is another filter: its outputs stand beside the older ones */
  uint32_t needs;        /* TELLTALE_NEEDS_* */
  const char* about;     /* one sentence */
  const char* const* vitals; /* names, NULL at the end; NULL: all */

  /* NULL: cannot (the host reports it and leaves the node out). */
  void* (*create)(const struct telltale_filter_host* host, const struct telltale_filter_option* options,
                  uint32_t option_count);
  /* 0: fine; else the host stops the instance and reports the number. */
  int (*epoch)(void* instance, const struct telltale_filter_epoch* epoch);
  void (*destroy)(void* instance);
  /* Writes the state into `bytes` if it fits `capacity`, returns its size in any case (0: nothing to save). Both
   * may be NULL: then after a restart the host shows the epochs of the running hour again, to an instance as new, and
   * what was open counts as open no more. load returns 0 if it understood the bytes; else the instance must be as new. */
  size_t (*save)(void* instance, void* bytes, size_t capacity);
  int (*load)(void* instance, const void* bytes, size_t size);

  /* Fills in `learning`, whose size the host has set. NULL, or a struct that ends before it: not told. */
  void (*learning)(const void* instance, struct telltale_filter_learning* learning);

  /* Epochs of the past it wants to have seen on a node it never saw; the host begins at least a day back. */
  uint32_t history_epochs;
  /* Which of the ten rules of Chopstix 3.2 it applies: its anomalies are diagnoses. 0: none. */
  uint32_t rule;
};

/* What a loadable filter exports. */
#define TELLTALE_FILTER_ENTRY "telltale_filter_entry"
typedef const struct telltale_filter* (*telltale_filter_entry_fn)(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TELLTALE_FILTER_H_ */
