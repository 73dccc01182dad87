// SPDX-License-Identifier: GPL-2.0
//
// Vital disk_io: bytes asked of block devices (at issue, by who issues) and moved by them (at
// completion, which runs in an interrupt and so belongs to [irq]).

#include "agent/sensor/bpf/sample.bpf.h"

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQUEUED_REQUESTS 4096

/* Index of the operation in the field `op` of the vital table. */
enum { OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3, OP_OTHER = 4 };

/* Requests taken back after they were issued, by address: start_time_ns tells a request from a
 * later one at the same address. Requests live in fixed pools, so no more addresses come than the
 * disks' queues are long. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, REQUEUED_REQUESTS);
  __type(key, uint64_t);
  __type(value, uint64_t);
} requeued SEC(".maps");

static __always_inline uint32_t op_of(uint32_t cmd) {
  cmd &= REQ_OP_MASK;
  return cmd <= REQ_OP_DISCARD ? cmd : OP_OTHER;
}
/* Sub-series of issuing: read, write or flush; whatever else changes the device counts as write. */
static __always_inline uint32_t sub_of(uint32_t op) {
  return op == OP_READ    ? TELLTALE_DISK_READ_ISSUED
         : op == OP_FLUSH ? TELLTALE_DISK_FLUSH_ISSUED
                          : TELLTALE_DISK_WRITE_ISSUED;
}
static __always_inline uint64_t device_of(struct request* rq) {
  struct gendisk* disk = rq->q->disk;
  if (!disk) return 0;
  return (uint64_t)disk->major << 20 | (uint32_t)disk->first_minor;
}
static __always_inline uint64_t callback_of(struct request* rq) {
  struct bio* bio = rq->bio;
  return bio ? (uint64_t)BPF_CORE_READ(bio, bi_end_io) : (uint64_t)rq->end_io;
}

/* What a request ended with, as programs are told it. Kernels before 5.16 hand an error number,
 * negative; later ones a status of the block layer (include/linux/blk_types.h), whose first
 * fourteen never changed. */
static __always_inline uint64_t errno_of(int32_t status) {
  if (status <= 0) return -status;
  switch (status) {
    case 1:
      return 95; /* EOPNOTSUPP */
    case 2:
      return 110; /* ETIMEDOUT */
    case 3:
      return 28; /* ENOSPC */
    case 4:
      return 67; /* ENOLINK */
    case 5:
      return 121; /* EREMOTEIO */
    case 6:
      return 52; /* EBADE */
    case 7:
      return 61; /* ENODATA: the medium */
    case 8:
      return 84; /* EILSEQ: protection */
    case 9:
      return 12; /* ENOMEM */
    case 12:
    case 13:
      return 11; /* EAGAIN, and EBUSY of a device */
    default:
      return 5; /* EIO */
  }
}

/* How many those are: mostly none, and then none need be looked up. */
static uint64_t in_requeued;

/* False: there is no room. */
static __always_inline bool note_requeued(struct request* rq) {
  uint64_t address = (uint64_t)rq, start = rq->start_time_ns;

  if (!bpf_map_update_elem(&requeued, &address, &start, BPF_NOEXIST)) {
    __sync_fetch_and_add(&in_requeued, 1);
    return true;
  }
  return !bpf_map_update_elem(&requeued, &address, &start, BPF_EXIST);
}

/* True: this request was issued before and taken back. */
static __always_inline bool issued_again(struct request* rq) {
  uint64_t address = (uint64_t)rq, *start;
  bool again;

  if (likely(!in_requeued)) return false;
  start = bpf_map_lookup_elem(&requeued, &address);
  again = start && *start == rq->start_time_ns;
  if (start && !bpf_map_delete_elem(&requeued, &address)) __sync_fetch_and_sub(&in_requeued, 1);
  return again;
}

#if SCOPED
#define OPEN_REQUESTS 4096

/* Requests that tasks of the cgroup issued, until they are over: whoever completes them, or issues
 * them again, they are the cgroup's. By address and start time, as above. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, OPEN_REQUESTS);
  __type(key, uint64_t);
  __type(value, uint64_t);
} open_requests SEC(".maps");

static __always_inline bool is_ours(struct request* rq) {
  uint64_t address = (uint64_t)rq, *start = bpf_map_lookup_elem(&open_requests, &address);
  return start && *start == rq->start_time_ns;
}
static __noinline int forget(struct request* rq) {
  uint64_t address = (uint64_t)rq;
  return bpf_map_delete_elem(&open_requests, &address);
}
/* Whether the request being issued is one of the cgroup's; it is from now on. */
static __always_inline bool take_on(struct telltale_cpu* c, struct request* rq) {
  uint64_t address = (uint64_t)rq, start = rq->start_time_ns;

  if (is_ours(rq)) return true;
  if (!c->in_scope || c->irq_depth) {
    forget(rq); /* an earlier one at this address, whose end was not seen */
    return false;
  }
  if (!bpf_map_update_elem(&open_requests, &address, &start, BPF_ANY)) return true;
  lose(&c->half[control.half & 1], TELLTALE_DISK_IO, TELLTALE_LOST_MAP, 0);
  return false;
}
#else
static __always_inline bool is_ours(struct request* rq) { return true; }
static __always_inline bool take_on(struct telltale_cpu* c, struct request* rq) { return true; }
static __always_inline int forget(struct request* rq) { return 0; }
#endif

