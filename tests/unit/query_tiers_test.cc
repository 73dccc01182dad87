// Answers through series blocks, lines and rollups against the epochs themselves: equal totals,
// intervals that hold the truth, each epoch once whatever has expired or came late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "collector/query/scan_count.h"
#include "collector/query/stretches.h"
#include "collector/query/vital_choice.h"
#include "collector/query/window_sums.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"
#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

using ::telltale::testing::QueryStore;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kMinute = 60, kHour = 3600, kDay = 86400;

// Weight of a vital's headline in epochs first..last (sequence numbers) of one node, stored unit.
double TruthOf(const QueryStore& store, const VitalChoice& choice, uint32_t node, uint64_t first,
               uint64_t last) {
  double weight = 0;
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    const v1::SummaryBody body = store.Body(node, sequence);
    for (const v1::Vital& vital : body.vitals()) {
      if (vital.id() != choice.vital.id()) continue;
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        if (choice.Counts(sub)) weight += static_cast<double>(vital.subs(sub).weight());
      }
    }
  }
  return weight;
}

VitalChoice Headline(uint32_t id) {
  const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    if (vital.id() == id) return {vital, -1, false};
  }
  return {};
}

double SumOf(const v1::Series& series) {
  double sum = 0;
  for (int i = 0; i < series.rate_size(); ++i) {
    sum += series.rate(i) * series.length_s(i) * series.watched(i);
  }
  return sum;
}

std::vector<v1::Tier> TiersOf(const v1::Coverage& coverage) {
  std::vector<v1::Tier> tiers;
  for (const v1::TierUse& use : coverage.used()) tiers.push_back(use.tier());
  return tiers;
}

TEST(StretchesTest, AddingJoinsAndRemovingSplits) {
  Stretches time(10, 50);
  time.Remove(20, 30);
  EXPECT_THAT(time.list(), ElementsAre(Stretch{10, 20}, Stretch{30, 50}));
  EXPECT_FALSE(time.Overlaps(20, 30));
  time.Remove(15, 35);
  EXPECT_THAT(time.list(), ElementsAre(Stretch{10, 15}, Stretch{35, 50}));
  time.Add(15, 35);
  EXPECT_THAT(time.list(), ElementsAre(Stretch{10, 50}));
  time.Remove(0, 100);
  EXPECT_TRUE(time.empty());
}

TEST(ScanCountTest, AFleetMayOpenSoManyANodeAndIsToldWhatToDoBeyond) {
  const ScanLimits limits = {.epochs = 1, .windows = 3, .epochs_a_node = 2, .windows_a_node = 2};
  ScanCount node(limits, 1), fleet(limits, 100);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(node.AddWindow().ok());
  const absl::Status refused = node.AddWindow();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(refused.message(), HasSubstr("more than 3 windows"));
  EXPECT_THAT(refused.message(), HasSubstr("--tier"));
  EXPECT_TRUE(node.AddEpoch().ok()) << "windows are no epochs";
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(fleet.AddWindow().ok());
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(fleet.AddEpoch().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(fleet.AddWindow()));
  EXPECT_TRUE(absl::IsResourceExhausted(fleet.AddEpoch()));
}

// 25.5 h of two nodes, read by all tests; the last hour is neither over nor rolled up.
class QueryTiersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<QueryStore>(2);
    shared_->Put(0, 25 * kHour + 30 * kMinute);
    shared_->set_now(25 * kHour + 30 * kMinute);
    shared_->RollUp();
  }
  static void TearDownTestSuite() { shared_.reset(); }

  static std::unique_ptr<QueryStore> shared_;
  const QueryStore& store_ = *shared_;
};
std::unique_ptr<QueryStore> QueryTiersTest::shared_;

