#include "storage/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "tests/support/storage_engines.h"

namespace telltale::storage {
namespace {

using ::testing::ElementsAre;

constexpr uint16_t kToday = 20'500;

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() {
    registry_ = *NodeRegistry::Open(&catalog_, 10);
    SummaryStoreOptions options;
    options.history = &history_;
    options.catalog = &catalog_;
    options.registry = registry_.get();
    dictionary_ = *Dictionary::Open(&history_);
    options.dictionary = dictionary_.get();
    options.now_ns = [] { return kToday * kDayNs; };
    summaries_ = *SummaryStore::Open(std::move(options));
  }
  void AddRaw(uint16_t day, size_t bytes) {
    RawKey key;
    key.day = day;
    key.node = 1;
    key.start_ns = day * kDayNs;
    const Row row{Family::kRaw, EncodeRawKey(key), std::string(bytes, 'r'), 0};
    ASSERT_TRUE(history_.Append({&row, 1}).ok());
  }
  void AddWindow(Tier tier, uint16_t day, size_t bytes) {
    const uint64_t start = day * kDayNs;
    const RollupKey key{tier, 1, start - start % WindowNs(tier), 0};
    const Row row{Family::kRollup, EncodeRollupKey(key), std::string(bytes, 'w'), 0};
    ASSERT_TRUE(history_.Append({&row, 1}).ok());
  }
  std::set<int> RawDays() {
    std::set<int> days;
    EXPECT_TRUE(history_
                    .Scan(Family::kRaw, "", "",
                          [&](std::string_view key, std::string_view) {
                            days.insert(DecodeRawKey(key)->day - kToday);
                            return true;
                          })
                    .ok());
    return days;
  }
  size_t Windows(Tier tier) {
    size_t windows = 0;
    EXPECT_TRUE(history_
                    .Scan(Family::kRollup, "", "",
                          [&](std::string_view key, std::string_view) {
                            windows += DecodeRollupKey(key)->tier == tier ? 1 : 0;
                            return true;
                          })
                    .ok());
    return windows;
  }
  void Run(RetentionOptions options, uint64_t after_midnight_ns = kHourNs) {
    ASSERT_TRUE(CheckRetention(options).ok());
    Retention retention(options, &history_, summaries_.get(), dictionary_.get());
    absl::StatusOr<uint32_t> dropped = retention.Run(kToday * kDayNs + after_midnight_ns);
    ASSERT_TRUE(dropped.ok()) << dropped.status();
  }

  MemoryHistory history_;
  MemoryCatalog catalog_;
  std::unique_ptr<NodeRegistry> registry_;
  std::unique_ptr<Dictionary> dictionary_;
  std::unique_ptr<SummaryStore> summaries_;
};

TEST_F(RetentionTest, ADayOlderThanTheAgeGoesAndTheLastOneWithinStays) {
  for (int age : {22, 21, 1}) AddRaw(static_cast<uint16_t>(kToday - age), 10);
  Run({});
  EXPECT_THAT(RawDays(), ElementsAre(-21, -1));
  EXPECT_EQ(summaries_->RawFloor(), kToday - 21);
}

TEST_F(RetentionTest, EachTierEndsAtItsOwnAge) {
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    AddWindow(tier, kToday - 62, 10);
    AddWindow(tier, kToday - 500, 10);
  }
  Run({});
  EXPECT_EQ(Windows(Tier::k5Min), 0u);
  EXPECT_EQ(Windows(Tier::k1Hour), 1u);
  EXPECT_EQ(Windows(Tier::k1Day), 2u);
}

