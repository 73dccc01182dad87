// Bounds of rows over several epochs, against weights that are known: an epoch that lists only
// some of its labels must not pull an interval below the truth.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/row_bounds.h"
#include "collector/query/top_windows.h"
#include "collector/query/window_sums.h"
#include "sketch/sketch.h"
#include "storage/rollup/window_model.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::TopRequest SitesOf(double start_s, double end_s) {
  auto request = Asked<v1::TopRequest>(start_s, end_s);
  request.set_vital("syscall");
  request.set_by(v1::DIMENSION_SITE);
  request.set_limit(100);
  request.mutable_selection()->set_tier(v1::TIER_RAW);
  return request;
}

v1::StacksRequest StacksOf(double start_s, double end_s) {
  auto request = Asked<v1::StacksRequest>(start_s, end_s);
  request.set_vital("syscall");
  request.mutable_selection()->set_tier(v1::TIER_RAW);
  return request;
}

TEST(CoverageTest, TellsTheFalseNegativesOfEachVital) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker first, second;
  v1::SketchDigest* sketch = first.Vital(TELLTALE_SYSCALL, {100, 0})->mutable_sketch();
  sketch->set_control_heavy(300);
  sketch->set_control_heavy_missed(1);
  sketch->set_control_heavy_unlisted(30);
  sketch = second.Vital(TELLTALE_SYSCALL, {100, 0})->mutable_sketch();
  sketch->set_control_heavy(200);
  second.Vital(TELLTALE_CPU, {100, 0, 0});  // had no group
  source.AddEpoch(node, 1000, 10, first.body());
  source.AddEpoch(node, 1010, 10, second.body());
  const Engine engine = MakeEngine(source, 1030);
  const auto answer = engine.Coverage(Asked<v1::CoverageRequest>(1000, 1020), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->coverage().control_size(), 1);
  EXPECT_EQ(answer->coverage().control(0).vital(), "syscall");
  EXPECT_DOUBLE_EQ(answer->coverage().control(0).heavy(), 500);
  EXPECT_DOUBLE_EQ(answer->coverage().control(0).heavy_missed(), 1);
  EXPECT_DOUBLE_EQ(answer->coverage().control(0).heavy_unlisted(), 30);
}

