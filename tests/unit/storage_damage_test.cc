// A damaged row costs itself and nothing behind it: coarser tiers are made from the rest and say
// what is missing, scans go on and tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "storage/store.h"
#include "storage/verify.h"
#include "tests/support/damage.h"
#include "tests/support/damaged_store.h"

namespace telltale::storage {
namespace {

using telltale::testing::DamagedStoreTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DamageTest : public DamagedStoreTest {
 protected:
  // Rows of a family that fit become unreadable; how many.
  size_t DamageRowsOf(Family family, const std::function<bool(std::string_view key)>& fits) {
    std::vector<Row> junk;
    EXPECT_TRUE(store_->history()
                    .Scan(family, "", "",
                          [&](std::string_view key, std::string_view) {
                            if (fits(key))
                              junk.push_back({family, std::string(key), "\x01junk", 0});
                            return true;
                          })
                    .ok());
    EXPECT_TRUE(store_->history().Append(junk).ok());
    return junk.size();
  }
  size_t DamageRaw(uint32_t node, uint64_t from_ns, uint64_t to_ns) {
    return DamageRowsOf(Family::kRaw, [=](std::string_view bytes) {
      const auto key = DecodeRawKey(bytes);
      return key->node == node && key->start_ns >= from_ns && key->start_ns < to_ns;
    });
  }
  size_t DamageWindow(Tier tier, uint32_t node, uint64_t start_ns) {
    return DamageRowsOf(Family::kRollup, [=](std::string_view bytes) {
      const auto key = DecodeRollupKey(bytes);
      return key->tier == tier && key->node == node && key->window_start_ns == start_ns &&
             key->vital == 0;
    });
  }
  std::vector<v1::RollupWindow> Windows(Tier tier, uint32_t node) {
    std::vector<v1::RollupWindow> windows;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(tier, node, 0, UINT64_MAX, {0},
                                   [&](const RollupRow& row) {
                                     windows.push_back(row.window);
                                     return true;
                                   })
                    .ok());
    return windows;
  }
};

TEST_F(DamageTest, CoarserTiersAreMadeFromWhatCanBeReadAndSayWhatIsMissing) {
  PutAll(0, 0, 59);
  // Two epochs of the second five minutes, all of the third.
  ASSERT_EQ(DamageRaw(nodes_[0], kStart + 6 * kMinuteNs, kStart + 8 * kMinuteNs), 2u);
  ASSERT_EQ(DamageRaw(nodes_[0], kStart + 10 * kMinuteNs, kStart + 15 * kMinuteNs), 5u);
  RollUp(kStart + kDayNs + kHourNs);
  EXPECT_EQ(*store_->reader().DirtyWindows(), 0u);

  const auto five = Windows(Tier::k5Min, nodes_[0]);
  ASSERT_EQ(five.size(), 12u);
  EXPECT_EQ(five[0].epochs(), 5u);
  EXPECT_THAT(five[0].unreadable(), IsEmpty());
  EXPECT_EQ(five[1].epochs(), 3u);
  EXPECT_EQ(five[2].epochs(), 0u);
  for (const Tier tier : {Tier::k1Hour, Tier::k1Day}) {
    const auto coarse = Windows(tier, nodes_[0]);
    ASSERT_EQ(coarse.size(), 1u);
    EXPECT_EQ(coarse[0].epochs(), 53u);
    ASSERT_EQ(coarse[0].unreadable_size(), 2);
    EXPECT_EQ(coarse[0].unreadable(0).start_ns(), kStart + 6 * kMinuteNs);
    EXPECT_EQ(coarse[0].unreadable(0).end_ns(), kStart + 8 * kMinuteNs);
    EXPECT_EQ(coarse[0].unreadable(1).start_ns(), kStart + 10 * kMinuteNs);
    EXPECT_EQ(coarse[0].unreadable(1).end_ns(), kStart + 15 * kMinuteNs);
    EXPECT_EQ(coarse[0].unreadable(1).rows(), 5u);
  }
  int epochs = 0, unreadable = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachSeries(nodes_[0], kStart, kStart + kHourNs,
                                 [&](const SeriesKey&, const v1::SeriesBlock& block) {
                                   epochs += block.start_ms_size();
                                   unreadable += block.unreadable_ms_size();
                                   return true;
                                 })
                  .ok());
  EXPECT_EQ(epochs, 53);
  EXPECT_EQ(unreadable, 7);
}

