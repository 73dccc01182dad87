// A store with damaged table files that RocksDB cannot rewrite: salvage takes them out, keeps what
// can be read, and says what cannot; or refuses and changes nothing. And one with damaged bodies,
// whose epochs it tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/salvage.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "storage/verify.h"
#include "tests/support/damage.h"
#include "tests/support/damaged_store.h"

namespace telltale::storage {
namespace {

namespace fs = std::filesystem;
using telltale::testing::DamagedStoreTest;
using telltale::testing::MadeSummary;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SalvageTest : public DamagedStoreTest {
 protected:
  void PutBoth(uint64_t first, uint64_t last) {
    for (const size_t node : {0, 1}) PutAll(node, first, last);
  }
  void Damage(const std::string& family, double from, double to) {
    DamagedStoreTest::Damage(family, from, to);
    EXPECT_FALSE(Compacts(family)) << "what salvage is for";
  }
  // Whether RocksDB can rewrite all files of a family of the closed store.
  bool Compacts(const std::string& family) const {
    const auto database = RocksInstance::Open({.path = rocks(), .compacts = false});
    return database.ok() && telltale::testing::CompactAll(**database, family);
  }
  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      files.insert(entry.path());
    }
    return files;
  }
  absl::StatusOr<SalvageReport> Salvage() {
    store_.reset();
    return storage::Salvage({.data = dir_.path(),
                             .memory_bytes = 32 << 20,
                             .now_ns = [this] { return now_ns_; },
                             .free_bytes = free_bytes_});
  }
  SalvageReport Salvaged(const std::string& family) {
    auto report = Salvage();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) {
      Open();
      return {};
    }
    EXPECT_THAT(report->files, ElementsAre(Field(&DamagedFile::name, file_)));
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
  static void ExpectSame(const Rows& rows, const Rows& want) {
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
  Rows RowsOf(Family family) const {
    Rows rows;
    EXPECT_TRUE(store_->history()
                    .Scan(family, "", "",
                          [&](std::string_view key, std::string_view value) {
                            rows.emplace(key, value);
                            return true;
                          })
                    .ok());
    return rows;
  }

  std::function<uint64_t()> free_bytes_;  // empty: the system's
};

TEST_F(SalvageTest, LostEpochsAreTimeThatCannotBeReadAndNoOthersAreLost) {
  PutBoth(0, 599);
  RollUp(kStart + kDayNs + kHourNs);
  const auto before = RowsOf(Family::kRollup);
  Damage("raw", 0.3, 0.32);
  Open();
  const uint64_t readable[] = {SeenAndTold(0).first, SeenAndTold(1).first};
  const SalvageReport report = Salvaged("raw");
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_THAT(report.lost[0].place, HasSubstr("raw, behind node web-1 at 2026-02-16T"));
  EXPECT_THAT(report.lost[0].what, HasSubstr(file_));
  EXPECT_GT(report.told.epochs, 0u);

  uint64_t lost = 0;
  for (const size_t node : {0, 1}) {
    const auto [seen, told_ns] = SeenAndTold(node);
    EXPECT_NEAR(static_cast<double>(seen * kMinuteNs + told_ns), 600 * kMinuteNs, 1e9);
    EXPECT_EQ(seen, readable[node]);
    lost += 600 - seen;
  }
  EXPECT_EQ(report.told.epochs, lost);
  EXPECT_GT(lost, 0u);
  ExpectSame(RowsOf(Family::kRollup), before);  // windows made before stand
  EXPECT_EQ(store_->reader().Unreadable(Family::kRaw), 0u) << "is told, and no news any more";
  ExpectGood();
}

// Epochs begin some time after their minute; so what tells a lost one stands beside its place.
TEST_F(SalvageTest, ALostEpochThatIsSentAgainWasTakenIn) {
  std::vector<uint64_t> late_ns(300);
  for (uint64_t minute = 0; minute < 300; ++minute) {
    late_ns[minute] = random_() % kSecondNs;
    ASSERT_EQ(*Put(0, minute, late_ns[minute]), Outcome::kStored);
  }
  Damage("raw", 0.3, 0.32);
  const SalvageReport report = Salvaged("raw");
  ASSERT_GT(report.told.epochs, 0u);
  for (uint64_t minute = 0; minute < 300; ++minute) {
    const auto again = Put(0, minute, late_ns[minute]);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, Outcome::kRepeat) << minute;
  }
  EXPECT_EQ(*Put(0, 300), Outcome::kStored);
  EXPECT_EQ(store_->reader().Counters(nodes_[0]).epochs, 301u);
  EXPECT_EQ(store_->reader().Counters(nodes_[0]).apart, 0u);
}

