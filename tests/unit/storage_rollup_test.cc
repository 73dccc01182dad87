// Any order of arrival gives the same bytes, and they are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "storage/dictionary.h"
#include "storage/rollup/window_model.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "tests/support/rollup_trial.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::RollupTrial;
using telltale::testing::RollupTrialResult;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;

TEST(RollupTest, ADayInShuffledOrderEqualsTheRecomputationFromRawByteForByte) {
  RollupTrial trial;
  trial.nodes = 3;
  trial.every_minutes = 3;
  const RollupTrialResult result = RunTrial(trial);
  EXPECT_EQ(result.wrong, "");
  EXPECT_EQ(result.summaries, 3u * 24 * 20);
  EXPECT_GT(result.compared_rows, 3u * (288 + 24) * 13);
  // Two groups of nodes, a dozen vitals, 24 buckets of an hour, one of a day, one of thirty.
  EXPECT_GE(result.compared_lines, 2u * 10 * (24 + 1 + 1));
}

TEST(RollupTest, AnotherOrderAndOtherBatchesGiveTheSame) {
  RollupTrial trial;
  trial.nodes = 1;
  trial.hours = 3;
  trial.shuffle_seed = 99;
  trial.batch = 5;
  trial.roll_every = 2;
  EXPECT_EQ(RunTrial(trial).wrong, "");
}

TEST(RollupTest, WhatANodeCallsItsOperationsMakesNoWindowGrowWithoutBound) {
  std::vector<WindowModel> epochs(4);
  for (size_t i = 0; i < 4000; ++i) {
    const HistogramKey key{v1::LAYER_DISK, "operation " + std::to_string(i), v1::SUBJECT_KIND_NONE,
                           ""};
    epochs[i % epochs.size()].histograms[key].exits = i;
  }
  const WindowModel merged = MergeWindows(epochs);
  EXPECT_EQ(merged.histograms.size(), kWholeHistograms);
  EXPECT_EQ(merged.histograms_dropped, 4000 - kWholeHistograms);
  for (const auto& [key, histogram] : merged.histograms) {
    EXPECT_GE(histogram.exits, 4000 - kWholeHistograms) << "the busiest stay";
  }
}

// A history that says what was read, after it was read and before the reader goes on.
class WatchedHistory final : public History {
 public:
  explicit WatchedHistory(History* history) : history_(history) {}
  std::function<void(Family family, std::string_view key)> after_get;

  absl::Status Append(std::span<const Row> rows) override { return history_->Append(rows); }
  absl::Status Sync() override { return history_->Sync(); }
  absl::StatusOr<std::string> Get(Family family, std::string_view key) const override {
    absl::StatusOr<std::string> value = history_->Get(family, key);
    if (after_get) after_get(family, key);
    return value;
  }
  absl::Status Scan(Family family, std::string_view from, std::string_view to,
                    const RowVisitor& visit) const override {
    return history_->Scan(family, from, to, visit);
  }
  absl::Status DropRange(Family family, std::string_view from, std::string_view to) override {
    return history_->DropRange(family, from, to);
  }
  absl::StatusOr<FamilySize> Size(Family family) const override { return history_->Size(family); }
  absl::StatusOr<uint64_t> RangeBytes(Family family, std::string_view from,
                                      std::string_view to) const override {
    return history_->RangeBytes(family, from, to);
  }

 private:
  History* const history_;
};

class RollerTest : public ::testing::Test {
 protected:
  RollerTest() {
    StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return now_ns_; };
    options.min_free_bytes = 0;
    options.memory_bytes = 32 << 20;
    store_ = *Store::Open(options);
    node_ = *store_->nodes().NumberOf("web-1");
    EXPECT_TRUE(store_->summaries().PutSchema(node_, proto::BuiltinSchema()).ok());
  }
  void Put(uint64_t sequence, uint64_t start_ns) {
    PutOf(proto::BuiltinSchema().id(), sequence, start_ns);
  }
  void PutOf(uint64_t schema_id, uint64_t sequence, uint64_t start_ns) {
    MadeSummary made = maker_.Make(sequence, start_ns);
    made.summary.set_schema_id(schema_id);
    const Incoming item{node_, &made.summary, &made.body, true};
    ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
  }
  // As if a summary had come now, so that the clock is believed.
  void HearFromTheNode() {
    ASSERT_TRUE(store_->nodes()
                    .Update(node_, Durability::kBuffered,
                            [this](NodeRecord& record) { record.set_last_received_ns(now_ns_); })
                    .ok());
  }
  uint32_t RunDue() { return *store_->roller().RunDue({&node_, 1}, now_ns_, 1000); }
  uint32_t Windows(Tier tier) { return WindowsOf(node_, tier); }
  uint32_t WindowsOf(uint32_t node, Tier tier) {
    uint32_t windows = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(tier, node, 0, UINT64_MAX, {0},
                                   [&](const RollupRow&) {
                                     ++windows;
                                     return true;
                                   })
                    .ok());
    return windows;
  }

  static constexpr uint64_t kStart = 20'500 * kDayNs;
  TempDir dir_;
  uint64_t now_ns_ = kStart;
  std::unique_ptr<Store> store_;
  uint32_t node_ = 0;
  SyntheticNode maker_{"web-1", 1};
  // One that comes after what it describes.
  const v1::Schema later_ = [] {
    v1::Schema schema = proto::BuiltinSchema();
    schema.set_id(schema.id() + 1);
    return schema;
  }();
};

