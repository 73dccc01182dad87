// A scan steps over damaged blocks and over nothing else: what it does not show lies in the ranges
// it tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "storage/keys.h"
#include "storage/rocks_history.h"
#include "tests/support/damage.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::DamageFile;
using telltale::testing::TablesOf;
using ::testing::HasSubstr;

constexpr uint32_t kRows = 600;
constexpr size_t kValueBytes = 1000;  // that do not compress: 16 rows are a block
constexpr uint64_t kRowsOfABlock = 17;
constexpr Family kFamily = Family::kDerived;

class ScanOverTest : public ::testing::Test {
 protected:
  ScanOverTest() {
    Open();
    std::mt19937 random(7);
    std::vector<Row> rows;
    for (uint32_t node = 0; node < kRows; ++node) {
      std::string value(kValueBytes, '\0');
      for (char& byte : value) byte = static_cast<char>(random());
      rows.push_back({kFamily, KeyOf(node), std::move(value), 0});
    }
    EXPECT_TRUE(history_->Append(rows).ok());
    history_.reset();
    const auto instance = database_->Use();
    EXPECT_TRUE((*instance)->db().Flush({}, (*instance)->family(kFamily)).ok());
  }
  static std::string KeyOf(uint32_t node) { return EncodeDerivedKey({3, node, 20'500 * kDayNs}); }
  void Open() {
    history_.reset();
    database_.reset();
    auto opened = RocksDatabase::Open({.path = dir_.path(), .memory_bytes = 16 << 20});
    ASSERT_TRUE(opened.ok()) << opened.status();
    database_ = *std::move(opened);
    history_ = std::make_unique<RocksHistory>(database_.get());
  }
  // Of the family's one file, at so many thousandths of it.
  void Damage(const std::vector<int>& places) {
    history_.reset();
    database_.reset();
    const auto tables = TablesOf(dir_.path(), FamilyName(kFamily));
    ASSERT_EQ(tables.size(), 1u);
    file_ = tables[0].filename();
    const uint64_t bytes = kRows * kValueBytes;
    for (const int place : places) {
      DamageFile(tables[0], bytes * static_cast<uint64_t>(place) / 1000 + 20);
    }
    Open();
  }
  // The damaged ranges, after a look at the rest.
  std::vector<DamagedRange> Scan(const std::string& from = "", const std::string& to = "") {
    std::set<std::string> seen;
    std::vector<DamagedRange> ranges;
    const absl::Status scanned = history_->ScanOver(
        kFamily, from, to,
        [&](std::string_view key, std::string_view value) {
          EXPECT_EQ(value.size(), kValueBytes);
          EXPECT_TRUE(seen.emplace(key).second) << "shown twice";
          return true;
        },
        [&](const DamagedRange& range) { ranges.push_back(range); });
    EXPECT_TRUE(scanned.ok()) << scanned;
    uint64_t lost = 0, told = 0;
    for (uint32_t node = 0; node < kRows; ++node) {
      const std::string key = KeyOf(node);
      if (key < from || (!to.empty() && key >= to)) continue;
      const bool in_range = std::ranges::any_of(ranges, [&](const DamagedRange& range) {
        return key > range.after && (range.before.empty() || key < range.before);
      });
      EXPECT_EQ(seen.contains(key), !in_range) << "node " << node;
      lost += in_range ? 1 : 0;
    }
    for (const DamagedRange& range : ranges) {
      told += range.rows;
      EXPECT_THAT(range.why, HasSubstr(file_));
    }
    EXPECT_LE(lost, ranges.size() * kRowsOfABlock) << "a block costs itself and no more";
    // An estimate: of a block that a bound cuts it counts all.
    EXPECT_NEAR(static_cast<double>(told), static_cast<double>(lost),
                static_cast<double>(ranges.size()) * (to.empty() ? 2 : kRowsOfABlock));
    return ranges;
  }

  telltale::testing::TempDir dir_;
  std::unique_ptr<RocksDatabase> database_;
  std::unique_ptr<RocksHistory> history_;
  std::string file_;
};

TEST_F(ScanOverTest, WithoutDamageItIsAScan) {
  Open();
  EXPECT_TRUE(Scan().empty());
}

TEST_F(ScanOverTest, ABlockAmongOthersCostsItself) {
  Damage({500});
  EXPECT_EQ(Scan().size(), 1u);
}

TEST_F(ScanOverTest, RowsBetweenTwoDamagedBlocksAreShown) {
  Damage({300, 360, 700});
  EXPECT_EQ(Scan().size(), 3u);
}

TEST_F(ScanOverTest, TheFirstBlockAndTheLast) {
  Damage({0, 1005});
  const std::vector<DamagedRange> ranges = Scan();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].after, "");
  EXPECT_EQ(ranges[1].before, "");
}

TEST_F(ScanOverTest, ABoundedScanTellsNothingBeyondItsBounds) {
  Damage({500});
  EXPECT_TRUE(Scan(KeyOf(10), KeyOf(100)).empty());
  EXPECT_TRUE(Scan(KeyOf(400), "").empty());
  EXPECT_EQ(Scan(KeyOf(100), KeyOf(301)).size(), 1u) << "ends in the damaged block";
}

}  // namespace
}  // namespace telltale::storage
