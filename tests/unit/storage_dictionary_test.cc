// Names in partitions: who is believed, what is kept for which tier, what goes when. On the model
// in memory and on RocksDB.
#include "storage/dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/format_upgrade.h"
#include "storage/stored_value.h"
#include "tests/support/named_locations.h"
#include "tests/support/storage_engines.h"

namespace telltale::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNamedBuild;
using testing::Named;
using testing::TablesOf;

constexpr uint64_t kWeekNs = 7 * kDayNs;
constexpr uint64_t kNow = 3'000 * kWeekNs + kDayNs;  // second day of a bucket of tier raw
constexpr uint64_t kPlenty = 1 << 20;

class DictionaryTest : public ::testing::TestWithParam<const char*> {
 protected:
  DictionaryTest() : engine_(testing::MakeEngine(GetParam())) { Open(); }

  void Open() { names_ = *Dictionary::Open(&engine_->history()); }
  Dictionary::Told Tell(uint32_t node, const v1::Names& names, uint64_t now_ns,
                        uint64_t room = kPlenty) {
    auto told = names_->Tell(node, names, {now_ns, sealed_ns_, room});
    EXPECT_TRUE(told.ok()) << told.status();
    return told.value_or(Dictionary::Told());
  }
  void Keep(Tier tier, uint64_t start_ns, uint32_t node, const v1::Tables& tables) {
    const absl::Status kept = names_->Keep(tier, start_ns, node, tables);
    EXPECT_TRUE(kept.ok()) << kept;
  }
  void DropBefore(Tier tier, uint64_t time_ns) {
    const auto dropped = names_->DropBefore(tier, time_ns);
    EXPECT_TRUE(dropped.ok()) << dropped.status();
  }
  std::string Name(uint64_t offset, uint32_t node) const {
    return names_->Name(kNamedBuild, offset, node).value_or("?");
  }
  size_t Rows(NamePartition partition) {
    size_t rows = 0;
    const std::string prefix = NamePartitionPrefix(partition);
    EXPECT_TRUE(engine_->history()
                    .Scan(Family::kDict, prefix, PrefixEnd(prefix),
                          [&](std::string_view, std::string_view) { return ++rows != 0; })
                    .ok());
    return rows;
  }

  std::unique_ptr<testing::StorageEngine> engine_;
  std::unique_ptr<Dictionary> names_;
  uint64_t sealed_ns_ = kNow - 21 * kDayNs;
};

TEST_P(DictionaryTest, WhatANodeToldIsItsOwnAndTheLatestStands) {
  Tell(1, Named({{64, "main"}, {96, "loop"}}), kNow);
  EXPECT_EQ(Name(64, 1), "main");
  EXPECT_EQ(Name(96, 1), "loop");
  EXPECT_EQ(Name(64, 2), "?") << "one node's word is its own";
  EXPECT_EQ(Name(65, 1), "?") << "an exact entry";
  Tell(1, Named({{64, "start"}}), kNow + kWeekNs);
  EXPECT_EQ(Name(64, 1), "start");
}

TEST_P(DictionaryTest, TwoNodesThatAgreeSpeakForAllAndEachKeepsItsOwn) {
  Tell(1, Named({{64, "main"}}), kNow);
  Tell(2, Named({{64, "evil"}}), kNow);
  EXPECT_EQ(Name(64, 3), "?") << "they do not agree";
  Tell(4, Named({{64, "main"}}), kNow + kWeekNs);
  EXPECT_EQ(Name(64, 3), "main") << "told within the present bucket and the one before";
  EXPECT_EQ(Name(64, 2), "evil");
}

