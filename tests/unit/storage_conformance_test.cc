// What every History and every Catalog must do, run against the model in memory and against
// RocksDB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fault_file_system.h"
#include "tests/support/storage_engines.h"

namespace telltale::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConformanceTest : public ::testing::TestWithParam<const char*> {
 protected:
  ConformanceTest() : engine_(testing::MakeEngine(GetParam())) {}
  History& history() { return engine_->history(); }
  Catalog& catalog() { return engine_->catalog(); }

  void Append(Family family, const std::string& key, const std::string& value) {
    const Row row{family, key, value, 0};
    ASSERT_TRUE(history().Append({&row, 1}).ok());
  }
  std::vector<std::string> Keys(Family family, const std::string& from, const std::string& to) {
    std::vector<std::string> keys;
    EXPECT_TRUE(history()
                    .Scan(family, from, to,
                          [&](std::string_view key, std::string_view) {
                            keys.emplace_back(key);
                            return true;
                          })
                    .ok());
    return keys;
  }
  static std::vector<std::string> CatalogRows(const Transaction& transaction,
                                              const std::string& from, const std::string& to) {
    std::vector<std::string> rows;
    EXPECT_TRUE(transaction
                    .Scan(from, to,
                          [&](std::string_view key, std::string_view value) {
                            rows.push_back(std::string(key) + "=" + std::string(value));
                            return true;
                          })
                    .ok());
    return rows;
  }

  std::unique_ptr<testing::StorageEngine> engine_;
};

TEST_P(ConformanceTest, ReadsBackWhatWasAppended) {
  Append(Family::kRaw, "k", std::string("\x01value", 6));
  ASSERT_TRUE(history().Sync().ok());
  EXPECT_EQ(*history().Get(Family::kRaw, "k"), std::string("\x01value", 6));
}

TEST_P(ConformanceTest, AFamilyDoesNotSeeAnothersRows) {
  Append(Family::kRaw, "k", "a");
  EXPECT_TRUE(absl::IsNotFound(history().Get(Family::kCells, "k").status()));
  EXPECT_THAT(Keys(Family::kSeries, "", ""), IsEmpty());
}

TEST_P(ConformanceTest, WritingARowTwiceChangesNothing) {
  Append(Family::kRollup, "k", "a");
  Append(Family::kRollup, "k", "a");
  EXPECT_THAT(Keys(Family::kRollup, "", ""), ElementsAre("k"));
  EXPECT_EQ(*history().Get(Family::kRollup, "k"), "a");
}

TEST_P(ConformanceTest, TheLaterVersionOfARowStands) {
  const Row first{Family::kRollup, "k", "old", 1};
  const Row second{Family::kRollup, "k", "new", 2};
  ASSERT_TRUE(history().Append({&first, 1}).ok());
  ASSERT_TRUE(history().Append({&second, 1}).ok());
  EXPECT_EQ(*history().Get(Family::kRollup, "k"), "new");
}

TEST_P(ConformanceTest, ScansAreOrderedAndHalfOpen) {
  for (const char* key : {"c", "a", "d", "b"}) Append(Family::kRaw, key, "v");
  EXPECT_THAT(Keys(Family::kRaw, "b", "d"), ElementsAre("b", "c"));
  EXPECT_THAT(Keys(Family::kRaw, "b", ""), ElementsAre("b", "c", "d"));
  EXPECT_THAT(Keys(Family::kRaw, "x", "y"), IsEmpty());
}

TEST_P(ConformanceTest, KeysOrderAsUnsignedBytes) {
  Append(Family::kRaw, "\xff", "v");
  Append(Family::kRaw, std::string("\0", 1), "v");
  Append(Family::kRaw, "\x7f", "v");
  EXPECT_THAT(Keys(Family::kRaw, "", ""), ElementsAre(std::string("\0", 1), "\x7f", "\xff"));
}

TEST_P(ConformanceTest, AVisitorMayEndTheScan) {
  for (const char* key : {"a", "b", "c"}) Append(Family::kRaw, key, "v");
  int seen = 0;
  ASSERT_TRUE(history()
                  .Scan(Family::kRaw, "", "",
                        [&](std::string_view, std::string_view) { return ++seen < 2; })
                  .ok());
  EXPECT_EQ(seen, 2);
}

