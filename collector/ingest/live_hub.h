// Fan-out of what is new to those who look: each second that agents tell while they are asked to,
// and epochs as they are stored. A follower has a bounded queue of its own: one that does not keep
// up loses the oldest, counted. Nothing is stored. Thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_
#define TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/ingest/ingest_stats.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/live.pb.h"

namespace telltale::ingest {

class LiveFollower {
 public:
  static constexpr size_t kMaxItems = 120;

  // The oldest waiting news, with how many this follower has lost so far.
  std::optional<v1::LiveNews> Next();
  bool closed() const;  // the collector stops: no more will come

 private:
  friend class LiveHub;
  LiveFollower(std::set<std::string> nodes, std::function<void()> wake)
      : nodes_(std::move(nodes)), wake_(std::move(wake)) {}
  bool Offer(const v1::LiveNews& news);  // false: the oldest had to go
  void Close();

  const std::set<std::string> nodes_;  // empty: epochs of all
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::deque<v1::LiveNews> items_;  // guarded by mutex_
  uint32_t dropped_ = 0;            // guarded by mutex_
  bool closed_ = false;             // guarded by mutex_
};

class LiveHub {
 public:
  static constexpr size_t kMaxFollowers = 256;
  static constexpr size_t kMaxNodes = 16;  // of one follower

  explicit LiveHub(IngestStats* stats) : stats_(stats) {}

  // Follows these nodes, or without any the epochs of all, until the pointer is let go. `wake` is
  // called without a lock held, on the thread that brings the news, also shortly after that. Null:
  // too many followers, or the collector stops.
  std::shared_ptr<LiveFollower> Follow(std::set<std::string> nodes, std::function<void()> wake);

  // As an agent told it.
  void Publish(const std::string& node, const v1::Live& live);
  void PublishEpoch(const std::string& node, uint64_t start_ns, uint64_t end_ns);
  // Why no seconds of this node come.
  void PublishTrouble(const std::string& node, const std::string& text);

  std::set<std::string> Followed() const;  // nodes whose seconds somebody looks at
  void Close();                            // ends all followers

 private:
  using Followers = std::vector<std::shared_ptr<LiveFollower>>;
  Followers Of(const std::string& node, bool with_fleet) const;
  void Offer(const Followers& followers, const v1::LiveNews& news);

  IngestStats* const stats_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<LiveFollower>> followers_;  // guarded by mutex_
  bool closed_ = false;                                 // guarded by mutex_
};

// Follow for who asks from outside. InvalidArgument: too many nodes, or a name too long for one;
// ResourceExhausted: too many followers.
absl::StatusOr<std::shared_ptr<LiveFollower>> Subscribe(LiveHub& hub,
                                                        const v1::SubscribeRequest& request,
                                                        std::function<void()> wake);

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_
