// Filters over stored epochs: order, lateness, restarts, listing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/ewma.h"
#include "collector/filter/filter_runner.h"
#include "tests/unit/filter_world.h"

extern "C" const telltale_filter* silence_filter(void);

namespace telltale::filter {
namespace {

class FilterRunnerTest : public ::testing::Test, protected World {};

TEST_F(FilterRunnerTest, APlantedSpikeIsStoredLoggedAndCountedOnce) {
  for (uint64_t i = 0; i < 900; ++i) {
    Arrive(i, i == 700 ? 5 : Quiet(i));
    if (i % 3 == 0) Look();
  }
  Look();
  const auto found = List();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].vital(), "cpu");
  EXPECT_EQ(found[0].sub(), "user");
  EXPECT_EQ(found[0].value(), 5);
  EXPECT_EQ(found[0].learned_epochs(), 700);
  EXPECT_EQ(found[0].end_s() - found[0].start_s(), 10);
  EXPECT_EQ(log_->After("0", 10)->size(), 1u);
  EXPECT_EQ((log_->Counts()[{"ewma", "cpu"}]), 1u);
}

TEST_F(FilterRunnerTest, SaysOnWhichNodesAFilterStillLearns) {
  for (uint64_t i = 0; i < 40; ++i) {
    Arrive(i, Quiet(i));
    if (i >= 28) Arrive(i, Quiet(i), 2);
  }
  Look();
  const auto learning = runner_->Learning();
  ASSERT_EQ(learning.size(), 1u);
  EXPECT_EQ(learning[0].filter(), "ewma");
  EXPECT_EQ(learning[0].node(), "n2");
  EXPECT_EQ(learning[0].learned_epochs(), 12u);
  EXPECT_EQ(learning[0].needed_epochs(), 30u);
  Look();
  EXPECT_EQ(runner_->Learning().size(), 1u) << "nothing came since";
  for (uint64_t i = 40; i < 60; ++i) {
    for (const uint32_t node : {1, 2}) Arrive(i, Quiet(i), node);
  }
  Look();
  EXPECT_TRUE(runner_->Learning().empty());
}

TEST_F(FilterRunnerTest, ARestartAtAnyMomentGivesTheSameAnomalies) {
  const auto rate = [](uint64_t i) { return i % 211 > 205 && i > 300 ? 6.0 : Quiet(i); };
  for (uint64_t i = 0; i < 1'500; ++i) {
    Arrive(i, rate(i));
    Look();
    if (i % 97 == 0 || i == 419 || i == 420) Restart();
  }
  Look();
  std::string restarted;
  for (const auto& anomaly : List()) restarted += anomaly.SerializeAsString();
  const size_t logged = log_->After("0", 1000)->size();

  World straight;
  for (uint64_t i = 0; i < 1'500; ++i) straight.Arrive(i, rate(i));
  straight.Look();
  std::string once;
  for (const auto& anomaly : straight.List()) once += anomaly.SerializeAsString();
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(restarted, once);
  EXPECT_EQ(logged, straight.log_->After("0", 1000)->size());
}

TEST_F(FilterRunnerTest, EpochsThatArriveInDisorderAreShownInOrder) {
  std::vector<uint64_t> order = {0, 1, 2, 3};
  for (uint64_t i = 4; i < 400; i += 4) order.insert(order.end(), {i + 1, i, i + 3, i + 2});
  for (const uint64_t i : order) {
    Arrive(i, i == 350 ? 5 : Quiet(i));
    Look();
  }
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].learned_epochs(), 350);
  EXPECT_EQ(runner_->Reports()[0].skipped, 0u);
}

TEST_F(FilterRunnerTest, AHoleIsWaitedForAndThenPassed) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, Quiet(i));
  Look();
  for (uint64_t i = 101; i < 105; ++i) Arrive(i, Quiet(i));
  Look();
  EXPECT_GT(runner_->Reports()[0].status.lag_s(), 0);  // 101 to 104 wait for 100
  for (uint64_t i = 105; i < 130; ++i) Arrive(i, Quiet(i));
  Look();
  EXPECT_EQ(runner_->Reports()[0].status.lag_s(),
            0);  // the hole is older than anything that may still come
}

