#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/query/label_estimate.h"
#include "collector/query/points.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::TopRequest TopOf(const std::string& vital, v1::Dimension by, uint32_t limit = 0) {
  auto request = Asked<v1::TopRequest>(1000, 1010);
  request.set_vital(vital);
  request.set_by(by);
  request.set_limit(limit);
  return request;
}

TEST(TopTest, ExactRowsAndOtherAddUpToTheTotal) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {7 * kS, 2 * kS, 1 * kS});
  maker.Columns(
      {ShareColumn(TELLTALE_CPU, 0), ShareColumn(TELLTALE_CPU, 1), ShareColumn(TELLTALE_CPU, 2)});
  maker.Process("/bin/x", 1, 0, {4 * kS, 1 * kS, 0});
  maker.Process("/bin/y", 2, 0, {2 * kS, 0, 0});
  maker.Process("/bin/z", 3, 0, {1 * kS, 0, 0});
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1020).Top(TopOf("cpu", v1::DIMENSION_PROCESS, 2), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const v1::TopTable& table = answer->tables(0);
  EXPECT_TRUE(table.exact());
  EXPECT_DOUBLE_EQ(table.total(), 10);
  ASSERT_EQ(table.rows_size(), 2);
  EXPECT_EQ(table.rows(0).name(), "x");
  EXPECT_DOUBLE_EQ(table.rows(0).value(), 5);
  EXPECT_DOUBLE_EQ(table.rows(0).value() + table.rows(1).value() + table.other(), table.total());
}

// An agent at its budget watched a part of the time.
TEST(TopTest, WhatWasWatchedInPartIsCalledAnEstimateByWhateverDimension) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (const uint64_t start : {1000, 1010}) {
    BodyMaker maker;
    maker.Vital(TELLTALE_CPU, {10 * kS, 0, 0})->set_estimated(start == 1010);
    maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
    maker.Process("/bin/x", 1, 0, {10 * kS});
    source.AddEpoch(node, start, 10, maker.body());
  }
  for (const v1::Dimension by :
       {v1::DIMENSION_PROCESS, v1::DIMENSION_NODE, v1::DIMENSION_SITE, v1::DIMENSION_USER}) {
    auto request = TopOf("cpu", by);
    auto answer = MakeEngine(source, 1030).Top(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->tables(0).estimated()) << v1::Dimension_Name(by);
    request.mutable_selection()->set_end_s(1020);
    answer = MakeEngine(source, 1030).Top(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer->tables(0).estimated()) << v1::Dimension_Name(by);
    EXPECT_FALSE(answer->tables(0).exact()) << v1::Dimension_Name(by);
  }
}

TEST(TopTest, ASubSeriesCountsOnlyItself) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {7 * kS, 2 * kS, 1 * kS});
  maker.Columns({ShareColumn(TELLTALE_CPU, 0), ShareColumn(TELLTALE_CPU, 1)});
  maker.Process("/bin/x", 1, 0, {4 * kS, 1 * kS});
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1020).Top(TopOf("cpu/kernel", v1::DIMENSION_EXE), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_DOUBLE_EQ(answer->tables(0).total(), 2);
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(0).value(), 1);
}

TEST(TopTest, EpochsThatTheSpoolDidNotTakeAreNamedInTheCoverage) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {7 * kS, 2 * kS, 1 * kS});
  v1::SummaryBody body = maker.body();
  source.AddEpoch(node, 990, 10, body);
  body.mutable_epoch()->set_unspooled(true);
  source.AddEpoch(node, 1000, 10, body);
  auto request = TopOf("cpu", v1::DIMENSION_EXE);
  const auto answer = MakeEngine(source, 1020).Top(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->coverage().notes(),
              ::testing::Contains(HasSubstr("1 epochs came from their nodes' memory")));
  request.mutable_selection()->set_start_s(990);
  request.mutable_selection()->set_end_s(1000);
  const auto before = MakeEngine(source, 1020).Top(request, {});
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_THAT(before->coverage().notes(), ::testing::Not(::testing::Contains(HasSubstr("memory"))));
}

