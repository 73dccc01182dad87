#include "collector/filter/filter_runner.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/filter/filter_versions.h"
#include "collector/thread_priority.h"
#include "storage/keys.h"

namespace telltale::filter {
namespace {

// A filter that was not run for longer than this begins anew.
constexpr uint64_t kResumeNs = 2 * storage::kDayNs;
constexpr size_t kMaxSaid = 1000;
constexpr int kMutedShown = 20;
// A filter speaks only when it is shown an epoch: of a node that is gone it never says that
// something ended. So what is open on a node of which no epoch came for so long is not known to go
// on (that the node is silent is told by the filter of that name). It is 15 epochs of the longest
// kind (an epoch divides a minute), and long beside what delays one of a node that is well: agents
// spread what they send over up to 55 s, and come back within a few minutes after they lost the
// collector.
constexpr uint64_t kPatienceNs = 900 * storage::kSecondNs;
// Of the time between two looks no more than this counts as time without an epoch. The rest is the
// collector's own absence (its machine slept, or a look took long), in which nobody could be heard.
constexpr uint64_t kMostListenedNs = 60 * storage::kSecondNs;
// Of a look that lasts, as after an hour without the collector, what is found is shown meanwhile.
constexpr uint64_t kShownWithinNs = storage::kSecondNs;

}  // namespace

absl::StatusOr<std::unique_ptr<FilterRunner>> FilterRunner::Open(FilterRunnerOptions options) {
  std::unique_ptr<FilterRunner> runner(new FilterRunner(std::move(options)));
  for (const telltale_filter* filter : runner->options_.filters) {
    runner->local_.push_back(std::make_unique<LocalFilter>(filter));
    if (auto status = CheckFilter(filter); !status.ok()) return status;
    if (auto status = runner->Add(runner->local_.back().get()); !status.ok()) return status;
  }
  for (FilterCode* code : runner->options_.codes) {
    if (auto status = runner->Add(code); !status.ok()) return status;
  }
  return runner;
}

absl::Status FilterRunner::Add(FilterCode* code) {
  const telltale_filter& filter = code->declared();
  auto running = std::make_unique<Running>();
  FeedOptions& feed = running->feed;
  feed.code = code;
  feed.options = OptionsFor(filter.name, options_.filter_options);
  const auto number = options_.store->FilterNumber(filter.name, filter.version);
  if (!number.ok()) return number.status();
  feed.filter_number = *number;
  const auto known = options_.store->Filters();
  if (!known.ok()) return known.status();
  const uint64_t now = options_.now_ns();
  for (const auto& [name, version] : *known) {
    if (name != filter.name || version == filter.version) continue;
    const auto other = options_.store->FilterNumber(name, version);
    if (!other.ok()) return other.status();
    if (HasOutputs(*options_.store, *other, now - std::min(now, kResumeNs),
                   now + storage::kDayNs)) {
      running->others.push_back(*other);
    }
  }
  feed.source = options_.source;
  feed.store = options_.store;
  feed.log = options_.log;
  feed.now_ns = options_.now_ns;
  feed.wake = [this](uint32_t node) { Wake(node); };
  if (options_.on_mark) {
    feed.on_mark = [this, name = std::string(filter.name)](const std::string& node,
                                                           const v1::FilterMark& mark) {
      Say(options_.on_mark(name, node, mark));
    };
  }
  if (options_.flood_limits.has_value()) {
    feed.guard = &running->guard.emplace(*options_.flood_limits, code);
  }
  feed.hold_ns = options_.hold_ns;
  feed.backfill_ns = options_.backfill_ns;
  running->report.status.set_name(filter.name);
  running->report.status.set_version(filter.version);
  running->report.status.set_state("running");
  running_.push_back(std::move(running));
  return absl::OkStatus();
}

FilterRunner::~FilterRunner() { Stop(); }

void FilterRunner::Start() {
  thread_ = std::thread([this] {
    collector::LetIngestGoFirst();
    while (!stop_) {
      RunOnce();
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, options_.poll, [this] { return stop_.load(); });
    }
  });
}

void FilterRunner::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FilterRunner::RunOnce() {
  look_began_ns_ = options_.now_ns();
  Look();
  look_began_ns_ = 0;
}

