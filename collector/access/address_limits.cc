#include "collector/access/address_limits.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace telltale::access {
namespace {

constexpr std::chrono::seconds kSweepEvery{1};
constexpr size_t kNetworkBytes = 8;
constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

std::string LimitKey(const std::string& address) {
  in6_addr parsed;
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) return address;
  if (std::memcmp(parsed.s6_addr, kMapped, sizeof kMapped) == 0) {
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, parsed.s6_addr + sizeof kMapped, text, sizeof text);
    return text;
  }
  return std::string(reinterpret_cast<const char*>(parsed.s6_addr), kNetworkBytes);
}

void AddressLimits::Refill(Bucket& bucket, Time now) const {
  if (now <= bucket.as_of) return;
  const double seconds = std::chrono::duration<double>(now - bucket.as_of).count();
  bucket.left = std::min(options_.at_once, bucket.left + seconds * options_.per_second);
  bucket.as_of = now;
}

void AddressLimits::ForgetFull(Time now) {
  if (now < swept_ + kSweepEvery) return;
  swept_ = now;
  std::erase_if(buckets_, [&](const auto& entry) {
    Bucket bucket = entry.second;
    Refill(bucket, now);
    return bucket.left >= options_.at_once;
  });
}

AddressLimits::Bucket& AddressLimits::BucketOf(const std::string& address, Time now) {
  const std::string key = LimitKey(address);
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    if (buckets_.size() >= options_.max_addresses) ForgetFull(now);
    if (buckets_.size() >= options_.max_addresses) {
      Refill(rest_, now);
      return rest_;
    }
    found = buckets_.emplace(key, Bucket{options_.at_once, now}).first;
  }
  Refill(found->second, now);
  return found->second;
}

bool AddressLimits::Take(const std::string& address, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Bucket& bucket = BucketOf(address, now);
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

void AddressLimits::GiveBack(const std::string& address, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Bucket& bucket = BucketOf(address, now);
  bucket.left = std::min(options_.at_once, bucket.left + 1);
}

size_t AddressLimits::addresses() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return buckets_.size();
}

}  // namespace telltale::access
