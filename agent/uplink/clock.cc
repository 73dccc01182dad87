#include "agent/uplink/clock.h"

#include <ctime>

namespace telltale::agent {
namespace {

uint64_t Read(clockid_t id) {
  timespec now = {};
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t SystemClock::WallNs() const { return Read(CLOCK_REALTIME); }
uint64_t SystemClock::MonoNs() const { return Read(CLOCK_MONOTONIC); }

}  // namespace telltale::agent
