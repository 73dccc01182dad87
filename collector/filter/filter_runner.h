// Runs the filters over the stored epochs of all nodes, in one thread of its own that lets
// ingest go first (thread_priority.h): what is new is shown to each filter node by node
// (node_feed.h), a new filter first runs over the past day. Owned by main, which hands in what it
// reads and writes.
//
// A filter that breaks its interface or gives up on a node is switched off there and reported; the
// others go on.

#ifndef TELLTALE_COLLECTOR_FILTER_FILTER_RUNNER_H_
#define TELLTALE_COLLECTOR_FILTER_FILTER_RUNNER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/flood_guard.h"
#include "collector/filter/node_feed.h"
#include "collector/filter/resting_states.h"
#include "collector/filter/telltale_filter.h"
#include "storage/derived.h"
#include "telltale/v1/query.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

struct FilterRunnerOptions {
  const EpochSource* source = nullptr;  // these three outlive the runner
  storage::DerivedStore* store = nullptr;
  AnomalyLog* log = nullptr;
  std::vector<const telltale_filter*> filters;  // called where they stand
  std::vector<FilterCode*> codes;               // of whatever kind; outlive the runner
  FilterOptions filter_options;
  std::function<uint64_t()> now_ns;          // wall clock
  std::function<absl::Status()> after_look;  // from the runner's thread; may be empty
  // Each epoch that is read, perhaps more than once; from the runner's thread; may be empty.
  std::function<void(uint32_t node, const SourceEpoch& epoch)> on_epoch;
  // What filters mark, each once; from the runner's thread, and there is one for each user's
  // filter; may be empty.
  std::function<absl::Status(const std::string& filter, const std::string& node,
                             const v1::FilterMark& mark)>
      on_mark;
  std::function<void(const std::string&)> log_line;  // what went wrong; any thread; may be empty
  std::optional<FloodLimits> flood_limits;  // of each filter; none: it may emit what it wants
  std::chrono::milliseconds poll{1'000};    // between looks for new epochs
  uint64_t hold_ns = 60'000'000'000;        // see FeedOptions
  uint64_t backfill_ns = 86'400'000'000'000;
};

// How one filter is.
struct FilterReport {
  v1::FilterStatus status;
  uint64_t shown = 0;    // epochs; also by runs before a restart, where it goes on from their state
  uint64_t skipped = 0;  // epochs that came too late
  uint64_t unreadable = 0;  // epochs that could not be opened, since the runner was made
  uint64_t dropped = 0;     // outputs not kept
  uint64_t no_room = 0;     // see telltale_filter_learning; since the runner was made
  std::vector<v1::MutedProgram> muted;
};

class FilterRunner {
 public:
  // Checks the filters; where one was on a node it reads when it meets the node. InvalidArgument
  // names a filter that does not fit the interface.
  static absl::StatusOr<std::unique_ptr<FilterRunner>> Open(FilterRunnerOptions options);
  ~FilterRunner();  // Stop()

  void Start();  // the thread; without it, RunOnce does the work
  void Stop();   // after the epoch being shown; twice is safe

  // One look at all nodes. Not while the thread runs.
  void RunOnce();

  std::vector<FilterIdentity> filters() const;
  // Whether an anomaly that fits is known to go on for the filter on one of the nodes (none named:
  // on any): it spoke of it as open, still looks at the node, and the node still sends epochs. From
  // after_look, or with the thread at rest.
  bool IsOpen(const std::string& filter, const NodeNames& nodes,
              const std::function<bool(const OpenAnomaly&)>& fits) const;
  // All that IsOpen knows of, by node; called as that.
  OpenByNode AllOpen() const;
  // For status and metrics; any thread.
  std::vector<FilterReport> Reports() const;
  // Where a filter has not learned enough yet to speak; any thread.
  std::vector<v1::FilterLearning> Learning() const;

