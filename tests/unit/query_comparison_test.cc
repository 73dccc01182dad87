// Two selections side by side: what is called a difference is one, and figures of unlike times are
// made alike before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/query/comparison.h"
#include "collector/query/flame.h"
#include "tests/support/query_store.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;

constexpr double kHour = 3600;

v1::DiffRequest DiffOf(const std::string& vital, v1::Dimension by) {
  v1::DiffRequest request;
  *request.mutable_top() = Asked<v1::TopRequest>(1020, 1030);
  request.mutable_top()->set_vital(vital);
  request.mutable_top()->set_by(by);
  request.mutable_against()->set_start_s(1000);
  request.mutable_against()->set_end_s(1020);
  return request;
}

// An epoch of processor time by executable, seconds of each.
v1::SummaryBody CpuOf(const std::vector<std::pair<std::string, uint64_t>>& executables) {
  BodyMaker maker;
  uint64_t total = 0, pid = 0;
  for (const auto& [exe, seconds] : executables) total += seconds;
  maker.Vital(TELLTALE_CPU, {total * kS, 0, 0});
  maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
  for (const auto& [exe, seconds] : executables) {
    maker.Process(exe, static_cast<uint32_t>(++pid), 0, {seconds * kS});
  }
  return maker.body();
}

TEST(DiffTest, ATimeTwiceAsLongCountsHalf) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1000, 10, CpuOf({{"/same", 4}, {"/gone", 2}}));
  source.AddEpoch(node, 1010, 10, CpuOf({{"/same", 4}, {"/gone", 2}}));
  source.AddEpoch(node, 1020, 10, CpuOf({{"/same", 4}, {"/new", 3}}));
  const auto answer = MakeEngine(source, 1040).Diff(DiffOf("cpu", v1::DIMENSION_EXE), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_DOUBLE_EQ(answer->scale(), 0.5);
  ASSERT_EQ(answer->tables_size(), 1);
  const v1::DiffTable& table = answer->tables(0);
  EXPECT_DOUBLE_EQ(table.total(), 7);
  EXPECT_DOUBLE_EQ(table.against_total(), 6);
  ASSERT_EQ(table.rows_size(), 2) << table.DebugString();  // what did not change is no row
  EXPECT_EQ(table.rows(0).row().name(), "/new");
  EXPECT_DOUBLE_EQ(table.rows(0).difference(), 3);
  EXPECT_TRUE(table.rows(0).certain());
  EXPECT_EQ(table.rows(1).against().name(), "/gone");
  EXPECT_DOUBLE_EQ(table.rows(1).against().value(), 2);
  EXPECT_DOUBLE_EQ(table.rows(1).difference(), -2);
  EXPECT_DOUBLE_EQ(table.rows(1).row().value(), 0);
  EXPECT_DOUBLE_EQ(table.unlisted_most(), 0);
}

// An epoch in which two places of /x called, each known to lie between two figures.
v1::SummaryBody CallsOf(uint64_t low1, uint64_t high1, uint64_t low2, uint64_t high2) {
  BodyMaker maker;
  v1::Vital* vital = maker.Vital(TELLTALE_SYSCALL, {1000, 0});
  const uint64_t bounds[2][2] = {{low1, high1}, {low2, high2}};
  for (const uint64_t label : {1, 2}) {
    const uint32_t stack =
        maker.Stack({}, {maker.Frame("id", "/x", 0x100 * label), maker.Frame("id", "/x", 0x900)});
    const auto& [low, high] = bounds[label - 1];
    maker.Sample(vital, "/x", stack, low, low, high, label);
  }
  return maker.body();
}

TEST(DiffTest, ADifferenceIsCertainOnlyWhereTheBoundsDoNotMeet) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1000, 10, CallsOf(100, 200, 100, 200));
  source.AddEpoch(node, 1010, 10, CallsOf(100, 200, 100, 200));
  source.AddEpoch(node, 1020, 10, CallsOf(190, 400, 250, 400));
  for (const v1::Dimension by : {v1::DIMENSION_SITE, v1::DIMENSION_STACK}) {
    const auto answer = MakeEngine(source, 1040).Diff(DiffOf("syscall", by), {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->tables(0).rows_size(), 2);
    const v1::DiffRow& certain = answer->tables(0).rows(0);
    EXPECT_THAT(certain.row().name(), HasSubstr("0x200"));
    EXPECT_TRUE(certain.certain());
    EXPECT_GT(certain.difference_low(), 0);
    const v1::DiffRow& open = answer->tables(0).rows(1);
    EXPECT_THAT(open.row().name(), HasSubstr("0x100"));
    EXPECT_FALSE(open.certain());
    EXPECT_LE(open.difference_low(), 0);
    EXPECT_GE(open.difference_high(), open.difference());
  }
}

