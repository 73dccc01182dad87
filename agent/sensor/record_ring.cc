#include "agent/sensor/record_ring.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

// The kernel's header of a record (kernel/bpf/ringbuf.c): its length with two bits, and a number
// that only the kernel needs.
constexpr size_t kHeader = BPF_RINGBUF_HDR_SZ;
constexpr uint32_t kLength = ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

RecordRing::~RecordRing() {
  if (consumed_ != nullptr) munmap(consumed_, PageBytes());
  if (produced_ != nullptr) munmap(produced_, PageBytes() + bytes_);
}

absl::Status RecordRing::Open(int fd, size_t bytes, const char* name) {
  const size_t page = PageBytes();
  const auto map = [&](size_t length, int rights, size_t offset) {
    void* const at = mmap(nullptr, length, rights, MAP_SHARED, fd, static_cast<off_t>(offset));
    return at == MAP_FAILED ? nullptr : static_cast<uint64_t*>(at);
  };
  bytes_ = bytes;
  consumed_ = map(page, PROT_READ | PROT_WRITE, 0);
  if (consumed_ != nullptr) produced_ = map(page + bytes, PROT_READ, page);
  if (produced_ == nullptr) {
    return absl::InternalError(
        absl::StrCat("sensor: mapping ring ", name, ", ", bytes, " bytes: ", strerror(errno)));
  }
  data_ = reinterpret_cast<char*>(produced_) + page;
  return absl::OkStatus();
}

const char* RecordRing::Whole(uint64_t at, size_t size) {
  const size_t begin = at & (bytes_ - 1), first = std::min(size, bytes_ - begin);
  if (first == size) return data_ + begin;
  seam_.resize((size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  char* const copy = reinterpret_cast<char*>(seam_.data());
  memcpy(copy, data_ + begin, first);
  memcpy(copy + first, data_, size - first);
  return copy;
}

absl::Status RecordRing::Consume(const std::function<void(const void*, size_t)>& take) {
  const std::atomic_ref<uint64_t> consumed(*consumed_), produced(*produced_);
  uint64_t at = consumed.load(std::memory_order_relaxed);
  while (at < produced.load(std::memory_order_acquire)) {
    // Records begin at multiples of 8: a header has no seam.
    auto& word = *reinterpret_cast<uint32_t*>(data_ + (at & (bytes_ - 1)));
    const uint32_t header = std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
    if ((header & BPF_RINGBUF_BUSY_BIT) != 0) break;
    const size_t size = header & kLength;
    if (size > bytes_ - kHeader) {
      return absl::InternalError(absl::StrCat("sensor: draining the ring buffer: a record of ",
                                              size, " bytes in one of ", bytes_));
    }
    if ((header & BPF_RINGBUF_DISCARD_BIT) == 0) take(Whole(at + kHeader, size), size);
    at += (kHeader + size + 7) / 8 * 8;
    consumed.store(at, std::memory_order_release);
  }
  return absl::OkStatus();
}

}  // namespace telltale::agent
