// The reader's side of a BPF ring buffer: hands out its records in order, where they lie. libbpf's
// own maps the ring twice, one after the other, so that no record has a seam, and a process's
// resident memory counts it twice; here it is mapped once, and of the records the one that runs
// past the end is copied. Owned by the sensor, its thread only; programs write meanwhile.

#ifndef TELLTALE_AGENT_SENSOR_RECORD_RING_H_
#define TELLTALE_AGENT_SENSOR_RECORD_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"

namespace telltale::agent {

class RecordRing {
 public:
  RecordRing() = default;
  ~RecordRing();
  RecordRing(const RecordRing&) = delete;
  RecordRing& operator=(const RecordRing&) = delete;

  // Maps the ring behind `fd`, of `bytes` (a power of two). Once.
  absl::Status Open(int fd, size_t bytes, const char* name);
  bool open() const { return data_ != nullptr; }

  // Hands out what there is up to now; a record is gone once `take` comes back. One that its writer
  // has not finished holds up those behind it. Internal: what lies there is no record.
  absl::Status Consume(const std::function<void(const void* data, size_t size)>& take);

 private:
  const char* Whole(uint64_t at, size_t size);

  size_t bytes_ = 0;
  uint64_t* consumed_ = nullptr;  // this side's page
  uint64_t* produced_ = nullptr;  // the kernel's, and behind it the data
  char* data_ = nullptr;
  std::vector<uint64_t> seam_;  // a record that runs past the end
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_RECORD_RING_H_