// A chance is of labels of which something was seen (sketch/miss_curve.h).
TEST(CoverageTest, SaysThatWhereAVitalIsWatchedInPartMoreIsMissedThanStated) {
  for (const double stated : {0.5, 0.0}) {
    FakeSource source;
    const uint32_t node = source.AddNode("a");
    for (const bool estimated : {false, true}) {
      BodyMaker maker;
      v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {10'000, 0});
      vital->set_estimated(estimated);
      v1::SketchDigest* sketch = vital->mutable_sketch();
      sketch->set_total(10'000);
      sketch->set_columns(256);
      for (int octave = 0; octave < 9; ++octave) {
        sketch->add_miss(static_cast<uint32_t>(stated * 10'000));
      }
      source.AddEpoch(node, estimated ? 1010 : 1000, 10, maker.body());
    }
    const Engine engine = MakeEngine(source, 1030);
    const auto notes = [&](double end_s) {
      auto request = Asked<v1::TopRequest>(1000, end_s);
      request.set_vital("syscall");
      const auto answer = engine.Top(request, {});
      EXPECT_NEAR(answer->coverage().miss_probability_1pct(), stated, 1e-4);
      return absl::StrJoin(answer->coverage().notes(), "; ");
    };
    EXPECT_THAT(notes(1010), Not(HasSubstr("watched in part")));
    EXPECT_THAT(notes(1020), HasSubstr("in 1 of 2 epochs the vital was watched in part"))
        << "also where none is missed of which something was seen";
  }
}

v1::KnobChange* Change(v1::Vital* vital, uint32_t time_ms, v1::Knob knob, uint64_t from,
                       uint64_t to) {
  v1::KnobChange* change = vital->add_knobs();
  change->set_time_ms(time_ms);
  change->set_knob(knob);
  change->set_from(from);
  change->set_to(to);
  return change;
}

std::vector<std::string> Steps(const v1::Coverage& coverage) {
  std::vector<std::string> steps;
  for (const v1::KnobStep& step : coverage.steps()) {
    steps.push_back(absl::StrCat(step.time_s(), " ", step.node(), " ",
                                 absl::StrJoin(step.vitals(), "+"), " ", step.knob(), " ",
                                 step.from(), " to ", step.to()));
  }
  return steps;
}

TEST(CoverageTest, TellsWhenTheGovernorTurnedWhatDownAndUp) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker first, second;
  v1::Vital* syscall = first.Vital(TELLTALE_SYSCALL, {100, 0});
  Change(syscall, 3'500, v1::KNOB_DUTY_PPM, 1'000'000, 125'000);
  Change(syscall, 4'000, v1::KNOB_TOKENS, 64, 32);
  Change(syscall, 4'000, v1::KNOB_STACKS, 2, 1);
  v1::Vital* blocking = first.Vital(TELLTALE_BLOCKING, {1, 0, 0, 0, 0, 0, 0, 0});
  Change(blocking, 4'000, v1::KNOB_TOKENS, 16, 8);
  Change(blocking, 4'000, v1::KNOB_STACKS, 2, 1);
  Change(blocking, 4'000, v1::KNOB_WAITS, 2, 1);
  Change(blocking, 5'000, v1::KNOB_WAITS, 1, 0);
  Change(blocking, 6'000, v1::KNOB_LEAST_RUN_NS, 0, 4'000'000);
  Change(second.Vital(TELLTALE_SYSCALL, {100, 0}), 0, v1::KNOB_T_LOG2, 1, 2);
  source.AddEpoch(node, 1000, 10, first.body());
  source.AddEpoch(node, 1010, 10, second.body());
  const Engine engine = MakeEngine(source, 1030);
  const auto all = engine.Coverage(Asked<v1::CoverageRequest>(1000, 1020), {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(
      Steps(all->coverage()),
      ElementsAre("1003.5 a syscall watched 1 to 0.125", "1004 a syscall+blocking stacks 2 to 1",
                  "1004 a syscall+blocking tokens 80 to 40", "1004 a blocking waits 2 to 1",
                  "1005 a blocking waits 1 to 0", "1006 a blocking least_run 0 to 0.004",
                  "1010 a syscall t 2 to 4"));
  EXPECT_EQ(all->coverage().steps_left_out(), 0u);

  auto top = Asked<v1::TopRequest>(1000, 1020);
  top.set_vital("blocking");
  const auto one = engine.Top(top, {});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(Steps(one->coverage()),
              ElementsAre("1004 a blocking stacks 2 to 1", "1004 a blocking tokens 16 to 8",
                          "1004 a blocking waits 2 to 1", "1005 a blocking waits 1 to 0",
                          "1006 a blocking least_run 0 to 0.004"));
}

// An answer about waits reads no other vital, so there it cannot be told who else changed.
TEST(CoverageTest, OfAgentsThatCallWaitsStacksTellsWhichItIsWhereThatIsSure) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  for (const uint32_t id : {TELLTALE_SCHED_DELAY, TELLTALE_BLOCKING}) {
    v1::Vital* vital = maker.Vital(id, std::vector<uint64_t>(id == TELLTALE_BLOCKING ? 8u : 2u, 1));
    Change(vital, 1'000, v1::KNOB_STACKS, 2, 1);  // of switches
    Change(vital, 2'000, v1::KNOB_STACKS, 2, 1);  // of user stacks
    Change(vital, 3'000, v1::KNOB_STACKS, 1, 2);  // of both
    Change(vital, 3'000, v1::KNOB_STACKS, 1, 2);
  }
  v1::Vital* syscall = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  Change(syscall, 2'000, v1::KNOB_STACKS, 2, 1);
  Change(syscall, 3'000, v1::KNOB_STACKS, 1, 2);
  source.AddEpoch(node, 1000, 10, maker.body());
  const Engine engine = MakeEngine(source, 1030);
  const auto all = engine.Coverage(Asked<v1::CoverageRequest>(1000, 1010), {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(Steps(all->coverage()),
              ElementsAre("1001 a sched_delay+blocking waits 2 to 1",
                          "1002 a sched_delay+blocking+syscall stacks 2 to 1",
                          "1003 a sched_delay+blocking+syscall stacks 1 to 2",
                          "1003 a sched_delay+blocking waits 1 to 2"));
  auto series = Asked<v1::SeriesRequest>(1000, 1010);
  series.add_vitals("blocking");
  series.add_vitals("syscall");
  const auto two = engine.Series(series, {});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_THAT(Steps(two->coverage()),
              ElementsAre("1001 a blocking waits 2 to 1", "1002 a blocking+syscall stacks 2 to 1",
                          "1003 a blocking+syscall stacks 1 to 2", "1003 a blocking waits 1 to 2"));
  auto top = Asked<v1::TopRequest>(1000, 1010);
  top.set_vital("blocking");
  const auto one = engine.Top(top, {});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(Steps(one->coverage()),
              ElementsAre("1001 a blocking stacks 2 to 1", "1002 a blocking stacks 2 to 1",
                          "1003 a blocking stacks 1 to 2", "1003 a blocking waits 1 to 2"));
}

TEST(CoverageTest, TellsNoStepThatChangedNothing) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  v1::Vital* syscall = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  Change(syscall, 1'000, v1::KNOB_TOKENS, 4, 4);
  Change(syscall, 1'000, v1::KNOB_T_LOG2, 1, 2);
  Change(syscall, 2'000, v1::KNOB_TOKENS, 4, 8);
  Change(syscall, 3'000, v1::KNOB_LEAST_RUN_NS, 0, 0);
  v1::Vital* cpu = maker.Vital(TELLTALE_CPU, {1, 0, 0});
  Change(cpu, 1'000, v1::KNOB_TOKENS, 1, 1);
  Change(cpu, 2'000, v1::KNOB_TOKENS, 1, 1);
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1030).Coverage(Asked<v1::CoverageRequest>(1000, 1010), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(Steps(answer->coverage()),
              ElementsAre("1001 a syscall t 2 to 4", "1002 a syscall+cpu tokens 5 to 9"));
}

TEST(CoverageTest, TellsNoStepOutsideOfTheTimeAskedForThoughTheEpochSticksOutOfIt) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker first, second;
  v1::Vital* syscall = first.Vital(TELLTALE_SYSCALL, {100, 0});
  Change(syscall, 3'999, v1::KNOB_DUTY_PPM, 1'000'000, 500'000);
  Change(syscall, 4'000, v1::KNOB_DUTY_PPM, 500'000, 250'000);
  syscall = second.Vital(TELLTALE_SYSCALL, {100, 0});
  Change(syscall, 5'999, v1::KNOB_DUTY_PPM, 250'000, 500'000);
  Change(syscall, 6'000, v1::KNOB_DUTY_PPM, 500'000, 1'000'000);
  source.AddEpoch(node, 1000, 10, first.body());
  source.AddEpoch(node, 1010, 10, second.body());
  const auto answer = MakeEngine(source, 1030).Coverage(Asked<v1::CoverageRequest>(1004, 1016), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(Steps(answer->coverage()),
              ElementsAre("1004 a syscall watched 0.5 to 0.25", HasSubstr("watched 0.25 to 0.5")));
}

TEST(CoverageTest, AQuantumIsThatOfItsUnit) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  Change(maker.Vital(TELLTALE_CPU, {1, 0, 0}), 1'000, v1::KNOB_QUANTUM, 16, 32);
  Change(maker.Vital(TELLTALE_SYSCALL, {100, 0}), 1'000, v1::KNOB_QUANTUM, 16, 32);
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1030).Coverage(Asked<v1::CoverageRequest>(1000, 1010), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(Steps(answer->coverage()), ElementsAre("1001 a cpu quantum 1.6e-08 to 3.2e-08",
                                                     "1001 a syscall quantum 16 to 32"));
}

TEST(CoverageTest, OfManyStepsTheFirstOnesAreToldAndThoseOfTLast) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  v1::Vital* syscall = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  for (uint32_t i = 0; i < 40; ++i) {
    Change(syscall, i, v1::KNOB_T_LOG2, 1, 2);
    Change(syscall, 100 + i, v1::KNOB_DUTY_PPM, 1'000'000, 500'000);
  }
  source.AddEpoch(node, 1000, 10, maker.body());
  const auto answer = MakeEngine(source, 1030).Coverage(Asked<v1::CoverageRequest>(1000, 1020), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const v1::Coverage& coverage = answer->coverage();
  ASSERT_EQ(coverage.steps_size(), 50);
  EXPECT_EQ(coverage.steps_left_out(), 30u);
  EXPECT_EQ(coverage.steps(9).knob(), "t");
  EXPECT_DOUBLE_EQ(coverage.steps(9).time_s(), 1000.009);
  EXPECT_EQ(coverage.steps(10).knob(), "watched");
  EXPECT_DOUBLE_EQ(coverage.steps(49).time_s(), 1000.139);
}

TEST(RowBoundsTest, AnEpochThatDoesNotListALabelRaisesItsHigh) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker first, second;
  v1::Vital* vital = first.Vital(TELLTALE_SYSCALL, {100, 0});
  first.Sample(vital, "/x", 0, 40, 40, 70, 1);
  vital = second.Vital(TELLTALE_SYSCALL, {100, 0});  // x may have made 31 of them
  second.Sample(vital, "/y", 0, 60, 60, 80, 2);
  vital->mutable_sketch()->add_load_exponents(4);
  source.AddEpoch(node, 1000, 10, first.body());
  source.AddEpoch(node, 1010, 10, second.body());
  const Engine engine = MakeEngine(source, 1030);
  const auto answer = engine.Top(SitesOf(1000, 1020), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->tables(0).rows_size(), 2);
  const v1::TopRow &y = answer->tables(0).rows(0), &x = answer->tables(0).rows(1);
  EXPECT_EQ(x.exe(), "/x");
  EXPECT_DOUBLE_EQ(x.low(), 40);
  EXPECT_DOUBLE_EQ(x.high(), 70 + 31);
  EXPECT_EQ(y.exe(), "/y");
  EXPECT_DOUBLE_EQ(y.low(), 60);
  EXPECT_DOUBLE_EQ(y.high(), 80 + 60);  // what the first epoch has not proven for x
  const auto stacks = engine.Stacks(StacksOf(1000, 1020), {});
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  ASSERT_EQ(stacks->stacks_size(), 2);
  EXPECT_DOUBLE_EQ(stacks->stacks(1).high(), 70 + 31);
}

TEST(RowBoundsTest, AnEpochWithoutAnyEntryRaisesEveryHigh) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker first, second;
  v1::Vital* vital = first.Vital(TELLTALE_SYSCALL, {100, 0});
  first.Sample(vital, "/x", 0, 40, 40, 70, 1);
  second.Vital(TELLTALE_SYSCALL, {25, 0});
  source.AddEpoch(node, 1000, 10, first.body());
  source.AddEpoch(node, 1010, 10, second.body());
  const auto answer = MakeEngine(source, 1030).Top(SitesOf(1000, 1020), {});
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(0).high(), 95);
}

TEST(RowBoundsTest, WhatIsProvenForOthersBoundsARowEvenIfAFilterHidesThem) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  maker.Sample(vital, "/x", 0, 10, 10, 90, 1);
  maker.Sample(vital, "/y", 0, 55, 55, 90, 2);
  source.AddEpoch(node, 1000, 10, maker.body());
  auto request = SitesOf(1000, 1010);
  request.set_process("x");
  const auto answer = MakeEngine(source, 1030).Top(request, {});
  ASSERT_EQ(answer->tables(0).rows_size(), 1);
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(0).high(), 45);
}

TEST(RowBoundsTest, StacksOfOneLabelAtOneSiteCountWhatIsUnprovenOnce) {
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {100, 0});
  for (const uint64_t sampled : {30, 10}) {
    v1::FoldedSample* sample = maker.Sample(vital, "", 0, sampled, 40, 70, 7);
    sample->set_exe(1);
  }
  const VitalChoice choice{*storage::DescriptorOf(proto::BuiltinSchema(), TELLTALE_SYSCALL), -1,
                           false};
  const std::vector<EntryEstimate> estimates = EstimateEntries(*vital);
  RowBounds bounds;
  bounds.AddEpoch(*vital, choice, estimates, {{"row", 1, estimates[0]}, {"row", 1, estimates[1]}});
  EXPECT_DOUBLE_EQ(bounds.Sum()["row"].low, 40);
  EXPECT_DOUBLE_EQ(bounds.Sum()["row"].high, 70);
}

TEST(EpochThresholdTest, OfVotedCellsIsWhatTheNodeSaysAndOfPlainOnesTheFullestCell) {
  v1::Vital vital;
  vital.mutable_sketch()->add_load_exponents(5);
  EXPECT_EQ(storage::EpochThreshold(vital, 1000, 100), 63u);
  vital.mutable_sketch()->set_layout(v1::CELL_LAYOUT_VOTED);
  vital.mutable_sketch()->set_unlisted_high(700);
  EXPECT_EQ(storage::EpochThreshold(vital, 1000, 100), 700u);
  EXPECT_EQ(storage::EpochThreshold(vital, 1000, 400), 600u) << "what listed ones leave";
}

TEST(MissProbabilityTest, IsWhatTheAgentMeasuredAndOfOlderEpochsTheFormula) {
  v1::Vital vital;
  vital.set_quantum(16);
  vital.set_t_log2(1);
  v1::SketchDigest& sketch = *vital.mutable_sketch();
  sketch.set_rows(1);
  sketch.set_columns(256);
  sketch.set_total(100'000);
  sketch.add_load_exponents(8);
  sketch.add_load_cells(256);
  EXPECT_FALSE(MissMeasured(vital));
  const double formula = MissProbability(vital, 0.01, 2);
  EXPECT_GT(formula, 0.9) << "nothing was sampled";

  sketch.set_miss_from(5);
  for (const uint32_t miss : {9'000u, 5'000u, 800u, 400u, 100u, 25u, 0u}) sketch.add_miss(miss);
  EXPECT_TRUE(MissMeasured(vital));
  EXPECT_NEAR(MissProbability(vital, 0.00256, 2), 0.04, 1e-6) << "256 is 2^8";
  EXPECT_NEAR(MissProbability(vital, 0.01024, 2), 0.0025, 1e-6);
  EXPECT_EQ(MissProbability(vital, 0.0001, 2), 0) << "less than the quantum is not said";
}

// Some epochs of a node with two labels of each executable. Every label is listed at least once.
struct World {
  static constexpr size_t kExes = 12, kLabels = 2 * kExes, kCells = 8;
  std::vector<v1::SummaryBody> epochs;
  std::array<uint64_t, kLabels> truth{};

  explicit World(std::mt19937_64& random) {
    const size_t count = 2 + random() % 4;
    std::array<size_t, kLabels> always;
    for (size_t& epoch : always) epoch = random() % count;
    for (size_t i = 0; i < count; ++i) {
      std::array<uint64_t, kLabels> weight;
      std::array<uint64_t, kCells> cells{};
      std::array<size_t, kLabels> place;
      uint64_t total = 0;
      for (size_t l = 0; l < kLabels; ++l) {
        weight[l] = random() % (uint64_t{1} << random() % 12);
        place[l] = random() % kCells;
        cells[place[l]] += weight[l];
        truth[l] += weight[l];
        total += weight[l];
      }
      BodyMaker maker;
      v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {total, 0});
      for (size_t l = 0; l < kLabels; ++l) {
        if (always[l] != i && random() % 3 != 0) continue;
        const uint64_t proven = weight[l] == 0 ? 0 : random() % (weight[l] + 1);
        // Of no call: both labels of an executable are at one place, which is not known.
        maker.Sample(vital, absl::StrCat("/", l / 2), 0, proven, proven, cells[place[l]], 0)
            ->add_label(l + 1);
      }
      for (const uint32_t exponent : sketch::Digest(cells).exponents) {
        vital->mutable_sketch()->add_load_exponents(exponent);
      }
      epochs.push_back(maker.body());
    }
  }
};

TEST(RowBoundsTest, IntervalsHoldTheTruthWhateverEpochsFoldAway) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const World world(random);
    FakeSource source;
    const uint32_t node = source.AddNode("a");
    for (size_t i = 0; i < world.epochs.size(); ++i) {
      source.AddEpoch(node, 1000 + 10 * i, 10, world.epochs[i]);
    }
    const auto answer = MakeEngine(source, 1100).Top(SitesOf(1000, 1090), {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    for (const v1::TopRow& row : answer->tables(0).rows()) {
      const size_t exe = std::stoul(row.exe().substr(1));
      const auto truth = static_cast<double>(world.truth[2 * exe] + world.truth[2 * exe + 1]);
      ASSERT_LE(row.low(), truth) << "trial " << trial << " exe " << exe;
      ASSERT_GE(row.high(), truth) << "trial " << trial << " exe " << exe;
      ASSERT_LE(row.low(), row.value());
      ASSERT_GE(row.high(), row.value());
    }
  }
}

TEST(RowBoundsTest, RawEpochsAndWindowsBoundALabelAlike) {
  std::mt19937_64 random(8);
  const v1::Schema schema = proto::BuiltinSchema();
  const VitalChoice choice{*storage::DescriptorOf(schema, TELLTALE_SYSCALL), -1, false};
  for (int trial = 0; trial < 100; ++trial) {
    const World world(random);
    WindowSums windows({.vitals = {TELLTALE_SYSCALL}, .run_time = true});
    RowBounds raw;
    for (const v1::SummaryBody& body : world.epochs) {
      windows.Add(1, storage::FromSummary(body, schema, {}, 1), schema);
      const v1::Vital& vital = body.vitals(0);
      const std::vector<EntryEstimate> estimates = EstimateEntries(vital);
      const std::vector<uint64_t> labels = LabelIds(vital, &choice.vital, body.tables());
      std::vector<RowBounds::Part> parts;
      for (size_t i = 0; i < labels.size(); ++i) {
        parts.push_back({absl::StrCat(labels[i]), labels[i], estimates[i]});
      }
      raw.AddEpoch(vital, choice, estimates, parts);
    }
    std::map<std::string, RowBounds::Bounds> rows = raw.Sum();
    const auto labels = LabelsOf(*windows.Find(TELLTALE_SYSCALL), choice);
    ASSERT_EQ(labels.size(), rows.size());
    for (const LabelWeightOf& label : labels) {
      const auto row = rows.find(absl::StrCat(storage::ExactId(label.label->facts.label)));
      ASSERT_NE(row, rows.end());
      ASSERT_DOUBLE_EQ(label.low, row->second.low);
      ASSERT_DOUBLE_EQ(label.high, row->second.high);
    }
  }
}

TEST(WindowSumsTest, SumsOfPartsAreThoseOfTheWhole) {
  std::mt19937_64 random(9);
  const v1::Schema schema = proto::BuiltinSchema();
  const VitalChoice choice{*storage::DescriptorOf(schema, TELLTALE_SYSCALL), -1, false};
  const LabelQuestion asked{.vitals = {TELLTALE_SYSCALL}, .run_time = true};
  for (int trial = 0; trial < 50; ++trial) {
    const World world(random);
    WindowSums whole(asked), sums(asked), rest(asked);
    uint32_t node = 0;
    for (const v1::SummaryBody& body : world.epochs) {
      const bool first = ++node <= world.epochs.size() / 2;
      whole.Add(node, storage::FromSummary(body, schema, {}, 1, whole.parts()), schema);
      WindowSums& part = first ? sums : rest;
      part.Add(node, storage::FromSummary(body, schema, {}, 1, part.parts()), schema);
    }
    sums.Add(rest);
    VitalSum& of_whole = *whole.Find(TELLTALE_SYSCALL);
    VitalSum& of_parts = *sums.Find(TELLTALE_SYSCALL);
    EXPECT_EQ(of_parts.state, of_whole.state);
    EXPECT_EQ(of_parts.descriptor.name(), of_whole.descriptor.name());
    EXPECT_EQ(of_parts.events, of_whole.events);
    EXPECT_EQ(of_parts.weight, of_whole.weight);
    EXPECT_EQ(of_parts.node_weight, of_whole.node_weight);
    EXPECT_EQ(of_parts.labels.Sum(), of_whole.labels.Sum());
    for (const auto groups : {&VitalSum::groups, &VitalSum::run_time}) {
      GroupSum& one = (of_parts.*groups)[storage::kByExe];
      GroupSum& other = (of_whole.*groups)[storage::kByExe];
      EXPECT_EQ(one.weights.Sum(), other.weights.Sum());
      EXPECT_EQ(one.text, other.text);
    }
    ASSERT_EQ(of_parts.facts.size(), of_whole.facts.size());
    for (const auto& [label, facts] : of_whole.facts) {
      const auto found = of_parts.facts.find(label);
      ASSERT_NE(found, of_parts.facts.end());
      EXPECT_EQ(found->second.node, facts.node);
      EXPECT_EQ(found->second.facts.exemplar->digest, facts.facts.exemplar->digest);
    }
  }
}

}  // namespace
}  // namespace telltale::query