TEST_P(ConformanceTest, AScanSeesTheMomentItBegan) {
  Append(Family::kRaw, "a", "v");
  Append(Family::kRaw, "b", "v");
  std::vector<std::string> seen;
  ASSERT_TRUE(history()
                  .Scan(Family::kRaw, "", "",
                        [&](std::string_view key, std::string_view) {
                          seen.emplace_back(key);
                          Append(Family::kRaw, "aa", "later");
                          return true;
                        })
                  .ok());
  EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST_P(ConformanceTest, DroppingARangeTakesExactlyIt) {
  for (const char* key : {"a", "b", "c", "d"}) Append(Family::kRaw, key, "v");
  Append(Family::kCells, "b", "v");
  ASSERT_TRUE(history().DropRange(Family::kRaw, "b", "d").ok());
  EXPECT_THAT(Keys(Family::kRaw, "", ""), ElementsAre("a", "d"));
  EXPECT_THAT(Keys(Family::kCells, "", ""), ElementsAre("b"));
  Append(Family::kRaw, "b", "again");
  EXPECT_EQ(*history().Get(Family::kRaw, "b"), "again");
}

TEST_P(ConformanceTest, SizeGrowsWithWhatIsStored) {
  const uint64_t before = history().Size(Family::kRaw)->bytes;
  Append(Family::kRaw, "k", std::string(1 << 20, 'x'));
  EXPECT_GE(history().Size(Family::kRaw)->bytes, before + (1 << 20));
}

TEST_P(ConformanceTest, ATransactionReadsItsOwnWrites) {
  auto seed = catalog().Begin();
  seed->Put("a", "1");
  seed->Put("c", "3");
  ASSERT_TRUE(seed->Commit(Durability::kDurable).ok());

  auto transaction = catalog().Begin();
  transaction->Put("b", "2");
  transaction->Put("c", "4");
  transaction->Put("z", "9");
  transaction->Delete("a");
  EXPECT_EQ(*transaction->Get("b"), "2");
  EXPECT_TRUE(absl::IsNotFound(transaction->Get("a").status()));
  EXPECT_THAT(CatalogRows(*transaction, "", ""), ElementsAre("b=2", "c=4", "z=9"));
  EXPECT_THAT(CatalogRows(*transaction, "b", "c"), ElementsAre("b=2"));
}

TEST_P(ConformanceTest, WithoutACommitNothingHappened) {
  {
    auto transaction = catalog().Begin();
    transaction->Put("a", "1");
  }
  EXPECT_TRUE(absl::IsNotFound(catalog().Begin()->Get("a").status()));
}

TEST_P(ConformanceTest, RowsTakenByATransactionStandOrFallWithIt) {
  const Row row{Family::kRaw, "k", "v", 0};
  const bool taken = catalog().Begin()->AppendWith(history(), {&row, 1});
  EXPECT_TRUE(absl::IsNotFound(history().Get(Family::kRaw, "k").status()));
  EXPECT_EQ(taken, std::string(GetParam()) == "rocks") << "two memories are two stores";
  if (!taken) return;
  auto kept = catalog().Begin();
  ASSERT_TRUE(kept->AppendWith(history(), {&row, 1}));
  EXPECT_TRUE(absl::IsNotFound(history().Get(Family::kRaw, "k").status()));
  ASSERT_TRUE(kept->Commit(Durability::kBuffered).ok());
  EXPECT_EQ(*history().Get(Family::kRaw, "k"), "v");
}

TEST_P(ConformanceTest, RowsOfAnotherHistoryAreNotTaken) {
  const auto other = testing::MakeEngine(GetParam());
  const Row row{Family::kRaw, "k", "v", 0};
  EXPECT_FALSE(catalog().Begin()->AppendWith(other->history(), {&row, 1}));
}

TEST_P(ConformanceTest, ATransactionSeesTheMomentItBegan) {
  auto reader = catalog().Begin();
  auto writer = catalog().Begin();
  writer->Put("a", "1");
  ASSERT_TRUE(writer->Commit(Durability::kBuffered).ok());
  EXPECT_TRUE(absl::IsNotFound(reader->Get("a").status()));
  EXPECT_THAT(CatalogRows(*reader, "", ""), IsEmpty());
  EXPECT_EQ(*catalog().Begin()->Get("a"), "1");
}

TEST_P(ConformanceTest, DeletedIsGoneAfterTheCommit) {
  auto first = catalog().Begin();
  first->Put("a", "1");
  ASSERT_TRUE(first->Commit(Durability::kDurable).ok());
  auto second = catalog().Begin();
  second->Delete("a");
  ASSERT_TRUE(second->Commit(Durability::kDurable).ok());
  EXPECT_TRUE(absl::IsNotFound(catalog().Begin()->Get("a").status()));
}

TEST_P(ConformanceTest, AScanOverIsAScanWhereNothingIsDamaged) {
  for (const char* key : {"a", "b", "c", "d"}) Append(Family::kRaw, key, key);
  auto transaction = catalog().Begin();
  for (const char* key : {"a", "b", "c", "d"}) transaction->Put(key, key);
  ASSERT_TRUE(transaction->Commit(Durability::kBuffered).ok());
  const auto read = catalog().Begin();
  read->Put("bb", "of its own");
  const DamageVisitor damaged = [](const DamagedRange& range) {
    ADD_FAILURE() << "damaged behind " << range.after << ": " << range.why;
  };
  using Rows = std::vector<std::pair<std::string, std::string>>;
  for (const auto& [from, to] : Rows{{"", ""}, {"b", "d"}, {"b", ""}, {"x", "y"}}) {
    for (const size_t most : {1u, 9u}) {
      Rows scanned, over, catalog_scanned, catalog_over;
      const auto into = [most](Rows& rows) {
        return [most, &rows](std::string_view key, std::string_view value) {
          rows.emplace_back(key, value);
          return rows.size() < most;
        };
      };
      EXPECT_TRUE(history().Scan(Family::kRaw, from, to, into(scanned)).ok());
      EXPECT_TRUE(history().ScanOver(Family::kRaw, from, to, into(over), damaged).ok());
      EXPECT_EQ(over, scanned) << from << " to " << to;
      EXPECT_TRUE(read->Scan(from, to, into(catalog_scanned)).ok());
      EXPECT_TRUE(read->ScanOver(from, to, into(catalog_over), damaged).ok());
      EXPECT_EQ(catalog_over, catalog_scanned) << from << " to " << to;
    }
  }
}

TEST_P(ConformanceTest, TwoWritersLoseNothingAndAReaderSeesWholeCommits) {
#ifdef __SANITIZE_THREAD__
  if (std::string(GetParam()) == "rocks") {
    GTEST_SKIP() << "Debian's RocksDB is not built for the thread sanitizer, which cannot see how "
                    "its threads wait for each other";
  }
#endif
  constexpr int kRounds = 2000;
  std::atomic<int> writing{2};
  const auto write = [&](const std::string& name) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string number = std::to_string(round);
      Append(Family::kRaw, name + number, number);
      auto transaction = catalog().Begin();
      transaction->Put(name + "1", number);
      transaction->Put(name + "2", number);
      EXPECT_TRUE(transaction->Commit(Durability::kBuffered).ok());
    }
    --writing;
  };
  std::thread first(write, "a"), second(write, "b");
  while (writing > 0) {
    const auto read = catalog().Begin();
    for (const std::string name : {"a", "b"}) {
      const auto one = read->Get(name + "1"), other = read->Get(name + "2");
      EXPECT_EQ(one.value_or("none"), other.value_or("none"));
    }
  }
  first.join();
  second.join();
  EXPECT_EQ(Keys(Family::kRaw, "", "").size(), 2u * kRounds);
  for (const char* name : {"a", "b"}) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string number = std::to_string(round);
      const auto value = history().Get(Family::kRaw, name + number);
      ASSERT_TRUE(value.ok()) << name << number;
      EXPECT_EQ(*value, number);
    }
  }
}