void FilterRunner::Look() {
  const std::vector<NodeHead> heads = options_.source->Nodes();
  Listen(heads);
  for (const NodeHead& head : heads) {
    if (stop_) return;
    if (head.epochs > 0) Advance(head);
    if (options_.now_ns() - published_ns_ >= kShownWithinNs) Publish();
  }
  for (const auto& running : running_) {
    TellUnreadable(*running);
    NoteCounts(*running);
    if (!running->feed.code->ended()) Report(*running, heads);
  }
  // What was put since is made durable together; until then a crash only means showing it again.
  if (std::exchange(advanced_, false)) Say(options_.store->Sync());
  Publish();
  if (options_.after_look) Say(options_.after_look());
}

void FilterRunner::Publish() {
  published_ns_ = options_.now_ns();
  Say(options_.log->Publish());
}

// What counts is that epochs come, by the collector's clock, and not how old they are or whether
// they could be shown yet. After the collector was away, nodes send what they kept: each such epoch
// is news although it ended hours ago, and until the first of them comes the patience begins with
// the first look. A feed that is behind by a hole or by a store that cannot be read is behind with
// epochs that came, so what it holds open stays open, too. Were it taken for ended then, its
// incident would be resolved, and its filter, to which it never ended, would not tell it again.
void FilterRunner::Listen(const std::vector<NodeHead>& heads) {
  const uint64_t now = options_.now_ns();
  listened_ns_ += std::min(now - std::min(now, last_listen_ns_), kMostListenedNs);
  last_listen_ns_ = now;
  for (const NodeHead& head : heads) {
    Heard& heard = heard_[head.number];
    if (heard.epochs == head.epochs) continue;
    heard.epochs = head.epochs;
    heard.at_ns = listened_ns_;
  }
}

bool FilterRunner::StillSends(uint32_t node) const {
  const auto heard = heard_.find(node);
  return heard != heard_.end() && listened_ns_ - heard->second.at_ns <= kPatienceNs;
}

FilterRunner::FeedCounts FilterRunner::CountsOf(const NodeFeed& feed) {
  return {feed.shown(),   feed.skipped(), feed.unreadable(),
          feed.dropped(), feed.no_room(), feed.failed() ? 1U : 0U};
}

void FilterRunner::Count(Running& running, const NodeFeed& feed, const FeedCounts& before) {
  const FeedCounts now = CountsOf(feed);
  running.counts.shown += now.shown - before.shown;
  running.counts.skipped += now.skipped - before.skipped;
  running.counts.unreadable += now.unreadable - before.unreadable;
  running.counts.dropped += now.dropped - before.dropped;
  running.counts.no_room += now.no_room - before.no_room;
  running.counts.failed += now.failed - before.failed;
}

void FilterRunner::TellUnreadable(Running& running) {
  if (running.unreadable == 0) return;
  Say(absl::DataLossError(absl::StrCat(
      "filter ", running.feed.code->declared().name, ": ", std::exchange(running.unreadable, 0),
      " node-hours of its outputs cannot be read; it goes on from the hours before them, "
      "telltale-collector verify of a backup names the file")));
}

// One reading of the node serves all filters. A look comes every second and an epoch once a minute:
// of a node that sent nothing since all filters were done with it they are not asked.
void FilterRunner::Advance(const NodeHead& head) {
  if (head.number >= done_with_.size()) done_with_.resize(head.number + 1);
  if (IsDone(head)) return;
  uint64_t from_ns = UINT64_MAX;
  bool failed = false, waits = false;
  std::vector<std::pair<Running*, NodeFeed*>> feeds;
  for (const auto& running : running_) {
    const FilterCode* code = running->feed.code;
    if (code->ended()) continue;
    NodeFeed& feed = FeedOf(*running, head);
    const FeedCounts before = CountsOf(feed);
    const auto from = feed.Begin(head);
    Count(*running, feed, before);
    if (!from.ok()) {
      failed = true;
      if (!code->ended()) Say(from.status());
      NoteLearning(*running, feed);
    }
    waits = waits || feed.waits();
    if (!from.ok() || !from->has_value()) continue;
    feeds.emplace_back(running.get(), &feed);
    from_ns = std::min(from_ns, **from);
  }
  if (feeds.empty()) {
    if (!failed && !waits) done_with_[head.number] = head.epochs;
    return;
  }
  advanced_ = true;
  std::vector<FeedCounts> before;
  for (const auto& [running, feed] : feeds) before.push_back(CountsOf(*feed));
  const auto show = [&](const SourceEpoch& epoch) {
    for (const auto& [running, feed] : feeds) feed->Offer(epoch);
    if (options_.on_epoch) options_.on_epoch(head.number, epoch);
    return !stop_;
  };
  const auto read = options_.source->ForEachStored(head.number, from_ns, UINT64_MAX, show,
                                                   [&](uint64_t start_ns) {
                                                     for (const auto& [running, feed] : feeds)
                                                       feed->PassOver(start_ns);
                                                   });
  if (!read.ok()) Say(read);
  for (const auto& [running, feed] : feeds) {
    const absl::Status finished = feed->Finish(head, read.ok() && !stop_);
    if (!running->feed.code->ended()) Say(finished);
    NoteLearning(*running, *feed);
  }
  Rest(head.number);
  for (size_t i = 0; i < feeds.size(); ++i) Count(*feeds[i].first, *feeds[i].second, before[i]);
}

