// How often one address may do something before it is known who it is: a bucket of tokens for each
// (RFC 2697's idea), for an IPv6 network of 64 bits together. Memory is bounded: buckets that are
// full again are forgotten, and what does not fit shares one.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_ACCESS_ADDRESS_LIMITS_H_
#define TELLTALE_COLLECTOR_ACCESS_ADDRESS_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace telltale::access {

class AddressLimits {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    double per_second = 50;  // in the long run
    double at_once = 500;
    size_t max_addresses = 65'536;
  };
  explicit AddressLimits(const Options& options) : options_(options), rest_{options.at_once, {}} {}

  // Whether one more is allowed now; it is taken if so.
  bool Take(const std::string& address, Time now);
  // It turned out to be somebody known: does not count.
  void GiveBack(const std::string& address, Time now);

  size_t addresses() const;

 private:
  struct Bucket {
    double left;
    Time as_of;
  };
  Bucket& BucketOf(const std::string& address, Time now);
  void Refill(Bucket& bucket, Time now) const;
  void ForgetFull(Time now);

  const Options options_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;  // guarded by mutex_
  Bucket rest_;                                      // of all that have none; guarded by mutex_
  Time swept_{};                                     // guarded by mutex_
};

// What is limited together: the address, or the first 64 bits of an IPv6 one. Any other text stands
// for itself.
std::string LimitKey(const std::string& address);

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_ADDRESS_LIMITS_H_
