/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
 *
 * What an event does to its cell: one function for the kernel programs (C) and for those who repeat
 * or check them (C++).
 *
 * A cell keeps, besides its total, the label that leads a weighted majority vote (Boyer, Moore,
 * "MJRTY", 1991): an event of the leading label adds its weight to the margin, one of another label
 * takes its weight off, and who takes off more than is there leads with the difference. Each unit
 * taken off cancels one unit of the leader with one of another label, so
 *   total = margin + 2 contested,
 * the leader weighs at least margin and at most margin + contested, and every other label at most
 * contested (sketch/votes.h).
 *
 * Who is kept whole: the event with which the total passes a power of t (Chopstix, 4.1.3). A label
 * that fills its cell passes nearly all of them, and what shares the cell would hardly ever be
 * kept. So an event of another label is also kept when the contested part passes a power, as if
 * those who do not lead had a cell of their own; and when it weighs a cell's load alone, say a wait
 * of the whole epoch: no later one may come, the third of three alike can pass no power, and an
 * epoch has hardly more of them than cells. A leader that had its sample is kept again only while
 * tokens are plenty; the last ones are for who weighs much (telltale_too_light). A heavy leader
 * that was not kept yet also tries at each power of the most that it may weigh, margin + contested,
 * which grows by its own events alone: it may have found no token, and of two labels that take
 * turns with equal weights, as code does that runs in one order each time, all powers of the total
 * fall to the same one.
 */
#ifndef TELLTALE_SKETCH_SLOT_H_
#define TELLTALE_SKETCH_SLOT_H_

#ifndef __bpf__
#include <stdint.h>
#endif

struct telltale_slot {
  uint64_t total;
  uint64_t lead; /* margin << 17 | seen << 16 | mark of the leading label */
};

/* The mark is the hash's lowest bits, the cell its highest (layout.h): two labels of one cell are
 * taken for each other in one of 65,536 cases. */
#define TELLTALE_MARK_MASK 0xffffULL
#define TELLTALE_LEAD_SEEN (1ULL << 16) /* the leader was kept since it leads */
#define TELLTALE_MARGIN_SHIFT 17
/* 39 h in ns. A heavier event votes with this; a margin stays at the most that it can hold. */
#define TELLTALE_VOTE_MAX ((1ULL << 47) - 1)

enum telltale_due {
  TELLTALE_NOT_DUE = 0,
  TELLTALE_DUE = 1,
  TELLTALE_DUE_AGAIN = 2, /* its label leads and was kept: only while tokens are plenty */
};

/* A label is heavy from a quarter of a cell's load on (control_words.cc). */
#define TELLTALE_LOAD_LOG2 2

#define TELLTALE_RARE(x) __builtin_expect(!!(x), 0)
#define TELLTALE_INLINE static inline __attribute__((always_inline))

TELLTALE_INLINE uint64_t telltale_smear(uint64_t x) {
  x |= x >> 1;
  x |= x >> 2;
  x |= x >> 4;
  x |= x >> 8;
  x |= x >> 16;
  return x | x >> 32;
}

/* 1 iff a power of t lies in (a, b], both in quanta. `powers` has a bit for each power of t; a
 * number's smear keeps those not above it. The first test settles nearly all events: no power of
 * two at all was passed. */
TELLTALE_INLINE int telltale_passed(uint64_t a, uint64_t b, uint64_t powers) {
  if (!TELLTALE_RARE((a ^ b) > a)) return 0;
  return (telltale_smear(b) & powers) > (telltale_smear(a) & powers);
}

TELLTALE_INLINE uint64_t telltale_margin(uint64_t lead) { return lead >> TELLTALE_MARGIN_SHIFT; }

/* Adds an event. `powers` as above, of quanta of 2^quantum_log2; a label is heavy from
 * 2^heavy_log2 quanta on. A leader that is due counts as seen; who then refuses it (no token, no
 * room) says so by telltale_refused. */