void FilterRunner::Wake(uint32_t node) {
  const RestingStates::States states = resting_.Take(node);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].has_value()) Say(running_[i]->nodes[node]->Wake(*states[i]));
  }
}

// The states of a node are kept together: if some rest and others were shown an epoch, those wake.
void FilterRunner::Rest(uint32_t node) {
  const auto awake = [&](const std::unique_ptr<Running>& running) {
    const NodeFeed* feed = FeedAt(*running, node);
    return feed != nullptr && feed->awake();
  };
  if (std::ranges::none_of(running_, awake)) return;
  Wake(node);
  RestingStates::States states;
  for (const auto& running : running_) {
    NodeFeed* feed = FeedAt(*running, node);
    states.push_back(feed == nullptr ? std::nullopt : feed->Rest());
  }
  if (std::ranges::none_of(states, [](const auto& state) { return state.has_value(); })) return;
  if (resting_.Put(node, states)) return;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].has_value()) Say(FeedAt(*running_[i], node)->Wake(*states[i]));
  }
}

void FilterRunner::NoteLearning(Running& running, NodeFeed& feed) {
  if (feed.resting()) return;
  std::optional<NodeFeed::Told> told = feed.Ask();
  std::optional<v1::FilterLearning> learning;
  if (told.has_value()) {
    NoteMuted(running, feed.node(), std::move(told->muted));
    learning = std::move(told->learning);
  }
  const bool learns =
      learning.has_value() && learning->learned_epochs() < learning->needed_epochs();
  const std::lock_guard lock(mutex_);
  if (learns) {
    running.learning[feed.node()] = *std::move(learning);
  } else {
    running.learning.erase(feed.node());
  }
}

void FilterRunner::NoteMuted(Running& running, uint32_t node, std::vector<std::string> muted) {
  const auto known = running.muted.find(node);
  if (known == running.muted.end() ? muted.empty() : known->second == muted) return;
  running.muted_changed = true;
  if (muted.empty()) {
    running.muted.erase(known);
  } else {
    running.muted[node] = std::move(muted);
  }
}

std::vector<v1::MutedProgram> FilterRunner::MutedOn(const Running& running) {
  std::map<std::string, v1::MutedProgram> by_program;
  for (const auto& [node, programs] : running.muted) {
    for (const std::string& program : programs) {
      v1::MutedProgram& muted = by_program[program];
      if (muted.nodes() == 0) muted.set_node(running.nodes[node]->name());
      muted.set_nodes(muted.nodes() + 1);
    }
  }
  std::vector<v1::MutedProgram> all;
  for (auto& [program, muted] : by_program) {
    muted.set_program(program);
    all.push_back(std::move(muted));
  }
  std::ranges::stable_sort(all, std::greater(), &v1::MutedProgram::nodes);
  if (all.size() > kMutedShown) all.resize(kMutedShown);
  return all;
}