TEST(DiffTest, WhatIsMissingOnOneSideMayWeighThereWhatIsNotListed) {
  v1::TopAnswer now, before;
  now.mutable_coverage()->set_values_watched_s(10);
  before.mutable_coverage()->set_values_watched_s(10);
  for (v1::TopAnswer* answer : {&now, &before}) {
    v1::TopTable* table = answer->add_tables();
    table->set_vital("syscall");
    table->set_by(v1::DIMENSION_SITE);
    table->set_state(v1::VITAL_STATE_ACTIVE);
    table->set_total(100);
    table->set_unlisted_most(30);
  }
  for (const auto& [name, low] : {std::pair<const char*, double>{"above", 31}, {"below", 29}}) {
    v1::TopRow* row = now.mutable_tables(0)->add_rows();
    row->set_name(name);
    row->set_value(35);
    row->set_low(low);
    row->set_high(40);
  }
  const v1::DiffAnswer answer = CompareTops(now, before, 10);
  ASSERT_EQ(answer.tables(0).rows_size(), 2);
  EXPECT_EQ(answer.tables(0).rows(0).row().name(), "above");
  EXPECT_TRUE(answer.tables(0).rows(0).certain());
  EXPECT_DOUBLE_EQ(answer.tables(0).rows(0).against().high(), 30);
  EXPECT_FALSE(answer.tables(0).rows(1).certain());
  EXPECT_DOUBLE_EQ(CompareTops(now, before, 1).tables(0).unlisted_most(), 40);
  // Estimates that nobody bounds prove nothing.
  before.mutable_tables(0)->set_estimated(true);
  EXPECT_FALSE(CompareTops(now, before, 10).tables(0).rows(0).certain());
}

TEST(DiffTest, AVitalThatWasNotWatchedOnOneSideHasNoDifferences) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1010, 10, CpuOf({{"/x", 4}}));
  v1::SummaryBody blind = CpuOf({{"/x", 4}});
  blind.mutable_vitals(0)->set_state(v1::VITAL_STATE_UNAVAILABLE);
  source.AddEpoch(node, 1020, 10, blind);
  const auto answer = MakeEngine(source, 1040).Diff(DiffOf("cpu", v1::DIMENSION_EXE), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->tables_size(), 1);
  EXPECT_EQ(answer->tables(0).rows_size(), 0);
  EXPECT_THAT(answer->tables(0).reason(), HasSubstr("not watched in the selection"));
}

