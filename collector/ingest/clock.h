// The collector's clocks, handed in so that tests can turn them. Thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_CLOCK_H_
#define TELLTALE_COLLECTOR_INGEST_CLOCK_H_

#include <cstdint>

namespace telltale::ingest {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t UnixNs() const = 0;  // wall clock; may step
  virtual uint64_t MonoNs() const = 0;  // never goes back; for durations only
};

class SystemClock final : public Clock {
 public:
  uint64_t UnixNs() const override;
  uint64_t MonoNs() const override;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_CLOCK_H_