TEST_F(DamageTest, AnHourOverADamagedWindowIsWholeWhileItsEpochsStand) {
  PutAll(0, 0, 59);
  RollUp(kStart + 50 * kMinuteNs);
  ASSERT_EQ(DamageWindow(Tier::k5Min, nodes_[0], kStart + 2 * kFiveMinutesNs), 1u);
  RollUp(kStart + kDayNs + kHourNs);
  for (const Tier tier : {Tier::k1Hour, Tier::k1Day}) {
    const auto coarse = Windows(tier, nodes_[0]);
    ASSERT_EQ(coarse.size(), 1u);
    EXPECT_EQ(coarse[0].epochs(), 60u);
    EXPECT_THAT(coarse[0].unreadable(), IsEmpty());
  }
  // The damaged row is all that verify finds: what was made over it is what it has to be.
  const auto report = Verify(*store_, {});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const VerifyFault& fault : report->faults) {
    EXPECT_THAT(fault.place, ::testing::HasSubstr("5 min window of node web-1"));
  }
  EXPECT_EQ(report->fault_count, 1u);
}

TEST_F(DamageTest, LineBlocksBehindADamagedWindowAreMadeAndMarkIt) {
  for (const size_t node : {0, 1}) PutAll(node, 0, 59);
  ASSERT_EQ(store_->roller().RunDue(nodes_, kStart + 2 * kHourNs, 10'000).status(),
            absl::OkStatus());
  // Neither the window nor what it was made of can be read.
  DamageRaw(nodes_[0], kStart, kStart + kFiveMinutesNs);
  ASSERT_EQ(DamageWindow(Tier::k5Min, nodes_[0], kStart), 1u);
  RollUp(kStart + 2 * kHourNs);
  int entries = 0;
  std::vector<uint32_t> nodes, marked, windows;
  ASSERT_TRUE(store_->reader()
                  .ForEachLine(Tier::k5Min, 1, kStart, kStart + kHourNs,
                               [&](const LineKey&, const v1::LineBlock& block) {
                                 entries += block.window_size();
                                 nodes.assign(block.node().begin(), block.node().end());
                                 marked.assign(block.unreadable_node().begin(),
                                               block.unreadable_node().end());
                                 windows.assign(block.unreadable_window().begin(),
                                                block.unreadable_window().end());
                                 return true;
                               })
                  .ok());
  EXPECT_EQ(entries, 23);
  EXPECT_THAT(nodes, ElementsAre(nodes_[0], nodes_[1]));
  EXPECT_THAT(marked, ElementsAre(nodes_[0]));
  EXPECT_THAT(windows, ElementsAre(0u));
}

TEST_F(DamageTest, LineBlocksNeedNoMoreOfAWindowThanItsTotals) {
  PutAll(0, 0, 59);
  ASSERT_EQ(store_->roller().RunDue(nodes_, kStart + 2 * kHourNs, 10'000).status(),
            absl::OkStatus());
  // Further tables, of two bytes that are none.
  const std::string no_tables = {v1::RollupWindow::kTablesFieldNumber << 3 | 2, 2, '\xff', '\xff'};
  std::vector<Row> rows;
  ASSERT_TRUE(store_->history()
                  .Scan(Family::kRollup, "", "",
                        [&](std::string_view bytes, std::string_view value) {
                          const auto key = DecodeRollupKey(bytes);
                          if (key->tier == Tier::k5Min && key->vital == 0) {
                            rows.push_back({Family::kRollup, std::string(bytes),
                                            std::string(value) + no_tables, 0});
                          }
                          return true;
                        })
                  .ok());
  ASSERT_EQ(rows.size(), 12u);
  ASSERT_TRUE(store_->history().Append(rows).ok());
  RollUp(kStart + 2 * kHourNs);
  EXPECT_EQ(store_->reader().Unreadable(Family::kRollup), 0u);
  int entries = 0;
  uint64_t weight = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachLine(Tier::k5Min, 1, kStart, kStart + kHourNs,
                               [&](const LineKey&, const v1::LineBlock& block) {
                                 EXPECT_THAT(block.unreadable_window(), IsEmpty());
                                 entries += block.window_size();
                                 for (const uint64_t one : block.weight()) weight += one;
                                 return true;
                               })
                  .ok());
  EXPECT_EQ(entries, 12);
  EXPECT_GT(weight, 0u);
  EXPECT_FALSE(store_->reader()
                   .ForEachRollup(Tier::k5Min, nodes_[0], 0, UINT64_MAX, {},
                                  [](const RollupRow&) { return true; })
                   .ok())
      << "who asks for all of a window";
}

TEST_F(DamageTest, AScanGoesOnBehindADamagedRowAndTellsIt) {
  PutAll(0, 0, 59);
  RollUp(kStart + 2 * kHourNs);
  ASSERT_EQ(DamageRaw(nodes_[0], kStart, kStart + kMinuteNs), 1u);
  ASSERT_EQ(DamageWindow(Tier::k5Min, nodes_[0], kStart + kFiveMinutesNs), 1u);
  const uint64_t before = store_->reader().Unreadable(Family::kRollup);
  std::vector<uint64_t> told;
  const DamagedVisitor damaged = [&](const DamagedRow& row) { told.push_back(row.start_ns); };
  int seen = 0;
  const auto count = [&](const auto&) { return ++seen > 0; };
  const Reader& reader = store_->reader();
  ASSERT_TRUE(reader.ForEachRaw(nodes_[0], 0, UINT64_MAX, count, damaged).ok());
  EXPECT_EQ(seen, 59);
  EXPECT_THAT(told, ElementsAre(kStart));
  seen = 0;
  told.clear();
  ASSERT_TRUE(reader.ForEachRollup(Tier::k5Min, nodes_[0], 0, UINT64_MAX, {}, count, damaged).ok());
  EXPECT_EQ(seen, 11);
  EXPECT_THAT(told, ElementsAre(kStart + kFiveMinutesNs));
  EXPECT_EQ(reader.Unreadable(Family::kRollup), before + 1);
  EXPECT_FALSE(reader.ForEachRollup(Tier::k5Min, nodes_[0], 0, UINT64_MAX, {}, count).ok())
      << "who does not ask for the damaged ones is stopped";
}

TEST_F(DamageTest, AWindowWhoseLabelsCannotBeReadIsLeftOutAsAWhole) {
  PutAll(0, 0, 9);
  RollUp(kStart + 2 * kHourNs);
  ASSERT_EQ(DamageRowsOf(Family::kRollup,
                         [&](std::string_view bytes) {
                           const auto key = DecodeRollupKey(bytes);
                           return key->tier == Tier::k5Min && key->window_start_ns == kStart &&
                                  key->vital == 3;
                         }),
            1u);
  std::vector<uint64_t> shown, told;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(
                      Tier::k5Min, nodes_[0], 0, UINT64_MAX, {3},
                      [&](const RollupRow& row) {
                        shown.push_back(row.key.window_start_ns);
                        return true;
                      },
                      [&](const DamagedRow& row) { told.push_back(row.start_ns); })
                  .ok());
  EXPECT_THAT(shown, ElementsAre(kStart + kFiveMinutesNs));
  EXPECT_THAT(told, ElementsAre(kStart));
}

