#include "sketch/sketch.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sketch/layout.h"
#include "sketch/linear_count.h"

namespace telltale::sketch {
namespace {

TEST(CellsTest, TheTopBitsOfTheHashPickTheCell) {
  EXPECT_EQ(Column(0xab00'0000'0000'0000, 256), 0xabu);
  EXPECT_EQ(Column(0xabcd'0000'0000'0000, 4096), 0xabcu);
  EXPECT_EQ(Column(0xabcd'0000'0000'0000, 1), 0u);
}

TEST(CellsTest, TheDigestTellsHowTheLoadLies) {
  const LoadDigest digest = Digest(std::vector<uint64_t>{0, 1, 5, 7, 13, 0, 0, 0});
  EXPECT_EQ(digest.exponents, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(digest.cells, (std::vector<uint64_t>{1, 2, 1}));
  EXPECT_EQ(LargestCellBound(digest.exponents, 100), 15u);
  EXPECT_EQ(LargestCellBound(digest.exponents, 9), 9u);
  EXPECT_EQ(LargestCellBound({}, 9), 0u);
  EXPECT_EQ(LargestCellBound(std::vector<uint32_t>{63}, ~uint64_t{0}), ~uint64_t{0});
}

TEST(LinearCountTest, IsWithinThreeStandardErrorsOfTheExactNumber) {
  std::mt19937_64 random(6);
  for (const size_t labels : {1, 10, 100, 1000, 4000, 20'000}) {
    std::vector<uint64_t> bitmap(TELLTALE_BITMAP_BITS / 64);
    for (size_t i = 0; i < labels; ++i) {
      const uint64_t bit = random() % TELLTALE_BITMAP_BITS;
      bitmap[bit / 64] |= uint64_t{1} << bit % 64;
    }
    const Distinct distinct = CountDistinct(bitmap);
    EXPECT_FALSE(distinct.full);
    const auto exact = static_cast<double>(labels);
    EXPECT_NEAR(static_cast<double>(distinct.estimate), exact,
                1 + 3 * distinct.relative_error * exact)
        << labels;
    EXPECT_LT(distinct.relative_error, 0.02) << "5 % is then more than two standard errors";
  }
}

TEST(LinearCountTest, SaysWhenTheBitmapIsFull) {
  const Distinct distinct = CountDistinct(std::vector<uint64_t>(64, ~uint64_t{0}));
  EXPECT_TRUE(distinct.full);
  EXPECT_EQ(distinct.estimate, 34'070u);  // 4096 ln 4096
  EXPECT_EQ(CountDistinct(std::vector<uint64_t>(64, 0)).estimate, 0u);
}

TEST(LinearCountTest, AddingCountsLabelsOfBothOnce) {
  std::vector<uint64_t> a{1, 0}, b{3, 0};
  ASSERT_TRUE(Add(b, a));
  EXPECT_EQ(a[0], 3u);
  EXPECT_FALSE(Add(std::vector<uint64_t>(3), a));
}

}  // namespace
}  // namespace telltale::sketch
