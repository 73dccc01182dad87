/* SPDX-License-Identifier: GPL-2.0
 *
 * Stage 2: keeping an eligible event whole. Pays a token, reserves a record, fills the part that
 * all vitals have in common; the caller adds its label, details and stacks and submits it.
 */
#ifndef TELLTALE_SENSOR_SAMPLE_BPF_H_
#define TELLTALE_SENSOR_SAMPLE_BPF_H_

#include "agent/sensor/bpf/rouse.bpf.h"
#include "agent/sensor/bpf/stack.bpf.h"

/* Adds the tokens of the time that passed. Each epoch begins with a full bucket: every busy cell
 * passes its quantum then, and what came first must not take what a label that gets heavy later
 * needs. A dry spell is over when a quarter is there again. */
static __always_inline void refill(struct telltale_bucket* b, uint64_t now, uint64_t epoch_start,
                                   uint64_t per_s, uint32_t burst) {
  uint64_t passed = now - b->refilled_ns;
  uint64_t more, sum;

  if (b->refilled_ns < epoch_start) {
    b->tokens = burst;
    b->refilled_ns = now;
    b->dry = 0;
    return;
  }
  if (passed > 3600000000000ULL) passed = 3600000000000ULL;
  more = passed * per_s / 1000000000ULL;
  if (!more) return;
  sum = b->tokens + more;
  b->tokens = sum < burst ? sum : burst;
  b->refilled_ns = now;
  if (b->tokens >= burst / 4) b->dry = 0;
}

/* One token a sample. Says in *runs_dry when a bucket has none for the first time. */
static __always_inline bool take_token(struct telltale_bucket* b, bool* runs_dry) {
  if (!b->tokens) {
    if (!b->dry) {
      b->dry = 1;
      *runs_dry = true;
    }
    return false;
  }
  b->tokens--;
  return true;
}

/* Waits by choice (poll, timer) may not use up what a real wait needs: see too_light. */
static __always_inline bool by_choice(uint32_t vital, uint32_t sub) {
  return vital == TELLTALE_BLOCKING && (sub == TELLTALE_BLOCK_POLL || sub == TELLTALE_BLOCK_TIMER);
}

/* A due event is not kept: counted, and its label is due again. */
static __always_inline void refuse(struct telltale_half* h, uint32_t vital, uint32_t why,
                                   uint64_t hash, uint64_t weight) {
  uint32_t v = vital - 1;

  opaque(v);
  if (v < TELLTALE_VITALS) telltale_refused(&h->sketch[v].slot[hash >> TELLTALE_CELL_SHIFT], hash);
  lose(h, vital, why, weight);
}

/* A quarter of a full burst is for the heavy, also where the governor leaves fewer in all. To a
 * wait by choice the bucket looks a quarter emptier: of what is left then only heavy ones take,
 * too. */
static __always_inline bool too_light(struct telltale_half* h, uint32_t what, uint64_t hash,
                                      uint32_t tokens) {
  uint32_t vital = what & 0xff, v = vital - 1, burst = control.full_token_burst, kept_back;
  struct telltale_knobs* k;
  uint64_t stake;

  opaque(v);
  if (v >= TELLTALE_VITALS) return true;
  k = &control.knobs[v];
  stake = telltale_stake(&h->sketch[v].slot[hash >> TELLTALE_CELL_SHIFT], hash);
  kept_back = by_choice(vital, what >> 8 & 0xff) ? burst / 4 : 0;
  tokens = tokens > kept_back ? tokens - kept_back : 0;
  return telltale_too_light(stake >> k->quantum_log2, k->heavy_log2, tokens, burst);
}

#define SAMPLE_WHAT(vital, sub, half, flags) ((vital) | (sub) << 8 | (half) << 16 | (flags) << 24)

/* Whether the event may be kept: its vital, and for events of the agent itself the agent, must have
 * a token left. Returns the time, or 0: refused, and counted. */