// A storm of connections leaves holes in a whole fleet; a look comes each second.
TEST_F(FilterRunnerTest, WhatWaitsBehindAHoleIsReadAgainOnlyWhenThatMayEnd) {
  for (uint64_t i = 0; i < 10; ++i) Arrive(i, 1);
  Look();
  Arrive(11, 1);
  Look();
  const uint64_t read = source_.visits;
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_EQ(source_.visits, read);
  Arrive(12, 1);  // not what is missing
  runner_->RunOnce();
  const uint64_t again = source_.visits;
  EXPECT_GT(again, read);
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_EQ(source_.visits, again);
  EXPECT_EQ(runner_->Reports()[0].shown, 10u);
  now_ += 200 * kSecond;
  Look();
  EXPECT_EQ(runner_->Reports()[0].shown, 12u) << "it waited long enough";
}

TEST_F(FilterRunnerTest, ALateEpochIsCountedAndPassedOverAlsoAfterARestart) {
  for (uint64_t i = 0; i < 200; ++i) {
    if (i != 100) Arrive(i, Quiet(i));
    Look();
  }
  EXPECT_EQ(runner_->Reports()[0].skipped, 0u);
  Arrive(100, 50);  // a spike, had it been shown
  Look();
  EXPECT_EQ(runner_->Reports()[0].skipped, 1u);
  EXPECT_TRUE(List().empty());
  Restart();
  Look();
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(runner_->Reports()[0].skipped, 1u);
}

TEST_F(FilterRunnerTest, AnEpochThatCannotBeOpenedIsCountedOnceAndIsNotLate) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, Quiet(i));
  Look();
  source_.AddUnreadable(1, 100);
  now_ += kEpoch;
  Look();
  for (uint64_t i = 101; i < 140; ++i) {
    Arrive(i, Quiet(i));
    Look();
  }
  const FilterReport report = runner_->Reports().front();
  EXPECT_EQ(report.unreadable, 1u);
  EXPECT_EQ(report.skipped, 0u);
  EXPECT_EQ(report.shown, 139u);
  source_.Add(1, 100, 1);  // another one, that really came too late
  Look();
  EXPECT_EQ(runner_->Reports().front().skipped, 1u);
  EXPECT_EQ(runner_->Reports().front().unreadable, 1u);
}

TEST_F(FilterRunnerTest, NodesDoNotMixAndFollowersSeeBoth) {
  for (uint64_t i = 0; i < 200; ++i) {
    Arrive(i, i == 150 ? 5 : Quiet(i), 1);
    Arrive(i, i == 160 ? 5 : Quiet(i + 1000), 2);
  }
  Look();
  const auto found = List();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].node(), "n2");
  EXPECT_EQ(found[1].node(), "n1");
  EXPECT_EQ(log_->After("0", 10)->size(), 2u);
}

TEST_F(FilterRunnerTest, NothingNewCostsNoReading) {
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, Quiet(i));
  Look();
  const uint64_t before = source_.visits;
  Look();
  EXPECT_EQ(source_.visits, before);
}