TEST(TopTest, ThatOnlyACgroupIsWatchedIsNamedInTheCoverage) {
  FakeSource source;
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {7 * kS, 2 * kS, 1 * kS});
  for (const std::string name : {"a", "b", "c", "d", "whole"}) {
    const uint32_t node = source.AddNode(name);
    source.AddEpoch(node, 1000, 10, maker.body());
    if (name != "whole") source.Node(node).mutable_info()->set_scope("/slice/" + name);
  }
  auto request = TopOf("cpu", v1::DIMENSION_EXE);
  request.mutable_selection()->add_nodes("b");
  const auto one = MakeEngine(source, 1020).Top(request, {});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->coverage().notes(),
              ::testing::Contains(HasSubstr("only tasks of cgroup /slice/b on b; memory")));
  request.mutable_selection()->clear_nodes();
  const auto all = MakeEngine(source, 1020).Top(request, {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->coverage().notes(),
              ::testing::Contains(HasSubstr("/slice/c on c and others on 1 more; memory")));
  request.mutable_selection()->add_nodes("whole");
  const auto whole = MakeEngine(source, 1020).Top(request, {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(whole->coverage().notes(), ::testing::Not(::testing::Contains(HasSubstr("cgroup"))));
}

TEST(TopTest, IdleWaitsCountOnlyWhenAskedFor) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_BLOCKING, {1 * kS, 0, 0, 0, 0, 50 * kS, 30 * kS, 0});  // disk, poll, timer
  source.AddEpoch(node, 1000, 10, maker.body());
  const Engine engine = MakeEngine(source, 1020);
  auto request = TopOf("blocking", v1::DIMENSION_NODE);
  EXPECT_DOUBLE_EQ(engine.Top(request, {})->tables(0).total(), 1);
  EXPECT_THAT(engine.Top(request, {})->tables(0).left_out(), ElementsAre("poll", "timer"));
  request.set_idle(true);
  EXPECT_DOUBLE_EQ(engine.Top(request, {})->tables(0).total(), 81);
}

TEST(TopTest, AByteWrittenIsOneByteInTheHeadline) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_DISK_IO, {100, 100, 40, 40, 0, 0});
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1020).Top(TopOf("disk_io", v1::DIMENSION_NODE), {});
  EXPECT_DOUBLE_EQ(answer->tables(0).total(), 140);
}

TEST(TopTest, AnEpochBelongsToTheSelectionItsMiddleLiesIn) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (const uint64_t start : {991, 1001}) {  // clocks differ: both overlap the selection
    BodyMaker maker;
    maker.Vital(TELLTALE_CPU, {(start == 1001 ? 3 : 5) * kS, 0, 0});
    source.AddEpoch(node, start, 10, maker.body());
  }
  const auto answer = MakeEngine(source, 1020).Top(TopOf("cpu", v1::DIMENSION_NODE), {});
  EXPECT_DOUBLE_EQ(answer->tables(0).total(), 3);
}

