// How much the coarser tiers save: the same questions answered by opening every raw epoch and by
// the tier the engine chooses, on three made-up days of one node. Prints milliseconds of CPU (the
// median of some runs) and ratios; asserts nothing.
//
//   build/release/bin/query_bench              one node
//   build/release/bin/query_bench fleet 1000   an hour of so many nodes, no epochs beside it

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "collector/query/series_lines.h"
#include "collector/query/tier_scan.h"
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

void Print(const std::string& what, double raw_ms, double tier_ms, const std::string& rests_on) {
  std::printf("%-42s %10.1f %10.1f %8.1f   %s\n", what.c_str(), raw_ms, tier_ms, raw_ms / tier_ms,
              rests_on.c_str());
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

// One vital of an hour of a fleet, asked when the hour is a window and when it begins between two.
int RunFleet(uint32_t nodes) {
  std::printf("80 minutes of %u nodes: making them and rolling them up ...\n", nodes);
  std::fflush(stdout);
  testing::QueryStore store(nodes, {}, /*cache_bytes=*/0);
  store.set_now(80 * 60);
  store.Put(0, 80 * 60);
  store.set_now(3 * static_cast<uint64_t>(kHour));
  store.RollUp();
  std::printf("%-42s %10s   %s\n", "CPU ms", "answer", "rests on");
  for (const double begin : {0., 20 * 60.}) {
    for (const v1::Dimension by :
         {v1::DIMENSION_EXE, v1::DIMENSION_CGROUP, v1::DIMENSION_SITE, v1::DIMENSION_STACK}) {
      auto request = store.Asked<v1::TopRequest>(begin, begin + kHour);
      request.set_vital("syscall");
      request.set_by(by);
      const double ms = Median([&] { (void)store.engine().Top(request, {}); });
      const auto answer = store.engine().Top(request, {});
      std::printf("top, 1 h from minute %-2.0f, %-20s %10.1f   %s\n", begin / 60,
                  v1::Dimension_Name(by).c_str(), ms,
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
  std::printf("%-42s %10s %10s %8s   %s\n", "CPU ms", "epochs", "tiers", "ratio", "rests on");

  auto series = store.Asked<v1::SeriesRequest>(0, 3 * kDay);
  Print("series, 3 d, all vitals", Median([&] { SeriesOfEpochs(store, series); }),
        Median([&] { (void)store.engine().Series(series, {}); }),
        RestsOn(store.engine().Series(series, {})->coverage()));

  const auto compare = [&](const std::string& what, auto request, auto ask) {
    request.mutable_selection()->set_tier(v1::TIER_RAW);
    const double raw = Median([&] { (void)ask(request); });
    request.mutable_selection()->set_tier(v1::TIER_AUTO);
    const double tiers = Median([&] { (void)ask(request); });
    Print(what, raw, tiers, RestsOn(ask(request)->coverage()));
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
          raw, tiers, RestsOn(store.engine().Diff(request, {})->coverage()));
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
  return telltale::query::Run();
}
