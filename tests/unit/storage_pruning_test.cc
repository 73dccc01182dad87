// The books of a node after their days have expired: smaller, and saying the same.
#include "storage/node_pruning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;

constexpr uint64_t kStart = 20'500 * kDayNs + 9 * kHourNs;

class PruningTest : public ::testing::Test {
 protected:
  PruningTest() {
    Open();
    node_ = *store_->nodes().NumberOf("web-1");
  }
  void Open() {
    store_.reset();
    StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return now_ns_; };
    options.memory_bytes = 32 << 20;
    options.min_free_bytes = 0;
    options.retention.day_days = 500;
    store_ = *Store::Open(options);
  }
  Outcome Put(uint64_t sequence, uint64_t start_ns) {
    const MadeSummary made = maker_.Make(sequence, start_ns);
    const Incoming item{node_, &made.summary, &made.body, true};
    auto outcome = store_->summaries().PutBatch({&item, 1});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome->front();
  }
  void DeclareLost(uint64_t sequence, uint64_t start_ns) {
    LostRange lost;
    lost.first = lost.last = sequence;
    lost.reason = v1::Lost::SPOOL_FULL;
    lost.start_ns = start_ns;
    lost.end_ns = start_ns + 60 * kSecondNs;
    ASSERT_TRUE(store_->summaries().DeclareLost(node_, maker_.incarnation(), lost).ok());
  }
  // As if a summary had come now, so that the clock is believed.
  void HearFromTheNode() {
    ASSERT_TRUE(store_->nodes()
                    .Update(node_, Durability::kBuffered,
                            [this](NodeRecord& record) { record.set_last_received_ns(now_ns_); })
                    .ok());
  }
  void Pass(uint64_t days) {
    now_ns_ += days * kDayNs;
    HearFromTheNode();
    ASSERT_TRUE(store_->Maintain().ok());
    ASSERT_TRUE(Prune() <= 1u);
  }
  uint32_t Prune() { return *store_->summaries().Prune({&node_, 1}, 10); }
  SequenceLedger Ledger() {
    for (const auto& [incarnation, ledger] : store_->reader().Ledgers(node_)) {
      if (incarnation == maker_.incarnation()) return ledger;
    }
    return {};
  }
  size_t Keys(const std::string& prefix) {
    size_t keys = 0;
    EXPECT_TRUE(store_->catalog()
                    .Begin()
                    ->Scan(prefix, PrefixEnd(prefix),
                           [&](std::string_view, std::string_view) { return ++keys != 0; })
                    .ok());
    return keys;
  }

  TempDir dir_;
  uint64_t now_ns_ = kStart + kHourNs;
  std::unique_ptr<Store> store_;
  uint32_t node_ = 0;
  SyntheticNode maker_{"web-1", 1};
};

TEST_F(PruningTest, AnAgentThatWasOffForLongerThanRawLastsGoesOnWithItsNumbers) {
  for (uint64_t s : {1, 2, 3}) Put(s, kStart + s * 60 * kSecondNs);
  Pass(40);
  EXPECT_TRUE(Ledger().received().empty());
  Open();
  EXPECT_EQ(store_->summaries().ReceivedThrough(node_, maker_.incarnation()), 3u);
  EXPECT_EQ(Put(4, now_ns_ - kHourNs), Outcome::kStored);
  EXPECT_EQ(Ledger().received_count(), 4u);
  EXPECT_EQ(Ledger().missing_count(), 0u);
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 4u);
}

TEST_F(PruningTest, WhatComesForASettledNumberIsTooLateAndCounted) {
  Put(1, kStart);
  Put(3, kStart + 120 * kSecondNs);
  Pass(22);
  EXPECT_EQ(Ledger().lost_count(), 1u) << "2 can come no more";
  EXPECT_EQ(Put(2, kStart + 60 * kSecondNs), Outcome::kTooLate);
  EXPECT_EQ(Put(2, now_ns_ - kHourNs), Outcome::kTooLate) << "whatever time it says it is of";
  EXPECT_EQ(Put(3, kStart + 120 * kSecondNs), Outcome::kTooLate) << "never twice";
  EXPECT_EQ(store_->reader().Counters(node_).too_late, 3u);
  EXPECT_EQ(store_->reader().Counters(node_).epochs, 2u);
}

TEST_F(PruningTest, CoverageSaysTheSameUntilNoTierHoldsTheDay) {
  Put(1, kStart);
  DeclareLost(2, kStart + 60 * kSecondNs);
  Put(3, kStart + 120 * kSecondNs);
  const auto view = [&] {
    return *store_->reader().Coverage(node_, kStart, kStart + 180 * kSecondNs);
  };
  const CoverageView before = view();
  ASSERT_EQ(before.gaps.size(), 1u);
  ASSERT_EQ(before.epochs_lost, 1u);
  for (uint64_t passed = 0; passed < 480; passed += 60) {
    Pass(60);
    EXPECT_EQ(view().watched_ns, before.watched_ns);
    EXPECT_EQ(view().epochs_lost, 1u);
    ASSERT_EQ(view().gaps.size(), 1u);
    EXPECT_EQ(view().gaps[0].cause, Gap::Cause::kDeclaredLost);
    EXPECT_EQ(view().gaps[0].detail, before.gaps[0].detail);
  }
  Pass(30);
  EXPECT_EQ(Keys(CoverageKey(node_, 0).substr(0, 5)), 0u);
  EXPECT_TRUE(Ledger().lost().empty());
  EXPECT_EQ(Ledger().lost_count(), 1u);
}