TEST_F(FilterRunnerTest, ANewFilterBeginsADayBack) {
  for (uint64_t i = 0; i < 20'000; i += 1) Arrive(i, i == 5'000 || i == 15'000 ? 9 : Quiet(i));
  Look();
  const auto found = List();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start_s(), static_cast<double>((kBegin + 15'000 * kEpoch) / kSecond));
}

TEST_F(FilterRunnerTest, ListingSelectsByTimeVitalSeverityAndGivesPages) {
  for (uint64_t i = 0; i < 1'000; ++i) Arrive(i, i > 100 && i % 100 == 50 ? 5 : Quiet(i));
  Look();
  ASSERT_EQ(List().size(), 9u);
  AnomalyQuery query;
  query.from_ns = kBegin + 300 * kEpoch;
  query.to_ns = kBegin + 500 * kEpoch;
  EXPECT_EQ(List(query).size(), 2u);
  const auto count = [&](auto change) {
    AnomalyQuery changed;
    change(changed);
    return List(changed).size();
  };
  EXPECT_EQ(count([](AnomalyQuery& q) { q.vital = "cpu/user"; }), 9u);
  EXPECT_EQ(count([](AnomalyQuery& q) { q.vital = "cpu/kernel"; }), 0u);
  EXPECT_EQ(count([](AnomalyQuery& q) { q.filter = "other"; }), 0u);
  EXPECT_EQ(count([](AnomalyQuery& q) { q.min_severity = 1e6; }), 0u);
  query = {};
  query.from_ns = kBegin;
  query.to_ns = now_;
  query.limit = 4;
  query.node_name = [](uint32_t) { return "n1"; };
  std::vector<double> starts;
  for (int pages = 1;; ++pages) {
    const auto page = ListAnomalies(&store_, runner_->filters(), query);
    ASSERT_TRUE(page.ok());
    for (const auto& anomaly : page->anomalies) starts.push_back(anomaly.start_s());
    query.page = page->next_page;
    if (page->next_page.empty()) {
      EXPECT_EQ(pages, 3);
      break;
    }
  }
  EXPECT_EQ(starts.size(), 9u);
  EXPECT_TRUE(std::ranges::is_sorted(starts, std::greater<>()));
  query.page = "nonsense";
  EXPECT_FALSE(ListAnomalies(&store_, runner_->filters(), query).ok());
}

TEST_F(FilterRunnerTest, OneReadingOfANodeServesAllFilters) {
  filters_ = {telltale_ewma_filter(), silence_filter()};
  Restart();
  for (uint64_t i = 0; i < 100; ++i) Arrive(i, Quiet(i));
  runner_->RunOnce();
  EXPECT_EQ(source_.visits, 100u);
}

TEST_F(FilterRunnerTest, AFilterInPlainCRunsBesideOthers) {
  filters_.push_back(silence_filter());
  Restart();
  for (uint64_t i = 0; i < 10; ++i) Arrive(i, i == 7 ? 0 : 1);
  Look();
  Restart();
  Look();
  const auto number = store_.FilterNumber("silence", 1);
  v1::FilterHour hour;
  ASSERT_TRUE(hour.ParseFromString(*store_.Get({*number, 1, kBegin})));
  ASSERT_EQ(hour.marks_size(), 1);
  EXPECT_EQ(hour.marks(0).start_ns(), kBegin + 7 * kEpoch);
  EXPECT_EQ(hour.marks(0).text(), "silence");
}

// One series of each epoch, one of every third, told of the epoch before.
telltale_filter Drawer(bool saves) {
  telltale_filter drawer = *silence_filter();
  drawer.name = "drawer";
  drawer.epoch = [](void* instance, const telltale_filter_epoch* shown) {
    const auto* host = static_cast<const telltale_filter_host*>(instance);
    const uint64_t number = (shown->start_ns - kBegin) / kEpoch;
    telltale_filter_point point = {};
    point.struct_size = sizeof point;
    point.series = "each";
    point.vital = "cpu";
    point.sub = "";
    point.time_ns = shown->start_ns;
    point.value = static_cast<double>(number);
    host->point(host->context, &point);
    if (number % 3 != 2) return 0;
    point.series = "third";
    point.time_ns -= kEpoch;
    host->point(host->context, &point);
    return 0;
  };
  if (!saves) return drawer;
  drawer.save = [](void*, void* bytes, size_t capacity) -> size_t {
    if (capacity > 0) *static_cast<char*>(bytes) = 1;
    return 1;
  };
  drawer.load = [](void*, const void*, size_t) { return 0; };
  return drawer;
}

// Points are kept in the store alone; each that is told joins those that stand there.
TEST_F(FilterRunnerTest, EveryPointOfASeriesStandsOnceHoweverOftenItRestarts) {
  constexpr uint64_t kPerHour = 3600 * kSecond / kEpoch;
  static telltale_filter drawer;
  for (const bool saves : {true, false}) {
    drawer = Drawer(saves);
    World world;
    world.filters_ = {&drawer};
    world.Restart();
    for (uint64_t i = 0; i < kPerHour + 30; ++i) {
      world.Arrive(i, 1);
      if (i % 7 == 0) world.Look();
      if (i % 50 == 3 || i == kPerHour) world.Restart();
    }
    world.Look();
    const auto number = world.store_.FilterNumber("drawer", 1);
    std::vector<uint64_t> each, third;
    for (const uint64_t hour_ns : {kBegin, kBegin + kPerHour * kEpoch}) {
      v1::FilterHour hour;
      ASSERT_TRUE(hour.ParseFromString(*world.store_.Get({*number, 1, hour_ns})));
      EXPECT_EQ(hour.dropped(), 0u);
      for (const v1::FilterPoints& points : hour.points()) {
        auto& of = points.series() == "each" ? each : third;
        for (const uint64_t time_ns : points.time_ns()) of.push_back((time_ns - kBegin) / kEpoch);
        EXPECT_EQ(points.time_ns_size(), points.value_micro_size());
      }
    }
    EXPECT_EQ(each.size(), kPerHour + 30);
    EXPECT_EQ(third.size(), (kPerHour + 30) / 3);
    EXPECT_TRUE(std::ranges::is_sorted(each)) << saves;
    EXPECT_TRUE(std::ranges::is_sorted(third)) << saves;
    EXPECT_EQ(std::set(each.begin(), each.end()).size(), each.size());
    EXPECT_EQ(std::set(third.begin(), third.end()).size(), third.size());
  }
}

TEST_F(FilterRunnerTest, WhileNothingCanBeWrittenPointsWaitAndNoneCountsAsNotKept) {
  static const telltale_filter drawer = Drawer(true);
  filters_ = {&drawer};
  Restart();
  for (uint64_t i = 0; i < 20; ++i) Arrive(i, 1);
  Look();
  history_.full = true;
  for (uint64_t i = 20; i < 30; ++i) {
    Arrive(i, 1);
    Look();
  }
  history_.full = false;
  Arrive(30, 1);
  Look();
  EXPECT_EQ(runner_->Reports()[0].dropped, 0u);
  v1::FilterHour hour;
  ASSERT_TRUE(hour.ParseFromString(*store_.Get({*store_.FilterNumber("drawer", 1), 1, kBegin})));
  EXPECT_EQ(hour.dropped(), 0u);
  EXPECT_EQ(hour.points(0).time_ns_size(), 31);
}

// Knows two epochs later that something began, as a rule does, or an hour later. It begins two
// epochs before an hour ends and goes on for five.
TEST_F(FilterRunnerTest, WhatBeganInTheHourBeforeItIsToldIsKept) {
  constexpr uint64_t kHour = 3600 * kSecond, kPerHour = kHour / kEpoch;
  static telltale_filter later = *silence_filter();
  later.name = "later";
  later.epoch = [](void* instance, const telltale_filter_epoch* shown) {
    const auto* host = static_cast<const telltale_filter_host*>(instance);
    const uint64_t number = (shown->start_ns - kBegin) / kEpoch;
    if (number != kPerHour + 1 && number != kPerHour + 3) return 0;
    telltale_filter_anomaly anomaly = {};
    anomaly.struct_size = sizeof anomaly;
    anomaly.vital = "cpu";
    anomaly.sub = "";
    anomaly.start_ns = kBegin + kHour - 2 * kEpoch;
    anomaly.end_ns = shown->end_ns;
    anomaly.open = number == kPerHour + 1 ? 1 : 0;
    host->anomaly(host->context, &anomaly);
    return 0;
  };
  filters_ = {&later};
  Restart();
  for (uint64_t i = 0; i <= kPerHour + 2; ++i) Arrive(i, 1);
  Look();
  ASSERT_EQ(List().size(), 1u);
  EXPECT_TRUE(List()[0].open());
  EXPECT_EQ(log_->After("0", 10)->size(), 1u);
  Restart();
  for (uint64_t i = kPerHour + 3; i < kPerHour + 9; ++i) Arrive(i, 1);
  Look();
  ASSERT_EQ(List().size(), 1u);
  EXPECT_FALSE(List()[0].open());
  EXPECT_EQ(List()[0].end_s() - List()[0].start_s(), 60);
  EXPECT_EQ(log_->After("0", 10)->size(), 1u) << "told once";
  EXPECT_EQ(runner_->Reports()[0].dropped, 0u);
}

TEST_F(FilterRunnerTest, ListingReadsTheNodesAskedForAndEndsWhenCancelled) {
  for (uint64_t i = 0; i < 900; ++i) {
    for (const uint32_t node : {1, 2, 3}) Arrive(i, i == 700 ? 5 : Quiet(i), node);
  }
  Look();
  AnomalyQuery query;
  query.nodes = {2};
  ASSERT_EQ(List(query).size(), 1u);
  EXPECT_EQ(List(query)[0].node(), "n2");
  EXPECT_EQ(List().size(), 3u);
  query.to_ns = now_;
  query.from_ns = kBegin;
  query.node_name = [](uint32_t) { return "n2"; };
  query.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(ListAnomalies(&store_, runner_->filters(), query).status()));
}

TEST_F(FilterRunnerTest, AFilterThatGivesUpIsReportedAndTheOthersGoOn) {
  static telltale_filter broken = *silence_filter();
  broken.name = "broken";
  broken.epoch = [](void*, const telltale_filter_epoch*) { return 42; };
  filters_.push_back(&broken);
  Restart();
  for (uint64_t i = 0; i < 200; ++i) Arrive(i, i == 150 ? 5 : Quiet(i));
  Look();
  EXPECT_EQ(List().size(), 1u);
  EXPECT_EQ(runner_->Reports()[1].status.state(), "disabled");
  EXPECT_THAT(said_, ::testing::HasSubstr("filter broken: gave up on node n1 with code 42"));
}

TEST_F(FilterRunnerTest, WhatIsEmittedByACallThatFailsIsCountedAsNotKept) {
  static telltale_filter broken = *silence_filter();
  broken.name = "broken";
  broken.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                     uint32_t) -> void* { return new telltale_filter_host(*host); };
  broken.destroy = [](void* node) { delete static_cast<telltale_filter_host*>(node); };
  broken.epoch = [](void* node, const telltale_filter_epoch* epoch) {
    const auto& host = *static_cast<telltale_filter_host*>(node);
    telltale_filter_anomaly anomaly = {};
    anomaly.struct_size = sizeof anomaly;
    anomaly.vital = anomaly.sub = "";
    anomaly.start_ns = epoch->start_ns;
    anomaly.end_ns = epoch->end_ns;
    host.anomaly(host.context, &anomaly);
    return 42;
  };
  filters_ = {&broken};
  Restart();
  Arrive(0, 1);
  Look();
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(runner_->Reports()[0].dropped, 1u);
}

// Of a fleet one problem may have as many lines as nodes.
TEST_F(FilterRunnerTest, AThousandDifferentProblemsSilenceOthersForAnHourOnly) {
  static telltale_filter broken = *silence_filter();
  broken.name = "broken";
  broken.epoch = [](void*, const telltale_filter_epoch*) { return 42; };
  filters_ = {&broken};
  Restart();
  for (uint32_t node = 1; node <= 1'200; ++node) Arrive(0, 1, node);
  Look();
  EXPECT_THAT(said_, ::testing::HasSubstr("gave up on node n1000 "));
  EXPECT_THAT(said_, ::testing::Not(::testing::HasSubstr("node n1100 ")));
  EXPECT_THAT(said_, ::testing::HasSubstr("filters: 1000 different problems within an hour; "));
  const size_t before = said_.size();
  Arrive(3600 * kSecond / kEpoch, 1, 1'201);
  Look();
  EXPECT_THAT(said_.substr(before), ::testing::HasSubstr("gave up on node n1201 "));
}

// "ok" for those of the hour of the epoch or the one before, in their order.
TEST_F(FilterRunnerTest, PointsThatNobodyWouldFindAreCountedAsNotKept) {
  static telltale_filter draws = *silence_filter();
  draws.name = "draws";
  draws.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                    uint32_t) -> void* { return new telltale_filter_host(*host); };
  draws.destroy = [](void* node) { delete static_cast<telltale_filter_host*>(node); };
  draws.epoch = [](void* node, const telltale_filter_epoch* epoch) {
    constexpr uint64_t kHour = 3600 * kSecond;
    const auto& host = *static_cast<telltale_filter_host*>(node);
    const auto draw = [&](const char* series, uint64_t time_ns) {
      telltale_filter_point point = {};
      point.struct_size = sizeof point;
      point.series = series;
      point.vital = "cpu";
      point.sub = "";
      point.time_ns = time_ns;
      host.point(host.context, &point);
    };
    draw("ok", epoch->start_ns - kHour);
    draw("ok", epoch->start_ns);
    draw("old", epoch->start_ns - 3 * kHour);
    draw("back", epoch->start_ns);
    draw("back", epoch->start_ns - kEpoch);
    return 0;
  };
  filters_ = {&draws};
  Restart();
  Arrive(5, 1);
  Look();
  EXPECT_EQ(runner_->Reports()[0].dropped, 2u);
  const auto number = store_.FilterNumber("draws", 1);
  v1::FilterHour hour;
  ASSERT_TRUE(hour.ParseFromString(*store_.Get({*number, 1, kBegin})));
  ASSERT_EQ(hour.points_size(), 2);
  EXPECT_EQ(hour.points(0).time_ns_size(), 2);
  EXPECT_EQ(hour.points(1).time_ns_size(), 1);
}

TEST_F(FilterRunnerTest, AFilterThatTakesLongIsSeenToBeBehindWhileItDoes) {
  static std::function<void()> meanwhile;
  static telltale_filter slow = *silence_filter();
  slow.name = "slow";
  slow.epoch = [](void*, const telltale_filter_epoch*) {
    meanwhile();
    return 0;
  };
  std::vector<double> behind_s;
  meanwhile = [&] {
    now_ += 40 * kSecond;
    behind_s.push_back(runner_->Reports()[1].status.lag_s());
  };
  filters_.push_back(&slow);
  Restart();
  for (uint64_t i = 0; i < 3; ++i) Arrive(i, 1);
  runner_->RunOnce();
  EXPECT_THAT(behind_s, ::testing::ElementsAre(40, 80, 120));
  EXPECT_EQ(runner_->Reports()[1].status.lag_s(), 0);
}

// What a filter leaves alone must be seen somewhere, or it looks as if all were well.
TEST_F(FilterRunnerTest, ProgramsThatAFilterSaysNothingNewOfAreListedWithTheirNodes) {
  static telltale_filter mutes = *silence_filter();
  mutes.name = "mutes";
  mutes.learning = [](const void*, telltale_filter_learning* learning) {
    learning->learned_epochs = learning->needed_epochs = 1;
    learning->muted = "/usr/bin/app\n";
  };
  mutes.history_epochs = 1;
  filters_ = {&mutes};
  Restart();
  for (uint32_t node = 1; node <= 3; ++node) Arrive(0, 1, node);
  Look();
  const auto reports = runner_->Reports();
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].muted.size(), 1u);
  EXPECT_EQ(reports[0].muted[0].program(), "/usr/bin/app");
  EXPECT_EQ(reports[0].muted[0].nodes(), 3u);
  EXPECT_EQ(reports[0].muted[0].node(), "n1");
  EXPECT_TRUE(runner_->Learning().empty());
}

TEST(FilterOptionsTest, AFiltersOwnStandInPlaceOfThoseOfAll) {
  const FilterOptions all = {
      {"held.limit", 2}, {"learn", 30}, {"held.learn", 5}, {"other.limit", 3}, {"hel.learn", 4}};
  const auto told = [&](std::string_view filter) {
    std::string text;
    for (const telltale_filter_option& option : OptionsFor(filter, all)) {
      absl::StrAppend(&text, option.name, "=", option.value, " ");
    }
    return text;
  };
  EXPECT_EQ(told("held"), "limit=2 learn=5 ");
  EXPECT_EQ(told("other"), "limit=3 learn=30 ");
  EXPECT_EQ(told("ewma"), "learn=30 ");
}

// As of a user's filter, whose process can be ended.
class EndedCode : public LocalFilter {
 public:
  using LocalFilter::LocalFilter;
  bool ended() const override { return !why_.ok(); }
  void End(const absl::Status& why) override {
    if (why_.ok()) why_ = why;
  }
  std::string why() const { return std::string(why_.message().data(), why_.message().size()); }

 private:
  absl::Status why_;
};

// A filter that finds so many things in an epoch, each with a subject of its own.
class FilterFloodTest : public FilterRunnerTest {
 protected:
  static constexpr uint32_t kNodes = 40;
  static constexpr uint64_t kMost = 100;

  // How many are kept of what it finds in the epochs from there on, and why it was ended.
  std::pair<uint64_t, std::string> Found(uint64_t (*in_epoch)(uint64_t start_ns)) {
    how_many = in_epoch;
    static telltale_filter finds = *silence_filter();
    finds.name = "finds";
    struct Node {
      telltale_filter_host host;
    };
    finds.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                      uint32_t) -> void* { return new Node{*host}; };
    finds.destroy = [](void* node) { delete static_cast<Node*>(node); };
    finds.epoch = [](void* node, const telltale_filter_epoch* epoch) {
      const telltale_filter_host& host = static_cast<Node*>(node)->host;
      for (uint64_t i = 0; i < how_many(epoch->start_ns); ++i) {
        const std::string subject = absl::StrCat(host.node, " ", epoch->start_ns, " ", i);
        telltale_filter_anomaly anomaly = {};
        anomaly.struct_size = sizeof anomaly;
        anomaly.vital = "cpu";
        anomaly.sub = "user";
        anomaly.start_ns = epoch->start_ns;
        anomaly.end_ns = epoch->end_ns;
        anomaly.text = "it is so";
        anomaly.subject = subject.c_str();
        host.anomaly(host.context, &anomaly);
      }
      return 0;
    };
    EndedCode code(&finds);
    FilterRunnerOptions options;
    options.source = &source_;
    options.store = &store_;
    options.log = log_.get();
    options.codes = {&code};
    options.now_ns = [this] { return now_; };
    options.flood_limits = FloodLimits{.found = kMost};
    options.backfill_ns = 30 * storage::kDayNs;
    auto runner = FilterRunner::Open(options);
    EXPECT_TRUE(runner.ok()) << runner.status();
    const auto counted = [&] {
      const auto counts = log_->Counts();
      const auto of = counts.find({"finds", "cpu"});
      return of == counts.end() ? 0 : of->second;
    };
    const uint64_t before = counted();
    (*runner)->RunOnce();
    EXPECT_EQ((*runner)->Reports()[0].dropped > 0, code.ended()) << "what was not kept is counted";
    EXPECT_GT((*runner)->Reports()[0].shown, 0u);
    return std::pair(counted() - before, code.why());
  }

 private:
  static inline uint64_t (*how_many)(uint64_t start_ns) = nullptr;
};

