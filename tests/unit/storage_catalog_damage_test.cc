// A store whose catalog or names are damaged: it starts with what can be read where that is safe,
// says what it lost, and refuses with what to do where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "tests/support/damage.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint16_t kDay = 20'500;
constexpr uint64_t kStart = kDay * kDayNs;
constexpr uint64_t kMinuteNs = 60 * kSecondNs, kFiveMinutesNs = 300 * kSecondNs;

class CatalogDamageTest : public ::testing::Test {
 protected:
  CatalogDamageTest() {
    Open();
    for (const SyntheticNode& maker : makers_) {
      nodes_.push_back(*store_->nodes().NumberOf(maker.name()));
      EXPECT_TRUE(store_->summaries().PutSchema(nodes_.back(), proto::BuiltinSchema()).ok());
    }
  }
  absl::Status TryOpen() {
    store_.reset();
    StoreOptions options;
    options.path = dir_.path() + "/store";
    options.now_ns = [this] { return now_ns_; };
    options.min_free_bytes = 0;
    options.memory_bytes = 256 << 20;  // nothing is flushed before Damage does
    auto opened = Store::Open(options);
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  void Open() {
    const absl::Status opened = TryOpen();
    ASSERT_TRUE(opened.ok()) << opened;
  }
  // The epoch of a node in this minute from the start on.
  absl::StatusOr<Outcome> Put(size_t node, uint64_t minute) {
    const MadeSummary made = makers_[node].Make(minute + 1, kStart + minute * kMinuteNs);
    const Incoming item{nodes_[node], &made.summary, &made.body, true};
    const auto put = store_->summaries().PutBatch({&item, 1});
    if (!put.ok()) return put.status();
    return put->front();
  }
  void PutAll(size_t node, uint64_t first, uint64_t last) {
    for (uint64_t minute = first; minute <= last; ++minute) {
      const auto put = Put(node, minute);
      ASSERT_TRUE(put.ok()) << put.status();
      ASSERT_EQ(*put, Outcome::kStored);
    }
  }
  void RollUp(uint64_t now_ns) {
    now_ns_ = now_ns;
    const auto windows = store_->roller().RunDue(nodes_, now_ns_, 100'000);
    ASSERT_TRUE(windows.ok()) << windows.status();
    while (true) {
      const auto lines = store_->roller().RunLines(now_ns_, 10'000);
      ASSERT_TRUE(lines.ok()) << lines.status();
      if (*lines == 0) break;
    }
  }
  // How many epochs the first day of a node has in a tier.
  uint64_t Epochs(Tier tier, size_t node) {
    uint64_t epochs = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(tier, nodes_[node], kStart, kStart + kDayNs, {0},
                                   [&](const RollupRow& row) {
                                     epochs += row.window.epochs();
                                     return true;
                                   })
                    .ok());
    return epochs;
  }
  void PutRows(const std::map<std::string, std::string>& rows) {
    const auto transaction = store_->catalog().Begin();
    for (const auto& [key, value] : rows) transaction->Put(key, value);
    ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  }
  // Shares of all rows of a family, in the order of their keys; the store is closed then.
  void Damage(const std::string& family, double from, double to) {
    store_.reset();
    file_ = telltale::testing::DamageRows(dir_.path() + "/store/rocks", family, from, to);
    ASSERT_NE(file_, "");
  }
  void ExpectRefused(const std::string& table, const std::string& why) {
    const absl::Status refused = TryOpen();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("family default, table of " + table + ", keys behind "),
                      HasSubstr(why), HasSubstr(file_), HasSubstr("telltale-collector verify"),
                      HasSubstr("telltale-collector restore")));
  }

  TempDir dir_;
  uint64_t now_ns_ = kStart;
  std::vector<SyntheticNode> makers_ = {SyntheticNode("web-1", 1), SyntheticNode("web-2", 2),
                                        SyntheticNode("web-3", 3)};
  std::vector<uint32_t> nodes_;
  std::unique_ptr<Store> store_;
  std::mt19937_64 random_{7};
  std::string file_;
};

TEST_F(CatalogDamageTest, ALostMarkIsNoWindowThatStaysBehindItsEpochs) {
  for (const size_t node : {0, 1, 2}) PutAll(node, 0, 29);
  RollUp(kStart + kDayNs + kHourNs);
  for (const size_t node : {0, 1, 2}) ASSERT_EQ(Epochs(Tier::k1Day, node), 30u);
  // One more of each, and so many marks around that of web-2 that they are many blocks.
  for (const size_t node : {0, 1, 2}) PutAll(node, 30, 30);
  std::map<std::string, std::string> marks;
  for (const uint32_t node : {nodes_[0], nodes_[2]}) {
    for (uint64_t window = 0; window < 20'000; ++window) {
      const DirtyKey key{node, Tier::k5Min, kStart + 400 * kDayNs + window * kFiveMinutesNs};
      marks[EncodeDirtyKey(key)] = EncodeU64(random_());
    }
  }
  PutRows(marks);
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
  std::map<std::string, std::string> marks;
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
  std::map<std::string, std::string> rows;
  for (uint16_t day = kDay - 3000; day < kDay + 3000; ++day) {
    CoverageDay coverage;
    const uint64_t start_ns = day * kDayNs + random_() % kHourNs;
    coverage.Add({start_ns, start_ns + kMinuteNs, kMinuteNs, false});
    rows[CoverageKey(nodes_[1], day)] = EncodeValue(coverage.ToRecord());
  }
  PutRows(rows);
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
  std::map<std::string, std::string> rows;
  for (int i = 0; i < 3000; ++i) {
    Incarnation incarnation;
    for (uint8_t& byte : incarnation) byte = static_cast<uint8_t>(random_());
    SequenceLedger ledger;
    ledger.AddReceived(1 + random_() % 1'000'000);
    rows[LedgerKey(nodes_[1], incarnation)] = EncodeValue(ledger.ToRecord());
  }
  PutRows(rows);
  Damage("default", 0.5, 0.52);
  ExpectRefused("ledgers", "an epoch could be counted twice");
}

TEST_F(CatalogDamageTest, WithoutNodesItDoesNotStartAndSaysWhatToDo) {
  std::map<std::string, std::string> rows;
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
