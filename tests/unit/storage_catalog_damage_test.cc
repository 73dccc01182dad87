// A store whose catalog or names are damaged: it starts with what can be read where that is safe,
// says what it lost, and refuses with what to do where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "tests/support/damaged_store.h"

namespace telltale::storage {
namespace {

using telltale::testing::DamagedStoreTest;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CatalogDamageTest : public DamagedStoreTest {
 protected:
  void ExpectRefused(const std::string& table, const std::string& why) {
    const absl::Status refused = TryOpen();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("family default, table of " + table + ", keys behind "),
                      HasSubstr(why), HasSubstr(file_), HasSubstr("telltale-collector verify"),
                      HasSubstr("telltale-collector restore")));
  }
};

TEST_F(CatalogDamageTest, ALostMarkIsNoWindowThatStaysBehindItsEpochs) {
  for (const size_t node : {0, 1, 2}) PutAll(node, 0, 29);
  RollUp(kStart + kDayNs + kHourNs);
  for (const size_t node : {0, 1, 2}) ASSERT_EQ(Epochs(Tier::k1Day, node), 30u);
  for (const size_t node : {0, 1, 2}) PutAll(node, 30, 30);
  PutRows(ManyMarks());
  Damage("default", 0.4, 0.6);
  Open();
  EXPECT_THAT(store_->Losses(), ElementsAre(AllOf(HasSubstr("marks of windows to compute"),
                                                  HasSubstr("computed again"), HasSubstr(file_))));
  EXPECT_GT(store_->reader().UnreadableInCatalog(), 0u);
  // Nothing passes for current before it is.
  EXPECT_THAT(store_->reader().Dirty(nodes_[1], kStart, kStart + kHourNs),
              Contains(DirtyKey{nodes_[1], Tier::k5Min, kStart + 30 * kMinuteNs}));
  EXPECT_EQ(Epochs(Tier::k1Day, 1), 30u);
  RollUp(kStart + kDayNs + 2 * kHourNs);
  for (const size_t node : {0, 1, 2}) {
    for (const Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
      EXPECT_EQ(Epochs(tier, node), 31u) << node << " tier " << static_cast<int>(tier);
    }
  }
  EXPECT_THAT(store_->reader().Dirty(nodes_[1], kStart, kStart + kDayNs), IsEmpty());
}