// No epoch and no node has too many, all together do.
TEST_F(FilterFloodTest, OverAllNodesEndsTheFilterThatMakesIt) {
  for (uint32_t node = 1; node <= kNodes; ++node) Arrive(0, 1, node);
  EXPECT_EQ(Found([](uint64_t) { return uint64_t{4}; }),
            std::pair(uint64_t{4} * kNodes, std::string()));
  Restart();
  for (uint32_t node = 1; node <= kNodes; ++node) Arrive(1, 1, node);
  const auto [kept, why] = Found([](uint64_t) { return uint64_t{20}; });
  EXPECT_GE(kept, kMost + 2 * kNodes - 4 * kNodes);
  EXPECT_LE(kept, kMost + 2 * (kNodes + 1));
  EXPECT_THAT(why, ::testing::HasSubstr("flooded: more than "));
}

// Too many in one hour of two weeks ago; in each later hour of each node there is one, which is no
// flood.
TEST_F(FilterFloodTest, InAnHourOfLongAgoEndsTheFilterThatMakesIt) {
  constexpr uint64_t kHours = 14 * 24;
  for (uint64_t hour = 0; hour < kHours; ++hour) {
    for (uint32_t node = 1; node <= kNodes; ++node) Arrive(hour * 360, 1, node);
  }
  const auto [kept, why] =
      Found([](uint64_t start_ns) -> uint64_t { return start_ns == kBegin ? 20 : 1; });
  EXPECT_LE(kept, kHours * kNodes);
  EXPECT_THAT(why, ::testing::HasSubstr("flooded: more than "));
}