TEST_F(RollerTest, AWindowIsComputedOnceItIsOverAndSettled) {
  Put(1, kStart);
  now_ns_ = kStart + 359 * kSecondNs;
  EXPECT_EQ(RunDue(), 0u);
  now_ns_ = kStart + 360 * kSecondNs;
  EXPECT_EQ(RunDue(), 1u);
  EXPECT_EQ(Windows(Tier::k5Min), 1u);
  EXPECT_EQ(Windows(Tier::k1Hour), 0u) << "the hour still goes on";
  now_ns_ = kStart + kDayNs + 60 * kSecondNs;
  EXPECT_EQ(RunDue(), 3u) << "series, hour, day";
  EXPECT_EQ(*store_->reader().DirtyWindows(), 0u);
  EXPECT_EQ(RunDue(), 0u);
}

TEST_F(RollerTest, TheWindowsOfAFleetAreNotComputedAllAtOnce) {
  uint32_t last = node_;
  while (last < 10'000) last = *store_->nodes().NumberOf("node-" + std::to_string(last));
  Put(1, kStart);
  SyntheticNode maker("node-9999", 2);
  const MadeSummary made = maker.Make(1, kStart);
  const Incoming item{last, &made.summary, &made.body, true};
  ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());

  const uint32_t both[] = {node_, last};
  const auto due = [&](uint64_t after_s) {
    now_ns_ = kStart + (300 + 60 + after_s) * kSecondNs;
    return *store_->roller().RunDue(both, now_ns_, 1000);
  };
  EXPECT_EQ(due(0), 1u);
  EXPECT_EQ(WindowsOf(node_, Tier::k5Min), 1u);
  EXPECT_EQ(due(170), 0u);
  EXPECT_EQ(due(180), 1u) << "before the next window is over";
  EXPECT_EQ(WindowsOf(last, Tier::k5Min), 1u);
  // What ends with the hour costs more.
  EXPECT_EQ(due(3300), 2u) << "series and hour of the first node";
  EXPECT_EQ(due(3300 + 1790), 0u);
  EXPECT_EQ(due(3300 + 1800), 2u) << "of the last";
  EXPECT_EQ(WindowsOf(last, Tier::k1Hour), 1u);
}

