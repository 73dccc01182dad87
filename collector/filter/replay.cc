#include "collector/filter/replay.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/node_feed.h"
#include "proto/codec.h"
#include "storage/keys.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"

namespace telltale::filter {
namespace {

constexpr size_t kMaxAnomalies = 10'000;

// What the live run left for this node.
struct Saved {
  std::optional<std::pair<uint64_t, v1::FilterHour>> resume;  // the latest hour up to `from`
  std::vector<std::pair<uint64_t, v1::FilterHour>> before;    // of the day before it
  std::map<uint64_t, v1::FilterHour> since;                   // by start, `resume` included
};

absl::StatusOr<Saved> Read(const ReplayOptions& options, uint32_t number) {
  Saved saved;
  const uint64_t day_before = options.from_ns - std::min(options.from_ns, storage::kDayNs);
  absl::Status damaged;
  const auto visit = [&](const storage::DerivedKey& key, std::string_view value) {
    if (key.node != options.node.number) return true;
    v1::FilterHour hour;
    if (!hour.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      damaged = absl::DataLossError(absl::StrCat("filter run: the outputs of ",
                                                 options.code->declared().name, " for node ",
                                                 options.node.name, " are damaged"));
      return false;
    }
    if (key.hour_start_ns <= options.from_ns) {
      if (saved.resume.has_value()) saved.before.push_back(*std::move(saved.resume));
      saved.resume = {key.hour_start_ns, hour};
      saved.since.clear();
    }
    saved.since[key.hour_start_ns] = std::move(hour);
    return true;
  };
  // An hour is whole once a later one is there, even if that is beyond what is asked for.
  uint64_t unreadable = 0;
  const auto read = options.store->ForEach(number, day_before, options.to_ns + storage::kDayNs,
                                           visit, &unreadable);
  if (!read.ok()) return read;
  // A comparison with a part would call the rest a difference.
  if (unreadable != 0) {
    return absl::DataLossError(absl::StrCat("filter run: about ", unreadable, " outputs of ",
                                            options.code->declared().name,
                                            " of this time cannot be read"));
  }
  if (!damaged.ok()) return damaged;
  return saved;
}

absl::StatusOr<std::vector<v1::Anomaly>> List(const ReplayOptions& options,
                                              storage::DerivedStore* store) {
  AnomalyQuery query;
  query.from_ns = options.from_ns;
  query.to_ns = options.to_ns;
  query.limit = kMaxAnomalies;
  query.node_name = [&](uint32_t node) -> std::optional<std::string> {
    if (node != options.node.number) return std::nullopt;
    return options.node.name;
  };
  auto page = ListAnomalies(
      store, {{options.code->declared().name, options.code->declared().version}}, query);
  if (!page.ok()) return page.status();
  return std::move(page->anomalies);
}

// Whether the live run passed over an epoch that is stored by now. Of its latest hour it says
// which; of those before, which it did not.
bool CameTooLate(const Saved& saved, const SourceEpoch& epoch) {
  const uint64_t start_ns = epoch.span.start_ns;
  const auto hour = saved.since.find(storage::FloorTo(start_ns, storage::kHourNs));
  if (hour == saved.since.end()) return false;
  const auto& runs = hour->second.shown_sequences();
  if (std::next(hour) != saved.since.end() && !runs.empty()) {
    for (int i = 0; i + 1 < runs.size(); i += 2) {
      if (epoch.sequence >= runs.Get(i) && epoch.sequence <= runs.Get(i + 1)) return false;
    }
    return true;
  }
  return std::ranges::any_of(hour->second.skipped(), [&](const v1::SkippedEpoch& skipped) {
    return skipped.start_ns() == start_ns && skipped.sequence() == epoch.sequence;
  });
}

}  // namespace

absl::StatusOr<Replayed> Replay(const ReplayOptions& options, const std::function<bool()>& stop) {
  const auto number =
      options.store->FilterNumber(options.code->declared().name, options.code->declared().version);
  if (!number.ok()) return number.status();
  auto saved = Read(options, *number);
  if (!saved.ok()) return saved.status();

  storage::MemoryHistory history;
  storage::MemoryCatalog catalog;
  storage::DerivedStore apart(&history, &catalog);
  auto log = AnomalyLog::Open({.store = &apart});
  if (!log.ok()) return log.status();
  const auto apart_number =
      apart.FilterNumber(options.code->declared().name, options.code->declared().version);
  if (!apart_number.ok()) return apart_number.status();
  // More may become known of anomalies that began before.
  for (const auto& [hour_start_ns, hour] : saved->before) {
    const auto put =
        apart.Put({*apart_number, options.node.number, hour_start_ns}, proto::Canonical(hour), 1);
    if (!put.ok()) return put;
  }

  FeedOptions feeding;
  feeding.code = options.code;
  for (const auto& [name, value] : options.filter_options) {
    feeding.options.push_back({name.c_str(), value});
  }
  feeding.filter_number = *apart_number;
  feeding.source = options.source;
  feeding.store = &apart;
  feeding.log = log->get();
  feeding.now_ns = [&options] { return options.to_ns; };
  feeding.hold_ns = 0;
  feeding.backfill_ns = options.to_ns - options.from_ns + storage::kDayNs;
  feeding.until_ns = options.to_ns;
  feeding.waits = false;
  NodeFeed feed(feeding, options.node.number, options.node.name);
  feed.set_machine(options.node.machine);
  Replayed replayed;
  if (saved->resume.has_value()) {
    v1::FilterHour& hour = saved->resume->second;
    hour.clear_anomalies();  // it emits them again
    hour.clear_marks();
    hour.clear_points();
    hour.clear_dropped();
    if (auto status = feed.Resume(saved->resume->first, hour); !status.ok()) return status;
    replayed.resumed = true;
  }
  const uint64_t shown_before = feed.shown();
  const auto from = feed.Begin(options.node);
  if (!from.ok()) return from.status();
  if (from->has_value()) {
    bool stopped = false;
    const auto read = options.source->ForEach(options.node.number, **from, options.to_ns,
                                              [&](const SourceEpoch& epoch) {
                                                if (CameTooLate(*saved, epoch)) {
                                                  replayed.late_ns.push_back(epoch.span.start_ns);
                                                } else {
                                                  feed.Offer(epoch);
                                                }
                                                return !(stopped = stop());
                                              });
    if (!read.ok()) return read;
    if (stopped) return absl::CancelledError("filter run: cancelled");
    if (auto status = feed.Finish(options.node, false); !status.ok()) return status;
  }
  replayed.epochs = feed.shown() - shown_before;
  std::erase_if(replayed.late_ns, [&](uint64_t start_ns) { return start_ns < options.from_ns; });
  auto again = List(options, &apart);
  if (!again.ok()) return again.status();
  replayed.anomalies = *std::move(again);
  auto live = List(options, options.store);
  if (!live.ok()) return live.status();
  replayed.live = *std::move(live);
  return replayed;
}

}  // namespace telltale::filter
