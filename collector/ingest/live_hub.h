// Fan-out of the Live messages agents send while somebody looks. A follower has a bounded queue of
// its own: one that does not keep up loses the oldest, counted. Nothing is stored. Thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_
#define TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collector/ingest/ingest_stats.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::ingest {

struct LiveItem {
  std::string node;
  v1::Live live;
};

class LiveFollower {
 public:
  static constexpr size_t kMaxItems = 120;

  // The oldest waiting item; nothing if none came within the time or the hub was closed.
  std::optional<LiveItem> Next(uint64_t timeout_ns);
  uint64_t dropped() const;
  bool closed() const;

 private:
  friend class LiveHub;
  explicit LiveFollower(std::string node) : node_(std::move(node)) {}
  bool Offer(const LiveItem& item);  // false: the oldest had to go
  void Close();

  const std::string node_;  // empty: all nodes
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<LiveItem> items_;  // guarded by mutex_
  uint64_t dropped_ = 0;        // guarded by mutex_
  bool closed_ = false;         // guarded by mutex_
};

class LiveHub {
 public:
  static constexpr size_t kMaxFollowers = 256;

  explicit LiveHub(IngestStats* stats) : stats_(stats) {}

  // Follows one node, or all with an empty name, until the pointer is let go. Null: too many
  // followers.
  std::shared_ptr<LiveFollower> Follow(const std::string& node);
  void Publish(const std::string& node, const v1::Live& live);
  void Close();  // ends every Next

 private:
  IngestStats* const stats_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<LiveFollower>> followers_;  // guarded by mutex_
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_LIVE_HUB_H_
