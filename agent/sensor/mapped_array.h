// A BPF array map of one or more structs, mapped into this process. Owned by the sensor; its thread
// only. The kernel's programs write it at the same time: what may be read when is said where it is
// read (bpf_sensor.cc).

#ifndef TELLTALE_AGENT_SENSOR_MAPPED_ARRAY_H_
#define TELLTALE_AGENT_SENSOR_MAPPED_ARRAY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace telltale::agent {

class MappedArray {
 public:
  MappedArray() = default;
  ~MappedArray();
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  // Maps `count` values of `value_size` bytes (each padded to 8 by the kernel) of the map behind
  // fd.
  absl::Status Map(int fd, size_t value_size, size_t count, const char* name);

  template <typename T>
  T* At(size_t index) const {
    return reinterpret_cast<T*>(static_cast<char*>(base_) + index * stride_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* base_ = nullptr;
  size_t stride_ = 0, bytes_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_MAPPED_ARRAY_H_
