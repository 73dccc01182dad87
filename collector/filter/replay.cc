#include "collector/filter/replay.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/node_feed.h"
#include "proto/codec.h"
#include "storage/keys.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

constexpr size_t kMaxAnomalies = 10'000;
constexpr uint64_t kBehindNs = storage::kDayNs;  // `to`: the most that is shown

// What the live run left for this node.
struct Saved {
  std::optional<std::pair<uint64_t, v1::FilterHour>> resume;  // the latest hour up to `from`
  std::vector<std::pair<uint64_t, v1::FilterHour>> before;    // of the day before it, and earlier
                                                              // ones of what went on by then
  std::map<uint64_t, v1::FilterHour> since;                   // by start, `resume` included
};

// Hours of more than a day before, in which something began that still went on.
absl::Status ReadEarlier(const ReplayOptions& options, uint32_t number, uint64_t day_before,
                         Saved& saved) {
  std::set<uint64_t> earlier;
  const auto note = [&](const v1::FilterHour& hour) {
    for (const uint64_t start_ns : hour.open_hours()) {
      if (start_ns < day_before) earlier.insert(start_ns);
    }
  };
  for (const auto& [start_ns, hour] : saved.before) note(hour);
  if (saved.resume.has_value()) note(saved.resume->second);
  for (const uint64_t start_ns : earlier) {
    const auto bytes = options.store->Get({number, options.node.number, start_ns});
    if (absl::IsUnavailable(bytes.status())) return bytes.status();
    v1::FilterHour hour;
    // One that is gone or damaged the live run does not know either.
    if (bytes.ok() && hour.ParseFromString(*bytes)) {
      saved.before.emplace_back(start_ns, std::move(hour));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Saved> Read(const ReplayOptions& options, uint32_t number) {
  Saved saved;
  const uint64_t day_before = options.from_ns - std::min(options.from_ns, storage::kDayNs);
  absl::Status damaged;
  const auto visit = [&](const storage::DerivedKey& key, std::string_view value) {
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
  const auto read =
      options.store->ForEachOf(number, {&options.node.number, 1}, day_before,
                               options.to_ns + kBehindNs + storage::kDayNs, visit, &unreadable);
  if (!read.ok()) return read;
  // A comparison with a part would call the rest a difference.
  if (unreadable != 0) {
    return absl::DataLossError(absl::StrCat("filter run: about ", unreadable, " outputs of ",
                                            options.code->declared().name, " for node ",
                                            options.node.name, " of this time cannot be read"));
  }
  if (!damaged.ok()) return damaged;
  if (auto status = ReadEarlier(options, number, day_before, saved); !status.ok()) return status;
  return saved;
}

// All there are: two lists that are cut may be equal by what is left of them. `whose`: "live" or
// "this run", in errors.
absl::StatusOr<std::vector<v1::Anomaly>> List(const ReplayOptions& options,
                                              storage::DerivedStore* store, const char* whose) {
  AnomalyQuery query;
  query.nodes = {options.node.number};
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
  if (!page->next_page.empty()) {
    const auto seconds = static_cast<int64_t>(page->anomalies.back().start_s());
    return absl::ResourceExhaustedError(
        absl::StrCat("filter run: ", whose, " has more than ", kMaxAnomalies, " anomalies of ",
                     options.code->declared().name, " on node ", options.node.name,
                     ", so they cannot be compared: those from ",
                     absl::FormatTime(absl::FromUnixSeconds(seconds), absl::UTCTimeZone()),
                     " on are as many; choose a shorter time"));
  }
  return std::move(page->anomalies);
}

// Facts say no more than the sentences, and collectors of before there were any stored none: where
// the live run has none, they are no difference.
std::vector<v1::Anomaly> WithoutNewFacts(std::vector<v1::Anomaly> anomalies,
                                         const std::vector<v1::Anomaly>& live) {
  std::set<std::string_view> without;
  for (const v1::Anomaly& one : live) {
    if (one.facts().empty()) without.insert(one.id());
  }
  for (v1::Anomaly& one : anomalies) {
    if (without.contains(one.id())) one.clear_facts();
  }
  return anomalies;
}

// The points and marks that lie in [from, to), each list sorted.
struct Outputs {
  using Point = std::tuple<uint64_t, uint64_t, int64_t>;  // series (a digest), time, value
  std::vector<Point> points;
  std::vector<std::string> marks;  // serialized
  uint64_t newest_ns = 0;          // of all points
};

absl::StatusOr<Outputs> OutputsOf(const ReplayOptions& options, storage::DerivedStore& store,
                                  uint32_t number) {
  Outputs outputs;
  const auto in_range = [&](uint64_t time_ns) {
    return time_ns >= options.from_ns && time_ns < options.to_ns;
  };
  const auto visit = [&](const storage::DerivedKey&, std::string_view value) {
    v1::FilterHour hour;
    // What is damaged was refused before.
    if (!hour.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
    for (const v1::FilterPoints& points : hour.points()) {
      const uint64_t series = storage::DigestText(
          absl::StrCat(points.series(), "\n", points.vital(), "/", points.sub()));
      for (int i = 0; i < points.time_ns_size(); ++i) {
        outputs.newest_ns = std::max(outputs.newest_ns, points.time_ns(i));
        if (!in_range(points.time_ns(i))) continue;
        outputs.points.emplace_back(series, points.time_ns(i), points.value_micro(i));
      }
    }
    for (const v1::FilterMark& mark : hour.marks()) {
      if (in_range(mark.start_ns())) outputs.marks.push_back(mark.SerializeAsString());
    }
    return true;
  };
  uint64_t unreadable = 0;
  const auto read = store.ForEachOf(number, {&options.node.number, 1},
                                    storage::FloorTo(options.from_ns, storage::kHourNs),
                                    options.to_ns + storage::kHourNs, visit, &unreadable);
  if (!read.ok()) return read;
  std::ranges::sort(outputs.points);
  std::ranges::sort(outputs.marks);
  return outputs;
}

template <typename T>
uint64_t CountOnly(const std::vector<T>& in, const std::vector<T>& other) {
  std::vector<T> only;
  std::ranges::set_difference(in, other, std::back_inserter(only));
  return only.size();
}

absl::Status CompareOutputs(const ReplayOptions& options, storage::DerivedStore& apart,
                            uint32_t apart_number, uint32_t live_number, Replayed& replayed) {
  auto here = OutputsOf(options, apart, apart_number);
  if (!here.ok()) return here.status();
  const auto live = OutputsOf(options, *options.store, live_number);
  if (!live.ok()) return live.status();
  replayed.points = here->points.size();
  replayed.marks = here->marks.size();
  // The live run may not have come so far yet.
  if (live->newest_ns != 0) {
    std::erase_if(here->points, [&](const Outputs::Point& point) {
      return std::get<1>(point) > live->newest_ns;
    });
  }
  replayed.new_points = CountOnly(here->points, live->points);
  replayed.missing_points = CountOnly(live->points, here->points);
  replayed.new_marks = CountOnly(here->marks, live->marks);
  replayed.missing_marks = CountOnly(live->marks, here->marks);
  return absl::OkStatus();
}

std::string Bytes(const std::vector<v1::Anomaly>& anomalies) {
  std::string bytes;
  for (const v1::Anomaly& anomaly : anomalies) {
    absl::StrAppend(&bytes, anomaly.SerializeAsString(), "\n");
  }
  return bytes;
}

// A filter that floods live is disabled; here it must not take the collector's memory.
absl::Status CheckBytes(const ReplayOptions& options, const storage::MemoryHistory& said,
                        uint64_t before_ns) {
  const auto size = said.Size(storage::Family::kDerived);
  if (!size.ok() || size->bytes <= options.max_bytes) return size.status();
  return absl::ResourceExhaustedError(absl::StrCat(
      "filter run: ", options.code->declared().name, " says more than ", options.max_bytes >> 20,
      " MiB of node ", options.node.name, " up to ",
      absl::FormatTime(absl::FromUnixNanos(static_cast<int64_t>(before_ns)), absl::UTCTimeZone()),
      "; choose a shorter time"));
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
  auto log = AnomalyLog::Open({.store = &apart, .kept = 64, .recent = 64});
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
  feeding.options = OptionsFor(options.code->declared().name, options.filter_options);
  feeding.filter_number = *apart_number;
  feeding.source = options.source;
  feeding.store = &apart;
  feeding.log = log->get();
  feeding.now_ns = [&options] { return options.to_ns; };
  feeding.hold_ns = 0;
  feeding.backfill_ns = options.to_ns - options.from_ns + storage::kDayNs;
  feeding.waits = false;
  NodeFeed feed(feeding, options.node.number, options.node.name);
  feed.set_machine(options.node.machine);
  feed.set_scope(options.node.scope);
  Replayed replayed;
  if (saved->resume.has_value()) {
    v1::FilterHour& hour = saved->resume->second;
    hour.clear_anomalies();  // it emits them again
    hour.clear_marks();
    hour.clear_points();
    hour.clear_shown_sequences();  // whose points are there
    hour.clear_dropped();
    if (auto status = feed.Resume(saved->resume->first, hour); !status.ok()) return status;
    replayed.resumed = true;
  }
  auto live = List(options, options.store, "live");
  if (!live.ok()) return live.status();
  replayed.live = *std::move(live);
  const std::string live_bytes = Bytes(replayed.live);
  // Asked behind `to`, again whenever it told something more.
  std::optional<uint64_t> told;
  const auto says_the_same = [&]() -> absl::StatusOr<bool> {
    if (told == feed.told()) return false;
    told = feed.told();
    auto again = List(options, &apart, "this run");
    if (!again.ok()) return again.status();
    return Bytes(WithoutNewFacts(*std::move(again), replayed.live)) == live_bytes;
  };

  const uint64_t shown_before = feed.shown();
  const auto from = feed.Begin(options.node);
  if (!from.ok()) return from.status();
  if (from->has_value()) {
    absl::Status problem;
    bool behind = false;  // `to`
    bool agreed = false;  // it said as many anomalies as the live run
    // What is drawn or marked of an epoch only when a later one is seen comes within an hour.
    const auto is_over = [&](uint64_t start_ns) -> absl::StatusOr<bool> {
      if (agreed) return start_ns >= options.to_ns + storage::kHourNs;
      const auto same = says_the_same();
      if (!same.ok() || !*same) return same;
      agreed = true;
      if (auto status = CompareOutputs(options, apart, *apart_number, *number, replayed);
          !status.ok()) {
        return status;
      }
      return replayed.missing_points + replayed.missing_marks == 0;
    };
    uint64_t hour_ns = 0;
    const auto visit = [&](const SourceEpoch& epoch) {
      if (stop()) problem = absl::CancelledError("filter run: cancelled");
      if (problem.ok() && epoch.span.start_ns >= options.to_ns) {
        if (feed.failed()) return false;
        behind = true;
        const auto over = is_over(epoch.span.start_ns);
        problem = over.status();
        if (over.ok() && *over) return false;
      }
      const uint64_t hour = storage::FloorTo(epoch.span.start_ns, storage::kHourNs);
      if (problem.ok() && std::exchange(hour_ns, hour) != hour) {
        problem = CheckBytes(options, history, hour);
      }
      if (!problem.ok()) return false;
      if (!CameTooLate(*saved, epoch)) {
        feed.Offer(epoch);
        replayed.shown_ns = epoch.span.end_ns;
      } else if (epoch.span.start_ns >= options.from_ns && !behind) {
        replayed.late_ns.push_back(epoch.span.start_ns);
      }
      return true;
    };
    const auto unreadable = [&](uint64_t start_ns) {
      if (start_ns >= options.from_ns && start_ns < options.to_ns) ++replayed.unreadable;
    };
    const auto read = options.source->ForEachStored(options.node.number, **from,
                                                    options.to_ns + kBehindNs, visit, unreadable);
    if (!read.ok()) return read;
    if (!problem.ok()) return problem;
    const auto finished = feed.Finish(options.node, false);
    // One that gives up behind `to` has said what it had to say of the time before.
    if (!finished.ok() && !(behind && feed.failed())) return finished;
  }
  replayed.epochs = feed.shown() - shown_before;
  auto again = List(options, &apart, "this run");
  if (!again.ok()) return again.status();
  replayed.anomalies = WithoutNewFacts(*std::move(again), replayed.live);
  if (auto status = CompareOutputs(options, apart, *apart_number, *number, replayed);
      !status.ok()) {
    return status;
  }
  return replayed;
}

}  // namespace telltale::filter