TEST_P(DictionaryTest, NamesThatOthersCallOtherwiseAreCountedOnceEach) {
  Tell(1, Named({{64, "main"}, {96, "loop"}}), kNow);
  EXPECT_EQ(Tell(2, Named({{64, "evil"}, {96, "loop"}, {128, "own"}}), kNow).contradicted, 1u)
      << "neither what both say nor what nobody else speaks of";
  EXPECT_EQ(Tell(2, Named({{64, "evil"}}), kNow).contradicted, 0u) << "a repeat";
  EXPECT_EQ(Tell(3, Named({{64, "main"}}), kNow).contradicted, 0u) << "one of the two agrees";
  EXPECT_EQ(Tell(4, Named({{64, "bad"}}), kNow).contradicted, 1u) << "against what all are told";
  EXPECT_EQ(Tell(1, Named({{96, "cool"}}), kNow).contradicted, 1u) << "another than before";
  EXPECT_EQ(Tell(5, Named({{64, "worse"}}), kNow, /*room=*/0).contradicted, 0u) << "not kept";
  EXPECT_EQ(names_->Contradicted(), 3u);
}

TEST_P(DictionaryTest, WhatIsSaidForAllNeedsNoRowOfTheNextNode) {
  Tell(3, Named({{64, "old"}}), kNow);
  Tell(1, Named({{64, "main"}}), kNow + kWeekNs);
  Tell(2, Named({{64, "main"}}), kNow + kWeekNs);
  const NamePartition partition = NamePartitionOf(Tier::kRaw, kNow + kWeekNs);
  const size_t rows = Rows(partition);
  EXPECT_EQ(Tell(4, Named({{64, "main"}}), kNow + kWeekNs).bytes, 0u);
  EXPECT_EQ(Rows(partition), rows);
  EXPECT_EQ(Name(64, 4), "main");
  // It called it otherwise before, and that still stands there.
  Tell(3, Named({{64, "main"}}), kNow + kWeekNs);
  EXPECT_EQ(Name(64, 3), "main");
}

TEST_P(DictionaryTest, ANodeDoesNotAgreeWithItself) {
  for (uint64_t week = 0; week < 3; ++week) {
    Tell(1, Named({{64, "evil"}}), kNow + week * kWeekNs);
  }
  EXPECT_EQ(Name(64, 2), "?");
}

TEST_P(DictionaryTest, NamesOutliveTheSummariesThatRestOnThem) {
  Tell(1, Named({{64, "main"}}), kNow);
  const uint64_t bucket_end = 3'001 * kWeekNs;
  // The last name of the bucket serves summaries for eight days more: until those have expired ...
  DropBefore(Tier::kRaw, bucket_end + Dictionary::kServesNs - 1);
  EXPECT_EQ(Name(64, 1), "main");
  DropBefore(Tier::kRaw, bucket_end + Dictionary::kServesNs);
  EXPECT_EQ(Name(64, 1), "?");
  EXPECT_THAT(names_->partitions(), IsEmpty());
}

TEST_P(DictionaryTest, ANameLivesAsLongAsTheWindowsThatReferToIt) {
  Tell(1, Named({{64, "main"}, {96, "loop"}}), kNow);
  Keep(Tier::k5Min, kNow, 1, TablesOf({64, 96}));
  Keep(Tier::k1Day, kNow, 1, TablesOf({64}));
  DropBefore(Tier::kRaw, kNow + 100 * kDayNs);
  EXPECT_EQ(Name(96, 1), "loop");
  const uint64_t end_ns = NamePartitionEndNs(NamePartitionOf(Tier::k5Min, kNow));
  DropBefore(Tier::k5Min, end_ns - 1);
  EXPECT_EQ(Name(96, 1), "loop");
  DropBefore(Tier::k5Min, end_ns);
  EXPECT_EQ(Name(96, 1), "?");
  EXPECT_EQ(Name(64, 1), "main") << "a day refers to it";
  EXPECT_THAT(names_->partitions(), ElementsAre(NamePartitionOf(Tier::k1Day, kNow)));
}

TEST_P(DictionaryTest, WhatTwoAgreedOnIsKeptForTheThirdWhoseWindowUsesIt) {
  Tell(1, Named({{64, "main"}}), kNow);
  Tell(2, Named({{64, "main"}}), kNow);
  Keep(Tier::k1Hour, kNow, 3, TablesOf({64}));
  DropBefore(Tier::kRaw, kNow + 100 * kDayNs);
  EXPECT_EQ(Name(64, 3), "main");
}