// By the keys of this hour and the one before, where a filter that ran is found; only of a node
// that was away, or that the filter never saw, its other rows are gone through.
std::optional<FilterRunner::StoredHour> FilterRunner::LatestHour(Running& running,
                                                                 const NodeHead& head) {
  const uint64_t now = options_.now_ns();
  const uint64_t oldest_ns = now - std::min(now, kResumeNs);
  uint64_t hour_ns = storage::FloorTo(head.last_epoch_ns, storage::kHourNs);
  for (int tried = 0; tried < 2 && hour_ns >= oldest_ns && hour_ns > 0; ++tried) {
    const auto bytes = options_.store->Get({running.feed.filter_number, head.number, hour_ns});
    v1::FilterHour hour;
    if (bytes.ok() && hour.ParseFromString(*bytes)) return StoredHour(hour_ns, std::move(hour));
    // Costs what was learned since the hour before it.
    if (!absl::IsNotFound(bytes.status())) ++running.unreadable;
    hour_ns -= storage::kHourNs;
  }
  return LatestHourBefore(running, head.number, oldest_ns, hour_ns + storage::kHourNs);
}

std::optional<FilterRunner::StoredHour> FilterRunner::LatestHourBefore(Running& running,
                                                                       uint32_t node,
                                                                       uint64_t oldest_ns,
                                                                       uint64_t before_ns) {
  while (before_ns > oldest_ns) {
    const uint64_t from_ns = std::max(oldest_ns, storage::FloorTo(before_ns - 1, storage::kDayNs));
    std::optional<StoredHour> latest;
    const auto visit = [&](const storage::DerivedKey& key, std::string_view bytes) {
      v1::FilterHour hour;
      if (hour.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        latest.emplace(key.hour_start_ns, std::move(hour));
      } else {
        ++running.unreadable;
      }
      return true;
    };
    Say(options_.store->ForEachOf(running.feed.filter_number, {&node, 1}, from_ns, before_ns, visit,
                                  &running.unreadable));
    if (latest.has_value()) return latest;
    before_ns = from_ns;
  }
  return std::nullopt;
}