TEST_F(QueryTiersTest, SeriesOfEachTierAddUpToTheSame) {
  for (const uint32_t vital : {TELLTALE_BLOCKING, TELLTALE_DISK_IO, TELLTALE_SYSCALL}) {
    const VitalChoice choice = Headline(vital);
    const double factor = choice.vital.unit() == v1::UNIT_NANOSECONDS ? 1e-9 : 1;
    const std::array<double, 2> truth = {TruthOf(store_, choice, 0, 1, 1440) * factor,
                                         TruthOf(store_, choice, 1, 1, 1440) * factor};
    for (const v1::Tier tier :
         {v1::TIER_AUTO, v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
      auto request = store_.Asked<v1::SeriesRequest>(0, kDay, tier);
      request.add_vitals(choice.vital.name());
      request.set_per_node(true);
      const auto answer = store_.engine().Series(request, {});
      ASSERT_TRUE(answer.ok()) << answer.status();
      ASSERT_EQ(answer->series_size(), 2);
      for (size_t node = 0; node < truth.size(); ++node) {
        EXPECT_NEAR(SumOf(answer->series(static_cast<int>(node))), truth[node], 1e-9 * truth[node])
            << v1::Tier_Name(tier) << " " << choice.vital.name();
      }
      EXPECT_EQ(answer->coverage().tier(), tier == v1::TIER_AUTO ? v1::TIER_RAW : tier);
      EXPECT_GT(answer->coverage().lost_events_size(), 0);
    }
  }
}

TEST_F(QueryTiersTest, LossesAreThoseOfTheEpochsWhateverTheTier) {
  double truth = 0;
  for (uint64_t sequence = 8; sequence <= 1445; ++sequence) {
    const v1::SummaryBody body = store_.Body(0, sequence);
    for (const v1::Loss& loss : body.losses()) {
      truth += static_cast<double>(loss.events());
    }
  }
  auto request = store_.Asked<v1::SeriesRequest>(7 * kMinute, kDay + 5 * kMinute);
  request.mutable_selection()->add_nodes(store_.name(0));
  for (const char* vital : {"cpu", "syscall"}) {
    request.clear_vitals();
    request.add_vitals(vital);
    const auto answer = store_.engine().Series(request, {});
    ASSERT_EQ(answer->coverage().lost_events_size(), 1);
    EXPECT_DOUBLE_EQ(answer->coverage().lost_events(0).events(), truth);
    EXPECT_EQ(answer->coverage().used(0).rows(), 1438u);
  }
}

TEST_F(QueryTiersTest, TopTotalsAreExactAroundWholeWindows) {
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  auto request = store_.Asked<v1::TopRequest>(7 * kMinute, 25 * kHour + 12 * kMinute);
  request.mutable_selection()->add_nodes(store_.name(1));
  request.set_vital("syscall");
  request.set_by(v1::DIMENSION_NODE);
  const auto answer = store_.engine().Top(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(TiersOf(answer->coverage()), ElementsAre(v1::TIER_RAW, v1::TIER_5MIN));
  EXPECT_DOUBLE_EQ(answer->tables(0).total(), TruthOf(store_, choice, 1, 8, 25 * 60 + 12));
  request.mutable_selection()->set_start_s(request.selection().start_s() - 7 * 60);
  request.mutable_selection()->set_end_s(request.selection().start_s() + kDay);
  for (const v1::Tier tier : {v1::TIER_RAW, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    request.mutable_selection()->set_tier(tier);
    const auto of_tier = store_.engine().Top(request, {});
    EXPECT_DOUBLE_EQ(of_tier->tables(0).total(), TruthOf(store_, choice, 1, 1, 1440));
    EXPECT_THAT(TiersOf(of_tier->coverage()), ElementsAre(tier));
  }
}

TEST_F(QueryTiersTest, GroupsHoldWhatTheProcessTablesSay) {
  auto request = store_.Asked<v1::TopRequest>(0, kDay, v1::TIER_RAW);
  request.set_vital("cpu");
  request.set_by(v1::DIMENSION_EXE);
  request.set_limit(1000);
  std::map<std::string, double> truth;
  const auto raw = store_.engine().Top(request, {});
  for (const v1::TopRow& row : raw->tables(0).rows()) {
    truth[row.name()] = row.value();
  }
  ASSERT_GT(truth.size(), 32u);
  for (const v1::Tier tier : {v1::TIER_AUTO, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    request.mutable_selection()->set_tier(tier);
    const auto answer = store_.engine().Top(request, {});
    ASSERT_GE(answer->tables(0).rows_size(), 32);
    for (const v1::TopRow& row : answer->tables(0).rows()) {
      EXPECT_LE(row.low(), truth[row.name()] + 1e-6) << row.name();
      EXPECT_GE(row.high(), truth[row.name()] - 1e-6) << row.name();
    }
  }
}

TEST_F(QueryTiersTest, SingleProcessesAreSaidToBeInRawOnly) {
  auto request = store_.Asked<v1::TopRequest>(0, kDay, v1::TIER_1H);
  request.set_vital("cpu");
  const auto answer = store_.engine().Top(request, {});
  EXPECT_EQ(answer->tables(0).by(), v1::DIMENSION_EXE);
  EXPECT_THAT(answer->coverage().notes(), ::testing::Contains(HasSubstr("no single processes")));
  request.mutable_selection()->set_tier(v1::TIER_AUTO);
  request.set_by(v1::DIMENSION_PROCESS);
  const auto asked = store_.engine().Top(request, {});
  EXPECT_EQ(asked->tables(0).by(), v1::DIMENSION_PROCESS);
  EXPECT_EQ(asked->coverage().tier(), v1::TIER_RAW);
}

TEST_F(QueryTiersTest, HistogramsAddUpToTheSame) {
  auto request = store_.Asked<v1::HistogramRequest>(0, kDay, v1::TIER_RAW);
  const auto raw = store_.engine().Histogram(request, {});
  ASSERT_EQ(raw->histograms_size(), 2);
  for (const v1::Tier tier : {v1::TIER_AUTO, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    request.mutable_selection()->set_tier(tier);
    const auto answer = store_.engine().Histogram(request, {});
    ASSERT_EQ(answer->histograms_size(), 2) << v1::Tier_Name(tier);
    EXPECT_NE(answer->coverage().tier(), v1::TIER_RAW);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(answer->histograms(i).SerializeAsString(), raw->histograms(i).SerializeAsString());
    }
  }
}

TEST_F(QueryTiersTest, SumsOverNodesComeFromLinesAndAreEqual) {
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  auto request = store_.Asked<v1::SeriesRequest>(0, kDay, v1::TIER_1H);
  request.add_vitals("syscall");
  const auto answer = store_.engine().Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  ASSERT_EQ(answer->series(0).rate_size(), 24);
  EXPECT_EQ(answer->coverage().used(0).rows(), 48u);
  const double truth = TruthOf(store_, choice, 0, 61, 120) + TruthOf(store_, choice, 1, 61, 120);
  EXPECT_NEAR(answer->series(0).rate(1) * kHour, truth, 1e-9 * truth);
}

// What makes a graph of weeks of a fleet quick at any minute of an hour: the present one always
// waits to be computed.
TEST(QueryLinesTest, HoursOfThePresentDayComeFromItsBlockWhileTheNextOneGoesOn) {
  QueryStore store(2, {}, /*cache_bytes=*/0);
  store.Put(0, 2 * kHour + 30 * kMinute);
  store.set_now(2 * kHour + 30 * kMinute);
  store.RollUp();
  // So that nothing but blocks can tell.
  const std::string windows = storage::RollupBucketPrefix(storage::Tier::k1Hour, 0).substr(0, 1);
  ASSERT_TRUE(store.store()
                  .history()
                  .DropRange(storage::Family::kRollup, windows, storage::PrefixEnd(windows))
                  .ok());
  auto request = store.Asked<v1::SeriesRequest>(0, 2 * kHour, v1::TIER_1H);
  request.add_vitals("syscall");
  const auto answer = store.engine().Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  const double truth = TruthOf(store, choice, 0, 1, 120) + TruthOf(store, choice, 1, 1, 120);
  EXPECT_NEAR(SumOf(answer->series(0)), truth, 1e-9 * truth);
}

// The last hour of some nodes is there half an hour after that of others.
TEST(QueryLinesTest, ABlockGivesTheHoursBeforeTheFirstThatWaits) {
  QueryStore store(2, {}, /*cache_bytes=*/0);
  store.Put(0, 2 * kHour);
  store.set_now(2 * kHour + 10 * kMinute);
  store.RollUp();
  store.Put(2 * kHour, 3 * kHour);
  store.set_now(3 * kHour + 10 * kMinute);
  const uint32_t first = store.store().nodes().Find(store.name(0))->number();
  const uint64_t now_ns = QueryStore::kStart + (3 * kHour + 10 * kMinute) * storage::kSecondNs;
  ASSERT_TRUE(store.store().roller().RunDue({&first, 1}, now_ns, 100).ok());
  ASSERT_GT(*store.store().roller().RunLines(now_ns, 100), 0u);
  const std::string windows = storage::RollupBucketPrefix(storage::Tier::k1Hour, 0).substr(0, 1);
  ASSERT_TRUE(store.store()
                  .history()
                  .DropRange(storage::Family::kRollup, windows, storage::PrefixEnd(windows))
                  .ok());
  auto request = store.Asked<v1::SeriesRequest>(0, 3 * kHour, v1::TIER_1H);
  request.add_vitals("syscall");
  const auto answer = store.engine().Series(request, {});
  ASSERT_EQ(answer->series_size(), 1);
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  const double truth = TruthOf(store, choice, 0, 1, 120) + TruthOf(store, choice, 1, 1, 120);
  EXPECT_NEAR(SumOf(answer->series(0)), truth, 1e-9 * truth);
}

std::map<v1::Tier, uint32_t> RowsUsed(const v1::Coverage& coverage) {
  std::map<v1::Tier, uint32_t> rows;
  for (const v1::TierUse& use : coverage.used()) rows[use.tier()] += use.rows();
  return rows;
}

TEST(QueryLinesTest, ThePresentHourOfAGraphOfWeeksComesFromBlocksOfMinutes) {
  constexpr uint32_t kNodes = 12;
  QueryStore store(kNodes, {}, /*cache_bytes=*/0);
  store.Put(0, kHour + 30 * kMinute);
  store.set_now(kHour + 30 * kMinute);
  store.RollUp();
  // So that nothing but blocks can tell.
  const std::string windows = storage::RollupBucketPrefix(storage::Tier::k5Min, 0).substr(0, 1);
  ASSERT_TRUE(store.store()
                  .history()
                  .DropRange(storage::Family::kRollup, windows, storage::PrefixEnd(windows))
                  .ok());
  // All vitals of these nodes over weeks: too much for windows of minutes.
  const auto request = store.Asked<v1::SeriesRequest>(-30.0 * kDay, kHour + 25 * kMinute);
  const auto answer = store.engine().Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const auto rows = RowsUsed(answer->coverage());
  EXPECT_EQ(rows.at(v1::TIER_1H), kNodes);
  EXPECT_EQ(rows.at(v1::TIER_5MIN), kNodes * 5);
  EXPECT_FALSE(rows.contains(v1::TIER_RAW));
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  double truth = 0;
  for (uint32_t node = 0; node < kNodes; ++node) truth += TruthOf(store, choice, node, 1, 85);
  const auto syscalls =
      std::find_if(answer->series().begin(), answer->series().end(),
                   [](const v1::Series& series) { return series.vital() == "syscall"; });
  ASSERT_NE(syscalls, answer->series().end());
  // Rates are of a slot's watched time; that of the hour which goes on was watched for a part of
  // it.
  EXPECT_NEAR(SumOf(*syscalls), truth, 1e-9 * truth);
}

TEST(QueryLinesTest, AGraphOfVeryManyNodesOverDaysEndsWithTheirWindowsAndSaysSo) {
  constexpr uint32_t kNodes = 250;
  QueryStore store(kNodes, {}, /*cache_bytes=*/0);
  store.Put(0, 20 * kMinute);
  store.set_now(20 * kMinute);
  store.RollUp();
  auto request = store.Asked<v1::SeriesRequest>(-2.0 * kDay, 20 * kMinute);
  request.add_vitals("syscall");
  auto answer = store.engine().Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->coverage().notes(),
              ::testing::Contains(HasSubstr("ends 5 min before its end")));
  EXPECT_FALSE(RowsUsed(answer->coverage()).contains(v1::TIER_RAW));
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  double truth = 0;
  for (uint32_t node = 0; node < kNodes; ++node) truth += TruthOf(store, choice, node, 1, 15);
  EXPECT_NEAR(SumOf(answer->series(0)), truth, 1e-9 * truth);
  // Of fewer nodes the last minutes are worth opening.
  for (uint32_t node = 1; node < kNodes; ++node) {
    request.mutable_selection()->add_nodes(store.name(node));
  }
  answer = store.engine().Series(request, {});
  EXPECT_EQ(RowsUsed(answer->coverage()).at(v1::TIER_RAW), 5 * (kNodes - 1));
}

TEST_F(QueryTiersTest, AnHourThatIsNotRolledUpComesFromEpochs) {
  auto request = store_.Asked<v1::SeriesRequest>(24 * kHour, 25 * kHour + 30 * kMinute);
  request.mutable_selection()->add_nodes(store_.name(0));
  request.add_vitals("syscall");
  const auto answer = store_.engine().Series(request, {});
  const double truth = TruthOf(store_, Headline(TELLTALE_SYSCALL), 0, 1441, 1530);
  EXPECT_NEAR(SumOf(answer->series(0)), truth, 1e-9 * truth);
  EXPECT_EQ(answer->coverage().used(0).rows(), 90u);
  EXPECT_DOUBLE_EQ(answer->coverage().used(0).length_s(), 60);
}

TEST_F(QueryTiersTest, ASelectionWithinAnEpochShowsThatEpoch) {
  auto request = store_.Asked<v1::TopRequest>(kHour + 5, kHour + 15);
  request.mutable_selection()->add_nodes(store_.name(0));
  request.set_vital("syscall");
  request.set_by(v1::DIMENSION_NODE);
  const auto answer = store_.engine().Top(request, {});
  EXPECT_DOUBLE_EQ(answer->tables(0).total(),
                   TruthOf(store_, Headline(TELLTALE_SYSCALL), 0, 61, 61));
  EXPECT_EQ(answer->coverage().epochs_received(), 1u);
  EXPECT_DOUBLE_EQ(answer->coverage().values_end_s() - answer->coverage().values_start_s(), 60);
  auto series = store_.Asked<v1::SeriesRequest>(kHour + 5, kHour + 15);
  series.mutable_selection()->add_nodes(store_.name(0));
  series.add_vitals("syscall");
  EXPECT_EQ(store_.engine().Series(series, {})->series(0).rate_size(), 1);
}

TEST_F(QueryTiersTest, WhatWindowsLeaveOfARangeTakesNoEpochThatIsNotInIt) {
  auto request = store_.Asked<v1::TopRequest>(0, 8 * kHour + 1);  // one second of epoch 481
  request.mutable_selection()->add_nodes(store_.name(0));
  request.set_vital("syscall");
  request.set_by(v1::DIMENSION_NODE);
  const auto answer = store_.engine().Top(request, {});
  EXPECT_EQ(answer->coverage().tier(), v1::TIER_5MIN);
  EXPECT_DOUBLE_EQ(answer->tables(0).total(),
                   TruthOf(store_, Headline(TELLTALE_SYSCALL), 0, 1, 480));
}

TEST_F(QueryTiersTest, StacksOfWindowsAddUpToAtMostTheTotal) {
  auto request = store_.Asked<v1::StacksRequest>(0, 8 * kHour);
  request.mutable_selection()->add_nodes(store_.name(0));
  request.set_vital("syscall");
  const auto answer = store_.engine().Stacks(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->coverage().tier(), v1::TIER_5MIN);
  EXPECT_DOUBLE_EQ(answer->total(), TruthOf(store_, Headline(TELLTALE_SYSCALL), 0, 1, 480));
  ASSERT_GT(answer->stacks_size(), 0);
  double sum = 0;
  for (const v1::StackWeight& stack : answer->stacks()) {
    sum += stack.value();
    EXPECT_FALSE(stack.frames().empty());
  }
  EXPECT_LE(sum, answer->total() * (1 + 1e-9));
}

TEST(QueryLateTest, ALateEpochCountsAtOnceInEveryAnswer) {
  QueryStore store(1);
  store.Put(0, 2 * kHour);
  store.Put(2 * kHour + kMinute, 9 * kHour);  // one is missing
  store.set_now(10 * kHour);
  store.RollUp();
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  auto top = store.Asked<v1::TopRequest>(0, 8 * kHour);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_NODE);
  auto series = store.Asked<v1::SeriesRequest>(0, 8 * kHour);
  series.add_vitals("syscall");
  const double whole = TruthOf(store, choice, 0, 1, 480);
  const double before = whole - TruthOf(store, choice, 0, 121, 121);
  EXPECT_DOUBLE_EQ(store.engine().Top(top, {})->tables(0).total(), before);
  EXPECT_NEAR(SumOf(store.engine().Series(series, {})->series(0)), before, 1e-9 * whole);
  store.PutOne(0, 121);
  const auto late = store.engine().Top(top, {});
  EXPECT_DOUBLE_EQ(late->tables(0).total(), whole);
  EXPECT_THAT(TiersOf(late->coverage()), ElementsAre(v1::TIER_RAW, v1::TIER_5MIN));
  EXPECT_NEAR(SumOf(store.engine().Series(series, {})->series(0)), whole, 1e-9 * whole);
  series.mutable_selection()->set_tier(v1::TIER_1H);
  EXPECT_THAT(store.engine().Series(series, {})->coverage().notes(),
              ::testing::Contains(HasSubstr("wait to be computed again")));
  store.RollUp();
  store.set_now(10 * kHour + 10 * kMinute);  // no answer is kept for so long
  EXPECT_THAT(TiersOf(store.engine().Top(top, {})->coverage()), ElementsAre(v1::TIER_5MIN));
  EXPECT_DOUBLE_EQ(store.engine().Top(top, {})->tables(0).total(), whole);
}

TEST(QueryLateTest, AnAnswerOfOneTierSaysWhichWindowsAreNotThereYet) {
  QueryStore store(1, {}, /*cache_bytes=*/0);
  store.Put(0, kHour);
  store.set_now(kHour + 10 * kMinute);
  store.RollUp();
  store.Put(kHour, kHour + 13 * kMinute);
  store.set_now(kHour + 20 * kMinute);
  auto top = store.Asked<v1::TopRequest>(0, kHour + 13 * kMinute, v1::TIER_5MIN);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_NODE);
  EXPECT_THAT(store.engine().Top(top, {})->coverage().notes(),
              ::testing::Contains(HasSubstr("2 windows are over and not computed yet")));
  store.RollUp();
  EXPECT_THAT(store.engine().Top(top, {})->coverage().notes(),
              ::testing::Not(::testing::Contains(HasSubstr("not computed yet"))));
}

TEST(QueryExpiryTest, CoarserTiersServeWhereRawExpiredAndNothingCountsTwice) {
  storage::RetentionOptions retention;
  retention.raw_days = 1;
  QueryStore store(1, retention);
  // The node was down from 22:10 to 22:30: the hour around it is no reason to count its rest twice.
  store.Put(19 * kHour, 22 * kHour + 10 * kMinute);
  store.Put(22 * kHour + 30 * kMinute, 27 * kHour);
  store.set_now(50 * kHour);
  store.RollUp();
  ASSERT_TRUE(store.store().Maintain().ok());  // the first day's epochs are gone
  const VitalChoice choice = Headline(TELLTALE_SYSCALL);
  auto top = store.Asked<v1::TopRequest>(20 * kHour, 26 * kHour);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_NODE);
  const auto answer = store.engine().Top(top, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const double down = TruthOf(store, choice, 0, 22 * 60 + 11, 22 * 60 + 30);
  EXPECT_DOUBLE_EQ(answer->tables(0).total(),
                   TruthOf(store, choice, 0, 20 * 60 + 1, 26 * 60) - down);
  auto series = store.Asked<v1::SeriesRequest>(20 * kHour, 26 * kHour + 2 * kMinute);
  series.add_vitals("syscall");
  const auto drawn = store.engine().Series(series, {});
  const double truth = TruthOf(store, choice, 0, 20 * 60 + 1, 26 * 60 + 2) - down;
  EXPECT_NEAR(SumOf(drawn->series(0)), truth, 1e-9 * truth);
  EXPECT_THAT(TiersOf(drawn->coverage()), ElementsAre(v1::TIER_RAW, v1::TIER_5MIN));
  EXPECT_DOUBLE_EQ(answer->coverage().watched_s(), 6 * kHour - 20 * kMinute);
  // Of raw epochs alone what is gone is not watched, as far as the answer goes.
  top = store.Asked<v1::TopRequest>(20 * kHour, 26 * kHour, v1::TIER_RAW);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_NODE);
  const auto raw = store.engine().Top(top, {});
  ASSERT_TRUE(raw.ok()) << raw.status();
  const uint64_t floor_s = (store.source().RawFloorNs() - QueryStore::kStart) / storage::kSecondNs;
  ASSERT_GT(floor_s, 23 * kHour);
  EXPECT_DOUBLE_EQ(raw->coverage().watched_s(), static_cast<double>(26 * kHour - floor_s));
  EXPECT_THAT(raw->coverage().notes(), Contains(HasSubstr("not stored any more in this detail")));
  // A range that begins inside a window whose epochs are gone has the whole window, and says so.
  top = store.Asked<v1::TopRequest>(20 * kHour + 2 * kMinute, 20 * kHour + 9 * kMinute);
  top.set_vital("syscall");
  top.set_by(v1::DIMENSION_NODE);
  const auto inside = store.engine().Top(top, {});
  EXPECT_DOUBLE_EQ(inside->tables(0).total(), TruthOf(store, choice, 0, 20 * 60 + 1, 20 * 60 + 10));
  EXPECT_DOUBLE_EQ(inside->coverage().values_end_s() - inside->coverage().values_start_s(), 600);
}

