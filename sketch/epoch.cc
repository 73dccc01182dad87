#include "sketch/epoch.h"

#include <algorithm>
#include <iterator>

#include "sketch/time_units.h"

namespace telltale::sketch {

bool AllowedEpochLength(uint32_t seconds) {
  return std::ranges::find(kEpochLengths, seconds) != std::end(kEpochLengths);
}

bool DividesMinute(uint32_t seconds) { return seconds != 0 && 60 % seconds == 0; }

uint64_t IntervalNumber(uint64_t unix_ns, uint32_t length_s) {
  return unix_ns / (length_s * kNsPerS);
}

uint64_t IntervalStart(uint64_t unix_ns, uint32_t length_s) {
  return unix_ns - unix_ns % (length_s * kNsPerS);
}

uint64_t IntervalEnd(uint64_t unix_ns, uint32_t length_s) {
  return IntervalStart(unix_ns, length_s) + length_s * kNsPerS;
}

uint64_t NextCut(uint64_t unix_ns, uint32_t length_s) {
  const uint64_t length = length_s * kNsPerS;
  const uint64_t next = IntervalEnd(unix_ns, length_s);
  return next - unix_ns >= length / 2 ? next : next + length;
}

uint64_t FirstCut(uint64_t start_unix_ns, uint32_t length_s) {
  uint64_t boundary = IntervalEnd(start_unix_ns, length_s);
  if (boundary - start_unix_ns < kNsPerS) boundary += length_s * kNsPerS;
  return std::min(boundary, start_unix_ns + kFirstCutSeconds * kNsPerS);
}

IntervalRange IntervalsTouched(uint64_t start_unix_ns, uint64_t end_unix_ns, uint32_t length_s) {
  const uint64_t first = IntervalNumber(start_unix_ns, length_s);
  if (end_unix_ns <= start_unix_ns) return {first, first};
  return {first, IntervalNumber(end_unix_ns - 1, length_s) + 1};
}

uint64_t Overlap(uint64_t start, uint64_t end, uint64_t other_start, uint64_t other_end) {
  const uint64_t from = std::max(start, other_start), to = std::min(end, other_end);
  return to > from ? to - from : 0;
}

}  // namespace telltale::sketch