// Three epochs of 10 s, each with one sample and one event; how many of them each answer counts.
TEST(SelectionTest, OneRuleSaysInEveryAnswerWhichEpochsBelongToARange) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (const uint64_t start : {1000, 1010, 1020}) {
    BodyMaker maker;
    v1::Vital* vital = maker.Vital(TELLTALE_CPU, {1 * kS, 0, 0});
    maker.Sample(vital, "/a", 0, 1, 1, 2, 1);
    v1::DiscreteEvent* event = maker.body().add_events();
    event->set_type(v1::EVENT_TYPE_EXEC);
    event->set_time_ms(9'000);
    v1::Histogram* histogram = maker.body().add_histograms();
    histogram->set_layer(v1::LAYER_DISK);
    histogram->set_operation("read");
    histogram->set_r(4);
    histogram->add_bucket(3);
    histogram->add_count(1);
    source.AddEpoch(node, start, 10, maker.body());
  }
  const Engine engine = MakeEngine(source, 1100);
  const auto counts = [&](double from, double to) {
    auto top = Asked<v1::TopRequest>(from, to);
    top.set_vital("cpu");
    top.set_by(v1::DIMENSION_NODE);
    auto stacks = Asked<v1::StacksRequest>(from, to);
    stacks.set_vital("cpu");
    auto series = Asked<v1::SeriesRequest>(from, to);
    series.add_vitals("cpu");
    const auto lines = engine.Series(series, {});
    const auto histograms = engine.Histogram(Asked<v1::HistogramRequest>(from, to), {});
    return std::vector<double>{
        engine.Top(top, {})->tables(0).total(),
        engine.Stacks(stacks, {})->total(),
        lines->series().empty() ? 0.0 : static_cast<double>(lines->series(0).rate_size()),
        histograms->histograms().empty() ? 0.0 : histograms->histograms(0).count(0),
        static_cast<double>(
            engine.Samples(Asked<v1::SamplesRequest>(from, to), {})->samples_size()),
        static_cast<double>(engine.Events(Asked<v1::EventsRequest>(from, to), {})->events_size())};
  };
  EXPECT_THAT(counts(1000, 1030), ElementsAre(3, 3, 3, 3, 3, 3));
  EXPECT_THAT(counts(1004, 1016), ElementsAre(2, 2, 2, 2, 2, 2));
  EXPECT_THAT(counts(1006, 1024), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(counts(1018.6, 1019.6), ElementsAre(1, 1, 1, 1, 1, 1));  // within one
  EXPECT_THAT(counts(1019, 1021), ElementsAre(1, 1, 1, 1, 1, 1));      // as much of one as of two
  EXPECT_THAT(counts(1030, 1031), ElementsAre(0, 0, 0, 0, 0, 0));
  const auto answer = engine.Events(Asked<v1::EventsRequest>(1019, 1021), {});
  EXPECT_DOUBLE_EQ(answer->coverage().asked_end_s() - answer->coverage().asked_start_s(), 2);
  EXPECT_DOUBLE_EQ(answer->coverage().values_start_s(), 1020);
}

TEST(HistogramTest, SaysHowManyWaitsItCannotHoldYet) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (const uint64_t start : {1000, 1010}) {
    BodyMaker maker;
    v1::Vital* vital = maker.Vital(TELLTALE_BLOCKING, {1});
    vital->add_backlog(50);
    vital->add_backlog(start == 1000 ? 60 : 7);
    v1::Histogram* histogram = maker.body().add_histograms();
    histogram->set_layer(v1::LAYER_BLOCK);
    histogram->set_operation("disk");
    histogram->set_r(4);
    source.AddEpoch(node, start, 10, maker.body());
  }
  const auto answer =
      MakeEngine(source, 1100).Histogram(Asked<v1::HistogramRequest>(1000, 1020), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->coverage().notes(),
              ::testing::Contains(HasSubstr("7 tasks were blocked at the end")));
}

v1::Gauges GaugesOf(uint64_t available, uint64_t swap_free, uint64_t psi_memory_us) {
  v1::Gauges gauges;
  gauges.set_memory_total_bytes(1000);
  gauges.set_memory_available_bytes(available);
  gauges.set_swap_total_bytes(500);
  gauges.set_swap_free_bytes(swap_free);
  for (int i = 0; i < 6; ++i) gauges.add_psi_us(i == 2 ? psi_memory_us : 0);
  for (const uint64_t ns : {2, 1, 3, 4, 0, 0, 0, 0}) gauges.add_cpu_ns(ns);
  gauges.set_cpus_online(8);
  gauges.add_free_blocks(available);
  gauges.add_free_blocks(2);
  return gauges;
}

const v1::HostLevel& LevelOf(const v1::HostLevels& host, const std::string& name) {
  for (const v1::HostLevel& level : host.levels()) {
    if (level.name() == name) return level;
  }
  ADD_FAILURE() << "no level " << name;
  return v1::HostLevel::default_instance();
}