static __noinline uint64_t sample_paid(struct telltale_cpu* c, int32_t tgid, uint32_t what,
                                       uint64_t hash, uint64_t weight) {
  uint32_t vital = what & 0xff, half = (what >> 16) & 1, flags = what >> 24;
  struct telltale_half* h = &c->half[half];
  uint64_t now = bpf_ktime_get_ns();
  uint32_t v = vital - 1;
  bool own = tgid == control.own_tgid && !(flags & TELLTALE_SAMPLE_IRQ);
  struct telltale_bucket* b;
  struct telltale_knobs* k;
  bool runs_dry = false, own_runs_dry = false;
  uint32_t burst;

  if (v >= TELLTALE_VITALS) return 0;
  k = &control.knobs[v];
  b = &c->bucket[v];
  burst = token_burst(c, k);
  refill(b, now, control.epoch_start_ns[half],
         c->of_passes ? control.pass_tokens_per_s : k->tokens_per_s, burst);
  /* The agent watches itself too, but with at most 1 % of the samples. */
  if (own) refill(&c->own, now, 0, 1, 4);
  if ((own && !take_token(&c->own, &own_runs_dry)) || too_light(h, what, hash, b->tokens) ||
      !take_token(b, &runs_dry)) {
    /* They raise t, which is of all CPUs' events. */
    if (runs_dry && !c->of_passes) h->dry_spells[v]++;
    refuse(h, vital, TELLTALE_LOST_TOKENS, hash, weight);
    return 0;
  }
  return now;
}

/* The part of a record that all vitals have in common. */
static __noinline int sample_fill(struct telltale_sample* s, struct task_struct* task,
                                  uint32_t what, uint64_t hash, uint64_t time_ns) {
  uint32_t flags = what >> 24, v = (what & 0xff) - 1;

  __builtin_memset(s, 0, __builtin_offsetof(struct telltale_sample, kernel));
  s->kind = TELLTALE_RECORD_SAMPLE;
  s->vital = what;
  s->sub = what >> 8;
  s->half = what >> 16 & 1;
  s->flags = flags;
  s->time_ns = time_ns;
  s->hash = hash;
  s->cpu = bpf_get_smp_processor_id();
  if (v < TELLTALE_VITALS) s->t_log2 = control.knobs[v].t_log2;
  if (!(flags & TELLTALE_SAMPLE_IRQ))
    fill_who(&s->who, task, bpf_task_storage_get(&tasks, task, 0, 0));
  return 0;
}

/* A reserved record with the common part filled in, or null (counted). `sub` counts within the
 * vital. `task` is whom the event belongs to unless flags say [irq]. Inline, because verifiers
 * before 6.2 forget that a record which a function returns was found not to be null. */
static __always_inline struct telltale_sample* sample_begin(struct telltale_cpu* c,
                                                            struct task_struct* task, uint32_t what,
                                                            uint64_t hash, uint64_t weight) {
  uint64_t now = sample_paid(c, task->tgid, what, hash, weight);
  struct telltale_sample* s;

  if (!now) return 0;
  s = bpf_ringbuf_reserve(&ring, sizeof(*s), 0);
  if (!s) {
    refuse(&c->half[what >> 16 & 1], what & 0xff, TELLTALE_LOST_RING, hash, weight);
    return 0;
  }
  sample_fill(s, task, what, hash, now);
  s->weight = weight;
  return s;
}

/* A stack that cannot be read says so in its length; the agent counts it. */
static __always_inline void take_stacks(void* ctx, struct telltale_sample* s, bool kernel,
                                        bool user) {
  if (kernel) {
    s->flags |= TELLTALE_SAMPLE_KSTACK;
    s->kernel_bytes = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
  }
  /* A task that is ending has given its memory back and has no user stack any more. */
  if (user && !control.no_user_stacks && bpf_get_current_task_btf()->mm) {
    s->flags |= TELLTALE_SAMPLE_USTACK;
    if (!copy_user_stack(s))
      s->user_bytes = bpf_get_stack(ctx, s->user, sizeof(s->user), BPF_F_USER_STACK);
  }
}

/* Of the running task. */
static __always_inline bool has_user_side(void) {
  return !(bpf_get_current_task_btf()->flags & PF_KTHREAD);
}

static __always_inline void sample_end(struct telltale_sample* s) {
  bpf_ringbuf_submit(s, rouse(false));
}

/* For an event of the running task (or [irq]): the record's beginning, with the cell's old value.
 */
static __always_inline struct telltale_sample* sample_current(struct telltale_cpu* c, uint32_t half,
                                                              uint32_t vital, uint32_t sub,
                                                              uint64_t hash, uint64_t before,
                                                              uint64_t weight) {
  uint32_t flags = c->irq_depth ? TELLTALE_SAMPLE_IRQ : 0;
  struct telltale_sample* s =
      sample_begin(c, bpf_get_current_task_btf(), SAMPLE_WHAT(vital, sub, half & 1, flags), hash,
                   stands_for(vital, weight));

  if (!s) return 0;
  s->before = before;
  s->duty_log2 = control.knobs[vital - 1].duty_log2;
  return s;
}

#endif /* TELLTALE_SENSOR_SAMPLE_BPF_H_ */
