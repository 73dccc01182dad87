#include "storage/fresh_bodies.h"

#include <utility>

namespace telltale::storage {

// What gives way goes with `body`, after the lock: to free one takes longer than all else here.
void FreshBodies::Put(const Key& key, proto::OpenBody body) {
  if (body->ByteSizeLong() > kLargestBytes) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (places_.empty() || where_.contains(key)) return;
  const size_t at = next_;
  next_ = (next_ + 1) % places_.size();
  Place& place = places_[at];
  if (!place.taken) where_.erase(place.key);
  place.taken = false;
  place.key = key;
  std::swap(place.body, body);
  where_.emplace(key, at);
}

proto::OpenBody FreshBodies::Take(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = where_.find(key);
  if (found == where_.end()) return {};
  Place& place = places_[found->second];
  where_.erase(found);
  place.taken = true;
  return std::exchange(place.body, {});
}

}  // namespace telltale::storage
