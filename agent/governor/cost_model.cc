#include "agent/governor/cost_model.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "agent/clock_ns.h"

namespace telltale::agent {
namespace {

constexpr int kBatches = 40;
constexpr int kCalls = 500;

double CallNs() {
  double least = std::numeric_limits<double>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const uint64_t begin = ClockNs(CLOCK_MONOTONIC);
    for (int i = 0; i < kCalls; ++i) syscall(SYS_getppid);
    const auto ns = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - begin);
    least = std::min(least, ns / kCalls);
  }
  return least;
}

}  // namespace

double MachineFactor(const std::function<bool()>& attach, const std::function<void()>& detach) {
  detach();
  const double without = CallNs();
  if (!attach()) return 1;
  const double with = CallNs();
  return std::clamp((with - without) / kLoopSyscallNs, 1.0, 6.0);
}

}  // namespace telltale::agent