TEST_P(DictionaryTest, KeepingTwiceWritesNothingAndKeepingAfterADropWritesAnew) {
  const NamePartition partition = NamePartitionOf(Tier::k5Min, kNow);
  Tell(1, Named({{64, "main"}}), kNow);
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  Keep(Tier::k5Min, kNow + 300 * kSecondNs, 1, TablesOf({64, 64}));
  EXPECT_EQ(Rows(partition), 1u);
  DropBefore(Tier::k5Min, kNow + 100 * kDayNs);
  ASSERT_EQ(Rows(partition), 0u);
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  EXPECT_EQ(Rows(partition), 1u);
}

TEST_P(DictionaryTest, ANameThatComesAfterItWasMissedIsFoundAndKept) {
  EXPECT_EQ(Name(64, 1), "?");
  EXPECT_EQ(Name(64, 3), "?");
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  Tell(1, Named({{64, "main"}}), kNow);
  EXPECT_EQ(Name(64, 1), "main");
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  EXPECT_EQ(Rows(NamePartitionOf(Tier::k5Min, kNow)), 1u);
  Tell(2, Named({{64, "main"}}), kNow);
  EXPECT_EQ(Name(64, 3), "main") << "it was missing for a node that never told";
}

TEST_P(DictionaryTest, ANameThatComesAfterTheWindowThatWantsItIsFilledIn) {
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  Keep(Tier::k1Hour, kNow - 60 * kDayNs, 1, TablesOf({64}));
  Keep(Tier::k5Min, kNow, 3, TablesOf({64}));
  EXPECT_EQ(Name(64, 1), "?");
  Tell(1, Named({{64, "main"}}), kNow);
  DropBefore(Tier::kRaw, kNow + 100 * kDayNs);
  EXPECT_EQ(Name(64, 1), "main");
  EXPECT_EQ(Name(64, 3), "?");
  DropBefore(Tier::k5Min, kNow + 100 * kDayNs);
  EXPECT_EQ(Name(64, 1), "?") << "the hour was sealed";
}

TEST_P(DictionaryTest, WhatTwoAgreeOnLaterIsFilledInForTheThirdThatWantsIt) {
  Keep(Tier::k5Min, kNow, 3, TablesOf({64}));
  Tell(1, Named({{64, "main"}}), kNow);
  Tell(2, Named({{64, "main"}}), kNow + kDayNs);
  DropBefore(Tier::kRaw, kNow + 100 * kDayNs);
  EXPECT_EQ(Name(64, 3), "main");
}

TEST_P(DictionaryTest, PartitionsAreFoundAgain) {
  Tell(1, Named({{64, "main"}}), kNow);
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}));
  Keep(Tier::k5Min, kNow + 30 * kDayNs, 1, TablesOf({64}));
  const std::set<NamePartition> before = names_->partitions();
  EXPECT_EQ(before.size(), 3u);
  Open();
  EXPECT_EQ(names_->partitions(), before);
  EXPECT_EQ(Name(64, 1), "main");
}

TEST_P(DictionaryTest, NamesBeyondTheRoomAreLeftOutAndRepeatsAreFree) {
  const v1::Names names = Named({{1, "function"}, {2, "function"}, {3, "function"}});
  const uint64_t one =
      NameKey(NamePartitionOf(Tier::kRaw, kNow), kNamedBuild, 1, 1).size() + 1 + 8 /* "function" */;
  const Dictionary::Told told = Tell(1, names, kNow, 2 * one + 1);
  EXPECT_EQ(told.bytes, 2 * one);
  EXPECT_EQ(told.left_out, 1u);
  const Dictionary::Told again = Tell(1, names, kNow, 0);
  EXPECT_EQ(again.bytes, 0u);
  EXPECT_EQ(again.left_out, 1u);
}