TEST_F(RollerTest, AWindowKeepsTheNamesOfItsLocations) {
  v1::Names names;
  const v1::Tables tables = maker_.Body(1, kStart, 60).tables();
  names.set_build_id(tables.mappings(0).build_id());
  for (int i = 0; i < tables.frame_mapping_size(); ++i) {
    if (tables.frame_mapping(i) != 1) continue;
    names.add_offset(tables.frame_offset(i));
    names.add_name("f" + std::to_string(tables.frame_offset(i)));
  }
  ASSERT_TRUE(store_->summaries().PutNames(node_, names).ok());
  Put(1, kStart);
  now_ns_ = kStart + 2 * kDayNs;
  RunDue();
  ASSERT_EQ(*store_->roller().RunLines(now_ns_, 100), 3u);
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    const std::string kept = NamePartitionPrefix(NamePartitionOf(tier, kStart));
    size_t names_kept = 0;
    ASSERT_TRUE(store_->history()
                    .Scan(Family::kDict, kept, PrefixEnd(kept),
                          [&](std::string_view, std::string_view) { return ++names_kept > 0; })
                    .ok());
    EXPECT_GT(names_kept, 0u) << "tier " << static_cast<int>(tier);
  }
  std::vector<std::string> families;
  const std::vector<StoreSizeRow> sizes = *store_->reader().Sizes();
  for (const StoreSizeRow& size : sizes) {
    families.push_back(size.family);
    // A tier is a range of its family: rows not yet in a file are estimated from a sample of the
    // memory table's keys, which can be nothing for the one row there is here.
    const bool estimated = size.family.starts_with("rollup_");
    EXPECT_TRUE(size.bytes > 0 || estimated || size.family == "derived") << size.family;
  }
  EXPECT_EQ(families, (std::vector<std::string>{"raw", "cells", "series", "line", "rollup_5min",
                                                "rollup_1h", "rollup_1d", "derived", "dict"}));
  // Raw and 5 minutes are gone, hours and days are there.
  now_ns_ = kStart + 100 * kDayNs;
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  EXPECT_EQ(Windows(Tier::k5Min), 0u);
  int named = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(Tier::k1Hour, node_, 0, UINT64_MAX, {0},
                                 [&](const RollupRow& row) {
                                   const v1::Tables& of = row.window.tables();
                                   for (int i = 0; i < of.frame_mapping_size(); ++i) {
                                     const auto& mapping = of.mappings(of.frame_mapping(i) - 1);
                                     if (mapping.build_id() != names.build_id()) continue;
                                     const uint64_t offset = of.frame_offset(i);
                                     EXPECT_EQ(store_->reader().SymbolName(mapping.build_id(),
                                                                           offset, node_),
                                               "f" + std::to_string(offset));
                                     ++named;
                                   }
                                   return true;
                                 })
                  .ok());
  EXPECT_GT(named, 5);
}

// What an index stands for, up to one that lies beyond the tables.
void ExpectTables(const StoredTables& stored, const v1::Tables& made) {
  const TableView views[] = {TableView(stored), TableView(made)};
  ASSERT_GT(made.strings_size(), 0);
  for (int i = 0; i <= made.strings_size() + 1; ++i) {
    EXPECT_EQ(views[0].Text(static_cast<uint64_t>(i)), views[1].Text(static_cast<uint64_t>(i)));
  }
  ASSERT_GT(made.frame_offset_size(), 0);
  for (int i = 0; i <= made.frame_offset_size(); ++i) {
    EXPECT_EQ(views[0].Frame(static_cast<uint32_t>(i)), views[1].Frame(static_cast<uint32_t>(i)));
  }
  ASSERT_GT(made.stacks_size(), 0);
  for (int i = 0; i <= made.stacks_size() + 1; ++i) {
    EXPECT_EQ(views[0].Stack(static_cast<uint64_t>(i)), views[1].Stack(static_cast<uint64_t>(i)));
  }
}

TEST(StoredTablesTest, WhatIsNoMessageIsRefusedAndTheNextOneStandsAlone) {
  v1::Tables tables;
  tables.add_strings("first");
  tables.add_strings("");
  tables.add_mappings()->set_path(1);
  tables.add_frame_mapping(1);
  tables.add_frame_offset(UINT64_MAX);
  tables.add_stacks()->add_user(0);
  const std::string whole = tables.SerializeAsString();
  StoredTables stored;
  for (size_t size = 1; size < whole.size(); ++size) (void)stored.Read(whole.substr(0, size));
  EXPECT_FALSE(stored.Read(whole.substr(0, whole.size() - 1)));
  ASSERT_TRUE(stored.Read(whole));
  ExpectTables(stored, tables);
  const StoredTables copy = stored;
  ASSERT_TRUE(stored.Read(""));
  EXPECT_EQ(stored.String(0), "");
  EXPECT_EQ(stored.frames(), 0u);
  ExpectTables(copy, tables);
}