TEST(HostTest, ExtremesHaveTheirMomentAndTheMeanIsWeighedByTime) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  const auto add = [&](uint64_t start_s, uint64_t length_s, const v1::Gauges& gauges) {
    BodyMaker maker;
    *maker.body().mutable_gauges() = gauges;
    source.AddEpoch(node, start_s, length_s, maker.body());
  };
  add(1000, 10, GaugesOf(900, 500, 0));
  add(1010, 30, GaugesOf(100, 200, 15'000'000));
  add(1040, 10, GaugesOf(400, 300, 0));
  const auto answer = MakeEngine(source, 1100).Host(Asked<v1::HostLevelsRequest>(1000, 1050), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->hosts_size(), 1);
  const v1::HostLevels& host = answer->hosts(0);
  EXPECT_EQ(host.cpus(), 8u);
  EXPECT_DOUBLE_EQ(host.memory_bytes(), 1000);
  const v1::HostLevel& available = LevelOf(host, "memory available");
  EXPECT_DOUBLE_EQ(available.low(), 100);
  EXPECT_DOUBLE_EQ(available.low_s(), 1040);
  EXPECT_DOUBLE_EQ(available.high(), 900);
  EXPECT_DOUBLE_EQ(available.high_s(), 1010);
  EXPECT_DOUBLE_EQ(available.mean(), (900 * 10 + 100 * 30 + 400 * 10) / 50.0);
  EXPECT_DOUBLE_EQ(available.last(), 400);
  EXPECT_DOUBLE_EQ(LevelOf(host, "swap used").high(), 300);
  EXPECT_DOUBLE_EQ(LevelOf(host, "some wait for memory").high(), 0.5);
  EXPECT_DOUBLE_EQ(LevelOf(host, "cpu user").mean(), 0.3);
  EXPECT_DOUBLE_EQ(host.tightest_s(), 1040);
  EXPECT_THAT(host.free_blocks(), ElementsAre(100, 2));
}

TEST(HostTest, TheTightestIsFirstAndWhatIsNotKnownHasNoLevel) {
  FakeSource source;
  for (const auto& [name, available] : {std::pair("a", 800), {"b", 50}, {"c", 300}}) {
    BodyMaker maker;
    *maker.body().mutable_gauges() = GaugesOf(static_cast<uint64_t>(available), 500, 0);
    maker.body().mutable_gauges()->clear_swap_total_bytes();
    maker.body().mutable_gauges()->clear_psi_us();
    source.AddEpoch(source.AddNode(name), 1000, 10, maker.body());
  }
  source.AddEpoch(source.AddNode("told_nothing"), 1000, 10, BodyMaker().body());
  auto request = Asked<v1::HostLevelsRequest>(1000, 1010);
  request.set_limit(2);
  const auto answer = MakeEngine(source, 1100).Host(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->hosts_size(), 2);
  EXPECT_EQ(answer->hosts(0).node(), "b");
  EXPECT_EQ(answer->hosts(1).node(), "c");
  EXPECT_EQ(answer->left_out(), 1u);
  for (const v1::HostLevel& level : answer->hosts(0).levels()) {
    EXPECT_NE(level.name(), "swap used");
    EXPECT_THAT(level.name(), ::testing::Not(HasSubstr("wait for memory")));
  }
  request.set_limit(1001);
  EXPECT_EQ(MakeEngine(source, 1100).Host(request, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostTest, SaysThatEpochsExpiredAndRefusesWhatSurelyIsTooMuchBeforeItReads) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  *maker.body().mutable_gauges() = GaugesOf(900, 500, 0);
  source.AddEpoch(node, 1000, 10, maker.body());
  source.AddEpoch(node, 2000, 10, maker.body());
  source.raw_floor_ns = 1500 * kS;
  const auto told = MakeEngine(source, 2100).Host(Asked<v1::HostLevelsRequest>(1000, 2050), {});
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_THAT(told->coverage().notes(),
              ::testing::Contains("raw epochs before 1970-01-01 00:25 UTC have expired and are not "
                                  "in this answer"));
  const auto after = MakeEngine(source, 2100).Host(Asked<v1::HostLevelsRequest>(1500, 2050), {});
  EXPECT_THAT(after->coverage().notes(), ::testing::Not(::testing::Contains(HasSubstr("expired"))));

  source.Node(node).set_first_epoch_ns(1 * kS);
  source.Node(node).set_last_epoch_ns(10'000'000 * kS);  // a million epochs
  const auto refused =
      MakeEngine(source, 10'000'000).Host(Asked<v1::HostLevelsRequest>(1000, 9'000'000), {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("narrow the time or the nodes"));
}

TEST(TopTest, ProcessesOfTwoEpochsAreOneRowEach) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (const uint64_t start : {1000, 1010}) {
    BodyMaker maker;
    maker.Vital(TELLTALE_CPU, {3 * kS, 0, 0});
    maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
    maker.Process("/bin/x", 1, 0, {1 * kS});
    maker.Process("/bin/cc", 0, 0, {2 * kS}, 30);
    source.AddEpoch(node, start, 10, maker.body());
  }
  auto request = TopOf("cpu", v1::DIMENSION_PROCESS);
  request.mutable_selection()->set_end_s(1020);
  const auto answer = MakeEngine(source, 1030).Top(request, {});
  ASSERT_EQ(answer->tables(0).rows_size(), 2);
  EXPECT_EQ(answer->tables(0).rows(0).name(), "cc x 60");
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(0).value(), 4);
  EXPECT_EQ(answer->tables(0).rows(1).pid(), 1u);
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(1).value(), 2);
}

