// CPU time that something may take: a burst, and a share of the time that passes, which fills it up
// again. What is under way is not broken off, so it may fall below nothing. One thread.

#ifndef TELLTALE_AGENT_UNWIND_TIME_BUDGET_H_
#define TELLTALE_AGENT_UNWIND_TIME_BUDGET_H_

#include <algorithm>
#include <cstdint>

namespace telltale::agent {

class TimeBudget {
 public:
  struct Options {
    uint64_t burst_ns = 0;
    double share = 0;
  };
  TimeBudget(const Options& options, uint64_t now_ns)
      : options_(options), left_ns_(static_cast<double>(options.burst_ns)), at_ns_(now_ns) {}

  bool MayBegin(uint64_t now_ns) {
    const uint64_t passed = now_ns - std::min(now_ns, at_ns_);
    left_ns_ = std::min(left_ns_ + options_.share * static_cast<double>(passed),
                        static_cast<double>(options_.burst_ns));
    at_ns_ = now_ns;
    return left_ns_ > 0;
  }
  void Took(uint64_t ns) { left_ns_ -= static_cast<double>(ns); }

 private:
  const Options options_;
  double left_ns_;
  uint64_t at_ns_;  // when it was reckoned
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_TIME_BUDGET_H_
