// What became of those who asked for a certificate. Written by gRPC's threads without locks, read
// by /metrics at any time.

#ifndef TELLTALE_COLLECTOR_ENROLL_ENROLL_STATS_H_
#define TELLTALE_COLLECTOR_ENROLL_ENROLL_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace telltale::enroll {

enum class Outcome : uint8_t {
  kIssued,    // a first certificate
  kRenewed,   // the next one
  kRepeated,  // the same once more, its answer was lost
  kWaiting,   // an operator has to decide
  kToken,     // refused: token unknown, ended, used up, or for other names
  kRequest,   // refused: name or signing request
  kDenied,    // refused: by an operator, by policy, or the certificate may not renew
  kRate,      // refused: too often, or too many wait
  kFailed,    // the collector could not: its authority, its store
  kEnd,
};
inline constexpr size_t kOutcomes = static_cast<size_t>(Outcome::kEnd);

// Lower-case name for labels: "issued".
const char* OutcomeName(Outcome outcome);

struct EnrollStats {
  void Count(Outcome outcome) { ++counts[static_cast<size_t>(outcome)]; }
  std::vector<std::pair<std::string, uint64_t>> Named() const;
  std::array<std::atomic<uint64_t>, kOutcomes> counts{};
};

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_ENROLL_STATS_H_