TEST_F(CatalogDamageTest, ALostMarkOfAGraphIsNoBlockThatStaysBehindItsWindows) {
  PutAll(0, 0, 9);
  now_ns_ = kStart + 2 * kHourNs;
  ASSERT_TRUE(store_->roller().RunDue(nodes_, now_ns_, 10'000).ok());
  // The windows stand, their graphs do not yet.
  Rows marks;
  for (uint32_t group = 1; group <= 20'000; ++group) {
    marks[EncodeDirtyLineKey({Tier::k5Min, kStart - kHourNs, group})] = EncodeU64(random_());
    marks[EncodeDirtyLineKey({Tier::k5Min, kStart + kHourNs, group})] = EncodeU64(random_());
  }
  PutRows(marks);
  Damage("default", 0.4, 0.6);
  Open();
  EXPECT_THAT(store_->Losses(), ElementsAre(HasSubstr("marks of graphs to compute")));
  const auto marked = store_->reader().DirtyLines(Tier::k5Min, kStart, kStart + kHourNs);
  ASSERT_TRUE(marked.ok());
  EXPECT_THAT(*marked, Contains(DirtyLineKey{Tier::k5Min, kStart, 0}));
  RollUp(now_ns_);
  int blocks = 0;
  ASSERT_TRUE(store_->reader()
                  .ForEachLine(Tier::k5Min, 1, kStart, kStart + kHourNs,
                               [&](const LineKey&, const v1::LineBlock&) { return ++blocks > 0; })
                  .ok());
  EXPECT_EQ(blocks, 1);
}

TEST_F(CatalogDamageTest, MarksOfGraphsAreThereAfterARestart) {
  PutAll(0, 0, 9);
  now_ns_ = kStart + 2 * kHourNs;
  ASSERT_TRUE(store_->roller().RunDue(nodes_, now_ns_, 10'000).ok());
  const auto before = store_->reader().DirtyLines(Tier::k5Min, kStart, kStart + kHourNs);
  ASSERT_TRUE(before.ok());
  ASSERT_THAT(*before, ElementsAre(DirtyLineKey{Tier::k5Min, kStart, 0}));
  Open();
  EXPECT_EQ(*store_->reader().DirtyLines(Tier::k5Min, kStart, kStart + kHourNs), *before);
  EXPECT_THAT(*store_->reader().DirtyLines(Tier::k5Min, kStart + kHourNs, kStart + kDayNs),
              IsEmpty());
  RollUp(now_ns_ + kDayNs);
  EXPECT_THAT(*store_->reader().DirtyLines(Tier::k5Min, 0, kStart + kDayNs), IsEmpty());
  Open();
  EXPECT_THAT(*store_->reader().DirtyLines(Tier::k5Min, 0, kStart + kDayNs), IsEmpty());
}

TEST_F(CatalogDamageTest, ALostDayOfCoverageBeginsAnewAndTheRestIsShown) {
  PutRows(ManyDaysOfCoverage(1));
  PutAll(1, 0, 0);
  Damage("default", 0.45, 0.55);
  Open();
  ASSERT_TRUE(
      absl::IsDataLoss(store_->catalog().Begin()->Get(CoverageKey(nodes_[1], kDay)).status()));
  const auto put = Put(1, 60);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(*put, Outcome::kStored);

  const auto day = store_->reader().Coverage(nodes_[1], kStart, kStart + kDayNs);
  ASSERT_TRUE(day.ok()) << day.status();
  EXPECT_EQ(day->watched_ns, kMinuteNs);
  EXPECT_EQ(day->epochs, 1u);
  // The day before it is lost, too; a day well before is not.
  const auto before = store_->reader().Coverage(nodes_[1], kStart - kDayNs, kStart);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->watched_ns, 0u);
  ASSERT_EQ(before->gaps.size(), 1u);
  EXPECT_THAT(before->gaps[0].detail, HasSubstr("cannot be read"));
  const uint64_t whole_ns = kStart - 2500 * kDayNs;
  EXPECT_EQ(store_->reader().Coverage(nodes_[1], whole_ns, whole_ns + kDayNs)->watched_ns,
            kMinuteNs);
  ASSERT_TRUE(
      store_->summaries().RecordStop(nodes_[1], {kStart - 3 * kDayNs, v1::Goodbye::STOP}).ok());
}

TEST_F(CatalogDamageTest, WithoutLedgersItDoesNotStartAndSaysWhatToDo) {
  PutRows(ManyLedgers(1));
  Damage("default", 0.5, 0.52);
  ExpectRefused("ledgers", "an epoch could be counted twice");
}

TEST_F(CatalogDamageTest, WithoutNodesItDoesNotStartAndSaysWhatToDo) {
  Rows rows;
  for (uint32_t number = static_cast<uint32_t>(nodes_.size()) + 1; number < 3000; ++number) {
    NodeRecord record;
    record.set_number(number);
    record.set_name(absl::StrCat("node-", random_(), "-", random_()));
    rows[NodeRecordKey(number)] = EncodeValue(record);
  }
  PutRows(rows);
  Damage("default", 0.5, 0.52);
  ExpectRefused("nodes", "a node's number could be given to another");
}

TEST_F(CatalogDamageTest, NamesThatCannotBeReadAreNamesNobodyTold) {
  const auto names_of = [this](const std::string& build, int names) {
    v1::Names told;
    told.set_build_id(build);
    for (int i = 0; i < names; ++i) {
      told.add_offset(64 + static_cast<uint64_t>(i));
      told.add_name(absl::StrCat("function_", i, "_", random_(), random_()));
    }
    return told;
  };
  // Two weeks of names; the second begins in the middle of the file.
  const v1::Names first = names_of("a", 3000), second = names_of("b", 3000);
  ASSERT_TRUE(store_->summaries().PutNames(nodes_[0], first).ok());
  now_ns_ += 7 * kDayNs;
  ASSERT_TRUE(store_->summaries().PutNames(nodes_[0], second).ok());
  Damage("dict", 0.45, 0.55);
  Open();
  EXPECT_THAT(store_->Losses(), ElementsAre(HasSubstr("names: about")));

  const Reader& reader = store_->reader();
  const auto name = [&](const char* build, uint64_t offset) {
    return reader.SymbolName(build, offset, nodes_[0]).value_or("?");
  };
  EXPECT_EQ(name("a", 64), first.name(0));
  EXPECT_EQ(name("b", 64 + 2999), second.name(2999)) << "behind where the second week begins";
  EXPECT_EQ(name("b", 64), "?");
  const uint64_t unreadable = reader.Unreadable(Family::kDict);
  EXPECT_GT(unreadable, 0u);
  EXPECT_EQ(name("b", 65), "?");
  EXPECT_GT(reader.Unreadable(Family::kDict), unreadable);

  v1::Names again;
  again.set_build_id("b");
  again.add_offset(64);
  again.add_name("again");
  const absl::Status told = store_->summaries().PutNames(nodes_[0], again);
  ASSERT_TRUE(told.ok()) << told;
  EXPECT_EQ(name("b", 64), "again");
}

TEST_F(CatalogDamageTest, AnEpochThatWasTakenInIsAcknowledgedAgainThoughItsRowIsDamaged) {
  PutAll(0, 0, 299);
  Damage("raw", 0.0, 1.0);
  Open();
  const auto again = Put(0, 7);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, Outcome::kRepeat);
  EXPECT_EQ(*Put(0, 300), Outcome::kStored);
  EXPECT_EQ(store_->reader().Counters(nodes_[0]).epochs, 301u);
}

TEST_F(CatalogDamageTest, ADamagedBlockOfEpochsHidesNothingBehindIt) {
  PutAll(0, 0, 899);
  Damage("raw", 0.3, 0.31);
  Open();
  uint64_t seen = 0, last_ns = 0, told_ns = 0;
  const absl::Status scanned = store_->reader().ForEachRaw(
      nodes_[0], kStart, kStart + kDayNs,
      [&](const RawRow& row) {
        ++seen;
        last_ns = row.end_ns;
        return true;
      },
      [&](const DamagedRow& row) { told_ns += row.end_ns - row.start_ns; });
  ASSERT_TRUE(scanned.ok()) << scanned;
  EXPECT_EQ(last_ns, kStart + 900 * kMinuteNs);
  EXPECT_LT(seen, 900u);
  EXPECT_EQ(seen * kMinuteNs + told_ns, 900 * kMinuteNs) << "what is not shown is told";
}

TEST_F(CatalogDamageTest, WhereATierBeginsWithDamageItsDataRangeBeginsBehindIt) {
  PutAll(0, 0, 599);
  RollUp(kStart + kDayNs);
  Damage("rollup", 0.0, 0.05);
  Open();
  for (const uint32_t node : {uint32_t{0}, nodes_[0]}) {
    const auto ranges = store_->reader().DataRanges(node);
    ASSERT_TRUE(ranges.ok()) << ranges.status();
    ASSERT_GE(ranges->size(), 2u);
    EXPECT_EQ((*ranges)[1].tier, Tier::k5Min);
    EXPECT_GT((*ranges)[1].start_ns, kStart);
  }
}

}  // namespace
}  // namespace telltale::storage