TEST_F(RollerTest, PartsOfAWindowAreThoseOfTheWhole) {
  constexpr uint8_t kVital = 3;
  for (uint64_t i = 0; i < 5; ++i) Put(i + 1, kStart + i * 60 * kSecondNs);
  now_ns_ = kStart + kHourNs;
  RunDue();
  const auto first = [&](const RollupParts& parts) {
    RollupRow found;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(Tier::k5Min, node_, 0, UINT64_MAX, parts,
                                   [&](const RollupRow& row) {
                                     found = row;
                                     return false;
                                   })
                    .ok());
    return found;
  };
  const RollupRow whole = first({kVital});
  ASSERT_GT(whole.window.histograms_size(), 0);
  ASSERT_GT(whole.window.vitals_size(), 1);
  v1::RollupWindow expected = whole.window;
  expected.clear_histograms();
  auto& totals = *expected.mutable_vitals();
  totals.erase(std::remove_if(totals.begin(), totals.end(),
                              [](const v1::VitalTotals& of) { return of.id() != kVital; }),
               totals.end());
  const std::vector<uint32_t> vitals = {kVital};
  const RollupRow labels = first(RollupParts::Labels(vitals, /*run_time=*/true));
  expected.clear_tables();
  EXPECT_EQ(EncodeValue(labels.window), EncodeValue(expected));
  ExpectTables(labels.tables, whole.window.tables());
  ASSERT_EQ(labels.vitals.size(), 1u);
  EXPECT_EQ(EncodeValue(labels.vitals[0].second), EncodeValue(whole.vitals[0].second));
  expected.clear_run_time();
  EXPECT_EQ(EncodeValue(first(RollupParts::Labels(vitals, /*run_time=*/false)).window),
            EncodeValue(expected));
  const RollupRow alone = first(RollupParts::Totals(vitals));
  EXPECT_EQ(EncodeValue(alone.window), EncodeValue(expected));
  EXPECT_TRUE(alone.vitals.empty());
}

TEST_F(RollerTest, ALateSummaryMakesItsWindowsDirtyAgain) {
  Put(1, kStart);
  now_ns_ = kStart + 2 * kDayNs;
  RunDue();
  Put(2, kStart + 60 * kSecondNs);
  EXPECT_EQ(*store_->reader().DirtyWindows(), 2u);
  RunDue();
  uint32_t epochs = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(Tier::k1Day, node_, 0, UINT64_MAX, {},
                                 [&](const RollupRow& row) {
                                   epochs = row.window.epochs();
                                   return true;
                                 })
                  .ok());
  EXPECT_EQ(epochs, 2u);
}

TEST_F(RollerTest, ASealedWindowIsLeftAsItIs) {
  Put(1, kStart);
  Put(2, kStart + kDayNs);
  now_ns_ = kStart + 22 * kDayNs + 1;
  HearFromTheNode();
  ASSERT_TRUE(store_->Maintain().ok());
  RunDue();
  EXPECT_EQ(*store_->reader().DirtyWindows(), 0u);
  EXPECT_EQ(Windows(Tier::k1Day), 1u) << "the first day expired before it was computed";
}

TEST_F(RollerTest, ALabelOfSeveralEpochsIsOneRowWithTheSumOfItsBounds) {
  // Retransmits are labelled by numbers only, so the label can be followed without the tables.
  constexpr uint8_t kRetransmit = 14;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>, std::pair<uint64_t, int>> lows;
  for (uint64_t i = 0; i < 5; ++i) {
    Put(i + 1, kStart + i * 60 * kSecondNs);
    std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>, uint64_t> of_epoch;
    const v1::SummaryBody body = maker_.Body(i + 1, kStart + i * 60 * kSecondNs, 60);
    for (const v1::FoldedSample& sample : body.vitals(kRetransmit - 1).samples()) {
      uint64_t& low = of_epoch[{sample.exe(), sample.uid(), sample.label(0), sample.label(1)}];
      low = std::max(low, sample.low());
    }
    for (const auto& [label, low] : of_epoch) {
      lows[label].first += low;
      ++lows[label].second;
    }
  }
  uint64_t highest = 0;
  int epochs = 0;
  for (const auto& [label, sum] : lows) {
    if (sum.first <= highest) continue;
    highest = sum.first;
    epochs = sum.second;
  }
  EXPECT_GT(epochs, 1) << "the made data must have labels that come back";
  now_ns_ = kStart + kHourNs;
  RunDue();
  uint64_t first_low = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(Tier::k5Min, node_, 0, UINT64_MAX, {kRetransmit},
                                 [&](const RollupRow& row) {
                                   first_low = row.vitals[0].second.labels(0).low();
                                   return true;
                                 })
                  .ok());
  EXPECT_EQ(first_low, highest);
}

