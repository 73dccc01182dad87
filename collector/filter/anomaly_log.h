// All anomalies in the order they became known, numbered 1, 2, 3 ...: what followers read. An entry
// says what was known when the anomaly was found; how it went on stands with the filter's outputs
// (anomaly_list.h). The log holds the latest `kept` entries in a ring of catalog values; a follower
// whose cursor is older is told how many he missed. Entries that damage keeps from being read are
// left out; without its head nothing starts.
//
// Thread-safe. Filters append; any number of readers. Memory: the `recent` latest entries.

#ifndef TELLTALE_COLLECTOR_FILTER_ANOMALY_LOG_H_
#define TELLTALE_COLLECTOR_FILTER_ANOMALY_LOG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/feed/waiters.h"
#include "storage/derived.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

// What identifies an anomaly for ever: "ewma/1/NODE/VITAL/SUB/START_MS", and
// "/SUBJECT" where it has one.
std::string AnomalyId(std::string_view filter, uint32_t version, std::string_view node,
                      const v1::FilterAnomaly& anomaly);

// As answers show it; the cursor is left empty.
v1::Anomaly ToAnswer(std::string_view filter, uint32_t version, std::string_view node,
                     const v1::FilterAnomaly& anomaly);

struct AnomalyLogOptions {
  storage::DerivedStore* store = nullptr;  // outlives the log
  uint64_t kept = 65'536;                  // the same for the life of a store
  uint64_t recent = 4'096;                 // <= kept
  size_t max_waiters = 256;
};

class AnomalyLog {
 public:
  // Reads the head and the recent entries.
  static absl::StatusOr<std::unique_ptr<AnomalyLog>> Open(AnomalyLogOptions options);

  // Appends; who reads is not shown it before Publish. An anomaly among the recent ones by id is
  // not appended again; so a filter that shows its last hour again after a crash changes nothing.
  // False: it was there.
  absl::StatusOr<bool> Append(std::string_view filter, uint32_t version, std::string_view node,
                              const v1::FilterAnomaly& anomaly);

  // Makes what was appended durable, all at once (a fleet that falls silent is one write to disk,
  // and not one for each node), shows it to who reads and wakes the waiters. After a failure the
  // next call tries again.
  absl::Status Publish();

  // The cursor behind the last entry: where "from now on" begins.
  std::string NowCursor() const;

  // Entries behind the cursor, oldest first, at most `limit`, each with its cursor. Empty: none
  // yet. InvalidArgument: not a cursor of this log; OutOfRange: older than what is kept, says how
  // many are lost and which cursor to go on with.
  absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string& cursor, size_t limit) const;

  // Calls `wake` when more was published, from the publishing thread; as feed::Waiters.
  absl::StatusOr<std::unique_ptr<feed::Waiter>> Wait(std::function<void()> wake) {
    return waiters_.Add(std::move(wake));
  }

  // Anomalies found since the store was made, by (filter, vital).
  std::map<std::pair<std::string, std::string>, uint64_t> Counts() const;
  // How many of the recent entries are this node's.
  uint64_t Recent(const std::string& node) const;

 private:
  explicit AnomalyLog(AnomalyLogOptions options)
      : options_(options), waiters_("anomalies", options.max_waiters) {}
  absl::Status Load();
  void Remember(const v1::LoggedAnomaly& entry);  // with mutex_
  std::string SlotName(uint64_t number) const;
  absl::StatusOr<v1::LoggedAnomaly> Read(uint64_t number) const;
  static void Count(const v1::LoggedAnomaly& entry, v1::AnomalyLogHead& head);

  const AnomalyLogOptions options_;
  mutable std::mutex mutex_;
  // Guarded by mutex_ from here.
  v1::AnomalyLogHead head_;
  uint64_t published_ = 0;  // the last entry that who reads is shown
  // Ascending, ends at head_.number; one that cannot be read is empty.
  std::deque<v1::LoggedAnomaly> recent_;
  std::set<std::string> recent_ids_;
  std::map<std::string, uint64_t> recent_by_node_;
  feed::Waiters waiters_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_ANOMALY_LOG_H_