TEST_F(DamageTest, ADamagedBlockOfAFileCostsTheScanItLiesInAndNoOther) {
  for (const size_t node : {0, 1}) PutAll(node, 0, 59);
  RollUp(kStart + 2 * kHourNs);
  WriteFiles();
  store_.reset();
  telltale::testing::DamageLargestTable(rocks());
  Open();
  for (const size_t node : {0, 1}) {
    int seen = 0;
    uint64_t told_ns = 0;
    const absl::Status scanned = store_->reader().ForEachRollup(
        Tier::k5Min, nodes_[node], 0, UINT64_MAX, {}, [&](const RollupRow&) { return ++seen > 0; },
        [&](const DamagedRow& row) { told_ns += row.end_ns - row.start_ns; });
    ASSERT_TRUE(scanned.ok()) << scanned;
    EXPECT_EQ(seen * kFiveMinutesNs + told_ns, kHourNs) << "what is not shown is told";
    EXPECT_EQ(told_ns > 0, node == 0);
  }
}

TEST_F(DamageTest, ADamagedBlockOfFilterOutputsCostsItselfAndIsCounted) {
  constexpr uint32_t kHours = 600, kFilter = 1;
  std::mt19937 random(7);
  for (uint32_t node = 1; node <= kHours; ++node) {
    std::string value(1000, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    ASSERT_TRUE(store_->derived().Put({kFilter, node, kStart}, value, 1).ok());
  }
  WriteFiles();
  store_.reset();
  ASSERT_EQ(telltale::testing::DamageTablesOf(rocks(), "derived", 0.5).size(), 1u);
  Open();
  uint64_t seen = 0, unreadable = 0;
  const absl::Status read = store_->derived().ForEach(
      kFilter, kStart, kStart + kDayNs,
      [&](const DerivedKey&, std::string_view) { return ++seen > 0; }, &unreadable);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_LT(seen, kHours);
  EXPECT_GE(seen, kHours - 17) << "a block holds 16 or 17";
  EXPECT_NEAR(static_cast<double>(unreadable), static_cast<double>(kHours - seen), 2.0);
  EXPECT_EQ(store_->reader().Unreadable(Family::kDerived), unreadable);
}

}  // namespace
}  // namespace telltale::storage
