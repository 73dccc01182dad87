#include "agent/governor/cost_model.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace telltale::agent {
namespace {

constexpr int kBatches = 8;
constexpr int kCalls = 1'000;

double CallNs() {
  double least = std::numeric_limits<double>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    timespec begin = {}, end = {};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < kCalls; ++i) syscall(SYS_getppid);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double ns = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 +
                      static_cast<double>(end.tv_nsec - begin.tv_nsec);
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
  return std::clamp((with - without) / kLoopSyscallNs, 0.5, 6.0);
}

}  // namespace telltale::agent