TEST(TopTest, ASiteIsTheFirstFrameOutsideTheCLibraryAndCarriesItsStack) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.Name("app", 0x10, "read_config");
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_BLOCKING, {8 * kS, 0, 0, 0, 0, 0, 0, 0});
  const uint32_t stack =
      maker.Stack({maker.Frame("k", "", 0x1, true)},
                  {maker.Frame("c", "/lib/libc.so.6", 0x2), maker.Frame("app", "/bin/app", 0x10)});
  v1::FoldedSample* sample = maker.Sample(vital, "/bin/app", stack, kS, 6 * kS, 8 * kS, 1);
  sample->set_open(true);
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1020).Top(TopOf("blocking", v1::DIMENSION_SITE), {});
  ASSERT_EQ(answer->tables(0).rows_size(), 1);
  const v1::TopRow& row = answer->tables(0).rows(0);
  EXPECT_EQ(row.name(), "read_config (app)");
  EXPECT_TRUE(row.open());
  EXPECT_FALSE(answer->tables(0).exact());
  EXPECT_LE(row.low(), row.value());
  EXPECT_LE(row.value(), row.high());
  ASSERT_EQ(row.stack_size(), 3);
  EXPECT_TRUE(row.stack(0).kernel());
  EXPECT_EQ(row.stack(1).name(), "libc.so.6+0x2");
}

TEST(LabelEstimateTest, ValuesStayInTheirBoundsAndBelowTheTotal) {
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_CPU, {100, 0, 0});
  maker.Sample(vital, "/a", 0, 10, 10, 90, 1);
  maker.Sample(vital, "/b", 0, 20, 20, 90, 2);
  const std::vector<EntryEstimate> estimates = EstimateEntries(*vital);
  double sum = 0;
  for (const EntryEstimate& estimate : estimates) {
    EXPECT_LE(estimate.low, estimate.value);
    EXPECT_LE(estimate.value, estimate.high);
    sum += estimate.value;
  }
  EXPECT_LE(sum, 100);
  EXPECT_GT(sum, 100 - 2) << "each value is rounded down";
}

TEST(LabelEstimateTest, StacksOfOneLabelShareItByWhatWasSampled) {
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_CPU, {100, 0, 0});
  for (const uint64_t sampled : {30, 10}) {
    v1::FoldedSample* sample = maker.Sample(vital, "", 0, sampled, 80, 80, 7);
    sample->set_exe(1);
  }
  const std::vector<EntryEstimate> estimates = EstimateEntries(*vital);
  EXPECT_DOUBLE_EQ(estimates[0].value, 60);
  EXPECT_DOUBLE_EQ(estimates[1].value, 20);
  EXPECT_DOUBLE_EQ(estimates[1].low, 10);
  EXPECT_DOUBLE_EQ(estimates[1].high, 50);  // the other stack's samples prove 30 of the 80
}