TELLTALE_INLINE enum telltale_due telltale_add(struct telltale_slot* slot, uint64_t hash,
                                               uint64_t weight, uint32_t quantum_log2,
                                               uint64_t powers, uint32_t heavy_log2) {
  uint64_t before = slot->total, after = before + weight, lead = slot->lead, next, margin;
  int passed = telltale_passed(before >> quantum_log2, after >> quantum_log2, powers);
  enum telltale_due due = TELLTALE_NOT_DUE;

  slot->total = after;
  if (TELLTALE_RARE(weight > TELLTALE_VOTE_MAX)) weight = TELLTALE_VOTE_MAX;
  if (((lead ^ hash) & TELLTALE_MARK_MASK) == 0) {
    next = lead + (weight << TELLTALE_MARGIN_SHIFT);
    if (TELLTALE_RARE(next < lead)) next = lead | TELLTALE_VOTE_MAX << TELLTALE_MARGIN_SHIFT;
    margin = telltale_margin(lead);
    if (!(lead & TELLTALE_LEAD_SEEN) &&
        (after + margin + weight) >> (quantum_log2 + 1) >> heavy_log2)
      passed |= telltale_passed((before + margin) >> (quantum_log2 + 1),
                                (after + margin + weight) >> (quantum_log2 + 1), powers);
    if (TELLTALE_RARE(passed)) {
      due = lead & TELLTALE_LEAD_SEEN ? TELLTALE_DUE_AGAIN : TELLTALE_DUE;
      next |= TELLTALE_LEAD_SEEN;
    }
    slot->lead = next;
    return due;
  }
  margin = telltale_margin(lead);
  if (margin >= weight)
    next = lead - (weight << TELLTALE_MARGIN_SHIFT);
  else
    next = (weight - margin) << TELLTALE_MARGIN_SHIFT | (hash & TELLTALE_MARK_MASK);
  passed |= telltale_passed((before - margin) >> (quantum_log2 + 1),
                            (after - telltale_margin(next)) >> (quantum_log2 + 1), powers);
  passed |= weight >> quantum_log2 >> heavy_log2 >> TELLTALE_LOAD_LOG2 != 0;
  if (TELLTALE_RARE(passed)) {
    due = TELLTALE_DUE;
    if (margin < weight) next |= TELLTALE_LEAD_SEEN;
  }
  slot->lead = next;
  return due;
}

/* The most a label may weigh by what its cell knows now: what is contested, and if it leads its
 * margin besides. Two labels that weigh alike lead by little in turn. Without a branch, of which
 * the verifier takes few more: (total + margin) / 2, or (total - margin) / 2. */
TELLTALE_INLINE uint64_t telltale_stake(const struct telltale_slot* slot, uint64_t hash) {
  uint64_t margin = telltale_margin(slot->lead);
  uint64_t other = (((slot->lead ^ hash) & TELLTALE_MARK_MASK) + TELLTALE_MARK_MASK) >> 16;
  return (slot->total + ((margin ^ -other) + other)) / 2;
}

/* Whether an event with that stake, in quanta, must leave the tokens that are left (of a full
 * bucket of `burst`) to others. The many that weigh little may not use up what one that gets heavy
 * needs: the last quarter of the tokens stays for the heavy, the half of it for twice, the half of
 * that for four times as heavy, and so on: the last sixteenth part of it for sixteen times. */
TELLTALE_INLINE int telltale_too_light(uint64_t stake, uint32_t heavy_log2, uint32_t tokens,
                                       uint32_t burst) {
  uint32_t quarter = burst / 4;

  if (tokens > quarter) return 0;
  return stake >> heavy_log2 < (tokens > quarter / 2    ? 1u
                                : tokens > quarter / 4  ? 2u
                                : tokens > quarter / 8  ? 4u
                                : tokens > quarter / 16 ? 8u
                                                        : 16u);
}

/* The event of this label that was due could not be kept: if it leads, it is due again. */
TELLTALE_INLINE void telltale_refused(struct telltale_slot* slot, uint64_t hash) {
  if (((slot->lead ^ hash) & TELLTALE_MARK_MASK) == 0) slot->lead &= ~TELLTALE_LEAD_SEEN;
}

#endif /* TELLTALE_SKETCH_SLOT_H_ */
