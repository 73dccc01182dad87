/* SPDX-License-Identifier: GPL-2.0
 *
 * What every event does (stage 1): hash its label, add its weight to one cell and one total, vote
 * for its label there, and ask whether the cell passed a power of t. Everything rarer is out of
 * line (sample.bpf.h).
 */
#ifndef TELLTALE_SENSOR_HOT_BPF_H_
#define TELLTALE_SENSOR_HOT_BPF_H_

#include "agent/sensor/bpf/group.bpf.h"
#include "agent/sensor/bpf/truth.bpf.h"

#define TELLTALE_IRQ_IDENT 0x1f83d9abfb41bd6bULL
static __always_inline struct telltale_cpu* cpu_block(uint32_t index) {
  return bpf_map_lookup_elem(&cpus, &index);
}
static __always_inline struct telltale_cpu* this_cpu(void) {
  return cpu_block(bpf_get_smp_processor_id());
}

/* Where switches are only counted, most of those who run meet no event that asks who they are: the
 * first that does finds it out (task.bpf.h). */
__noinline int find_out_who_runs(struct telltale_cpu* c);

static __always_inline void know_who_runs(struct telltale_cpu* c) {
  if (unlikely(!c->ident)) find_out_who_runs(c);
}

/* For an event of the running task: its CPU's block, with ident, bases and regs of that task. */
static __always_inline struct telltale_cpu* running_cpu(void) {
  struct telltale_cpu* c = this_cpu();

  if (c) know_who_runs(c);
  return c;
}

/* One round of multiply and fold; the cell is picked by the top bits, which a multiply mixes best.
 */
static __always_inline uint64_t mix(uint64_t hash, uint64_t field) {
  hash = (hash ^ field) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}
static __always_inline uint64_t label_begin(struct telltale_cpu* c, uint32_t half) {
  return mix(control.seed[half & 1], c->irq_depth ? TELLTALE_IRQ_IDENT : c->ident);
}

/* A new second began: what the totals grew by belongs to the old one. Once a second and CPU. An
 * interrupt in the middle finds `second` already new and adds to the old second at worst. Not
 * static: so the verifier follows its loop once, and not once for each path that leads to it. */
__noinline int roll_second(struct telltale_half* h, uint32_t now) {
  uint32_t old;

  if (!h) return 0;
  old = h->second & (TELLTALE_SECONDS - 1);
  h->second = now & (TELLTALE_SECONDS - 1);
  for (int i = 0; i < TELLTALE_SUBS; i++) {
    uint64_t weight = h->total[i].weight, base = h->second_base[i];
    h->second_base[i] = weight;
    if (weight != base) h->second_weight[i][old] += weight - base;
  }
  return 0;
}

/* What a vital's full bucket holds. The task iterator has its own, which the governor lets be: its
 * samples have no user stack and are few. */
static __always_inline uint32_t token_burst(const struct telltale_cpu* c,
                                            const struct telltale_knobs* k) {
  return c->of_passes ? control.pass_token_burst : k->token_burst;
}

/* Adds to a cell. True: the event is due to be kept whole (sketch/slot.h). */
static __always_inline bool add(struct telltale_cpu* c, uint32_t v, struct telltale_slot* slot,
                                uint64_t hash, uint64_t weight) {
  struct telltale_knobs* k = &control.knobs[v];
  enum telltale_due due =
      telltale_add(slot, hash, weight, k->quantum_log2, k->powers, k->heavy_log2);
  uint32_t burst;

  if (likely(due == TELLTALE_NOT_DUE)) return false;
  /* Plenty: the last quarter of the burst is for leaders too, the rest for who was not seen. */
  if (due == TELLTALE_DUE) return true;
  burst = token_burst(c, k);
  return c->bucket[v].tokens > burst - burst / 4;
}

/* Adds to the vital's cell and totals. Each total has one program that adds to it, and the kernel
 * runs no program inside itself (what it refuses it counts), so totals are exact. A cell is shared
 * by the programs of its vital: an interrupt's add between another's read and write is overwritten,
 * and the sum of the cells then falls short of that of the totals by just that much. True: the
 * event is due to be kept whole, and *before is the cell's value before it. `sub` is dense. */