TEST(ReduceTest, KeepsExtremesAndSums) {
  std::vector<Point> points;
  double weight = 0;
  for (int i = 0; i < 10'007; ++i) {
    const double value = i == 5'003 ? 1e6 : i == 7'001 ? 0.5 : 10;
    points.push_back({static_cast<double>(i), 1, 1, value, 1, value, value, value});
    weight += value;
  }
  const std::vector<Point> reduced = Reduce(points, 2000);
  EXPECT_LE(reduced.size(), 2000u);
  double highest = 0, lowest = 1e9, sum = 0;
  for (const Point& point : reduced) {
    highest = std::max(highest, point.max);
    lowest = std::min(lowest, point.min);
    sum += point.weight;
  }
  EXPECT_EQ(highest, 1e6);
  EXPECT_EQ(lowest, 0.5);
  EXPECT_THAT(sum, DoubleNear(weight, 1e-6));
  EXPECT_EQ(reduced.back().start_s + reduced.back().length_s, 10'007);
}

TEST(SeriesTest, RateIsOverTheTimeWatched) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {8 * kS, 0, 0});
  source.AddEpoch(node, 1000, 10, maker.body(), 4);
  auto request = Asked<v1::SeriesRequest>(1000, 1010);
  request.add_vitals("cpu");
  const auto answer = MakeEngine(source, 1020).Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  EXPECT_DOUBLE_EQ(answer->series(0).rate(0), 2);
  EXPECT_DOUBLE_EQ(answer->series(0).watched(0), 0.4);
}

TEST(SeriesTest, NodesOfOneSlotAddUp) {
  FakeSource source;
  for (const char* name : {"a", "b"}) {
    const uint32_t node = source.AddNode(name);
    BodyMaker maker;
    maker.Vital(TELLTALE_SYSCALL, {50, 0});
    source.AddEpoch(node, 1000, 10, maker.body());
  }
  auto request = Asked<v1::SeriesRequest>(1000, 1010);
  request.add_vitals("syscall");
  const auto answer = MakeEngine(source, 1020).Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  EXPECT_DOUBLE_EQ(answer->series(0).rate(0), 10);
}

TEST(CoverageTest, WatchedAndUnwatchedAddUpToWhatWasSelected) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.Vital(TELLTALE_CPU, {kS, 0, 0});
  v1::Loss* loss = maker.body().mutable_vitals(0)->add_losses();
  loss->set_reason(v1::LOSS_REASON_TOKENS);
  loss->set_events(12);
  maker.body().mutable_user_frames()->add_outcome(v1::NAME_OUTCOME_NO_SYMBOL);
  maker.body().mutable_user_frames()->add_frames(5);
  source.AddEpoch(node, 1000, 10, maker.body());
  source.AddEpoch(node, 1012, 10, maker.body());
  const auto answer = MakeEngine(source, 1100).Coverage(Asked<v1::CoverageRequest>(1000, 1022), {});
  const v1::Coverage& coverage = answer->coverage();
  EXPECT_DOUBLE_EQ(coverage.selected_s(), 22);
  EXPECT_DOUBLE_EQ(coverage.watched_s(), 20);
  EXPECT_DOUBLE_EQ(coverage.unwatched_s(), 2);
  EXPECT_EQ(coverage.epochs_received(), 2u);
  ASSERT_EQ(coverage.lost_events_size(), 1);
  EXPECT_EQ(coverage.lost_events(0).reason(), "tokens");
  EXPECT_DOUBLE_EQ(coverage.lost_events(0).events(), 24);
  ASSERT_EQ(coverage.user_frames_size(), 1);
  EXPECT_EQ(coverage.user_frames(0).outcome(), "no_symbol");
  EXPECT_DOUBLE_EQ(coverage.user_frames(0).frames(), 10);
  ASSERT_EQ(answer->gaps_size(), 1);
  EXPECT_DOUBLE_EQ(answer->gaps(0).start_s(), 1010);
  EXPECT_DOUBLE_EQ(answer->gaps(0).end_s(), 1012);
}

