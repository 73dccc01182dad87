#include "agent/sensor/mapped_array.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::agent {

MappedArray::~MappedArray() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

absl::Status MappedArray::Map(int fd, size_t value_size, size_t count, const char* name) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  stride_ = (value_size + 7) / 8 * 8;
  bytes_ = (stride_ * count + page - 1) / page * page;
  base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base_ == MAP_FAILED) {
    base_ = nullptr;
    return absl::InternalError(
        absl::StrCat("sensor: mapping BPF map ", name, ", ", bytes_, " bytes: ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace telltale::agent
