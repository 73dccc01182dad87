// What fill_store makes is a store as a collector leaves it: questions over all of its time find
// all of it, and what the books say is there is what rows say.

#include "tests/bench/fill/filler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "collector/query/engine.h"
#include "collector/query/store_source.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "tests/support/temp_dir.h"

namespace telltale::bench {
namespace {

using storage::kDayNs;
using storage::kHourNs;
using storage::kSecondNs;
using storage::Tier;

constexpr uint32_t kNodes = 3, kDays = 4;
// Half past eleven, so that no hour and no day ends with the data.
constexpr uint64_t kNow = 20'500 * kDayNs + 11 * kHourNs + 1830 * kSecondNs;

class FilledStore : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<testing::TempDir>();
    FillOptions options;
    options.data = dir_->path() + "/data";
    options.nodes = kNodes;
    options.days = kDays;
    options.node_days = 2;
    options.now_ns = kNow;
    options.say = [](const std::string&) {};
    const absl::Status filled = Fill(options);
    ASSERT_TRUE(filled.ok()) << filled;
    storage::StoreOptions store;
    store.path = options.data + "/store";
    store.now_ns = [] { return kNow; };
    auto opened = storage::Store::Open(std::move(store));
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    source_ = std::make_unique<query::StoreSource>(&store_->reader());
    query::EngineOptions engine;
    engine.source = source_.get();
    engine.now_ns = [] { return kNow; };
    engine_ = std::make_unique<query::Engine>(std::move(engine));
  }
  static void TearDownTestSuite() {
    engine_.reset();
    source_.reset();
    store_.reset();
    dir_.reset();
  }

  // [from, to), in seconds before the end of the data.
  template <typename Request>
  static Request Asked(double from_s, double to_s = 30) {
    const double end_s = static_cast<double>(kNow) * 1e-9;
    Request request;
    request.mutable_selection()->set_start_s(end_s - from_s);
    request.mutable_selection()->set_end_s(end_s - to_s);
    return request;
  }

  static std::unique_ptr<testing::TempDir> dir_;
  static std::unique_ptr<storage::Store> store_;
  static std::unique_ptr<query::StoreSource> source_;
  static std::unique_ptr<query::Engine> engine_;
};

std::unique_ptr<testing::TempDir> FilledStore::dir_;
std::unique_ptr<storage::Store> FilledStore::store_;
std::unique_ptr<query::StoreSource> FilledStore::source_;
std::unique_ptr<query::Engine> FilledStore::engine_;

constexpr double kHourS = 3600, kDayS = 86400;

TEST_F(FilledStore, ALineOverAllOfItHasNoHoles) {
  auto request = Asked<v1::SeriesRequest>(kDays * kDayS);
  request.add_vitals("cpu");
  request.mutable_selection()->set_tier(v1::TIER_1H);
  const auto answer = engine_->Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->series_size(), 1);
  // Each hour that is over, of all nodes.
  EXPECT_EQ(answer->series(0).start_s_size(), static_cast<int>(kDays * 24));
  for (const double watched : answer->series(0).watched()) EXPECT_DOUBLE_EQ(watched, 1);
}

TEST_F(FilledStore, TheTierIsChosenAsForAnyStore) {
  auto request = Asked<v1::SeriesRequest>(kDays * kDayS);
  request.add_vitals("cpu");
  const auto answer = engine_->Series(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const v1::Coverage& coverage = answer->coverage();
  EXPECT_NEAR(coverage.watched_s(), coverage.selected_s(), 1) << coverage.DebugString();
  EXPECT_EQ(coverage.nodes(), kNodes);
}

TEST_F(FilledStore, TheLastHourHasLabelsOfEachNode) {
  for (const std::string node : {"sim-00001", "sim-00002", "sim-00003"}) {
    auto request = Asked<v1::TopRequest>(kHourS);
    request.mutable_selection()->add_nodes(node);
    request.set_vital("cpu");
    request.set_by(v1::DIMENSION_SITE);
    const auto answer = engine_->Top(request, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->tables_size(), 1);
    EXPECT_FALSE(answer->tables(0).rows().empty());
    EXPECT_GT(answer->tables(0).total(), 0);
    EXPECT_NEAR(answer->coverage().watched_s(), answer->coverage().selected_s(), 60);
  }
}

TEST_F(FilledStore, OneNodeCanBeComparedWithItsDayBefore) {
  v1::DiffRequest request;
  *request.mutable_top() = Asked<v1::TopRequest>(kDayS - 600);
  *request.mutable_against() = Asked<v1::TopRequest>(2 * kDayS - 1200, kDayS - 600).selection();
  for (v1::Selection* selection :
       {request.mutable_top()->mutable_selection(), request.mutable_against()}) {
    selection->add_nodes("sim-00001");
  }
  request.mutable_top()->set_vital("cpu");
  const auto answer = engine_->Diff(request, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GT(answer->scale(), 0);
  ASSERT_FALSE(answer->tables().empty());
  EXPECT_GT(answer->tables(0).total(), 0);
  EXPECT_GT(answer->tables(0).against_total(), 0);
  // Of the whole day, not of what is left of it.
  EXPECT_LT(answer->against_coverage().values_start_s(), request.against().start_s() + kHourS);
}

// An epoch the ledger lists and no row has would be a loss in each answer that opens it.
TEST_F(FilledStore, EveryEpochTheBooksListHasItsRow) {
  for (const storage::NodeRecord& node : store_->reader().Nodes()) {
    uint64_t listed = 0;
    for (const auto& [incarnation, ledger] : store_->reader().Ledgers(node.number())) {
      for (const auto& [first, last] : ledger.received()) listed += last - first + 1;
      EXPECT_EQ(ledger.missing_count(), 0u);
    }
    uint64_t rows = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRaw(node.number(), 0, kNow,
                                [&](const storage::RawRow&) {
                                  ++rows;
                                  return true;
                                })
                    .ok());
    EXPECT_EQ(rows, listed) << node.name();
    EXPECT_GE(rows, node.number() == 1 ? 2u * 1440 : 60u);
  }
}

// Weights differ from node to node, or answers over many would be those of one.
TEST_F(FilledStore, NodesDiffer) {
  std::set<std::string> hours;
  for (uint32_t node = 1; node <= kNodes; ++node) {
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(Tier::k1Hour, node, kNow - 5 * kHourNs, kNow, {},
                                   [&](const storage::RollupRow& row) {
                                     hours.insert(storage::EncodeValue(row.window));
                                     return true;
                                   })
                    .ok());
  }
  EXPECT_GE(hours.size(), kNodes * 3);
}

}  // namespace
}  // namespace telltale::bench