TEST_P(DictionaryTest, TablesWithHolesAndAbsurdBuildIdsHarmNothing) {
  v1::Tables tables = TablesOf({64});
  tables.add_frame_mapping(0);  // no mapping
  tables.add_frame_offset(1);
  tables.add_frame_mapping(7);  // beyond the table
  tables.add_frame_offset(2);
  tables.add_frame_mapping(1);  // without an offset
  Keep(Tier::k5Min, kNow, 1, tables);
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}, std::string(300, 'x')));
  Keep(Tier::k5Min, kNow, 1, TablesOf({64}, ""));
  v1::Names names = Named({{64, "main"}});
  names.set_build_id(std::string(300, 'x'));
  Tell(1, names, kNow);
  EXPECT_EQ(names_->Name(std::string(300, 'x'), 64, 1), std::nullopt);
  EXPECT_THAT(names_->partitions(), ElementsAre(NamePartitionOf(Tier::k5Min, kNow)));
  EXPECT_EQ(Rows(NamePartitionOf(Tier::k5Min, kNow)), 1u) << "the one sound location is wanted";
}

TEST_P(DictionaryTest, NamesOfTheFirstFormatLastAsLongAsAnyWindow) {
  // `01 | u8 length | build id | u64 offset | u32 node`, as format 1 wrote it.
  std::vector<Row> rows;
  for (char offset = 0; offset < 3; ++offset) {
    std::string key = std::string("\x01\x05", 2) + kNamedBuild + std::string(7, '\0') + offset;
    key += std::string("\0\0\0\x01", 4);
    rows.push_back({Family::kDict, key, VersionedValue("old"), 0});
  }
  ASSERT_TRUE(engine_->history().Append(rows).ok());
  ASSERT_TRUE(UpgradeFrom1(&engine_->history(), kNow).ok());
  Open();
  EXPECT_EQ(Name(2, 1), "old");
  EXPECT_EQ(Name(2, 2), "?");
  EXPECT_EQ(names_->partitions().size(), 3u);
  for (const NamePartition& partition : names_->partitions()) EXPECT_EQ(Rows(partition), 3u);
  EXPECT_TRUE(absl::IsNotFound(engine_->history().Get(Family::kDict, rows[0].key).status()));
  ASSERT_TRUE(UpgradeFrom1(&engine_->history(), kNow).ok()) << "once more after a crash";
  EXPECT_EQ(Name(2, 1), "old");
}

// Counts what is looked up, and can lose what was not synced, as a database opened anew may.
class ForgetfulHistory : public MemoryHistory {
 public:
  absl::StatusOr<std::string> Get(Family family, std::string_view key) const override {
    ++looks;
    return MemoryHistory::Get(family, key);
  }
  absl::Status Scan(Family family, std::string_view from, std::string_view to,
                    const RowVisitor& visit) const override {
    ++looks;
    return MemoryHistory::Scan(family, from, to, visit);
  }
  uint64_t Beginnings() const override { return beginnings; }
  void Lose() {
    ASSERT_TRUE(DropRange(Family::kDict, "", "").ok());
    ++beginnings;
  }
  std::map<std::string, std::string> Rows() const {
    std::map<std::string, std::string> rows;
    EXPECT_TRUE(MemoryHistory::Scan(Family::kDict, "", "",
                                    [&](std::string_view key, std::string_view value) {
                                      rows.emplace(key, value);
                                      return true;
                                    })
                    .ok());
    return rows;
  }
  mutable uint64_t looks = 0;
  uint64_t beginnings = 1;
};

TEST(DictionaryMemoryTest, WhatAllNodesCallTheSameIsNotLookedUpForEachOfThem) {
  ForgetfulHistory history;
  const auto names = *Dictionary::Open(&history);
  const auto come = [&](uint32_t node) {
    EXPECT_TRUE(names->Tell(node, Named({{64, "main"}, {96, "loop"}}), {kNow, 0, kPlenty}).ok());
    EXPECT_TRUE(names->Keep(Tier::k5Min, kNow, node, TablesOf({64, 96})).ok());
  };
  for (const uint32_t node : {1, 2, 3}) come(node);
  const uint64_t looks = history.looks;
  const size_t rows = history.Rows().size();
  for (uint32_t node = 4; node < 100; ++node) come(node);
  EXPECT_EQ(history.looks, looks);
  EXPECT_EQ(history.Rows().size(), rows);
  ASSERT_TRUE(names->DropBefore(Tier::kRaw, kNow + 100 * kDayNs).ok());
  EXPECT_EQ(names->Name(kNamedBuild, 64, 50), "main") << "kept with the window";
}