TEST(DiffTest, WithoutDataOnOneSideThereIsNothingToCompare) {
  FakeSource source;
  source.AddEpoch(source.AddNode("a"), 1020, 10, CpuOf({{"/x", 4}}));
  const auto answer = MakeEngine(source, 1040).Diff(DiffOf("cpu", v1::DIMENSION_EXE), {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->scale(), 0);
  EXPECT_EQ(answer->tables_size(), 0);
  EXPECT_EQ(answer->against_coverage().values_end_s(), 0);
  EXPECT_GT(answer->against_coverage().tiers_size(), 0);  // where data is
}

TEST(DiffTest, AnErrorOfTheOtherSideSaysSo) {
  FakeSource source;
  source.AddEpoch(source.AddNode("a"), 1020, 10, CpuOf({{"/x", 4}}));
  v1::DiffRequest request = DiffOf("cpu", v1::DIMENSION_EXE);
  request.mutable_against()->add_nodes("b");
  const absl::Status status = MakeEngine(source, 1040).Diff(request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("against: selection: node \"b\""));
}

TEST(DiffTest, WithoutATimeTheOtherSideIsJustBefore) {
  FakeSource source;
  const uint32_t node = source.AddNode("a");
  source.AddEpoch(node, 1010, 10, CpuOf({{"/x", 4}}));
  source.AddEpoch(node, 1020, 10, CpuOf({{"/x", 5}}));
  v1::DiffRequest request = DiffOf("cpu", v1::DIMENSION_UNSPECIFIED);
  request.clear_against();
  const auto answer = MakeEngine(source, 1040).Diff(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_DOUBLE_EQ(answer->against_coverage().asked_start_s(), 1010);
  ASSERT_EQ(answer->tables_size(), 2);
  EXPECT_EQ(answer->tables(0).by(), v1::DIMENSION_EXE);
  EXPECT_EQ(answer->tables(1).by(), v1::DIMENSION_SITE);
  EXPECT_DOUBLE_EQ(answer->tables(0).rows(0).difference(), 1);
}

class DiffStoreTest : public ::testing::Test {
 protected:
  DiffStoreTest() {
    store_.Put(0, 4 * kHour);
    store_.set_now(25 * kHour);
    store_.RollUp();
  }
  v1::DiffAnswer Ask(v1::Dimension by, v1::Tier tier, v1::Tier against) {
    v1::DiffRequest request;
    *request.mutable_top() = store_.Asked<v1::TopRequest>(2 * kHour, 3 * kHour, tier);
    request.mutable_top()->set_vital("syscall");
    request.mutable_top()->set_by(by);
    request.mutable_top()->set_limit(1000);
    *request.mutable_against() =
        store_.Asked<v1::TopRequest>(2 * kHour, 3 * kHour, against).selection();
    const auto answer = store_.engine().Diff(request, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return *answer;
  }
  testing::QueryStore store_{2};
};

// The same time seen through two tiers: figures may differ, but never for certain.
TEST_F(DiffStoreTest, ATimeDoesNotDifferFromItselfWhateverTierItIsReadFrom) {
  for (const v1::Dimension by :
       {v1::DIMENSION_PROCESS, v1::DIMENSION_EXE, v1::DIMENSION_USER, v1::DIMENSION_CGROUP,
        v1::DIMENSION_SITE, v1::DIMENSION_STACK, v1::DIMENSION_NODE}) {
    for (const v1::Tier tier : {v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H}) {
      const v1::DiffAnswer answer = Ask(by, v1::TIER_RAW, tier);
      EXPECT_DOUBLE_EQ(answer.scale(), 1) << v1::Tier_Name(tier);
      ASSERT_EQ(answer.tables_size(), 1) << v1::Dimension_Name(by) << v1::Tier_Name(tier);
      EXPECT_GT(answer.tables(0).total(), 0);
      EXPECT_DOUBLE_EQ(answer.tables(0).total(), answer.tables(0).against_total());
      for (const v1::DiffRow& row : answer.tables(0).rows()) {
        EXPECT_FALSE(row.certain()) << v1::Tier_Name(tier) << row.DebugString();
        EXPECT_LE(row.difference_low(), 0);
        EXPECT_GE(row.difference_high(), 0);
      }
      EXPECT_TRUE(tier != v1::TIER_RAW || answer.tables(0).rows().empty());
    }
  }
}

v1::StacksAnswer ThreeStacks(double a, double b, double c) {
  v1::StacksAnswer answer;
  answer.set_unit("s");
  answer.set_total(a + b + c + 1);
  answer.mutable_coverage()->set_values_watched_s(10);
  const std::vector<std::pair<std::vector<const char*>, double>> stacks = {
      {{"leaf", "main"}, a}, {{"other", "main"}, b}, {{"main"}, c}};
  for (const auto& [frames, value] : stacks) {
    v1::StackWeight* stack = answer.add_stacks();
    stack->set_exe("/x");
    stack->set_value(value);
    stack->set_low(value / 2);
    stack->set_high(value + 1);
    for (const char* frame : frames) stack->add_frames()->set_name(frame);
  }
  return answer;
}

TEST(FlameTest, ANodeWeighsWhatTheStacksThroughItWeigh) {
  const v1::FlameAnswer flame = FlameOf(ThreeStacks(5, 3, 2), nullptr, 100);
  ASSERT_EQ(flame.nodes_size(), 5);  // the root, /x, main, leaf, other
  EXPECT_EQ(flame.nodes(1).name(), "/x");
  EXPECT_EQ(flame.nodes(2).name(), "main");
  EXPECT_DOUBLE_EQ(flame.nodes(2).value(), 10);
  EXPECT_DOUBLE_EQ(flame.nodes(2).self(), 2);
  EXPECT_DOUBLE_EQ(flame.nodes(2).low(), 5);
  EXPECT_DOUBLE_EQ(flame.nodes(2).high(), 11);  // the total, less than the sum of highs
  EXPECT_EQ(flame.nodes(3).name(), "leaf");
  EXPECT_EQ(flame.nodes(3).parent(), 2u);
  EXPECT_EQ(flame.nodes(4).name(), "other");
  EXPECT_EQ(flame.nodes(4).parent(), 2u);
  EXPECT_EQ(flame.scale(), 0);
}

TEST(FlameTest, WhatIsLeftOutStaysInItsParent) {
  const v1::FlameAnswer flame = FlameOf(ThreeStacks(5, 3, 2), nullptr, 4);
  ASSERT_EQ(flame.nodes_size(), 4);
  double self = 0;
  for (const v1::FlameNode& node : flame.nodes()) self += node.self();
  EXPECT_DOUBLE_EQ(self, flame.nodes(0).value());
  EXPECT_DOUBLE_EQ(flame.nodes(2).self(), 5);
  EXPECT_THAT(flame.coverage().notes(0), HasSubstr("1 lighter frames are left out"));
}

TEST(FlameTest, TwoTreesAreOneWithBothWeights) {
  v1::StacksAnswer before = ThreeStacks(4, 0, 8);
  before.mutable_coverage()->set_values_watched_s(20);
  before.mutable_stacks()->DeleteSubrange(1, 1);
  const v1::StacksAnswer now = ThreeStacks(5, 3, 2);
  const v1::FlameAnswer flame = FlameOf(now, &before, 100);
  EXPECT_DOUBLE_EQ(flame.scale(), 0.5);
  ASSERT_EQ(flame.nodes_size(), 5);
  EXPECT_DOUBLE_EQ(flame.nodes(2).value(), 10);
  EXPECT_DOUBLE_EQ(flame.nodes(2).against(), 6);
  EXPECT_DOUBLE_EQ(flame.nodes(2).against_self(), 4);
  EXPECT_DOUBLE_EQ(flame.nodes(4).value(), 3);
  EXPECT_DOUBLE_EQ(flame.nodes(4).against(), 0);
  EXPECT_DOUBLE_EQ(flame.total(), 11);
  EXPECT_DOUBLE_EQ(flame.against_total(), 6.5);
}

}  // namespace
}  // namespace telltale::query