static __always_inline bool weigh(struct telltale_cpu* c, uint32_t half, uint32_t vital,
                                  uint32_t sub, uint64_t hash, uint64_t events, uint64_t weight,
                                  uint64_t* before) {
  uint32_t v = vital - 1;
  struct telltale_half* h = &c->half[half & 1];
  struct telltale_slot* slot = &h->sketch[v].slot[hash >> TELLTALE_CELL_SHIFT];
  uint32_t place = (hash >> TELLTALE_BITMAP_SHIFT) & (TELLTALE_BITMAP_BITS - 1);
  uint64_t* word = &bitmaps.word[half & 1][v][place >> 6];
  uint64_t bit = 1ULL << (place & 63);

  if (unlikely(h->second != control.second[half & 1])) roll_second(h, control.second[half & 1]);
  if (unlikely(!(*word & bit))) __sync_fetch_and_or(word, bit);
  h->total[sub].events += events;
  h->total[sub].weight += weight;
  *before = slot->total;
  return add(c, v, slot, hash, weight);
}

/* What one event stands for that is counted part of the time, at random (inverse probability:
 * agent/sensor/duty_cycler.h). */
static __always_inline uint64_t stands_for(uint32_t vital, uint64_t number) {
  return number << (control.knobs[vital - 1].duty_log2 & 15);
}

/* A wait for a lock in the backlog: as much at its end as at its begin, whatever happened to the
 * duty in between. */
static __always_inline uint64_t lock_stands_for(const struct telltale_task* st, uint32_t slot) {
  return 1ULL << (st->lock_duty_log2[slot & 1] & 15);
}
static __always_inline uint64_t cpu_lock_stands_for(const struct telltale_cpu* c) {
  return 1ULL << (c->irq_lock_duty_log2 & 15);
}

/* Outside of the windows in which such programs count. They may still be, or already be, there, and
 * then cost more than half as much. */
static __always_inline bool closed(struct telltale_cpu* c, uint32_t vital) {
  if (likely(!control.knobs[vital - 1].closed)) return false;
  c->unseen[vital - 1]++;
  return true;
}

/* As weigh, for the running task or, in an interrupt, for [irq]. */
static __always_inline bool count(struct telltale_cpu* c, uint32_t half, uint32_t vital,
                                  uint32_t sub, uint64_t hash, uint64_t weight, uint64_t* before) {
  struct telltale_half* h = &c->half[half & 1];
  uint64_t events = stands_for(vital, 1);

  weight = stands_for(vital, weight);
  if (unlikely(c->irq_depth)) {
    h->irq[sub].events += events;
    h->irq[sub].weight += weight;
    h->given[sub].events += events;
    h->given[sub].weight += weight;
  } else {
    c->touched[half & 1] |= 1ULL << sub;
  }
  if (unlikely(in_group(half, vital, hash)))
    count_exactly(half, vital, hash, weight, group_tgid(c));
  tell_truth(half & 1, vital, hash, weight, running_tgid(c));
  return weigh(c, half, vital, sub, hash, events, weight, before);
}

static __always_inline void backlog_begin(struct telltale_half* h, uint32_t half, uint32_t which,
                                          uint64_t number) {
  h->begun[which][control.second[half & 1] & (TELLTALE_SECONDS - 1)] += number;
}
static __always_inline void backlog_end(struct telltale_half* h, uint32_t half, uint32_t which,
                                        uint64_t number) {
  h->ended[which][control.second[half & 1] & (TELLTALE_SECONDS - 1)] += number;
}

/* Bucket 1 + floor(4 log2(ns / 256)); 0 for less. Loop-free log2, then the mantissa in 16 bits is
 * compared with 2^(1/4), 2^(2/4), 2^(3/4). */
static __always_inline uint32_t hist_bucket(uint64_t ns) {
  uint64_t x = ns >> TELLTALE_HIST_MIN_LOG2, mantissa;
  uint32_t log2 = 0, index;

  if (!x) return 0;
  if (x >> 29) return TELLTALE_HIST_BUCKETS - 1;
  if (x >> 16) log2 += 16, x >>= 16;
  if (x >> 8) log2 += 8, x >>= 8;
  if (x >> 4) log2 += 4, x >>= 4;
  if (x >> 2) log2 += 2, x >>= 2;
  log2 += x >> 1;
  mantissa = ns << 16 >> (TELLTALE_HIST_MIN_LOG2 + log2);
  index =
      1 + log2 * TELLTALE_HIST_R + (mantissa >= 77936) + (mantissa >= 92682) + (mantissa >= 110218);
  return index < TELLTALE_HIST_BUCKETS ? index : TELLTALE_HIST_BUCKETS - 1;
}
static __always_inline void hist_add(struct telltale_half* h, uint32_t which, uint64_t ns) {
  struct telltale_histogram* g;

  if (which >= TELLTALE_HISTS) return;
  g = &h->hist[which];
  g->entries++;
  g->sum += ns;
  g->bucket[hist_bucket(ns)]++;
}

#endif /* TELLTALE_SENSOR_HOT_BPF_H_ */
