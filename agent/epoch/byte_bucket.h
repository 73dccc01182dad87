// How many bytes the next body may have: a token bucket, so that a quiet node saves up for the
// minute in which everything happens. Owned by the epoch cutter; one thread.

#ifndef TELLTALE_AGENT_EPOCH_BYTE_BUCKET_H_
#define TELLTALE_AGENT_EPOCH_BYTE_BUCKET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace telltale::agent {

class ByteBucket {
 public:
  struct Options {
    int64_t mean_bytes = 13 * 1024;   // refill an epoch (compressed body)
    int64_t burst_bytes = 64 * 1024;  // most that is saved up; also what a start begins with
    int64_t hard_bytes = 256 * 1024;  // no body is longer, whatever was saved
    int64_t floor_bytes = 4 * 1024;   // always granted: totals, seconds, three samples a vital
    int64_t bytes_per_day = 0;        // uplink.max_bytes_per_day; 0: no such limit
  };
  explicit ByteBucket(const Options& options) : options_(options), tokens_(options.burst_bytes) {}

  // Refills for an epoch of this length and returns the bytes its body may have.
  size_t Budget(uint64_t epoch_ns) {
    int64_t refill = options_.mean_bytes;
    if (options_.bytes_per_day > 0) {
      const double days = static_cast<double>(epoch_ns) / 86'400e9;
      refill = std::min(refill, static_cast<int64_t>(days * options_.bytes_per_day));
    }
    tokens_ = std::min(tokens_ + refill, options_.burst_bytes);
    const int64_t most = std::min(options_.burst_bytes, options_.hard_bytes);
    return static_cast<size_t>(std::clamp(tokens_, std::min(options_.floor_bytes, most), most));
  }

  // A body of `bytes` was made. Going over the budget is paid back by the following epochs, but no
  // further than one epoch's bytes: a minute of heavy load must not blind the ten after it.
  void Spend(size_t bytes) {
    tokens_ = std::max(tokens_ - static_cast<int64_t>(bytes), -options_.mean_bytes);
  }

  size_t hard_bytes() const { return static_cast<size_t>(options_.hard_bytes); }

 private:
  Options options_;
  int64_t tokens_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_BYTE_BUCKET_H_