TEST_F(SalvageTest, WindowsAreMadeAgainFromWhatStands) {
  PutBoth(0, 299);
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
  PutBoth(0, 599);
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
  PutBoth(0, 299);
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

// Cells of epochs that can be read, and that are told to be lost.
struct CellsSeen {
  uint64_t read = 0, told = 0;
};

TEST_F(SalvageTest, LostCellsAreToldAndTheirEpochsStand) {
  PutBoth(0, 599);
  const auto look = [this] {
    CellsSeen seen;
    for (const auto& [key, value] : RowsOf(Family::kRaw)) {
      const absl::Status cells = store_->reader().Cells(*DecodeRawKey(key)).status();
      EXPECT_FALSE(absl::IsNotFound(cells)) << "lost in silence";
      if (cells.ok()) ++seen.read;
      if (IsToldLoss(cells)) ++seen.told;
    }
    return seen;
  };
  Damage("cells", 0.3, 0.32);
  Open();
  const CellsSeen damaged = look();
  EXPECT_LT(damaged.read, 1200u);
  EXPECT_EQ(damaged.told, 0u);
  const SalvageReport report = Salvaged("cells");
  EXPECT_EQ(report.told.epochs, 0u);
  EXPECT_EQ(report.told.rows, 1200 - damaged.read);
  const CellsSeen salvaged = look();
  EXPECT_EQ(salvaged.read, damaged.read);
  EXPECT_EQ(salvaged.told, 1200 - damaged.read);
  for (const size_t node : {0, 1}) EXPECT_EQ(SeenAndTold(node).first, 600u);
  ExpectGood();
}

// Names of all code the nodes tell of, and behind them so many of another build that they are many
// blocks.
class SalvageNamesTest : public SalvageTest {
 protected:
  SalvageNamesTest() {
    TellNames();
    PutBoth(0, 59);
    RollUp(kStart + kDayNs + kHourNs);
    kept_ = NamesOfWindows();
    EXPECT_FALSE(kept_.empty());
  }
  void TellNames() {
    const v1::SummaryBody body = makers_[0].Body(1, kStart, 60);
    for (const v1::Mapping& mapping : body.tables().mappings()) {
      v1::Names names;
      names.set_build_id(mapping.build_id());
      for (const uint64_t offset : body.tables().frame_offset()) {
        names.add_offset(offset);
        names.add_name(absl::StrCat("function_", offset));
      }
      ASSERT_TRUE(store_->summaries().PutNames(nodes_[0], names).ok());
    }
    v1::Names others;
    others.set_build_id(std::string(20, 'z'));
    std::mt19937_64 same(7);
    for (uint64_t offset = 0; offset < 3000; ++offset) {
      others.add_offset(offset);
      others.add_name(absl::StrCat("function_", same()));
    }
    ASSERT_TRUE(store_->summaries().PutNames(nodes_[0], others).ok());
  }
  Rows NamesOfWindows() const {
    Rows rows = RowsOf(Family::kDict);
    std::erase_if(rows, [](const auto& row) {
      const auto key = DecodeNameKey(row.first);
      return !key.ok() || key->partition.tier == Tier::kRaw;
    });
    return rows;
  }

  Rows kept_;
};

TEST_F(SalvageNamesTest, NamesOfWindowsAreCopiedAgainFromWhereTheyStand) {
  Damage("dict", 0.99, 1.0);
  Salvaged("dict");
  ExpectSame(NamesOfWindows(), kept_);
  ExpectGood();
}

TEST_F(SalvageNamesTest, NamesThatStandNowhereAreThoseOfWindowsWhenTheyAreToldAgain) {
  Damage("dict", 0.0, 1.0);
  const SalvageReport report = Salvaged("dict");
  EXPECT_THAT(report.lost, SizeIs(1));
  const std::string build(20, 'z');
  EXPECT_FALSE(store_->reader().SymbolName(build, 0, nodes_[0]).has_value());
  TellNames();
  EXPECT_TRUE(store_->reader().SymbolName(build, 0, nodes_[0]).has_value());
  ExpectSame(NamesOfWindows(), kept_);
  ExpectGood();
}

TEST_F(SalvageTest, LostBodiesAreToldInTheirPlaceThoughNoTableIsDamaged) {
  PutBoth(0, 299);
  RollUp(kStart + kDayNs + kHourNs);
  WriteFiles();
  const Rows rows = RowsOf(Family::kRaw);
  store_.reset();
  const auto files = telltale::testing::BodiesIn(rocks());
  ASSERT_THAT(files, SizeIs(1));
  // One, and some next to each other.
  const auto bytes = static_cast<double>(fs::file_size(files[0]));
  telltale::testing::DamageFile(files[0], static_cast<uint64_t>(bytes * 0.3));
  for (double at = bytes * 0.6; at < bytes * 0.62; at += 512) {
    telltale::testing::DamageFile(files[0], static_cast<uint64_t>(at));
  }
  EXPECT_TRUE(Compacts("raw")) << "it stops nothing";
  Open();
  uint64_t lost = 0;
  for (const auto& [key, value] : rows) {
    if (absl::IsDataLoss(store_->history().Get(Family::kRaw, key).status())) ++lost;
  }
  const auto report = Salvage();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->files, IsEmpty());
  EXPECT_THAT(report->families, ElementsAre("raw"));
  EXPECT_GT(lost, 2u);
  EXPECT_EQ(report->bodies, lost);
  EXPECT_EQ(report->told.epochs, report->bodies);
  ASSERT_THAT(report->lost, SizeIs(2));
  EXPECT_THAT(report->lost[0].place, HasSubstr("raw, behind node web-1 at 2026-02-16T"));
  EXPECT_THAT(report->lost[1].place, HasSubstr("raw, behind node web-2 at 2026-02-16T"));
  const fs::directory_iterator there(dir_.path());
  EXPECT_EQ(std::distance(begin(there), end(there)), 1) << "the store alone";
  EXPECT_TRUE(fs::exists(files[0])) << "others have their bodies in it";
  Open();
  uint64_t seen = 0;
  for (const size_t node : {0, 1}) {
    const auto [read, told_ns] = SeenAndTold(node);
    EXPECT_EQ(read * kMinuteNs + told_ns, 300 * kMinuteNs);
    seen += read;
  }
  EXPECT_EQ(seen + report->bodies, 600u);
  ExpectGood();
  const auto again = Salvage();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->families, IsEmpty());
}