TEST_F(RollerTest, LineBlocksHoldWhatTheWindowsSay) {
  for (uint64_t i = 0; i < 120; ++i) Put(i + 1, kStart + i * 60 * kSecondNs);
  now_ns_ = kStart + kDayNs + kHourNs;
  RunDue();
  ASSERT_TRUE(store_->Maintain().ok());
  uint64_t from_rollup = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachRollup(Tier::k1Hour, node_, 0, UINT64_MAX, {0},
                                 [&](const RollupRow& row) {
                                   from_rollup += row.window.vitals(0).subs(1).weight();
                                   return true;
                                 })
                  .ok());
  uint64_t from_line = 0;
  int entries = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachLine(Tier::k1Hour, 1, kStart, kStart + kDayNs,
                               [&](const LineKey& key, const v1::LineBlock& block) {
                                 EXPECT_EQ(key.group, 0u);
                                 EXPECT_EQ(block.node(0), node_);
                                 entries += block.window_size();
                                 for (int i = 0; i < block.window_size(); ++i) {
                                   from_line += block.weight(block.window_size() + i);
                                 }
                                 return true;
                               })
                  .ok());
  EXPECT_EQ(entries, 2);
  EXPECT_EQ(from_line, from_rollup);
  EXPECT_GT(from_line, 0u);
}

TEST_F(RollerTest, AWindowThatCannotBeComputedWaitsAndThoseOfOtherNodesAreMade) {
  const uint32_t other = *store_->nodes().NumberOf("web-2");
  const SyntheticNode other_maker("web-2", 2);
  const std::vector<std::vector<uint32_t>> orders = {{node_, other}, {other, node_}};
  for (uint32_t day = 0; day < orders.size(); ++day) {
    const uint64_t start_ns = kStart + day * kDayNs;
    PutOf(later_.id(), day + 1, start_ns);
    const MadeSummary made = other_maker.Make(day + 1, start_ns);
    const Incoming item{other, &made.summary, &made.body, true};
    ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
    now_ns_ = start_ns + kDayNs + kHourNs;
    const auto done = store_->roller().RunDue(orders[day], now_ns_, 1000);
    EXPECT_FALSE(done.ok()) << "that no schema describes it is told";
    for (const Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
      EXPECT_EQ(WindowsOf(other, tier), day + 1) << "tier " << static_cast<int>(tier);
    }
    EXPECT_EQ(Windows(Tier::k5Min), 0u);
    EXPECT_EQ(store_->summaries().dirty().Of(node_, start_ns, start_ns + kHourNs).size(), 2u)
        << "its series block and its window of 5 minutes are still to be made";
  }
}

TEST_F(RollerTest, ManyThatCannotBeComputedKeepALaterOneNotWaitingAndAreMadeOnceTheyCanBe) {
  constexpr uint64_t kFiveMinutesNs = 300 * kSecondNs;
  for (uint64_t i = 0; i < 12; ++i) PutOf(later_.id(), i + 1, kStart + i * kFiveMinutesNs);
  Put(13, kStart + 3 * kHourNs);
  now_ns_ = kStart + 3 * kHourNs + 10 * kFiveMinutesNs;
  // Fewer at once than wait: 12 windows and the series block of their hour.
  const auto few = [this] { return store_->roller().RunDue({&node_, 1}, now_ns_, 4); };
  for (int call = 0; call < 5; ++call) few().IgnoreError();
  EXPECT_EQ(Windows(Tier::k5Min), 1u) << "the one that comes after them";
  const auto idle = few();
  ASSERT_TRUE(idle.ok()) << idle.status() << ": those that wait are not tried again at once";
  EXPECT_EQ(*idle, 0u);

  ASSERT_TRUE(store_->summaries().PutSchema(node_, later_).ok());
  now_ns_ += RollerOptions().retry_ns;
  const auto made = store_->roller().RunDue({&node_, 1}, now_ns_, 1000);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(Windows(Tier::k5Min), 13u);
}

TEST_F(RollerTest, ATurnThatIsOverLeavesTheOtherWindowsDue) {
  constexpr uint64_t kFiveMinutesNs = 300 * kSecondNs;
  for (uint64_t i = 0; i < 12; ++i) Put(i + 1, kStart + i * kFiveMinutesNs);
  now_ns_ = kStart + kDayNs + kHourNs;
  auto dictionary = Dictionary::Open(&store_->history());
  ASSERT_TRUE(dictionary.ok()) << dictionary.status();
  RollerOptions options;
  options.turn_ns = 1;
  Roller roller(options, &store_->history(), &store_->catalog(), &store_->reader(),
                &store_->summaries(), dictionary->get());
  uint32_t calls = 0;
  for (uint32_t done = 1; done != 0; ++calls) {
    done = *roller.RunDue({&node_, 1}, now_ns_, 1000);
    EXPECT_LE(done, 1u) << "call " << calls;
  }
  EXPECT_EQ(calls, 12u + 1 + 1 + 1 + 1) << "12 of 5 minutes, series, hour, day, and the end";
  EXPECT_EQ(Windows(Tier::k5Min), 12u);
  EXPECT_EQ(Windows(Tier::k1Day), 1u);
}

