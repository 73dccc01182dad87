// One filter on one node: shows it the node's stored epochs in order and stores what it emits.
//
// Stored is one value per hour: the instance's state when the hour began and all outputs that begin
// in it. After a restart the latest of them is loaded and the epochs since are shown again; what
// comes out again is the same and is stored once. An epoch that arrives after a later one was shown
// is noted in its hour's value, so that the repetition passes it over too.
//
// Belongs to the runner's thread.

#ifndef TELLTALE_COLLECTOR_FILTER_NODE_FEED_H_
#define TELLTALE_COLLECTOR_FILTER_NODE_FEED_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/flood_guard.h"
#include "collector/filter/telltale_filter.h"
#include "storage/derived.h"
#include "storage/keys.h"
#include "telltale/v1/filter.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

// How long before an epoch what it brings may begin, unless it is known to be open.
inline constexpr uint64_t kMostEarlierNs = 7 * storage::kDayNs;

// An anomaly that was still going on when its filter spoke of it last.
struct OpenAnomaly {
  std::string vital, sub, subject;
  uint64_t start_ns = 0;
  // FilterAnomaly's; not a part of what it is known by.
  uint64_t news_ns = 0;
  std::strong_ordering operator<=>(const OpenAnomaly& other) const {
    return std::tie(vital, sub, subject, start_ns) <=>
           std::tie(other.vital, other.sub, other.subject, other.start_ns);
  }
  bool operator==(const OpenAnomaly& other) const { return (*this <=> other) == 0; }
};
using OpenByNode = std::map<std::string, std::set<OpenAnomaly>, std::less<>>;

struct FeedOptions {
  FilterCode* code = nullptr;  // outlives the feed
  std::vector<telltale_filter_option> options;
  uint32_t filter_number = 0;  // DerivedStore's
  const EpochSource* source = nullptr;
  storage::DerivedStore* store = nullptr;
  AnomalyLog* log = nullptr;
  std::function<uint64_t()> now_ns;  // collector's wall clock
  // Wakes what rests of a node (NodeFeed::Rest); may be empty where nothing does.
  std::function<void(uint32_t node)> wake;
  FloodGuard* guard = nullptr;  // asked before anything is kept; null: all is
  // A mark that was not there yet; may be empty.
  std::function<void(const std::string& node, const v1::FilterMark& mark)> on_mark;
  // An epoch behind a hole waits so long, counted from its end, for what is missing: three epoch
  // lengths and this.
  uint64_t hold_ns = 60'000'000'000;
  // How far back a filter begins on a node it never saw.
  uint64_t backfill_ns = 86'400'000'000'000;
  size_t max_outputs_per_hour = 1024;
  bool waits = true;  // false: a hole in time is not waited for
};

class NodeFeed {
 public:
  // `options` outlives the feed.
  NodeFeed(const FeedOptions& options, uint32_t node, std::string name);
  NodeFeed(const NodeFeed&) = delete;
  NodeFeed& operator=(const NodeFeed&) = delete;

  // What the node's system calls are called by ("x86_64"); before Resume and the first Begin.
  void set_machine(const std::string& machine) { machine_ = machine; }
  void set_scope(const std::string& scope) { scope_ = scope; }

  // What it finds in epochs that end by then is stored and listed, and is no news: another version
  // of the filter, whose place it takes, told the log of that time. Before the first Begin.
  void set_told_until(uint64_t told_until_ns) { told_until_ns_ = told_until_ns; }

  // Goes on from a stored hour; before the first Advance. A state that the filter does not
  // understand is reported and the filter begins as new with that hour, with nothing open.
  absl::Status Resume(uint64_t hour_start_ns, const v1::FilterHour& hour);

  // One look at what has come since, in three steps, so that one reading of the node serves all
  // filters. Begin: from which time epochs are wanted; nullopt: nothing new. Offer: each stored
  // epoch from there on, ascending by start; PassOver: one of them that cannot be opened. Finish:
  // that was all there is (not after a stop or a failed reading). An error of the filter ends the
  // feed for good (failed()); one of the store leaves it where it was.
  absl::StatusOr<std::optional<uint64_t>> Begin(const NodeHead& head);
  void Offer(const SourceEpoch& epoch);
  void PassOver(uint64_t start_ns);
  absl::Status Finish(const NodeHead& head, bool complete);

  // Between epochs the instance goes and its owner keeps the state, until the next epoch is shown:
  // then FeedOptions::wake is to give it back by Wake. nullopt: it stays; filters rest that save
  // what they know. One that does not understand its own state learns again and rests no more.
  std::optional<std::string> Rest();
  absl::Status Wake(std::string_view state);
  bool resting() const { return resting_; }
  // Behind Resume: the filter knows nothing of what was before, so nothing of it counts as open.
  void BeginAnew();
  bool awake() const { return instance_ != nullptr && !failed_; }

  // What the filter says of itself on this node.
  struct Told {
    std::optional<v1::FilterLearning> learning;  // how far it is
    std::vector<std::string> muted;              // programs it says nothing new of
  };
  // Asks it, and counts what it had no room for. nullopt: it rests, failed, or was shown nothing
  // yet.
  std::optional<Told> Ask();

