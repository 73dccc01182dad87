#include "collector/filter/filter_runner.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "storage/keys.h"

namespace telltale::filter {
namespace {

// A filter that was not run for longer than this begins anew.
constexpr uint64_t kResumeNs = 2 * storage::kDayNs;
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxSaid = 1000;

absl::Status Check(const telltale_filter* filter) {
  if (filter == nullptr || filter->abi != TELLTALE_FILTER_ABI) {
    return absl::InvalidArgumentError(absl::StrCat("filter: interface version ",
                                                   filter == nullptr ? 0 : filter->abi,
                                                   ", this collector knows ", TELLTALE_FILTER_ABI));
  }
  if (!TELLTALE_FILTER_HAS(filter, telltale_filter, load)) {
    return absl::InvalidArgumentError(absl::StrCat("filter: struct of ", filter->struct_size,
                                                   " bytes, version 1 has ",
                                                   sizeof(telltale_filter)));
  }
  const std::string_view name = filter->name == nullptr ? "" : filter->name;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (name.empty() || name.size() > kMaxNameBytes || !plain) {
    return absl::InvalidArgumentError("filter: name is not 1..64 bytes of [a-z0-9_-]");
  }
  if (filter->create == nullptr || filter->epoch == nullptr || filter->destroy == nullptr ||
      (filter->save == nullptr) != (filter->load == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter ", std::string(name), ": needs create, epoch, destroy, and save with load"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FilterRunner>> FilterRunner::Open(FilterRunnerOptions options) {
  std::unique_ptr<FilterRunner> runner(new FilterRunner(std::move(options)));
  for (const telltale_filter* filter : runner->options_.filters) {
    if (auto status = runner->Add(filter); !status.ok()) return status;
  }
  return runner;
}

absl::Status FilterRunner::Add(const telltale_filter* filter) {
  if (auto status = Check(filter); !status.ok()) return status;
  auto running = std::make_unique<Running>();
  FeedOptions& feed = running->feed;
  feed.filter = filter;
  for (const auto& [name, value] : options_.filter_options) {
    feed.options.push_back({name.c_str(), value});
  }
  const auto number = options_.store->FilterNumber(filter->name, filter->version);
  if (!number.ok()) return number.status();
  feed.filter_number = *number;
  feed.source = options_.source;
  feed.store = options_.store;
  feed.log = options_.log;
  feed.now_ns = options_.now_ns;
  feed.hold_ns = options_.hold_ns;
  feed.backfill_ns = options_.backfill_ns;
  const uint64_t now = options_.now_ns();
  auto status = options_.store->ForEach(
      *number, now - std::min(now, kResumeNs), now + storage::kDayNs,
      [&](const storage::DerivedKey& key, std::string_view value) {
        auto& [hour_start_ns, hour] = running->resume[key.node];
        v1::FilterHour read;
        // A damaged hour costs what was learned since the one before it.
        if (key.hour_start_ns >= hour_start_ns &&
            read.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          hour_start_ns = key.hour_start_ns;
          hour = std::move(read);
        }
        return true;
      });
  if (!status.ok()) return status;
  running->status.set_name(filter->name);
  running->status.set_version(filter->version);
  running->status.set_state("running");
  running_.push_back(std::move(running));
  return absl::OkStatus();
}

FilterRunner::~FilterRunner() { Stop(); }

void FilterRunner::Start() {
  thread_ = std::thread([this] {
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
  const std::vector<NodeHead> heads = options_.source->Nodes();
  for (const NodeHead& head : heads) {
    if (stop_) return;
    if (head.epochs > 0) Advance(head);
  }
  for (const auto& running : running_) Report(*running, heads);
  // What was put since is made durable together; until then a crash only means showing it again.
  if (auto status = options_.store->Sync(); !status.ok()) Say(status);
  if (options_.after_look) Say(options_.after_look());
}

// One reading of the node serves all filters.
void FilterRunner::Advance(const NodeHead& head) {
  uint64_t from_ns = UINT64_MAX;
  std::vector<NodeFeed*> feeds;
  for (const auto& running : running_) {
    NodeFeed& feed = FeedOf(*running, head);
    const auto from = feed.Begin(head);
    if (!from.ok()) Say(from.status());
    if (!from.ok() || !from->has_value()) continue;
    feeds.push_back(&feed);
    from_ns = std::min(from_ns, **from);
  }
  if (feeds.empty()) return;
  const auto read =
      options_.source->ForEach(head.number, from_ns, UINT64_MAX, [&](const SourceEpoch& epoch) {
        for (NodeFeed* feed : feeds) feed->Offer(epoch);
        return !stop_;
      });
  if (!read.ok()) Say(read);
  for (NodeFeed* feed : feeds) Say(feed->Finish(head, read.ok() && !stop_));
}

NodeFeed& FilterRunner::FeedOf(Running& running, const NodeHead& head) {
  auto& feed = running.nodes[head.number];
  if (feed != nullptr) return *feed;
  feed = std::make_unique<NodeFeed>(running.feed, head.number, head.name);
  if (const auto stored = running.resume.find(head.number); stored != running.resume.end()) {
    if (stored->second.first > 0) {
      Say(feed->Resume(stored->second.first, stored->second.second));
    }
    running.resume.erase(stored);
  }
  return *feed;
}

void FilterRunner::Report(Running& running, const std::vector<NodeHead>& heads) {
  uint64_t lag_ns = 0, skipped = 0;
  uint32_t failed = 0;
  std::vector<v1::FilterLearning> learning;
  for (const NodeHead& head : heads) {
    if (head.epochs == 0) continue;
    const NodeFeed& feed = FeedOf(running, head);
    failed += feed.failed() ? 1 : 0;
    if (auto told = feed.Learning();
        told.has_value() && told->learned_epochs() < told->needed_epochs()) {
      learning.push_back(*std::move(told));
    }
    skipped += feed.skipped();
    if (!feed.failed() && head.last_epoch_ns > feed.last_end_ns()) {
      lag_ns = std::max(lag_ns, head.last_epoch_ns - feed.last_end_ns());
    }
  }
  uint64_t anomalies = 0;
  for (const auto& [key, count] : options_.log->Counts()) {
    if (key.first == running.status.name()) anomalies += count;
  }
  const std::lock_guard lock(mutex_);
  running.skipped = skipped;
  running.learning = std::move(learning);
  running.status.set_lag_s(static_cast<double>(lag_ns) / 1e9);
  running.status.set_anomalies(static_cast<uint32_t>(anomalies));
  running.status.set_reason(failed == 0 ? "" : absl::StrCat("gave up on ", failed, " nodes"));
  running.status.set_state(failed > 0 && failed == heads.size() ? "disabled" : "running");
}

void FilterRunner::Say(const absl::Status& status) {
  if (status.ok() || !options_.log_line) return;
  std::string line(status.message().data(), status.message().size());
  // Once each; a problem that stays is in the status.
  if (said_.size() < kMaxSaid && said_[line]++ == 0) options_.log_line(line);
}

std::vector<FilterIdentity> FilterRunner::filters() const {
  std::vector<FilterIdentity> list;
  for (const auto& running : running_) {
    list.push_back({running->feed.filter->name, running->feed.filter->version});
  }
  return list;
}

std::vector<v1::FilterStatus> FilterRunner::Status() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::FilterStatus> list;
  for (const auto& running : running_) list.push_back(running->status);
  return list;
}

std::vector<v1::FilterLearning> FilterRunner::Learning() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::FilterLearning> all;
  for (const auto& running : running_) {
    all.insert(all.end(), running->learning.begin(), running->learning.end());
  }
  return all;
}

std::map<std::string, uint64_t> FilterRunner::Skipped() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, uint64_t> skipped;
  for (const auto& running : running_) skipped[running->status.name()] += running->skipped;
  return skipped;
}

}  // namespace telltale::filter