 private:
  // What feeds have done so far.
  struct FeedCounts {
    uint64_t shown = 0, skipped = 0, unreadable = 0, dropped = 0, no_room = 0, failed = 0;
  };
  // One filter on all nodes.
  struct Running {
    FeedOptions feed;
    std::vector<uint32_t> others;                  // numbers of its other versions that ran lately
    std::vector<std::unique_ptr<NodeFeed>> nodes;  // [number]; null: not met yet
    uint64_t unreadable = 0;                       // stored hours, not told yet
    FeedCounts counts;                             // of all nodes
    FilterReport report;
    std::map<uint32_t, v1::FilterLearning> learning;     // by node; where it has not learned enough
    std::map<uint32_t, std::vector<std::string>> muted;  // programs, by node; runner's thread
    bool muted_changed = false;
    std::optional<FloodGuard> guard;  // runner's thread
  };

  // What a node has sent so far.
  struct Heard {
    uint64_t epochs = 0;  // NodeHead's
    uint64_t at_ns = 0;   // listened_ns_ when they grew last
  };

  explicit FilterRunner(FilterRunnerOptions options) : options_(std::move(options)) {}
  absl::Status Add(FilterCode* code);
  void Look();
  void Publish();
  void Listen(const std::vector<NodeHead>& heads);
  bool StillSends(uint32_t node) const;
  // Whether what the feed holds open is known to go on.
  bool Speaks(const NodeFeed& feed) const;
  void Advance(const NodeHead& head);
  bool IsDone(const NodeHead& head) const {
    return head.number < done_with_.size() && done_with_[head.number] == head.epochs;
  }
  void Wake(uint32_t node);
  void Rest(uint32_t node);
  static FeedCounts CountsOf(const NodeFeed& feed);
  // Beyond what was counted of the feed before.
  static void Count(Running& running, const NodeFeed& feed, const FeedCounts& before);
  void NoteLearning(Running& running, NodeFeed& feed);
  static void NoteMuted(Running& running, uint32_t node, std::vector<std::string> muted);
  static std::vector<v1::MutedProgram> MutedOn(const Running& running);
  void NoteCounts(Running& running);
  void Report(Running& running, const std::vector<NodeHead>& heads);  // fills in its status
  using StoredHour = std::pair<uint64_t, v1::FilterHour>;             // and when it begins
  // The latest of the last two days.
  std::optional<StoredHour> LatestHour(Running& running, const NodeHead& head);
  std::optional<StoredHour> LatestHourBefore(Running& running, uint32_t node, uint64_t oldest_ns,
                                             uint64_t before_ns);
  // Until when other versions of the filter told of the node, as their rows since then have it;
  // 0: none did.
  uint64_t ToldUntil(const Running& running, uint32_t node, uint64_t from_ns);
  void TellUnreadable(Running& running);
  // nullptr: not met yet.
  static NodeFeed* FeedAt(const Running& running, uint32_t node) {
    return node < running.nodes.size() ? running.nodes[node].get() : nullptr;
  }
  NodeFeed& FeedOf(Running& running, const NodeHead& head);  // made where it was not met yet
  void Say(const absl::Status& status);

  const FilterRunnerOptions options_;
  std::vector<std::unique_ptr<LocalFilter>> local_;
  std::vector<std::unique_ptr<Running>> running_;         // report, learning: guarded by mutex_
  std::map<std::string, uint32_t, std::less<>> numbers_;  // of nodes met, by name; runner's thread
  RestingStates resting_;            // in the order of running_; runner's thread
  bool advanced_ = false;            // since the last Sync; runner's thread
  uint64_t published_ns_ = 0;        // by now_ns; runner's thread
  uint64_t last_listen_ns_ = 0;      // by now_ns; runner's thread
  uint64_t listened_ns_ = 0;         // how long nodes could be heard, see Listen; runner's thread
  std::map<uint32_t, Heard> heard_;  // by number; runner's thread
  // By number: NodeHead::epochs with which all filters were done; runner's thread.
  std::vector<uint64_t> done_with_;
  std::set<std::string> said_;  // problems logged since then; runner's thread
  uint64_t said_since_ns_ = 0;
  std::atomic<uint64_t> look_began_ns_{0};  // by now_ns; 0: it rests
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FILTER_RUNNER_H_
