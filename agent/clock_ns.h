// One reading of a kernel clock. Any thread.

#ifndef TELLTALE_AGENT_CLOCK_NS_H_
#define TELLTALE_AGENT_CLOCK_NS_H_

#include <time.h>

#include <cstdint>

namespace telltale::agent {

// ns. CLOCK_MONOTONIC: since boot; CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID: used so far.
// 0 for a clock that is not there.
inline uint64_t ClockNs(clockid_t clock) {
  timespec now = {};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// By how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC: the time this host was suspended.
inline int64_t BootMinusMonoNs() {
  return static_cast<int64_t>(ClockNs(CLOCK_BOOTTIME) - ClockNs(CLOCK_MONOTONIC));
}

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_CLOCK_NS_H_