TEST_F(RetentionTest, NamesGoAfterTheLastWindowOfTheirBucketAndNeverBeforeRaw) {
  v1::Tables tables;
  tables.add_mappings()->set_build_id("build");
  tables.add_frame_mapping(1);
  tables.add_frame_offset(64);
  v1::Names names;
  names.set_build_id("build");
  names.add_offset(64);
  names.add_name("main");
  for (uint16_t age : {100, 40, 25, 0}) {
    const uint64_t then = (kToday - age) * kDayNs;
    ASSERT_TRUE(dictionary_->Tell(1, names, {then, 0, 1000}).ok());
    ASSERT_TRUE(dictionary_->Keep(Tier::k5Min, then, 1, tables).ok());
    AddWindow(Tier::k5Min, static_cast<uint16_t>(kToday - age), 10);
  }
  Run({});
  // Today is day 4 of its week and day 0 of its ten days; raw ends 21 days ago.
  const auto at = [](Tier tier, int age) { return NamePartitionOf(tier, (kToday - age) * kDayNs); };
  EXPECT_THAT(dictionary_->partitions(),
              ElementsAre(at(Tier::kRaw, 25), at(Tier::kRaw, 0), at(Tier::k5Min, 40),
                          at(Tier::k5Min, 25), at(Tier::k5Min, 0)));
  RetentionOptions options;
  options.max_bytes = 1;
  options.guaranteed_five_minute = 0;
  Run(options);
  EXPECT_EQ(Windows(Tier::k5Min), 1u) << "the open bucket";
  EXPECT_THAT(dictionary_->partitions(), ElementsAre(at(Tier::kRaw, 25), at(Tier::kRaw, 0),
                                                     at(Tier::k5Min, 25), at(Tier::k5Min, 0)))
      << "windows behind the raw floor may be computed again";
  AddRaw(kToday - 1, 10);  // goes for its size and takes the floor along
  Run(options);
  EXPECT_THAT(dictionary_->partitions(), ElementsAre(at(Tier::kRaw, 0), at(Tier::k5Min, 0)));
}

TEST_F(RetentionTest, BySizeTheOldestRawDaysGoFirstAndTodayStays) {
  for (int age : {3, 2, 1, 0}) AddRaw(static_cast<uint16_t>(kToday - age), 1000);
  AddWindow(Tier::k5Min, kToday - 1, 100);
  RetentionOptions options;
  options.max_bytes = 2500;
  Run(options);
  EXPECT_THAT(RawDays(), ElementsAre(-1, 0));
  EXPECT_EQ(Windows(Tier::k5Min), 1u);
  EXPECT_EQ(summaries_->RawFloor(), kToday - 1) << "what comes late for a dropped day is too late";
  options.max_bytes = 10;
  options.guaranteed_five_minute = 0;
  Run(options);
  EXPECT_THAT(RawDays(), ElementsAre(0));
}

TEST_F(RetentionTest, YesterdayIsCutForItsSizeOnlyAnHourAfterItsEnd) {
  for (int age : {2, 1, 0}) {
    AddRaw(static_cast<uint16_t>(kToday - age), 1000);
    AddWindow(Tier::k5Min, static_cast<uint16_t>(kToday - age), 1000);
  }
  RetentionOptions options;
  options.max_raw_bytes = 1;
  options.max_five_minute_bytes = 1;
  Run(options, kHourNs - 1);
  EXPECT_THAT(RawDays(), ElementsAre(-1, 0));
  EXPECT_EQ(Windows(Tier::k5Min), 2u);
  EXPECT_EQ(summaries_->RawFloor(), kToday - 1) << "its last epochs are still on their way";
  Run(options, kHourNs);
  EXPECT_THAT(RawDays(), ElementsAre(0));
  EXPECT_EQ(Windows(Tier::k5Min), 1u);
}

TEST_F(RetentionTest, AClockFarAheadOfAllThatWasReceivedIsNotBelieved) {
  const uint32_t node = *registry_->NumberOf("web-1");
  ASSERT_TRUE(registry_
                  ->Update(node, Durability::kBuffered,
                           [](NodeRecord& record) {
                             record.set_last_received_ns((kToday - 3650) * kDayNs);
                           })
                  .ok());
  AddRaw(kToday - 3650, 10);
  AddWindow(Tier::k5Min, kToday - 3650, 10);
  Run({});
  EXPECT_THAT(RawDays(), ElementsAre(-3650));
  EXPECT_EQ(Windows(Tier::k5Min), 1u);
  EXPECT_EQ(summaries_->RawFloor(), kToday - 3650 + 2 - 21);
}

TEST_F(RetentionTest, AnEmptyStoreHasNoFloor) {
  Run({});
  EXPECT_EQ(summaries_->RawFloor(), 0);
}

TEST_F(RetentionTest, ATierIsNotCutBelowItsGuaranteedShare) {
  for (int age = 1; age <= 5; ++age)
    AddWindow(Tier::k5Min, static_cast<uint16_t>(kToday - age), 1000);
  AddWindow(Tier::k1Hour, kToday - 30, 100);
  RetentionOptions options;
  options.max_bytes = 3000;
  options.guaranteed_five_minute = 60;  // 1,800 bytes: not below two windows of 1,012
  Run(options);
  EXPECT_EQ(Windows(Tier::k5Min), 2u);
  EXPECT_EQ(Windows(Tier::k1Hour), 1u);
}