// On a machine that can lose its power; of the model nothing is lost with it.
class PowerTest : public ConformanceTest {
 protected:
  PowerTest() {
    if (std::string(GetParam()) == "rocks") {
      engine_ = std::make_unique<testing::RocksEngine>(env_.get());
    }
  }
  ~PowerTest() override { engine_.reset(); }  // before its disk
  void LosePower() {
    auto* const rocks = dynamic_cast<testing::RocksEngine*>(engine_.get());
    if (rocks == nullptr) return;
    rocks->Close();
    disk_->CutPower(/*seed=*/0);  // nothing that was not synced comes through
    rocks->Open();
  }
  bool Has(const std::string& key) { return catalog().Begin()->Get(key).ok(); }
  void Commit(const std::string& key, Durability durability) {
    auto transaction = catalog().Begin();
    transaction->Put(key + "1", "v");
    transaction->Put(key + "2", "v");
    ASSERT_TRUE(transaction->Commit(durability).ok());
  }

 private:
  const testing::TempDir keep_;
  const std::shared_ptr<testing::FaultFileSystem> disk_ =
      std::make_shared<testing::FaultFileSystem>(keep_.path() + "/keep");
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
};

TEST_P(PowerTest, WhatWasAppendedBeforeASyncIsThereAfterwards) {
  Append(Family::kRaw, "a", "1");
  Append(Family::kRollup, "b", "2");
  ASSERT_TRUE(history().Sync().ok());
  Append(Family::kRaw, "c", "3");
  LosePower();
  EXPECT_EQ(*history().Get(Family::kRaw, "a"), "1");
  EXPECT_EQ(*history().Get(Family::kRollup, "b"), "2");
  Append(Family::kRaw, "c", "3");
  EXPECT_EQ(*history().Get(Family::kRaw, "c"), "3");
}

