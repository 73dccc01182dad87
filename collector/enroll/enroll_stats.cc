#include "collector/enroll/enroll_stats.h"

namespace telltale::enroll {

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kIssued:
      return "issued";
    case Outcome::kRenewed:
      return "renewed";
    case Outcome::kRepeated:
      return "repeated";
    case Outcome::kWaiting:
      return "waiting";
    case Outcome::kToken:
      return "token";
    case Outcome::kRequest:
      return "request";
    case Outcome::kDenied:
      return "denied";
    case Outcome::kRate:
      return "rate";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kEnd:
      break;
  }
  return "";
}

std::vector<std::pair<std::string, uint64_t>> EnrollStats::Named() const {
  std::vector<std::pair<std::string, uint64_t>> named;
  for (size_t i = 0; i < kOutcomes; ++i) {
    named.emplace_back(OutcomeName(static_cast<Outcome>(i)), counts[i].load());
  }
  return named;
}

}  // namespace telltale::enroll
