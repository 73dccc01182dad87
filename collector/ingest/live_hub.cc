#include "collector/ingest/live_hub.h"

#include <chrono>
#include <utility>

namespace telltale::ingest {

std::optional<LiveItem> LiveFollower::Next(uint64_t timeout_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  ready_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                  [this] { return closed_ || !items_.empty(); });
  if (items_.empty()) return std::nullopt;
  LiveItem item = std::move(items_.front());
  items_.pop_front();
  return item;
}

uint64_t LiveFollower::dropped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

bool LiveFollower::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

bool LiveFollower::Offer(const LiveItem& item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bool fits = true;
  if (items_.size() >= kMaxItems) {
    items_.pop_front();
    ++dropped_;
    fits = false;
  }
  items_.push_back(item);
  ready_.notify_one();
  return fits;
}

void LiveFollower::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  ready_.notify_all();
}

std::shared_ptr<LiveFollower> LiveHub::Follow(const std::string& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(followers_, [](const auto& follower) { return follower.expired(); });
  if (followers_.size() >= kMaxFollowers) return nullptr;
  // make_shared cannot reach the private constructor.
  std::shared_ptr<LiveFollower> follower(new LiveFollower(node));
  followers_.push_back(follower);
  return follower;
}

void LiveHub::Publish(const std::string& node, const v1::Live& live) {
  const LiveItem item{node, live};
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& weak : followers_) {
    const auto follower = weak.lock();
    if (follower == nullptr || (!follower->node_.empty() && follower->node_ != node)) continue;
    if (!follower->Offer(item)) stats_->Add(Count::kLiveDropped);
  }
}

void LiveHub::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& weak : followers_) {
    if (const auto follower = weak.lock()) follower->Close();
  }
}

}  // namespace telltale::ingest