// Up to the last epoch that a version found something in: behind it, it may have been shown more,
// but told of nothing, so that what is found there is news whoever finds it.
uint64_t FilterRunner::ToldUntil(const Running& running, uint32_t node, uint64_t from_ns) {
  uint64_t until_ns = 0;
  const auto visit = [&](const storage::DerivedKey&, std::string_view bytes) {
    v1::FilterHour hour;
    // One that is damaged costs that a part of the past is told again.
    if (!hour.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return true;
    until_ns = std::max(until_ns, hour.last_end_ns());
    for (const v1::FilterAnomaly& anomaly : hour.anomalies()) {
      until_ns = std::max(until_ns, anomaly.found_ns());
    }
    return true;
  };
  for (const uint32_t other : running.others) {
    Say(options_.store->ForEachOf(other, {&node, 1}, from_ns, options_.now_ns() + storage::kDayNs,
                                  visit));
  }
  return until_ns;
}

NodeFeed& FilterRunner::FeedOf(Running& running, const NodeHead& head) {
  if (head.number >= running.nodes.size()) running.nodes.resize(head.number + 1);
  if (running.guard.has_value()) running.guard->set_nodes(running.nodes.size());
  auto& feed = running.nodes[head.number];
  if (feed != nullptr) return *feed;
  feed = std::make_unique<NodeFeed>(running.feed, head.number, head.name);
  feed->set_machine(head.machine);
  feed->set_scope(head.scope);
  numbers_[head.name] = head.number;
  const uint64_t now = options_.now_ns();
  uint64_t from_ns = now - std::min(now, kResumeNs);
  if (const auto stored = LatestHour(running, head)) {
    Say(feed->Resume(stored->first, stored->second));
    if (!running.feed.code->saves()) feed->BeginAnew();
    // What another version found in that hour may stand in the one before.
    from_ns = stored->first - std::min(stored->first, storage::kHourNs);
  }
  feed->set_told_until(ToldUntil(running, head.number, from_ns));
  Count(running, *feed, {});
  return *feed;
}

// Also of one that ended in this look.
void FilterRunner::NoteCounts(Running& running) {
  const std::lock_guard lock(mutex_);
  running.report.shown = running.counts.shown;
  running.report.skipped = running.counts.skipped;
  running.report.unreadable = running.counts.unreadable;
  running.report.dropped = running.counts.dropped;
  running.report.no_room = running.counts.no_room;
}

void FilterRunner::Report(Running& running, const std::vector<NodeHead>& heads) {
  uint64_t lag_ns = 0;
  for (const NodeHead& head : heads) {
    // With most of a fleet all filters are done.
    if (head.epochs == 0 || IsDone(head)) continue;
    const NodeFeed& feed = FeedOf(running, head);
    if (!feed.failed() && head.last_epoch_ns > feed.last_end_ns()) {
      lag_ns = std::max(lag_ns, head.last_epoch_ns - feed.last_end_ns());
    }
  }
  uint64_t anomalies = 0;
  for (const auto& [key, count] : options_.log->Counts()) {
    if (key.first == running.report.status.name()) anomalies += count;
  }
  const uint64_t failed = running.counts.failed;
  const bool muted_changed = std::exchange(running.muted_changed, false);
  auto muted = muted_changed ? MutedOn(running) : std::vector<v1::MutedProgram>();
  const std::lock_guard lock(mutex_);
  if (muted_changed) running.report.muted = std::move(muted);
  v1::FilterStatus& status = running.report.status;
  status.set_lag_s(static_cast<double>(lag_ns) / 1e9);
  status.set_anomalies(static_cast<uint32_t>(anomalies));
  status.set_reason(failed == 0 ? "" : absl::StrCat("gave up on ", failed, " nodes"));
  status.set_state(failed > 0 && failed == heads.size() ? "disabled" : "running");
}

void FilterRunner::Say(const absl::Status& status) {
  if (status.ok() || !options_.log_line) return;
  std::string line(status.message().data(), status.message().size());
  // Once each in an hour.
  const uint64_t now = options_.now_ns();
  if (now - std::min(now, said_since_ns_) >= storage::kHourNs) said_.clear();
  if (said_.empty()) said_since_ns_ = now;
  if (said_.size() > kMaxSaid || !said_.insert(line).second) return;
  options_.log_line(said_.size() <= kMaxSaid
                        ? line
                        : absl::StrCat("filters: ", kMaxSaid,
                                       " different problems within an hour; what else goes wrong "
                                       "until it is over is not logged"));
}

// A filter that gave up, or is gone, will not say that something ended either.
bool FilterRunner::Speaks(const NodeFeed& feed) const {
  return !feed.failed() && StillSends(feed.node());
}

bool FilterRunner::IsOpen(const std::string& filter, const NodeNames& nodes,
                          const std::function<bool(const OpenAnomaly&)>& fits) const {
  const auto holds = [&](const NodeFeed* feed) {
    return feed != nullptr && std::ranges::any_of(feed->open(), fits) && Speaks(*feed);
  };
  for (const auto& running : running_) {
    if (running->report.status.name() != filter || running->feed.code->ended()) continue;
    const bool on_any = nodes.empty() && std::ranges::any_of(running->nodes, [&](const auto& feed) {
                          return holds(feed.get());
                        });
    const bool on_one = std::ranges::any_of(nodes, [&](std::string_view node) {
      const auto number = numbers_.find(node);
      return number != numbers_.end() && holds(FeedAt(*running, number->second));
    });
    if (on_any || on_one) return true;
  }
  return false;
}

OpenByNode FilterRunner::AllOpen() const {
  OpenByNode all;
  for (const auto& running : running_) {
    if (running->feed.code->ended()) continue;
    for (const auto& feed : running->nodes) {
      if (feed == nullptr || feed->open().empty() || !Speaks(*feed)) continue;
      all[feed->name()].insert(feed->open().begin(), feed->open().end());
    }
  }
  return all;
}

std::vector<FilterIdentity> FilterRunner::filters() const {
  std::vector<FilterIdentity> list;
  for (const auto& running : running_) {
    const telltale_filter& filter = running->feed.code->declared();
    list.push_back({filter.name, filter.version});
  }
  return list;
}

std::vector<FilterReport> FilterRunner::Reports() const {
  const std::lock_guard lock(mutex_);
  std::vector<FilterReport> list;
  for (const auto& running : running_) list.push_back(running->report);
  // What came since a look began waits for the next one, so a look that lasts is a lag of its own.
  if (const uint64_t began_ns = look_began_ns_; began_ns != 0) {
    const uint64_t now_ns = options_.now_ns();
    const double lasts_s = static_cast<double>(now_ns - std::min(began_ns, now_ns)) / 1e9;
    for (FilterReport& report : list) {
      report.status.set_lag_s(std::max(report.status.lag_s(), lasts_s));
    }
  }
  return list;
}

std::vector<v1::FilterLearning> FilterRunner::Learning() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::FilterLearning> all;
  for (const auto& running : running_) {
    for (const auto& [node, learning] : running->learning) all.push_back(learning);
  }
  return all;
}

}  // namespace telltale::filter