TEST_F(PruningTest, LedgersOfInstallationsLongGoneAreAddedUp) {
  constexpr uint64_t kInstallations = kIdleLedgers + 40;
  for (uint64_t i = 0; i < kInstallations; ++i) {
    maker_.set_incarnation_byte(static_cast<uint8_t>(i));
    Put(1, kStart + i * 200 * kSecondNs);
    Put(3, kStart + i * 200 * kSecondNs + 120 * kSecondNs);
    if (i == 0) DeclareLost(9, kStart);  // and 4 to 8 were never heard of
  }
  EXPECT_EQ(Keys(TablePrefix(CatalogTable::kLedger)), kInstallations);
  Pass(10);
  EXPECT_EQ(Keys(TablePrefix(CatalogTable::kLedger)), kInstallations) << "their data is there";
  Pass(30);
  EXPECT_EQ(Keys(TablePrefix(CatalogTable::kLedger)), kIdleLedgers);
  Open();
  uint64_t missing = store_->reader().Counters(node_).forgotten_lost;
  for (const auto& [incarnation, ledger] : store_->reader().Ledgers(node_)) {
    missing += ledger.lost_count() + ledger.missing_count();
  }
  EXPECT_EQ(missing, kInstallations + 6);
}

TEST_F(PruningTest, IncarnationsNotSeenSinceRawBeganAreForgottenButNotTheLastNorTheUndecided) {
  ASSERT_TRUE(store_->nodes()
                  .Update(node_, Durability::kBuffered,
                          [](NodeRecord& record) {
                            for (uint8_t i = 1; i <= 4; ++i) {
                              NodeRegistry::IncarnationOf(record, Incarnation{i},
                                                          i == 2 ? v1::INCARNATION_STATUS_APART
                                                                 : v1::INCARNATION_STATUS_COUNTED,
                                                          kStart + i);
                            }
                          })
                  .ok());
  Put(1, kStart);
  Pass(40);
  const NodeRecord record = *store_->reader().Node(node_);
  ASSERT_EQ(record.incarnations_size(), 2);
  EXPECT_EQ(record.incarnations(0).status(), v1::INCARNATION_STATUS_APART);
  EXPECT_EQ(record.incarnations(1).last_seen_ns(), kStart + 4);
  EXPECT_EQ(record.incarnations_forgotten(), 2u);
}

TEST_F(PruningTest, SchemasThatNoStoredEpochUsesMakeRoomForOthers) {
  v1::Schema schema = proto::BuiltinSchema();
  const auto bring = [&](uint64_t id) {
    schema.set_id(id);
    return store_->summaries().PutSchema(node_, schema);
  };
  const auto use = [&](uint64_t id, uint64_t sequence) {
    MadeSummary made = maker_.Make(sequence, now_ns_);
    made.summary.set_schema_id(id);
    const Incoming item{node_, &made.summary, &made.body, true};
    EXPECT_EQ(store_->summaries().PutBatch({&item, 1})->front(), Outcome::kStored);
  };
  constexpr uint64_t kLimit = 32;
  for (uint64_t id = 1; id <= kLimit; ++id) ASSERT_TRUE(bring(id).ok()) << id;
  EXPECT_EQ(bring(kLimit + 1).code(), absl::StatusCode::kResourceExhausted);
  use(1, 1);
  Pass(40);
  // Only what an epoch used is left, for the windows that go on speaking of it.
  EXPECT_NE(store_->summaries().FindSchema(1), nullptr);
  EXPECT_EQ(store_->summaries().FindSchema(2), nullptr);
  for (uint64_t id = 101; id < 101 + kLimit; ++id) ASSERT_TRUE(bring(id).ok()) << id;
  EXPECT_EQ(bring(200).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(bring(101).ok()) << "one that is known";
  // It outlives a restart, and goes with the last window.
  Open();
  EXPECT_NE(store_->summaries().FindSchema(1), nullptr);
  EXPECT_EQ(store_->summaries().FindSchema(2), nullptr);
  use(101, 2);
  Pass(470);
  EXPECT_EQ(store_->summaries().FindSchema(1), nullptr);
  EXPECT_NE(store_->summaries().FindSchema(101), nullptr);
  Open();
  EXPECT_EQ(store_->summaries().FindSchema(1), nullptr);
  EXPECT_NE(store_->summaries().FindSchema(101), nullptr);
}

TEST_F(PruningTest, ASchemaAnotherNodeUsesStays) {
  v1::Schema schema = proto::BuiltinSchema();
  schema.set_id(7);
  ASSERT_TRUE(store_->summaries().PutSchema(node_, schema).ok());
  const uint32_t other = *store_->nodes().NumberOf("web-2");
  const SyntheticNode maker("web-2", 2);
  MadeSummary made = maker.Make(1, now_ns_);
  made.summary.set_schema_id(7);
  const Incoming item{other, &made.summary, &made.body, true};
  ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
  Pass(40);
  const std::vector<uint32_t> both = {node_, other};
  ASSERT_TRUE(store_->summaries().Prune(both, 10).ok());
  EXPECT_NE(store_->summaries().FindSchema(7), nullptr);
}

TEST_F(PruningTest, BooksArePrunedOncePerRawFloor) {
  Put(1, kStart);
  now_ns_ += 40 * kDayNs;
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(*store_->summaries().Prune({}, 10), 0u) << "not this thread's";
  EXPECT_EQ(Prune(), 1u);
  EXPECT_EQ(Prune(), 0u);
  Open();
  EXPECT_EQ(Prune(), 0u);
  now_ns_ += kDayNs;
  Open();
  EXPECT_EQ(Prune(), 0u) << "opening alone raises no floor";
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(Prune(), 1u) << "a day passed while nobody was there";
}

}  // namespace
}  // namespace telltale::storage