SEC("tp_btf/block_rq_issue")
int on_issue(uint64_t* ctx) {
  struct request* rq = (struct request*)ctx[0];
  struct telltale_cpu* c = this_cpu();
  uint32_t half = control.half & 1, op = op_of(rq->cmd_flags), sub = sub_of(op);
  uint64_t bytes = rq->__data_len, device, hash, before;
  struct telltale_sample* s;
  struct user_regs u;

  if (!c || !take_on(c, rq)) return 0;
  backlog_begin(&c->half[half], half, TELLTALE_BACKLOG_DISK, 1);
  if (issued_again(rq) || unlikely(closed(c, TELLTALE_DISK_IO))) return 0;
  know_who_runs(c);
  device = device_of(rq);
  no_regs(&u);
  if (!c->irq_depth) running_regs(c, &u);
  hash = mix(mix(mix(label_begin(c, half), u.syscall), u.place), device << 8 | op);
  if (sub >= TELLTALE_DISK_SUBS) return 0;
  if (likely(!count(c, half, TELLTALE_DISK_IO, TELLTALE_SUBS_DISK_IO + sub, hash, bytes, &before)))
    return 0;
  s = sample_current(c, half, TELLTALE_DISK_IO, sub, hash, before, bytes);
  if (!s) return 0;
  s->label[0] = u.syscall;
  s->label[1] = u.ip;
  s->label[2] = device;
  s->label[3] = op;
  s->detail[0] = c->irq_depth ? 0 : bpf_get_current_pid_tgid() >> 32;
  s->detail[1] = rq->__sector;
  s->detail[2] = bytes;
  s->detail[6] = callback_of(rq);
  take_stacks(ctx, s, true, !c->irq_depth && has_user_side());
  sample_end(s);
  return 0;
}

/* Taken back to be issued again (the device's queue was full): it waits no longer at the device,
 * but its bytes are counted already. */
SEC("tp_btf/block_rq_requeue")
int on_requeue(uint64_t* ctx) {
  struct request* rq = (struct request*)ctx[0];
  struct telltale_cpu* c = this_cpu();

  if (!c || !is_ours(rq)) return 0;
  backlog_end(&c->half[control.half & 1], control.half, TELLTALE_BACKLOG_DISK, 1);
  if (!note_requeued(rq)) lose(&c->half[control.half & 1], TELLTALE_DISK_IO, TELLTALE_LOST_MAP, 0);
  return 0;
}

SEC("tp_btf/block_rq_complete")
int on_complete(uint64_t* ctx) {
  struct request* rq = (struct request*)ctx[0];
  int32_t status = ctx[1];
  uint64_t bytes = (uint32_t)ctx[2], device, now = bpf_ktime_get_ns();
  uint32_t half = control.half & 1, op = op_of(rq->cmd_flags), sub = sub_of(op) + 1, kind;
  uint64_t begun = rq->start_time_ns, latency = begun && begun < now ? now - begun : 0;
  struct telltale_cpu* c = this_cpu();
  uint64_t hash, before;
  struct telltale_half* h;
  struct telltale_sample* s;

  if (!c || !is_ours(rq)) return 0;
  /* The request that asked for a flush ends once more when the flush, a request of its own, has. */
  if (!bytes && op <= OP_WRITE) return 0;
  h = &c->half[half];
  if (bytes >= rq->__data_len) {
    forget(rq);
    backlog_end(h, half, TELLTALE_BACKLOG_DISK, 1);
    kind = op == OP_READ    ? TELLTALE_HIST_DISK_READ
           : op == OP_FLUSH ? TELLTALE_HIST_DISK_FLUSH
                            : TELLTALE_HIST_DISK_WRITE;
    if (latency) hist_add(h, kind, latency);
  }
  if (unlikely(closed(c, TELLTALE_DISK_IO))) return 0;
  device = device_of(rq);
  /* The interrupted task has nothing to do with it, even where no interrupt hook is attached. */
  hash = mix(mix(mix(mix(control.seed[half], TELLTALE_IRQ_IDENT), TELLTALE_NO_SYSCALL), 0),
             device << 8 | op);
  if (sub >= TELLTALE_DISK_SUBS) return 0;
  c->irq_depth++;
  if (unlikely(
          count(c, half, TELLTALE_DISK_IO, TELLTALE_SUBS_DISK_IO + sub, hash, bytes, &before)) &&
      (s = sample_current(c, half, TELLTALE_DISK_IO, sub, hash, before, bytes))) {
    s->label[0] = TELLTALE_NO_SYSCALL;
    s->label[2] = device;
    s->label[3] = op;
    s->detail[1] = rq->__sector;
    s->detail[2] = rq->__data_len;
    s->detail[3] = bytes;
    s->detail[4] = latency;
    s->detail[5] = errno_of(status);
    s->detail[6] = callback_of(rq);
    sample_end(s);
  }
  c->irq_depth--;
  return 0;
}