TEST(DictionaryMemoryTest, WhatTheDatabaseLostIsWrittenAgain) {
  ForgetfulHistory history;
  const auto names = *Dictionary::Open(&history);
  const auto come = [&](uint32_t node) {
    EXPECT_TRUE(names->Tell(node, Named({{64, "main"}}), {kNow, 0, kPlenty}).ok());
    EXPECT_TRUE(names->Keep(Tier::k5Min, kNow, node, TablesOf({64})).ok());
  };
  for (const uint32_t node : {1, 2, 3}) come(node);
  history.Lose();
  come(3);
  EXPECT_EQ(names->Name(kNamedBuild, 64, 3), "main");
  ASSERT_TRUE(names->DropBefore(Tier::kRaw, kNow + 100 * kDayNs).ok());
  EXPECT_EQ(names->Name(kNamedBuild, 64, 3), "main") << "kept with the window";
}

// Nodes come, keep and go at random over half a year; one dictionary lives through it, the other is
// opened anew for each step and remembers nothing.
TEST(DictionaryMemoryTest, ADictionaryThatRemembersWritesWhatOneThatDoesNotWrites) {
  constexpr uint32_t kNodes = 6;
  constexpr uint64_t kLocations = 12;
  std::mt19937 random(17);
  const auto below = [&](uint64_t limit) { return random() % limit; };
  // Most is called the same everywhere; a few nodes have names of their own.
  const auto name = [](uint32_t node, uint64_t offset) {
    return (node + offset) % 5 == 0 ? "own-" + std::to_string(node) : "shared";
  };
  ForgetfulHistory remembered, anew;
  const NameMemory little = {.rows = 4096, .locations = 256};
  const auto names = *Dictionary::Open(&remembered, little);
  uint64_t now_ns = kNow;
  for (int step = 0; step < 1'500; ++step) {
    now_ns += below(60) * 60 * kSecondNs;
    const uint32_t node = static_cast<uint32_t>(1 + below(kNodes));
    std::vector<uint64_t> offsets;
    std::vector<std::pair<uint64_t, std::string>> told;
    for (uint64_t offset = 0; offset < kLocations; ++offset) {
      if (below(3) != 0) continue;
      offsets.push_back(offset);
      told.emplace_back(offset, name(node, offset));
    }
    const uint64_t what = below(20);
    const Tier tier = std::vector<Tier>{Tier::k5Min, Tier::k1Hour, Tier::k1Day}[below(3)];
    const uint64_t window_ns = now_ns - below(3) * kDayNs;
    for (Dictionary* dictionary : {names.get(), Dictionary::Open(&anew, little)->release()}) {
      const std::unique_ptr<Dictionary> opened(dictionary == names.get() ? nullptr : dictionary);
      if (what < 8) {
        ASSERT_TRUE(dictionary->Tell(node, Named(told), {now_ns, 0, kPlenty}).ok());
      } else if (what < 19) {
        ASSERT_TRUE(dictionary->Keep(tier, window_ns, node, TablesOf(offsets)).ok());
      } else {
        ASSERT_TRUE(dictionary->DropBefore(Tier::kRaw, now_ns).ok());
        ASSERT_TRUE(dictionary->DropBefore(Tier::k5Min, now_ns - 30 * kDayNs).ok());
      }
    }
    ASSERT_EQ(remembered.Rows(), anew.Rows()) << "after step " << step;
  }
  EXPECT_GT(remembered.Rows().size(), 100u);
  EXPECT_LT(remembered.looks, anew.looks / 2);
}

INSTANTIATE_TEST_SUITE_P(Engines, DictionaryTest, ::testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace telltale::storage
