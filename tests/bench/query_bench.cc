// How much the coarser tiers save: the same questions answered by opening every raw epoch and by
// the tier the engine chooses, on three made-up days of one node. Prints milliseconds of CPU (the
// median of some runs) and ratios; asserts nothing.
//
//   build/release/bin/query_bench              one node
//   build/release/bin/query_bench fleet 1000   an hour of so many nodes, no epochs beside it
//   build/release/bin/query_bench minutes 1000 what `run collector` asks a fleet that has just
//   begun
//
//   build/release/bin/query_bench lines 1000   one vital of so many nodes over 30 days, from line
//   blocks
//   build/release/bin/query_bench metrics 10000  a scrape of /metrics with so many nodes
//
// Beside each figure stands a digest of the answer: two builds that give equal ones answer alike.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/metrics/metrics_page.h"
#include "collector/metrics/store_figures.h"
#include "collector/query/series_lines.h"
#include "collector/query/tier_scan.h"
#include "storage/stored_value.h"
#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

constexpr double kHour = 3600, kDay = 86400;

double CpuMs() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

double Median(const std::function<void()>& ask) {
  std::vector<double> times;
  for (int run = 0; run < 5; ++run) {
    const double begin = CpuMs();
    ask();
    times.push_back(CpuMs() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <typename Answer>
std::string Digest(const absl::StatusOr<Answer>& answer) {
  const std::string bytes =
      answer.ok() ? answer->SerializeAsString() : std::string(answer.status().message());
  return absl::StrCat(absl::Hex(std::hash<std::string>()(bytes), absl::kZeroPad16));
}

void Print(const std::string& what, double raw_ms, double tier_ms, const std::string& digest,
           const std::string& rests_on) {
  std::printf("%-42s %10.1f %10.1f %8.1f   %s %s\n", what.c_str(), raw_ms, tier_ms,
              raw_ms / tier_ms, digest.c_str(), rests_on.c_str());
  std::fflush(stdout);
}

std::string RestsOn(const v1::Coverage& coverage) {
  std::string text;
  for (const v1::TierUse& use : coverage.used()) {
    text +=
        (text.empty() ? "" : ", ") + v1::Tier_Name(use.tier()) + " x " + std::to_string(use.rows());
  }
  return text;
}

// Every line from every epoch, opened one by one.
void SeriesOfEpochs(const testing::QueryStore& store, const v1::SeriesRequest& request) {
  Context context;
  context.source = &store.source();
  context.now_ns = testing::QueryStore::kStart + 3 * storage::kDayNs;
  const auto selection = Resolve(request.selection(), context);
  const VitalBook book(*selection, context);
  SeriesLines lines(*book.Choose("", false), {});
  TierScan scan(*selection, context, {v1::TIER_RAW, true}, {},
                {[&](const StoredEpoch& epoch) { lines.AddEpoch(epoch); }, nullptr});
  if (!scan.All().ok()) std::printf("the epochs could not be read\n");
  v1::SeriesAnswer answer;
  lines.Write({}, 2000, &answer);
}

// Three epochs of each node and no window yet; CPU ms of each question and the digest of its
// answer.
int RunMinutes(uint32_t nodes) {
  testing::QueryStore store(nodes, {}, /*cache_bytes=*/0);
  store.set_now(4 * 60);
  store.Put(0, 3 * 60);
  const auto ask = [&](const char* what, const auto& question) {
    const double ms = Median([&] { (void)question(); });
    std::printf("%-42s %10.1f   %s\n", what, ms, Digest(question()).c_str());
    std::fflush(stdout);
  };
  std::printf("%-42s %10s   %s\n", "CPU ms", "answer", "digest");
  auto top = store.Asked<v1::TopRequest>(4 * 60 - kHour, 4 * 60);
  top.set_vital("cpu");
  top.set_by(v1::DIMENSION_SITE);
  ask("top labels of 1 h", [&] { return store.engine().Top(top, {}); });
  top.set_by(v1::DIMENSION_EXE);
  ask("top executables of 1 h", [&] { return store.engine().Top(top, {}); });
  auto series = store.Asked<v1::SeriesRequest>(4 * 60 - 30 * kDay, 4 * 60);
  series.add_vitals("cpu");
  ask("one vital, 30 d", [&] { return store.engine().Series(series, {}); });
  series.set_per_node(true);
  ask("one vital, 30 d, each node", [&] { return store.engine().Series(series, {}); });
  auto node = store.Asked<v1::SeriesRequest>(4 * 60 - 3 * kDay, 4 * 60);
  node.mutable_selection()->add_nodes(store.name(0));
  ask("all vitals of one node, 3 d", [&] { return store.engine().Series(node, {}); });
  v1::DiffRequest diff;
  *diff.mutable_top() = store.Asked<v1::TopRequest>(4 * 60 - kDay, 4 * 60);
  diff.mutable_top()->mutable_selection()->add_nodes(store.name(0));
  diff.mutable_top()->set_vital("cpu");
  *diff.mutable_against() =
      store.Asked<v1::TopRequest>(4 * 60 - 2 * kDay, 4 * 60 - kDay).selection();
  diff.mutable_against()->add_nodes(store.name(0));
  ask("two days of one node compared", [&] { return store.engine().Diff(diff, {}); });
  return 0;
}

// The page of one scrape, piece by piece, with an epoch of each node.
int RunMetrics(uint32_t nodes) {
  testing::QueryStore store(nodes, {}, /*cache_bytes=*/0);
  store.set_now(2 * 60);
  store.Put(0, 60);
  metrics::MetricSources sources;
  metrics::UseStore(&store.store().reader(), sources);
  metrics::MetricsExporter exporter(sources, 1'000);
  size_t bytes = 0, largest = 0;
  double first_ms = 0;
  const double ms = Median([&] {
    const double begin = CpuMs();
    const std::unique_ptr<metrics::MetricsPage> page = exporter.Page();
    std::string piece;
    bytes = largest = 0;
    for (bool more = true; more;) {
      piece.clear();
      more = page->Next(piece);
      if (bytes == 0) first_ms = CpuMs() - begin;
      bytes += piece.size();
      largest = std::max(largest, piece.size());
    }
  });
  std::printf(
      "/metrics of %u nodes: CPU %.1f ms, %.1f until its first piece; %zu bytes, the "
      "largest piece %zu\n",
      nodes, ms, first_ms, bytes, largest);
  return 0;
}

// Line blocks of 30 days in hours, made up, of so many nodes.
int RunLines(uint32_t nodes) {
  testing::QueryStore store(nodes, {}, /*cache_bytes=*/0);
  constexpr uint8_t kVital = 1;
  constexpr uint32_t kWindows = 24, kSubs = 3, kDays = 30;
  store.set_now(static_cast<uint64_t>(kDays * kDay));
  for (uint32_t day = 0; day < kDays; ++day) {
    for (uint32_t group = 0; group <= nodes / storage::kLineGroupNodes; ++group) {
      v1::LineBlock block;
      block.set_subs(kSubs);
      for (uint32_t at = 0; at < storage::kLineGroupNodes; ++at) {
        const uint32_t node = group * storage::kLineGroupNodes + at;
        if (node == 0 || node > nodes) continue;
        block.add_node(at);
        block.add_windows(kWindows);
        for (uint32_t window = 0; window < kWindows; ++window) {
          block.add_window(window);
          block.add_watched_ms(3'600'000);
        }
      }
      for (uint64_t place = 0; place < uint64_t{kSubs} * static_cast<uint64_t>(block.window_size());
           ++place) {
        const uint64_t weight = 3'600 * (1'000'000 + place * 7'919 % 900'000'000);
        block.add_events(3'600'000 + place % 1'000);
        block.add_weight(weight);
        block.add_second_min(weight / 7'200);
        block.add_second_max(weight / 1'800);
      }
      const storage::Row row{
          storage::Family::kLine,
          storage::EncodeLineKey({storage::Tier::k1Hour, kVital,
                                  testing::QueryStore::kStart + day * storage::kDayNs, group}),
          storage::EncodeValue(block), 0};
      if (!store.store().history().Append({&row, 1}).ok()) return 1;
    }
  }
  std::printf("%-42s %10s   %s\n", "CPU ms", "answer", "digest");
  for (const uint32_t wanted : {nodes, nodes / 5}) {
    for (const bool per_node : {false, true}) {
      auto series = store.Asked<v1::SeriesRequest>(0, kDays * kDay, v1::TIER_1H);
      series.add_vitals("cpu");
      series.set_per_node(per_node);
      for (uint32_t node = 0; node < wanted; ++node) {
        series.mutable_selection()->add_nodes(store.name(node));
      }
      const double ms = Median([&] { (void)store.engine().Series(series, {}); });
      std::printf("one vital, 30 d, %4u of %4u nodes%-8s %10.1f   %s\n", wanted, nodes,
                  per_node ? ", each" : "", ms, Digest(store.engine().Series(series, {})).c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

// One vital of an hour of a fleet, asked when the hour is a window and when it begins between two.
int RunFleet(uint32_t nodes) {
  std::printf("80 minutes of %u nodes: making them and rolling them up ...\n", nodes);
  std::fflush(stdout);
  testing::QueryStore store(nodes, {}, /*cache_bytes=*/0);
  store.set_now(80 * 60);
  store.Put(0, 80 * 60);
  store.set_now(3 * static_cast<uint64_t>(kHour));
  store.RollUp();
  std::printf("%-42s %10s   %-16s %s\n", "CPU ms", "answer", "digest", "rests on");
  for (const double begin : {0., 20 * 60.}) {
    for (const v1::Dimension by :
         {v1::DIMENSION_EXE, v1::DIMENSION_CGROUP, v1::DIMENSION_SITE, v1::DIMENSION_STACK}) {
      auto request = store.Asked<v1::TopRequest>(begin, begin + kHour);
      request.set_vital("syscall");
      request.set_by(by);
      const double ms = Median([&] { (void)store.engine().Top(request, {}); });
      const auto answer = store.engine().Top(request, {});
      std::printf("top, 1 h from minute %-2.0f, %-20s %10.1f   %s %s\n", begin / 60,
                  v1::Dimension_Name(by).c_str(), ms, Digest(answer).c_str(),
                  answer.ok() ? RestsOn(answer->coverage()).c_str()
                              : std::string(answer.status().message()).c_str());
      std::fflush(stdout);
    }
  }
  return 0;
}

int Run() {
  std::printf(
      "three days of one node, 4,320 epochs of 60 s: making them and rolling them up ...\n");
  testing::QueryStore store(1, {}, /*cache_bytes=*/0);
  store.set_now(static_cast<uint64_t>(3 * kDay));
  store.Put(0, static_cast<uint64_t>(3 * kDay));
  store.set_now(static_cast<uint64_t>(3 * kDay + kHour));
  store.RollUp();
  std::printf("%-42s %10s %10s %8s   %-16s %s\n", "CPU ms", "epochs", "tiers", "ratio", "digest",
              "rests on");

  auto series = store.Asked<v1::SeriesRequest>(0, 3 * kDay);
  Print("series, 3 d, all vitals", Median([&] { SeriesOfEpochs(store, series); }),
        Median([&] { (void)store.engine().Series(series, {}); }),
        Digest(store.engine().Series(series, {})),
        RestsOn(store.engine().Series(series, {})->coverage()));

  const auto compare = [&](const std::string& what, auto request, auto ask) {
    request.mutable_selection()->set_tier(v1::TIER_RAW);
    const double raw = Median([&] { (void)ask(request); });
    request.mutable_selection()->set_tier(v1::TIER_AUTO);
    const double tiers = Median([&] { (void)ask(request); });
    Print(what, raw, tiers, Digest(ask(request)), RestsOn(ask(request)->coverage()));
  };
  const auto top = [&](const v1::TopRequest& request) { return store.engine().Top(request, {}); };
  for (const double hours : {12., 24., 72.}) {
    auto request = store.Asked<v1::TopRequest>(3 * kDay - hours * kHour, 3 * kDay);
    compare("top, " + std::to_string(static_cast<int>(hours)) + " h, all vitals, exe and site",
            request, top);
    request.set_vital("blocking");
    request.set_by(v1::DIMENSION_STACK);
    compare("top, " + std::to_string(static_cast<int>(hours)) + " h, one vital, stack", request,
            top);
  }
  for (const char* vital : {"cpu", ""}) {
    v1::DiffRequest request;
    *request.mutable_top() = store.Asked<v1::TopRequest>(2 * kDay, 3 * kDay);
    *request.mutable_against() = store.Asked<v1::TopRequest>(kDay, 2 * kDay).selection();
    request.mutable_top()->set_vital(vital);
    const auto days = [&](v1::Tier tier) {
      request.mutable_top()->mutable_selection()->set_tier(tier);
      request.mutable_against()->set_tier(tier);
      return Median([&] { (void)store.engine().Diff(request, {}); });
    };
    const double raw = days(v1::TIER_RAW), tiers = days(v1::TIER_AUTO);
    Print(std::string("diff, two days, ") + (*vital == 0 ? "all vitals" : "one vital") +
              ", exe and site",
          raw, tiers, Digest(store.engine().Diff(request, {})),
          RestsOn(store.engine().Diff(request, {})->coverage()));
  }
  compare(
      "stacks, 24 h, one vital",
      [&] {
        auto request = store.Asked<v1::StacksRequest>(2 * kDay, 3 * kDay);
        request.set_vital("cpu");
        return request;
      }(),
      [&](const v1::StacksRequest& request) { return store.engine().Stacks(request, {}); });
  compare(
      "histograms, 24 h", store.Asked<v1::HistogramRequest>(2 * kDay, 3 * kDay),
      [&](const v1::HistogramRequest& request) { return store.engine().Histogram(request, {}); });
  return 0;
}

}  // namespace
}  // namespace telltale::query

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "fleet") {
    return telltale::query::RunFleet(static_cast<uint32_t>(std::stoul(argv[2])));
  }
  if (argc == 3 && std::string(argv[1]) == "minutes") {
    return telltale::query::RunMinutes(static_cast<uint32_t>(std::stoul(argv[2])));
  }
  if (argc == 3 && std::string(argv[1]) == "metrics") {
    return telltale::query::RunMetrics(static_cast<uint32_t>(std::stoul(argv[2])));
  }
  if (argc == 3 && std::string(argv[1]) == "lines") {
    return telltale::query::RunLines(static_cast<uint32_t>(std::stoul(argv[2])));
  }
  return telltale::query::Run();
}