TEST(MergedLabelsTest, WhatIsMergedEarlyStillHoldsTheTruth) {
  MergedLabels merged;
  constexpr uint64_t kLabels = 4;
  const uint64_t children = MergedLabels::kMaxLabels / (kLabels - 1) + 500;
  uint64_t total = 0;
  for (uint64_t child = 0; child < children; ++child) {
    sketch::LabelList list;
    list.labels.push_back({1, 80, 120, 1});  // weighs 100 in each
    for (uint64_t i = 1; i < kLabels; ++i) list.labels.push_back({2 + child * 8 + i, 1, 2, 1});
    list.total = 100 + 2 * kLabels;
    list.threshold = 5;
    total += list.total;
    merged.Add(list);
  }
  EXPECT_TRUE(merged.merged_early());
  const sketch::LabelList& sum = merged.Sum();
  EXPECT_EQ(sum.total, total);
  EXPECT_EQ(sum.labels.front().id, 1u);
  EXPECT_EQ(sum.labels.front().low, 80 * children);
  EXPECT_GE(sum.labels.front().high, 100 * children);
  EXPECT_LE(sum.labels.size(), MergedLabels::kKeptEarly + 500 * kLabels);
}

TEST(QueryRangesTest, AnEmptyAnswerNamesTheRangeOfEachTierOfTheNode) {
  QueryStore store(2);
  for (uint64_t sequence = 1; sequence <= 180; ++sequence) {
    store.PutOne(0, sequence);
    if (sequence > 120) store.PutOne(1, sequence);
  }
  store.set_now(3 * kHour + 20 * kMinute);
  store.RollUp();
  store.PutOne(1, 178);  // known: changes nothing
  store.PutOne(1, 181);
  auto request = store.Asked<v1::TopRequest>(10 * kHour, 11 * kHour);
  request.mutable_selection()->add_nodes(store.name(1));
  request.set_vital("cpu");
  const auto answer = store.engine().Top(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const double start = static_cast<double>(QueryStore::kStart) * 1e-9;
  ASSERT_EQ(answer->coverage().tiers_size(), 3);
  for (const v1::TierRange& range : answer->coverage().tiers()) {
    EXPECT_DOUBLE_EQ(range.start_s(), start + 2 * kHour) << range.tier();
    EXPECT_DOUBLE_EQ(range.end_s(),
                     start + 3 * kHour + (range.tier() == v1::TIER_RAW ? kMinute : 0));
  }
  EXPECT_EQ(answer->coverage().used_size(), 0);
}

// Forty labels of known weight in every epoch; samples name a few of them with true bounds.
class Planted {
 public:
  explicit Planted(uint32_t vital) : vital_(vital) {}

  void operator()(uint64_t sequence, v1::SummaryBody& body) {
    for (v1::Vital& vital : *body.mutable_vitals()) {
      if (vital.id() != vital_) continue;
      const v1::FoldedSample like = vital.samples(0);
      vital.clear_samples();
      uint64_t total = 0;
      for (uint32_t label = 0; label < 40; ++label) {
        const uint64_t weight = WeightOf(label, sequence);
        total += weight;
        if ((label + sequence) % 3 == 0) continue;  // went unsampled
        v1::FoldedSample& sample = *vital.add_samples();
        sample = like;
        sample.set_exe(label + 1);
        sample.set_sub(0);
        sample.set_low(weight - weight / 4);
        sample.set_high(weight + weight / 2);
        sample.set_sampled_weight(weight / 8);
        sample.set_samples(1);
      }
      for (v1::SubSeries& sub : *vital.mutable_subs()) {
        sub.set_weight(0);
        sub.set_events(0);
        sub.clear_second_weight();
      }
      vital.mutable_subs(0)->set_weight(total);
      vital.mutable_subs(0)->set_events(total);
      vital.mutable_sketch()->set_total(total);
    }
  }
  static uint64_t WeightOf(uint32_t label, uint64_t sequence) {
    return 1'000 + 500 * (label * label) % 7'919 + 37 * (sequence % (label + 2));
  }

 private:
  const uint32_t vital_;
};

class QueryLabelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<QueryStore>(1);
    shared_->set_change(Planted(TELLTALE_SYSCALL));
    shared_->Put(0, 9 * kHour);
    shared_->set_now(25 * kHour);
    shared_->RollUp();
  }
  static void TearDownTestSuite() { shared_.reset(); }

  static std::unique_ptr<QueryStore> shared_;
  const QueryStore& store_ = *shared_;
};
std::unique_ptr<QueryStore> QueryLabelsTest::shared_;

