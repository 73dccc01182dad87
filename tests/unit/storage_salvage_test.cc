// A store with damaged table files that RocksDB cannot rewrite: salvage takes them out, keeps what
// can be read, and says what cannot; or refuses and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/salvage.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "tests/support/damage.h"
#include "tests/support/synthetic_node.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

namespace fs = std::filesystem;
using telltale::testing::MadeSummary;
using telltale::testing::SyntheticNode;
using telltale::testing::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint16_t kDay = 20'500;
constexpr uint64_t kStart = kDay * kDayNs;
constexpr uint64_t kMinuteNs = 60 * kSecondNs, kFiveMinutesNs = 300 * kSecondNs;

class SalvageTest : public ::testing::Test {
 protected:
  SalvageTest() {
    Open();
    for (const SyntheticNode& maker : makers_) {
      nodes_.push_back(*store_->nodes().NumberOf(maker.name()));
      EXPECT_TRUE(store_->summaries().PutSchema(nodes_.back(), proto::BuiltinSchema()).ok());
    }
  }
  std::string path() const { return dir_.path() + "/store"; }
  std::string rocks() const { return path() + "/rocks"; }
  absl::Status TryOpen() {
    store_.reset();
    StoreOptions options;
    options.path = path();
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
  absl::StatusOr<Outcome> Put(size_t node, uint64_t minute) {
    const MadeSummary made = makers_[node].Make(minute + 1, kStart + minute * kMinuteNs);
    const Incoming item{nodes_[node], &made.summary, &made.body, true};
    const auto put = store_->summaries().PutBatch({&item, 1});
    if (!put.ok()) return put.status();
    return put->front();
  }
  void PutAll(uint64_t first, uint64_t last) {
    for (const size_t node : {0, 1}) {
      for (uint64_t minute = first; minute <= last; ++minute) {
        ASSERT_EQ(*Put(node, minute), Outcome::kStored);
      }
    }
  }
  void RollUp(uint64_t now_ns) {
    now_ns_ = now_ns;
    while (*store_->roller().RunDue(nodes_, now_ns_, 10'000) > 0) {
    }
    while (*store_->roller().RunLines(now_ns_, 10'000) > 0) {
    }
  }
  void PutRows(const std::map<std::string, std::string>& rows) {
    const auto transaction = store_->catalog().Begin();
    for (const auto& [key, value] : rows) transaction->Put(key, value);
    ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  }
  // Shares of all rows of a family, in the order of their keys; the store is closed then.
  void Damage(const std::string& family, double from, double to) {
    store_.reset();
    file_ = telltale::testing::DamageRows(rocks(), family, from, to);
    ASSERT_NE(file_, "");
    EXPECT_FALSE(Compacts(family)) << "what salvage is for";
  }
  // Whether RocksDB can rewrite all files of a family of the closed store.
  bool Compacts(const std::string& family) const {
    const auto database = RocksInstance::Open({.path = rocks(), .compacts = false});
    if (!database.ok()) return false;
    rocksdb::ColumnFamilyHandle* handle = (*database)->catalog();
    for (size_t i = 0; i < kFamilies; ++i) {
      rocksdb::ColumnFamilyHandle* const other = (*database)->family(static_cast<Family>(i));
      if (other->GetName() == family) handle = other;
    }
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    return (*database)->db().CompactRange(all, handle, nullptr, nullptr).ok();
  }
  absl::StatusOr<SalvageReport> Salvage() {
    store_.reset();
    return storage::Salvage(
        {.data = dir_.path(), .memory_bytes = 32 << 20, .now_ns = [this] { return now_ns_; }});
  }
  SalvageReport Salvaged(const std::string& family) {
    auto report = Salvage();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_THAT(report->files, SizeIs(1));
    EXPECT_EQ(report->files[0].name, file_);
    EXPECT_TRUE(fs::exists(report->aside + "/" + file_)) << "is kept";
    EXPECT_FALSE(fs::exists(rocks() + "/" + file_));
    EXPECT_TRUE(Compacts(family));
    Open();
    return *std::move(report);
  }
  void ExpectGood() {
    const auto report = Verify(*store_, {});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const VerifyFault& fault : report->faults) {
      ADD_FAILURE() << fault.place << ": " << fault.what;
    }
    EXPECT_THAT(store_->Losses(), IsEmpty());
  }
  // Epochs that a scan shows, and the time of those it tells are unreadable.
  std::pair<uint64_t, uint64_t> SeenAndTold(size_t node) const {
    uint64_t seen = 0, told_ns = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRaw(
                        nodes_[node], kStart, kStart + kDayNs,
                        [&](const RawRow&) { return ++seen > 0; },
                        [&](const DamagedRow& row) { told_ns += row.end_ns - row.start_ns; })
                    .ok());
    return {seen, told_ns};
  }
  uint64_t Epochs(Tier tier, size_t node) const {
    uint64_t epochs = 0;
    EXPECT_TRUE(store_->reader()
                    .ForEachRollup(
                        tier, nodes_[node], kStart, kStart + kDayNs, {0},
                        [&](const RollupRow& row) {
                          epochs += row.window.epochs();
                          return true;
                        },
                        [](const DamagedRow&) {})
                    .ok());
    return epochs;
  }
  static void ExpectSame(const std::map<std::string, std::string>& rows,
                         const std::map<std::string, std::string>& want) {
    for (const auto& [key, value] : want) {
      const auto there = rows.find(key);
      EXPECT_NE(there, rows.end()) << absl::BytesToHexString(key) << " is not there";
      EXPECT_TRUE(there == rows.end() || there->second == value)
          << absl::BytesToHexString(key) << " is another";
    }
    for (const auto& [key, value] : rows) {
      EXPECT_TRUE(want.contains(key)) << absl::BytesToHexString(key) << " was not there";
    }
  }
  std::map<std::string, std::string> RowsOf(Family family) const {
    std::map<std::string, std::string> rows;
    EXPECT_TRUE(store_->history()
                    .Scan(family, "", "",
                          [&](std::string_view key, std::string_view value) {
                            rows.emplace(key, value);
                            return true;
                          })
                    .ok());
    return rows;
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

TEST_F(SalvageTest, LostEpochsAreTimeThatCannotBeReadAndNoOthersAreLost) {
  PutAll(0, 599);
  RollUp(kStart + kDayNs + kHourNs);
  const auto before = RowsOf(Family::kRollup);
  Damage("raw", 0.3, 0.32);
  const SalvageReport report = Salvaged("raw");
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_THAT(report.lost[0].place, HasSubstr("raw, behind node web-1 at 2026-02-16T"));
  EXPECT_THAT(report.lost[0].what, HasSubstr(file_));
  EXPECT_GT(report.told.epochs, 0u);

  uint64_t lost = 0;
  for (const size_t node : {0, 1}) {
    const auto [seen, told_ns] = SeenAndTold(node);
    EXPECT_NEAR(static_cast<double>(seen * kMinuteNs + told_ns), 600 * kMinuteNs, 1e9);
    lost += 600 - seen;
  }
  EXPECT_EQ(report.told.epochs, lost);
  EXPECT_LT(lost, 600u);
  ExpectSame(RowsOf(Family::kRollup), before);  // windows made before stand
  EXPECT_EQ(store_->reader().Unreadable(Family::kRaw), 0u) << "is told, and no news any more";
  ExpectGood();
}

TEST_F(SalvageTest, ALostEpochThatIsSentAgainWasTakenIn) {
  PutAll(0, 299);
  Damage("raw", 0.3, 0.32);
  const SalvageReport report = Salvaged("raw");
  ASSERT_GT(report.told.epochs, 0u);
  for (uint64_t minute = 0; minute < 300; ++minute) {
    const auto again = Put(0, minute);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, Outcome::kRepeat) << minute;
  }
  EXPECT_EQ(*Put(0, 300), Outcome::kStored);
  EXPECT_EQ(store_->reader().Counters(nodes_[0]).epochs, 301u);
  EXPECT_EQ(store_->reader().Counters(nodes_[0]).apart, 0u);
}

TEST_F(SalvageTest, WindowsAreMadeAgainFromWhatStands) {
  PutAll(0, 299);
  RollUp(kStart + kDayNs + kHourNs);
  const auto windows = RowsOf(Family::kRollup);
  Damage("rollup", 0.2, 0.3);
  const SalvageReport report = Salvaged("rollup");
  EXPECT_GT(report.told.windows, 0u);
  EXPECT_LT(Epochs(Tier::k5Min, 0) + Epochs(Tier::k5Min, 1), 600u);
  ExpectGood();
  RollUp(now_ns_ + kHourNs);
  ExpectSame(RowsOf(Family::kRollup), windows);
  ExpectGood();
}

TEST_F(SalvageTest, AWindowWhoseSourceIsGoneSaysThatItIsLost) {
  PutAll(0, 599);
  RollUp(kStart + kDayNs + kHourNs);
  now_ns_ = kStart + 30 * kDayNs;
  // The newest data keep the clock from being thought wrong.
  makers_[1].set_incarnation_byte(9);
  const MadeSummary late = makers_[1].Make(1, now_ns_);
  const Incoming item{nodes_[1], &late.summary, &late.body, true};
  ASSERT_TRUE(store_->summaries().PutBatch({&item, 1}).ok());
  ASSERT_TRUE(store_->Maintain().ok());
  ASSERT_GT(store_->reader().RawFloorNs(), kStart) << "its epochs have expired";
  Damage("rollup", 0.2, 0.3);
  Salvaged("rollup");
  for (const size_t node : {0, 1}) {
    uint64_t told_ns = 0;
    ASSERT_TRUE(store_->reader()
                    .ForEachRollup(
                        Tier::k5Min, nodes_[node], kStart, kStart + 600 * kMinuteNs, {0},
                        [](const RollupRow&) { return true; },
                        [&](const DamagedRow& row) { told_ns += row.end_ns - row.start_ns; })
                    .ok());
    EXPECT_EQ(Epochs(Tier::k5Min, node) * kMinuteNs + told_ns, 600 * kMinuteNs);
  }
  ExpectGood();
}

TEST_F(SalvageTest, PreparedGraphsAreMadeAgain) {
  PutAll(0, 299);
  RollUp(kStart + kDayNs + kHourNs);
  for (const auto& [family, name] :
       {std::pair{Family::kSeries, "series"}, {Family::kLine, "line"}}) {
    const auto before = RowsOf(family);
    Damage(name, 0.0, 1.0);
    Salvaged(name);
    ExpectGood();
    RollUp(now_ns_ + kHourNs);
    ExpectSame(RowsOf(family), before);
    ExpectGood();
  }
}

// Rows of 400 hours at the bottom, and above them newer ones of the first 200 and a deletion: two
// files.
class SalvageLevelsTest : public SalvageTest {
 protected:
  static constexpr uint32_t kFilter = 1, kHours = 400, kNewer = 200, kDeleted = 300;

  SalvageLevelsTest() {
    PutHours(kHours, 'o');
    store_.reset();
    EXPECT_TRUE(Compacts("derived"));
    Open();
    PutHours(kNewer, 'n');
    const std::string gone = KeyOf(kDeleted);
    EXPECT_TRUE(store_->history().DropRange(Family::kDerived, gone, gone + '\0').ok());
    EXPECT_TRUE(store_->BackUp(dir_.path() + "/backup", {}).ok());  // all of it is in files
    fs::remove_all(dir_.path() + "/backup");
  }
  std::string KeyOf(uint32_t hour) const {
    return EncodeDerivedKey({kFilter, nodes_[0], kStart + hour * kHourNs});
  }
  void PutHours(uint32_t hours, char what) {
    for (uint32_t hour = 0; hour < hours; ++hour) {
      std::string value(2000, '\0');
      for (char& byte : value) byte = static_cast<char>(random_());
      value[0] = what;
      const DerivedKey key{kFilter, nodes_[0], kStart + hour * kHourNs};
      ASSERT_TRUE(store_->derived().Put(key, value, 1).ok());
    }
  }
  // A block of one of the two, largest first, at a share of it; which hours can be read after that.
  std::map<uint64_t, char> HoursAfterDamage(size_t file, double share) {
    store_.reset();
    const auto tables = telltale::testing::TablesOf(rocks(), "derived");
    EXPECT_THAT(tables, SizeIs(2));
    file_ = tables[file].filename();
    const auto bytes = static_cast<double>(fs::file_size(tables[file]));
    telltale::testing::DamageFile(tables[file], static_cast<uint64_t>(bytes * share));
    Salvaged("derived");
    std::map<uint64_t, char> seen;
    uint64_t unreadable = 0;
    EXPECT_TRUE(store_->derived()
                    .ForEach(
                        kFilter, kStart, kStart + kHours * kHourNs,
                        [&](const DerivedKey& key, std::string_view value) {
                          seen[(key.hour_start_ns - kStart) / kHourNs] = value[0];
                          return true;
                        },
                        &unreadable)
                    .ok());
    return seen;
  }
};

TEST_F(SalvageLevelsTest, WhatADamagedFileHidStaysHidden) {
  const auto seen = HoursAfterDamage(1, 0.5);
  EXPECT_GT(seen.size(), kHours - 20);
  EXPECT_LT(seen.size(), kHours - 1) << "of the damaged block nothing older comes back";
  EXPECT_FALSE(seen.contains(kDeleted));
  for (const auto& [hour, what] : seen) EXPECT_EQ(what, hour < kNewer ? 'n' : 'o') << hour;
}

TEST_F(SalvageLevelsTest, WhatWasWrittenSinceInFrontOfADamagedBlockStays) {
  const auto seen = HoursAfterDamage(0, 0.25);
  EXPECT_EQ(seen.size(), kHours - 1);
  for (const auto& [hour, what] : seen) EXPECT_EQ(what, hour < kNewer ? 'n' : 'o') << hour;
}

TEST_F(SalvageTest, ALostDayOfCoverageSaysThatItCannotBeRead) {
  std::map<std::string, std::string> rows;
  for (uint16_t day = kDay - 3000; day < kDay + 3000; ++day) {
    CoverageDay coverage;
    const uint64_t start_ns = day * kDayNs + random_() % kHourNs;
    coverage.Add({start_ns, start_ns + kMinuteNs, kMinuteNs, false});
    rows[CoverageKey(nodes_[1], day)] = EncodeValue(coverage.ToRecord());
  }
  PutRows(rows);
  PutAll(0, 0);
  Damage("default", 0.45, 0.55);
  Salvaged("default");
  EXPECT_THAT(store_->Losses(), IsEmpty());
  const auto day = store_->reader().Coverage(nodes_[1], kStart, kStart + kDayNs);
  ASSERT_TRUE(day.ok()) << day.status();
  ASSERT_THAT(day->gaps, SizeIs(1));
  EXPECT_THAT(day->gaps[0].detail, HasSubstr("cannot be read"));
  EXPECT_EQ(store_->reader().UnreadableInCatalog(), 0u) << "is told, and no news any more";
  EXPECT_EQ(*Put(1, 1), Outcome::kStored);
  EXPECT_EQ(store_->reader().Coverage(nodes_[1], kStart, kStart + kDayNs)->watched_ns, kMinuteNs);
}

TEST_F(SalvageTest, ALostMarkIsNoWindowThatStaysBehindItsEpochs) {
  PutAll(0, 29);
  RollUp(kStart + kDayNs + kHourNs);
  PutAll(30, 30);
  // So many marks around those of web-2 that they are many blocks.
  std::map<std::string, std::string> marks;
  for (const uint32_t node : {nodes_[0], nodes_[2]}) {
    for (uint64_t window = 0; window < 20'000; ++window) {
      const DirtyKey key{node, Tier::k5Min, kStart + 400 * kDayNs + window * kFiveMinutesNs};
      marks[EncodeDirtyKey(key)] = EncodeU64(random_());
    }
  }
  PutRows(marks);
  Damage("default", 0.4, 0.6);
  Salvaged("default");
  EXPECT_THAT(store_->Losses(), IsEmpty());
  EXPECT_THAT(store_->reader().Dirty(nodes_[1], kStart, kStart + kHourNs),
              Contains(DirtyKey{nodes_[1], Tier::k5Min, kStart + 30 * kMinuteNs}));
  RollUp(kStart + kDayNs + 2 * kHourNs);
  for (const size_t node : {0, 1}) EXPECT_EQ(Epochs(Tier::k1Day, node), 31u);
}

TEST_F(SalvageTest, WithoutLedgersItRefusesAndChangesNothing) {
  PutAll(0, 9);
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
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
    files.insert(entry.path());
  }
  const auto report = Salvage();
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr("table of ledgers"), HasSubstr("an epoch could be counted twice"),
                    HasSubstr(file_), HasSubstr("telltale-collector restore"),
                    HasSubstr("nothing was changed")));
  for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
    files.erase(entry.path());
  }
  EXPECT_THAT(files, IsEmpty());
}