TEST_F(SalvageTest, WithoutRoomItSaysHowMuchItWantsAndChangesNothing) {
  PutBoth(0, 99);
  Damage("raw", 0.3, 0.5);
  // The tables are written twice, the second time as RocksDB rewrites them; bodies once; and logs.
  uint64_t want = 2 * fs::file_size(rocks() + "/" + file_) + (64 << 20);
  for (const auto& bodies : telltale::testing::BodiesIn(rocks())) want += fs::file_size(bodies);
  const std::set<std::string> files = Files();
  free_bytes_ = [want] { return want - 1; };
  const auto report = Salvage();
  ASSERT_TRUE(absl::IsResourceExhausted(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr(absl::StrCat(want >> 20, " MiB free on the file system of ",
                                           dir_.path(), ", want about ", (want >> 20) + 1, " MiB")),
                    HasSubstr("free space there, or copy"), HasSubstr("nothing was changed")));
  EXPECT_EQ(Files(), files);
  free_bytes_ = [want] { return want; };
  Salvaged("raw");
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
    WriteFiles();
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
  PutRows(ManyDaysOfCoverage(1));
  PutBoth(0, 0);
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
  PutBoth(0, 29);
  RollUp(kStart + kDayNs + kHourNs);
  PutBoth(30, 30);
  PutRows(ManyMarks());
  Damage("default", 0.4, 0.6);
  Salvaged("default");
  EXPECT_THAT(store_->Losses(), IsEmpty());
  EXPECT_THAT(store_->reader().Dirty(nodes_[1], kStart, kStart + kHourNs),
              Contains(DirtyKey{nodes_[1], Tier::k5Min, kStart + 30 * kMinuteNs}));
  RollUp(kStart + kDayNs + 2 * kHourNs);
  for (const size_t node : {0, 1}) EXPECT_EQ(Epochs(Tier::k1Day, node), 31u);
}

