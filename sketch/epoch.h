// Epochs and windows: which stretches of wall-clock time they are. Epochs of one length tile time
// from 1970 on, and since every allowed length divides a minute, epochs nest in windows and windows
// in larger ones.
//
// Times are unsigned ns since 1970. Cuts are aligned to the collector's time (a node passes its own
// clock plus its offset). Free functions: any thread.

#ifndef TELLTALE_SKETCH_EPOCH_H_
#define TELLTALE_SKETCH_EPOCH_H_

#include <cstdint>

#include "sketch/time_units.h"

namespace telltale::sketch {

// Lengths an agent may be configured to.
inline constexpr uint32_t kEpochLengths[] = {5, 10, 15, 20, 30, 60};
inline constexpr uint32_t kDefaultEpochSeconds = 60;
// The first epoch after a start is cut this early, so that there is a first answer soon.
inline constexpr uint32_t kFirstCutSeconds = 10;

// The windows of the rollup tiers.
inline constexpr uint32_t kWindowSeconds[] = {300, 3'600, 86'400};

// Whether `seconds` is one of kEpochLengths.
bool AllowedEpochLength(uint32_t seconds);
// Whether epochs of this length tile a minute; wider than what may be configured, which tests and
// later agents use.
bool DividesMinute(uint32_t seconds);

// Number of the interval of `length_s` seconds that holds `unix_ns`; interval n is [n * length, (n
// + 1) * length). length_s must not be 0.
uint64_t IntervalNumber(uint64_t unix_ns, uint32_t length_s);
uint64_t IntervalStart(uint64_t unix_ns, uint32_t length_s);  // of the interval that holds it
uint64_t IntervalEnd(uint64_t unix_ns, uint32_t length_s);    // exclusive

// When to cut next: the first boundary after `unix_ns` that leaves the epoch at least half its
// length. So a clock that was stepped back a little does not make an epoch of a few milliseconds.
uint64_t NextCut(uint64_t unix_ns, uint32_t length_s);
// When to cut the epoch that begins at `start_unix_ns`, the agent's start: kFirstCutSeconds later
// or at the first boundary, whichever is sooner, but not within a second.
uint64_t FirstCut(uint64_t start_unix_ns, uint32_t length_s);

// Intervals of `length_s` that [start, end) touches, as first and one past the last; equal if end
// <= start.
struct IntervalRange {
  uint64_t first = 0, end = 0;
};
IntervalRange IntervalsTouched(uint64_t start_unix_ns, uint64_t end_unix_ns, uint32_t length_s);

// ns that [start, end) and [other_start, other_end) have in common.
uint64_t Overlap(uint64_t start, uint64_t end, uint64_t other_start, uint64_t other_end);

}  // namespace telltale::sketch

#endif  // TELLTALE_SKETCH_EPOCH_H_