  uint32_t node() const { return node_; }
  const std::string& name() const { return name_; }  // the node's
  bool failed() const { return failed_; }
  bool waits() const { return waiting_ > 0; }  // epochs behind a hole do
  uint64_t shown() const { return shown_; }
  uint64_t skipped() const { return skipped_; }
  uint64_t unreadable() const { return unreadable_; }  // epochs passed over, since it was made
  uint64_t dropped() const { return dropped_; }        // outputs not kept, since this feed was made
  uint64_t no_room() const { return no_room_; }        // see telltale_filter_learning; since then
  uint64_t told() const { return told_; }              // what it was told of anomalies, since then
  uint64_t last_end_ns() const { return last_end_ns_; }
  // At most 1,024, the latest.
  const std::set<OpenAnomaly>& open() const { return open_; }

 private:
  absl::Status Create();
  void EndAllOf(uint64_t hour_start_ns);
  absl::Status Show(const SourceEpoch& epoch);
  absl::Status BeginHour(uint64_t hour_start_ns);
  bool Learns() const;
  absl::Status Flush();
  absl::Status StoreHour();
  void TakeInStored(v1::FilterHour stored);
  bool AddPoint(uint64_t time_ns, int64_t value_micro, v1::FilterPoints* series);
  bool TakeStored(uint64_t sequence);
  bool WasShown(const SourceEpoch& epoch) const;
  bool IsSkipped(const SourceEpoch& epoch) const;
  absl::Status NoteLate(uint64_t late);
  absl::Status TakeAnomaly(v1::FilterAnomaly found);
  // Into the row of the hour it began in: over what is known of it, else as a new one, told to the
  // log where it is news.
  absl::Status PutInto(v1::FilterHour& hour, v1::FilterAnomaly found);
  absl::Status Tell(v1::FilterAnomaly& found);
  void NoteNews(const v1::FilterAnomaly& known, v1::FilterAnomaly& found) const;
  absl::Status PutIntoEarlier(uint64_t hour_start_ns, v1::FilterAnomaly found);
  bool RoomFor(size_t outputs);
  void NoteOpen(const v1::FilterAnomaly& anomaly);
  void CountDropped();
  bool ReadHour(uint64_t start_ns, const EpochSource::HourVisitor& visit) const;
  const telltale_filter& filter() const { return options_.code->declared(); }

  static void OnPoint(void* context, const telltale_filter_point* point);
  static void OnMark(void* context, const telltale_filter_mark* mark);
  static void OnAnomaly(void* context, const telltale_filter_anomaly* anomaly);
  static int OnHour(void* context, uint64_t start_ns,
                    void (*show)(void* argument, const telltale_filter_epoch* hour),
                    void* argument);

  const FeedOptions& options_;
  const uint32_t node_;
  const std::string name_;
  std::string machine_, scope_;
  telltale_filter_host host_ = {};
  const HourReader hours_;
  std::unique_ptr<FilterInstance> instance_;
  bool failed_ = false;
  bool resting_ = false;
  bool may_rest_ = true;

  uint64_t hour_start_ns_ = 0;  // 0: nothing shown yet
  // Without the state it began with and the points of series, which are larger than all the rest of
  // a node: once written, they stand in the store only.
  v1::FilterHour hour_;
  bool state_stored_ = false;
  bool points_stored_ = false;
  std::vector<uint64_t> run_starts_;  // of hour_'s shown_sequences: start of each run's first epoch
  // Of the stored hour that a restart goes on from: the runs still to be shown again, whose points
  // it has.
  std::vector<uint64_t> stored_runs_;
  bool points_there_ = false;  // of the epoch being shown
  uint64_t last_start_ns_ = 0;
  uint64_t last_end_ns_ = 0;
  uint64_t shown_ = 0;
  uint64_t skipped_ = 0;
  uint64_t unreadable_ = 0;
  uint64_t last_unreadable_ns_ = 0;  // the latest starts then
  uint64_t dropped_ = 0;
  uint64_t no_room_ = 0, instances_no_room_ = 0;  // of it, that this instance told
  uint64_t told_ = 0;
  uint64_t told_until_ns_ = 0;
  bool asks_learning_ = false;  // of hour_: one that runs elsewhere tells with the first epoch
  // Of NodeHead::epochs, how many were shown, skipped, unreadable, or lie before the beginning;
  // known once two looks in a row found the same.
  uint64_t dealt_with_ = 0;
  uint64_t last_head_epochs_ = UINT64_MAX;
  bool settled_ = false;
  uint64_t waiting_ = 0;        // epochs behind a hole, as of the last whole look
  uint64_t wait_until_ns_ = 0;  // then the first of them is shown
  uint64_t row_version_ = 0;
  uint64_t showing_start_ns_ = 0;
  // Of the look that is going on.
  uint64_t from_ns_ = 0;
  uint64_t hold_ns_ = 0;
  uint64_t pending_ = 0;
  uint64_t shown_before_ = 0;
  uint64_t unreadable_before_ = 0;
  absl::Status problem_;
  // Emitted and not yet stored: kept until the store takes it. A list, as nearly all feeds of a
  // fleet have nothing here and an empty one takes no memory.
  std::list<v1::FilterAnomaly> found_;
  bool dirty_ = false;
  std::set<OpenAnomaly> open_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_NODE_FEED_H_