TEST_P(PowerTest, ADurableCommitIsThereAfterwardsWithTheRowsItTookAndAllBeforeIt) {
  Commit("before", Durability::kBuffered);
  bool taken = false;
  {
    const Row row{Family::kRaw, "k", "v", 0};
    auto transaction = catalog().Begin();
    transaction->Put("a", "1");
    taken = transaction->AppendWith(history(), {&row, 1});
    ASSERT_TRUE(transaction->Commit(Durability::kDurable).ok());
  }
  LosePower();
  ASSERT_TRUE(Has("a") && Has("before1") && Has("before2"));
  EXPECT_EQ(history().Get(Family::kRaw, "k").ok(), taken);
}

TEST_P(PowerTest, ABufferedCommitIsThereAfterwardsAsAWholeOrNotAtAll) {
  Commit("a", Durability::kDurable);
  Commit("b", Durability::kBuffered);
  LosePower();
  EXPECT_TRUE(Has("a1"));
  EXPECT_EQ(Has("b1"), Has("b2"));
}

TEST_P(PowerTest, TheBytesOfRangesAddUpToThoseOfTheWhole) {
  constexpr int kRows = 3000;
  for (int i = 0; i < kRows; ++i) {
    std::string value(1000, 'v');
    std::mt19937 random(static_cast<uint32_t>(i));
    for (char& byte : value) byte = static_cast<char>(random());  // nothing to compress
    Append(Family::kRollup, std::to_string(10'000 + i), value);
  }
  ASSERT_TRUE(history().Sync().ok());
  LosePower();  // now they lie in files, of which the sizes of ranges are known best
  const auto bytes = [this](const std::string& from, const std::string& to) {
    return static_cast<double>(history().RangeBytes(Family::kRollup, from, to).value_or(0));
  };
  const double whole = bytes("", "");
  EXPECT_NEAR(whole, kRows * 1000.0, kRows * 100.0);
  EXPECT_NEAR(bytes("", "11000") + bytes("11000", "12000") + bytes("12000", ""), whole, whole / 20);
  EXPECT_NEAR(bytes("11000", "12000"), whole / 3, whole / 20);
  EXPECT_EQ(bytes("x", "y"), 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, PowerTest, ::testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });
INSTANTIATE_TEST_SUITE_P(Engines, ConformanceTest, ::testing::Values("memory", "rocks"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace telltale::storage
