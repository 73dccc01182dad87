// The interval of one epoch, and times as they stand inside its body. Plain value.

#ifndef TELLTALE_AGENT_EPOCH_EPOCH_SPAN_H_
#define TELLTALE_AGENT_EPOCH_EPOCH_SPAN_H_

#include <algorithm>
#include <cstdint>

namespace telltale::agent {

struct EpochSpan {
  uint64_t start_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC, start < end

  uint64_t length_ns() const { return end_ns - start_ns; }
  // After the start; what lies outside the epoch is drawn to its nearer end.
  uint64_t Ns(uint64_t mono_ns) const { return std::clamp(mono_ns, start_ns, end_ns) - start_ns; }
  uint32_t Ms(uint64_t mono_ns) const { return static_cast<uint32_t>(Ns(mono_ns) / 1'000'000); }
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_EPOCH_SPAN_H_