TEST_F(RollerTest, AWindowMadeWhileItsLineBlockIsBuiltComesIntoTheBlock) {
  const uint32_t other = *store_->nodes().NumberOf("web-2");
  WatchedHistory history(&store_->history());
  auto dictionary = Dictionary::Open(&store_->history());
  ASSERT_TRUE(dictionary.ok()) << dictionary.status();
  Roller roller(RollerOptions(), &history, &store_->catalog(), &store_->reader(),
                &store_->summaries(), dictionary->get());
  // One batch: the marks of both nodes have the same number.
  const MadeSummary first = maker_.Make(1, kStart);
  const MadeSummary second = SyntheticNode("web-2", 2).Make(1, kStart);
  const std::vector<Incoming> batch = {{node_, &first.summary, &first.body, true},
                                       {other, &second.summary, &second.body, true}};
  ASSERT_TRUE(store_->summaries().PutBatch(batch).ok());
  now_ns_ = kStart + kDayNs + kHourNs;
  ASSERT_TRUE(roller.RunDue({&node_, 1}, now_ns_, 1000).ok());

  // The other node's window is made right after the block's builder found that there is none.
  bool made = false;
  history.after_get = [&](Family family, std::string_view key) {
    if (made || family != Family::kRollup) return;
    const absl::StatusOr<RollupKey> read = DecodeRollupKey(key);
    if (!read.ok() || read->node != other) return;
    made = true;
    const auto done = roller.RunDue({&other, 1}, now_ns_, 1000);
    EXPECT_TRUE(done.ok()) << done.status();
  };
  ASSERT_TRUE(roller.RunLines(now_ns_, 100).ok());
  ASSERT_TRUE(made);
  ASSERT_TRUE(roller.RunLines(now_ns_, 100).ok());
  std::vector<uint32_t> nodes;
  ASSERT_TRUE(store_->reader()
                  .ForEachLine(Tier::k5Min, 1, kStart, kStart + kHourNs,
                               [&](const LineKey&, const v1::LineBlock& block) {
                                 nodes.assign(block.node().begin(), block.node().end());
                                 return true;
                               })
                  .ok());
  EXPECT_EQ(nodes, (std::vector<uint32_t>{node_, other}));
}

// Nodes compute theirs some time apart, those of a block 46 s: that of the present day must not
// lack the last ones' hour until the next hour is over.
TEST_F(RollerTest, TheLineBlockOfAnOpenDayHasAnHourOfAllNodesOnceAllCouldHaveIt) {
  const uint32_t other = *store_->nodes().NumberOf("web-2");
  const MadeSummary first = maker_.Make(1, kStart);
  const MadeSummary second = SyntheticNode("web-2", 2).Make(1, kStart);
  const std::vector<Incoming> batch = {{node_, &first.summary, &first.body, true},
                                       {other, &second.summary, &second.body, true}};
  ASSERT_TRUE(store_->summaries().PutBatch(batch).ok());
  const auto lines = [&](uint32_t node, uint64_t after_hour_s) {
    now_ns_ = kStart + kHourNs + after_hour_s * kSecondNs;
    EXPECT_TRUE(store_->roller().RunDue({&node, 1}, now_ns_, 1000).ok());
    EXPECT_TRUE(store_->roller().RunLines(now_ns_, 100).ok());
    std::vector<uint32_t> nodes;
    EXPECT_TRUE(store_->reader()
                    .ForEachLine(Tier::k1Hour, 1, kStart, kStart + kHourNs,
                                 [&](const LineKey&, const v1::LineBlock& block) {
                                   nodes.assign(block.node().begin(), block.node().end());
                                   return true;
                                 })
                    .ok());
    return nodes;
  };
  EXPECT_EQ(lines(node_, 61), (std::vector<uint32_t>{node_}));
  EXPECT_EQ(lines(other, 100), (std::vector<uint32_t>{node_})) << "more may come";
  EXPECT_EQ(lines(node_, 110), (std::vector<uint32_t>{node_, other}));
  EXPECT_TRUE(store_->reader().DirtyLines(Tier::k1Hour, kStart, kStart + kHourNs)->empty());
}

}  // namespace
}  // namespace telltale::storage