TEST(CoverageTest, TellsTheOpenEpochFromSilence) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1000, 10, BodyMaker().body());
  const auto soon = MakeEngine(source, 1015).Coverage(Asked<v1::CoverageRequest>(1000, 1015), {});
  EXPECT_THAT(soon->gaps(0).reason(), HasSubstr("still open"));
  const auto later = MakeEngine(source, 2000).Coverage(Asked<v1::CoverageRequest>(1000, 1500), {});
  EXPECT_THAT(later->gaps(0).reason(), HasSubstr("silent"));
  source.Node(node).set_state(v1::NODE_STATE_CLONE_CONFLICT);
  const auto apart = MakeEngine(source, 2000).Coverage(Asked<v1::CoverageRequest>(1000, 1500), {});
  EXPECT_THAT(apart->gaps(0).reason(), HasSubstr("kept apart"));
}

TEST(CoverageTest, AnEmptyAnswerSaysWhereDataIs) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1000, 10, BodyMaker().body());
  auto request = Asked<v1::TopRequest>(5000, 5060);
  const auto answer = MakeEngine(source, 6000).Top(request, {});
  ASSERT_EQ(answer->coverage().tiers_size(), 1);
  EXPECT_EQ(answer->coverage().tiers(0).tier(), v1::TIER_RAW);
  EXPECT_DOUBLE_EQ(answer->coverage().tiers(0).start_s(), 1000);
}

TEST(SamplesTest, SaysHowOldItsPeersWereAndWhatPartOfTheTimeWasWatched) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  maker.body().mutable_epoch()->set_start_mono_ns(5000 * kS);
  v1::Vital* vital = maker.Vital(TELLTALE_CPU, {100, 0, 0});
  v1::Sample& kept = *maker.Sample(vital, "/a", 0, 1, 1, 2, 1)->mutable_exemplar();
  kept.set_time_ns(7 * kS);
  kept.mutable_holder()->set_start_mono_ns(5001 * kS);
  kept.mutable_ran_instead()->set_start_mono_ns(4007 * kS);
  kept.mutable_waker()->set_pid(0);  // an interrupt
  kept.set_duty_ppm(15'625);
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = Asked<v1::SamplesRequest>(1000, 1010);
  request.set_vital("cpu");
  const auto answer = MakeEngine(source, 1020).Samples(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->samples_size(), 1);
  EXPECT_DOUBLE_EQ(answer->samples(0).holder().process_age_s(), 6);
  EXPECT_DOUBLE_EQ(answer->samples(0).ran_instead().process_age_s(), 1000);
  EXPECT_DOUBLE_EQ(answer->samples(0).waker().process_age_s(), 0);
  EXPECT_DOUBLE_EQ(answer->samples(0).watched_share(), 1.0 / 64);
}

TEST(SamplesTest, PagesMeetWithoutLossOrRepeat) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    BodyMaker maker;
    v1::Vital* vital = maker.Vital(TELLTALE_CPU, {100, 0, 0});
    for (uint64_t i = 0; i < 5; ++i) {
      v1::FoldedSample* sample = maker.Sample(vital, "/a", 0, 1, 1, 2, i);
      sample->mutable_exemplar()->set_time_ns(i / 2 * kS);  // two share a time
      sample->mutable_exemplar()->set_pid(static_cast<uint32_t>(epoch * 10 + i + 1));
    }
    source.AddEpoch(node, 1000 + epoch * 10, 10, maker.body());
  }
  const Engine engine = MakeEngine(source, 1100);
  auto request = Asked<v1::SamplesRequest>(1000, 1030);
  request.set_limit(4);
  std::vector<uint32_t> pids;
  double last = 1e18;
  for (int page = 0; page < 10; ++page) {
    const auto answer = engine.Samples(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    for (const v1::SampleAnswer& sample : answer->samples()) {
      pids.push_back(sample.pid());
      EXPECT_LE(sample.time_s(), last);
      last = sample.time_s();
    }
    if (answer->next_page().empty()) break;
    request.set_page(answer->next_page());
  }
  std::sort(pids.begin(), pids.end());
  EXPECT_THAT(pids, ElementsAre(1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25));
  request.set_page("1.2.3");
  EXPECT_EQ(engine.Samples(request, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace telltale::query