TEST_F(SalvageTest, WhoWasRevokedIsNotLetInByASalvage) {
  std::map<std::string, std::string> rows;
  for (int i = 0; i < 3000; ++i) {
    rows[absl::StrCat("\x14\x02", "node-", i)] = absl::StrCat(random_(), random_(), random_());
  }
  PutRows(rows);
  Damage("default", 0.5, 0.52);
  const auto report = Salvage();
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr("a node that was revoked could be let in"), HasSubstr(file_)));
}

TEST_F(SalvageTest, OfAGoodStoreNothingIsChanged) {
  PutAll(0, 9);
  const auto report = Salvage();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->files, IsEmpty());
  const fs::directory_iterator there(dir_.path());
  EXPECT_EQ(std::distance(begin(there), end(there)), 1) << "the store alone";
  Open();
  EXPECT_EQ(SeenAndTold(0).first, 10u);
}

TEST_F(SalvageTest, WhatADamagedFileStoppedSaysWhatToDoAndStaysStopped) {
  PutAll(0, 299);
  Damage("raw", 0.3, 0.32);
  Open();
  ASSERT_TRUE(store_->Writable().ok());
  // Retention rewrites what a dropped day shares a file with.
  const std::string begin = RawKeyFrom(kDay, nodes_[0], 0);
  ASSERT_TRUE(store_->history()
                  .DropRange(Family::kRaw, begin, RawKeyFrom(kDay, nodes_[0], kStart + 1))
                  .ok());
  const auto put = Put(0, 300);
  ASSERT_TRUE(absl::IsDataLoss(put.status())) << put.status();
  for (int again = 0; again < 3; ++again) {
    EXPECT_THAT(std::string(Put(0, 301).status().message()),
                AllOf(HasSubstr(file_), HasSubstr("telltale-collector salvage")));
    EXPECT_FALSE(store_->Writable().ok());
  }
  EXPECT_GT(SeenAndTold(1).first, 0u) << "reading goes on";
}

}  // namespace
}  // namespace telltale::storage