TEST_F(RetentionTest, EachTierHasABoundOfItsOwnAndLosesItsOldestFirst) {
  for (int age : {3, 2, 1, 0}) AddRaw(static_cast<uint16_t>(kToday - age), 1000);
  for (int age = 10; age <= 13; ++age) {
    AddWindow(Tier::k5Min, static_cast<uint16_t>(kToday - age), 1000);
  }
  for (int age : {20, 40, 60}) AddWindow(Tier::k1Hour, static_cast<uint16_t>(kToday - age), 1000);
  for (int age : {200, 500}) AddWindow(Tier::k1Day, static_cast<uint16_t>(kToday - age), 1000);
  RetentionOptions options;
  options.max_raw_bytes = 3200;
  Run(options);
  EXPECT_THAT(RawDays(), ElementsAre(-2, -1, 0));
  EXPECT_EQ(Windows(Tier::k5Min), 4u);
  options.max_five_minute_bytes = 2200;
  Run(options);
  EXPECT_EQ(Windows(Tier::k5Min), 2u);
  EXPECT_EQ(Windows(Tier::k1Hour), 3u);
  options.max_hour_bytes = 1200;
  options.max_day_bytes = 1200;
  Run(options);
  EXPECT_EQ(Windows(Tier::k1Hour), 1u);
  EXPECT_EQ(Windows(Tier::k1Day), 1u);
  EXPECT_THAT(RawDays(), ElementsAre(-2, -1, 0));
}

TEST_F(RetentionTest, WindowsThatRawCouldStillChangeDoNotGoWithoutIt) {
  for (int age : {3, 2, 1, 0}) {
    AddRaw(static_cast<uint16_t>(kToday - age), 1000);
    AddWindow(Tier::k5Min, static_cast<uint16_t>(kToday - age), 1000);
  }
  RetentionOptions options;
  options.max_five_minute_bytes = 2200;
  Run(options);
  EXPECT_EQ(Windows(Tier::k5Min), 2u);
  EXPECT_THAT(RawDays(), ElementsAre(-1, 0));
  EXPECT_EQ(summaries_->RawFloor(), kToday - 1);
}

// RocksDB's files hold what was dropped for a while; cutting by their size would take a day too
// many with each run.
TEST(RetentionOnDiskTest, WhatWasDroppedGivesItsSpaceBackAndIsNotCutForAgain) {
  testing::RocksEngine engine;
  const auto registry = *NodeRegistry::Open(&engine.catalog(), 10);
  const auto dictionary = *Dictionary::Open(&engine.history());
  SummaryStoreOptions made;
  made.history = &engine.history();
  made.catalog = &engine.catalog();
  made.registry = registry.get();
  made.dictionary = dictionary.get();
  made.now_ns = [] { return kToday * kDayNs; };
  const auto summaries = *SummaryStore::Open(std::move(made));
  constexpr uint64_t kRows = 2000, kBytes = 600, kDays = 6;
  for (uint64_t day = kToday - kDays + 1; day <= kToday; ++day) {
    std::vector<Row> rows;
    for (uint64_t i = 0; i < kRows; ++i) {
      RawKey key;
      key.day = static_cast<uint16_t>(day);
      key.node = 1;
      key.start_ns = day * kDayNs + i * kSecondNs;
      key.sequence = i;
      rows.push_back({Family::kRaw, EncodeRawKey(key), std::string(kBytes, 'r'), 0});
    }
    ASSERT_TRUE(engine.history().Append(rows).ok());
    const auto instance = *engine.database_->Use();
    ASSERT_TRUE(instance->db().Flush({}, instance->family(Family::kRaw)).ok());
  }
  const uint64_t full = engine.history().Size(Family::kRaw)->bytes;
  RetentionOptions options;
  options.max_bytes = full / kDays * 9 / 2;  // four days and a half
  Retention retention(options, &engine.history(), summaries.get(), dictionary.get());
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(retention.Run(kToday * kDayNs + kHourNs).ok());
    EXPECT_EQ(summaries->RawFloor(), kToday - 3) << "after run " << run;
  }
  EXPECT_LT(engine.history().Size(Family::kRaw)->bytes, full * 3 / 4);
}

}  // namespace
}  // namespace telltale::storage
