#include "collector/ingest/clock.h"

#include <chrono>

namespace telltale::ingest {
namespace {

template <typename ChronoClock>
uint64_t NowNs() {
  const auto since = ChronoClock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

uint64_t SystemClock::UnixNs() const { return NowNs<std::chrono::system_clock>(); }
uint64_t SystemClock::MonoNs() const { return NowNs<std::chrono::steady_clock>(); }

}  // namespace telltale::ingest
