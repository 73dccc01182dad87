// Names in damaged blocks are lost and nothing else is: what is told and kept beside them goes on,
// what is told again stands, and their periods go in their time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "storage/dictionary.h"
#include "storage/rocks_history.h"
#include "tests/support/damage.h"
#include "tests/support/named_locations.h"
#include "tests/support/temp_dir.h"

namespace telltale::storage {
namespace {

using telltale::testing::kNamedBuild;
using telltale::testing::Named;
using telltale::testing::TablesOf;
using ::testing::Contains;
using ::testing::IsEmpty;

constexpr uint64_t kWeekNs = 7 * kDayNs;
constexpr uint64_t kFirst = 3'000 * kWeekNs, kSecond = kFirst + kWeekNs;
constexpr uint64_t kNames = 3000;

class NamesDamageTest : public ::testing::Test {
 protected:
  // The names of two weeks, other offsets in each.
  NamesDamageTest() {
    Open();
    Tell(1, Many(0), kFirst);
    Tell(1, Many(kNames), kSecond);
  }
  void Open() {
    Close();
    auto opened = RocksDatabase::Open({.path = rocks(), .memory_bytes = 64 << 20});
    ASSERT_TRUE(opened.ok()) << opened.status();
    database_ = *std::move(opened);
    history_ = std::make_unique<RocksHistory>(database_.get());
    auto names = Dictionary::Open(history_.get());
    ASSERT_TRUE(names.ok()) << names.status();
    names_ = *std::move(names);
  }
  void Close() {
    names_.reset();
    history_.reset();
    database_.reset();
  }
  void Damage(double from, double to) {
    Close();
    ASSERT_NE(telltale::testing::DamageRows(rocks(), "dict", from, to), "");
    Open();
  }
  v1::Names Many(uint64_t first) {
    v1::Names names;
    names.set_build_id(kNamedBuild);
    for (uint64_t offset = first; offset < first + kNames; ++offset) {
      names.add_offset(offset);
      names.add_name(absl::StrCat("function_", random_(), random_()));
    }
    return names;
  }
  void Tell(uint32_t node, const v1::Names& names, uint64_t now_ns) {
    const auto told = names_->Tell(node, names, {now_ns, kFirst, 1 << 30});
    ASSERT_TRUE(told.ok()) << told.status();
    EXPECT_EQ(told->left_out, 0u);
  }
  bool HasName(uint64_t offset) const { return names_->Name(kNamedBuild, offset, 1).has_value(); }
  std::string rocks() const { return dir_.path() + "/rocks"; }

  telltale::testing::TempDir dir_;
  std::mt19937_64 random_{7};
  std::unique_ptr<RocksDatabase> database_;
  std::unique_ptr<RocksHistory> history_;
  std::unique_ptr<Dictionary> names_;
};

TEST_F(NamesDamageTest, APeriodWhoseBeginningIsLostIsThereAndCountsWhatItLost) {
  Damage(0.45, 0.55);
  EXPECT_THAT(names_->partitions(), Contains(NamePartitionOf(Tier::kRaw, kFirst)));
  EXPECT_THAT(names_->partitions(), Contains(NamePartitionOf(Tier::kRaw, kSecond)));
  const uint64_t rows = names_->Unreadable();
  EXPECT_GT(rows, kNames / 50);
  EXPECT_LT(rows, kNames);
  EXPECT_TRUE(HasName(0));
  EXPECT_FALSE(HasName(kNames));
  EXPECT_TRUE(HasName(2 * kNames - 1));
  EXPECT_GT(names_->Unreadable(), rows) << "counted as it is met";
}

TEST_F(NamesDamageTest, WindowsThatNeedALostNameAreMadeAndHaveItWhenItIsToldAgain) {
  Damage(0.45, 0.55);
  const absl::Status kept =
      names_->Keep(Tier::k5Min, kSecond, 1, TablesOf({0, kNames, 2 * kNames - 1}));
  ASSERT_TRUE(kept.ok()) << kept;
  EXPECT_FALSE(HasName(kNames));
  Tell(1, Named({{kNames, "again"}}), kSecond + kDayNs);
  EXPECT_EQ(names_->Name(kNamedBuild, kNames, 1), "again");
  // What windows keep outlives what was told.
  ASSERT_TRUE(names_->DropBefore(Tier::kRaw, kSecond + 2 * kWeekNs + Dictionary::kServesNs).ok());
  EXPECT_EQ(names_->Name(kNamedBuild, kNames, 1), "again");
  EXPECT_TRUE(HasName(2 * kNames - 1));
}

TEST_F(NamesDamageTest, APeriodThatIsLostAsAWholeGoesWithTheNextOne) {
  Damage(0.0, 0.6);
  EXPECT_THAT(names_->partitions(), Contains(NamePartitionOf(Tier::kRaw, kSecond)));
  EXPECT_FALSE(HasName(0));
  EXPECT_TRUE(HasName(2 * kNames - 1));
  ASSERT_TRUE(names_->DropBefore(Tier::kRaw, kSecond + kWeekNs + Dictionary::kServesNs).ok());
  EXPECT_THAT(names_->partitions(), IsEmpty());
}

}  // namespace
}  // namespace telltale::storage
