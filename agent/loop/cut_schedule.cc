#include "agent/loop/cut_schedule.h"

#include <algorithm>

#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kAgainNs = 2 * kNsPerS;

}  // namespace

CutSchedule::CutSchedule(const Options& options)
    : length_ns_(options.length_s * kNsPerS),
      first_ns_(std::min(options.first_s, options.length_s) * kNsPerS) {}

void CutSchedule::Begin(uint64_t mono_ns, uint64_t collector_ns) {
  started_mono_ns_ = mono_ns;
  started_collector_ns_ = collector_ns;
  again_mono_ns_ = 0;
  ++begun_;
}

void CutSchedule::Postpone(uint64_t mono_ns) { again_mono_ns_ = mono_ns + kAgainNs; }

// The first multiple that leaves the epoch at least a quarter of its length.
uint64_t CutSchedule::Boundary() const {
  return ((started_collector_ns_ + length_ns_ / 4) / length_ns_ + 1) * length_ns_;
}

std::optional<v1::EpochKind> CutSchedule::Due(uint64_t mono_ns, uint64_t collector_ns) const {
  const uint64_t elapsed = mono_ns - started_mono_ns_;
  if (mono_ns < again_mono_ns_) return std::nullopt;
  if (begun_ <= 1) {
    if (elapsed < first_ns_) return std::nullopt;
    return v1::EPOCH_KIND_SHORT;
  }
  const bool aligned = collector_ns >= Boundary() && elapsed >= length_ns_ / 4;
  if (!aligned && again_mono_ns_ == 0 && elapsed < length_ns_ + length_ns_ / 4) return std::nullopt;
  const bool full = elapsed + length_ns_ / 20 >= length_ns_;
  return full ? v1::EPOCH_KIND_FULL : v1::EPOCH_KIND_SHORT;
}

uint64_t CutSchedule::WaitNs(uint64_t mono_ns, uint64_t collector_ns) const {
  const auto left = [](uint64_t end, uint64_t now) { return end > now ? end - now : 0; };
  if (again_mono_ns_ != 0) return left(again_mono_ns_, mono_ns);
  if (begun_ <= 1) return left(started_mono_ns_ + first_ns_, mono_ns);
  const uint64_t aligned =
      std::max(left(Boundary(), collector_ns), left(started_mono_ns_ + length_ns_ / 4, mono_ns));
  return std::min(aligned, left(started_mono_ns_ + length_ns_ + length_ns_ / 4, mono_ns));
}

}  // namespace telltale::agent