TEST_F(SalvageTest, WithoutLedgersItRefusesAndChangesNothing) {
  PutBoth(0, 9);
  PutRows(ManyLedgers(1));
  Damage("default", 0.5, 0.52);
  const std::set<std::string> files = Files();
  const auto report = Salvage();
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()),
              AllOf(HasSubstr("table of ledgers"), HasSubstr("an epoch could be counted twice"),
                    HasSubstr(file_), HasSubstr("telltale-collector restore"),
                    HasSubstr("nothing was changed")));
  EXPECT_EQ(Files(), files);
}

TEST_F(SalvageTest, WhoWasRevokedIsNotLetInByASalvage) {
  Rows rows;
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

// Of a kind of entries: done, refused, asked (storage/FORMAT.md, table 0e).
class SalvageAuditTest : public SalvageTest, public ::testing::WithParamInterface<char> {};

INSTANTIATE_TEST_SUITE_P(Kinds, SalvageAuditTest, ::testing::Values('\x00', '\x01', '\x02'));

TEST_P(SalvageAuditTest, WhoseEndIsLostGivesNoNumberTwice) {
  constexpr uint64_t kEntries = 3000;
  const std::string prefix({'\x0e', GetParam()});
  Rows rows;
  for (uint64_t i = 0; i < kEntries; ++i) {
    rows[prefix + EncodeU64(i)] = absl::StrCat(random_(), random_(), random_());
  }
  PutRows(rows);
  Damage("default", 0.9, 1.0);
  Salvaged("default");
  uint64_t read = 0, last = 0;
  ASSERT_TRUE(store_->catalog()
                  .Begin()
                  ->Scan(prefix, PrefixEnd(prefix),
                         [&](std::string_view key, std::string_view) {
                           ++read;
                           last = *DecodeU64(key.substr(prefix.size()));
                           return true;
                         })
                  .ok());
  EXPECT_LT(read, kEntries);
  EXPECT_GT(read, kEntries / 2);
  EXPECT_GE(last, kEntries);
}

TEST_F(SalvageTest, OfAGoodStoreNothingIsChanged) {
  PutBoth(0, 9);
  const auto report = Salvage();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->files, IsEmpty());
  const fs::directory_iterator there(dir_.path());
  EXPECT_EQ(std::distance(begin(there), end(there)), 1) << "the store alone";
  Open();
  EXPECT_EQ(SeenAndTold(0).first, 10u);
}

TEST_F(SalvageTest, WhatADamagedFileStoppedSaysWhatToDoAndStaysStopped) {
  PutBoth(0, 299);
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