TEST_F(QueryLabelsTest, IntervalsOfLabelsHoldTheTruth) {
  for (const v1::Tier tier : {v1::TIER_AUTO, v1::TIER_5MIN, v1::TIER_1H, v1::TIER_1D}) {
    auto request = store_.Asked<v1::TopRequest>(0, 9 * kHour, tier);
    request.set_vital("syscall");
    request.set_by(v1::DIMENSION_EXE);
    request.set_limit(100);
    const auto answer = store_.engine().Top(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    const v1::TopTable& table = answer->tables(0);
    ASSERT_GE(table.rows_size(), 24);
    EXPECT_FALSE(table.exact());
    double shown = 0;
    for (const v1::TopRow& row : table.rows()) {
      const uint32_t label =
          static_cast<uint32_t>(std::stoul(row.exe().substr(row.exe().rfind('-') + 1)));
      double truth = 0;
      for (uint64_t sequence = 1; sequence <= 540; ++sequence) {
        truth += static_cast<double>(Planted::WeightOf(label, sequence));
      }
      EXPECT_LE(row.low(), truth) << row.exe() << " " << v1::Tier_Name(tier);
      EXPECT_GE(row.high(), truth) << row.exe() << " " << v1::Tier_Name(tier);
      EXPECT_LE(row.low(), row.value());
      EXPECT_LE(row.value(), row.high());
      shown += row.value();
    }
    EXPECT_NEAR(shown + table.other(), table.total(), 1);
    EXPECT_THAT(answer->coverage().notes(), ::testing::Contains(HasSubstr("bounded")));
    EXPECT_EQ(answer->coverage().miss_probability_1pct(), 0);
  }
}

TEST_F(QueryLabelsTest, TheHeaviestAreTheSameInEpochsAndInWindowsOfThem) {
  const auto rows = [&](v1::Tier tier) {
    auto request = store_.Asked<v1::TopRequest>(kHour, 3 * kHour, tier);
    request.set_vital("syscall");
    request.set_by(v1::DIMENSION_EXE);
    const auto answer = store_.engine().Top(request, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    std::vector<std::string> out;
    for (const v1::TopRow& row : answer->tables(0).rows()) out.push_back(row.exe());
    return out;
  };
  const auto raw = rows(v1::TIER_RAW);
  ASSERT_EQ(raw.size(), 10u);
  EXPECT_EQ(rows(v1::TIER_5MIN), raw);
  // What an hour put away of lighter ones may swap neighbours.
  EXPECT_THAT(rows(v1::TIER_1H), ::testing::UnorderedElementsAreArray(raw));
  EXPECT_EQ(rows(v1::TIER_1H).front(), raw.front());
}

}  // namespace
}  // namespace telltale::query