// A filter that says and draws so much in each epoch: what it says is known from its first one on.
class FilterRepeatsTest : public FilterRunnerTest {
 protected:
  // Why it was ended, after so many epochs of one node; empty: it was not.
  std::string EndedAfter(uint64_t epochs, int anomalies, int points) {
    says = anomalies;
    draws = points;
    static telltale_filter repeats = *silence_filter();
    repeats.name = "repeats";
    repeats.create = [](const telltale_filter_host* host, const telltale_filter_option*,
                        uint32_t) -> void* { return new telltale_filter_host(*host); };
    repeats.destroy = [](void* node) { delete static_cast<telltale_filter_host*>(node); };
    repeats.epoch = [](void* node, const telltale_filter_epoch* epoch) {
      const auto& host = *static_cast<telltale_filter_host*>(node);
      for (int i = 0; i < says; ++i) {
        const std::string subject = absl::StrCat(i);
        telltale_filter_anomaly anomaly = {};
        anomaly.struct_size = sizeof anomaly;
        anomaly.open = 1;
        anomaly.vital = "cpu";
        anomaly.sub = "";
        anomaly.start_ns = kBegin;
        anomaly.end_ns = epoch->end_ns;
        anomaly.text = "it is so";
        anomaly.subject = subject.c_str();
        host.anomaly(host.context, &anomaly);
      }
      for (int i = 0; i < draws; ++i) {
        const std::string series = absl::StrCat(i);
        telltale_filter_point point = {};
        point.struct_size = sizeof point;
        point.series = series.c_str();
        point.vital = "cpu";
        point.sub = "";
        point.time_ns = epoch->start_ns;
        host.point(host.context, &point);
      }
      return 0;
    };
    EndedCode code(&repeats);
    FilterRunnerOptions options;
    options.source = &source_;
    options.store = &store_;
    options.log = log_.get();
    options.codes = {&code};
    options.now_ns = [this] { return now_; };
    options.flood_limits = FloodLimits{.found = 100, .said = 100, .drawn = 1'000};
    auto runner = FilterRunner::Open(options);
    EXPECT_TRUE(runner.ok()) << runner.status();
    for (uint64_t i = 0; i < epochs; ++i) Arrive(i, 1);
    (*runner)->RunOnce();
    return code.why();
  }

 private:
  static inline int says = 0, draws = 0;
};

TEST_F(FilterRepeatsTest, WhoDrawsManyTimesWhatSortDrawsIsEnded) {
  EXPECT_THAT(EndedAfter(300, 1, 80),
              ::testing::HasSubstr("flooded: more than 5032 points in 63 epochs of one hour"));
}

TEST_F(FilterRepeatsTest, WhoSaysManyKnownThingsAgainInEachEpochIsEnded) {
  EXPECT_THAT(EndedAfter(300, 8, 1), ::testing::HasSubstr("flooded: more than 204 anomalies"));
}

TEST_F(FilterRepeatsTest, WhoSaysAFewThingsAndDrawsASeriesOfEachVitalInEachEpochIsNot) {
  EXPECT_EQ(EndedAfter(300, 4, 64), "");
}

TEST_F(FilterRunnerTest, AFilterOfAnotherInterfaceVersionIsRefusedByNumber) {
  static telltale_filter newer = *silence_filter();
  newer.abi = 2;
  FilterRunnerOptions options;
  options.store = &store_;
  options.now_ns = [] { return kBegin; };
  options.filters = {&newer};
  const auto runner = FilterRunner::Open(options);
  ASSERT_FALSE(runner.ok());
  EXPECT_THAT(std::string(runner.status().message().data(), runner.status().message().size()),
              ::testing::HasSubstr("version 2, this collector knows 1"));
}

}  // namespace
}  // namespace telltale::filter
