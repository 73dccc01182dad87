#include "sketch/sketch.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sketch/linear_count.h"

namespace telltale::sketch {
namespace {

Cells Empty(uint32_t rows, uint32_t columns, uint64_t seed_id = 1) {
  return {seed_id, rows, columns, std::vector<uint64_t>(size_t{rows} * columns)};
}

void Count(uint64_t hash, uint64_t weight, Cells& cells) {
  for (uint32_t row = 0; row < cells.rows; ++row) {
    cells.cell[size_t{row} * cells.columns + Column(hash, row, cells.columns)] += weight;
  }
}

TEST(CellsTest, TheTopBitsOfTheHashPickTheFirstRowsCell) {
  EXPECT_EQ(Column(0xab00'0000'0000'0000, 0, 256), 0xabu);
  EXPECT_EQ(Column(0xabcd'0000'0000'0000, 1, 256), 0xcdu);
  EXPECT_EQ(Column(0xabcd'0000'0000'0000, 0, 4096), 0xabcu);
}

TEST(CellsTest, EstimatesHoldTheExactWeightOfEveryLabel) {
  std::mt19937_64 random(5);
  for (const uint32_t rows : {1u, 2u}) {
    Cells cells = Empty(rows, 256);
    std::vector<std::pair<uint64_t, uint64_t>> exact;
    for (int i = 0; i < 2000; ++i) {
      exact.emplace_back(random(), random() % (uint64_t{1} << (1 + random() % 30)));
      Count(exact.back().first, exact.back().second, cells);
    }
    for (const auto& [hash, weight] : exact) {
      const uint64_t proved = weight / 2;
      const Interval interval = Estimate(cells, hash, proved);
      ASSERT_EQ(interval.low, proved);
      ASSERT_GE(interval.high, weight);
    }
  }
}

TEST(CellsTest, AddOnlyWithEqualSeedAndShape) {
  Cells a = Empty(1, 4), b = Empty(1, 4);
  Count(~uint64_t{0}, 5, a);
  Count(~uint64_t{0}, 7, b);
  ASSERT_TRUE(Add(b, a));
  EXPECT_EQ(a.cell[3], 12u);
  EXPECT_FALSE(Add(Empty(1, 4, 2), a)) << "other seed: labels lie elsewhere";
  EXPECT_FALSE(Add(Empty(2, 2), a));
  EXPECT_FALSE(Add(Empty(1, 8), a));
  EXPECT_EQ(a.cell[3], 12u);
  b.cell[3] = ~uint64_t{0};
  ASSERT_TRUE(Add(b, a));
  EXPECT_EQ(a.cell[3], ~uint64_t{0});
}

TEST(CellsTest, TheDigestTellsHowTheLoadLies) {
  Cells cells = Empty(2, 4);
  cells.cell = {0, 1, 5, 7, 13, 0, 0, 0};
  const LoadDigest digest = Digest(cells);
  EXPECT_EQ(digest.total, 13u);
  EXPECT_EQ(digest.exponents, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(digest.cells, (std::vector<uint64_t>{1, 2, 1}));
  EXPECT_EQ(LargestCellBound(digest.exponents, 100), 15u);
  EXPECT_EQ(LargestCellBound(digest.exponents, 9), 9u);
  EXPECT_EQ(LargestCellBound({}, 9), 0u);
  EXPECT_EQ(LargestCellBound(std::vector<uint32_t>{63}, ~uint64_t{0}), ~uint64_t{0});
}

TEST(LinearCountTest, IsWithinThreeStandardErrorsOfTheExactNumber) {
  std::mt19937_64 random(6);
  for (const size_t labels : {1, 10, 100, 1000, 4000, 10'000}) {
    std::vector<uint64_t> bitmap(64);
    for (size_t i = 0; i < labels; ++i) {
      const uint64_t bit = random() % 4096;
      bitmap[bit / 64] |= uint64_t{1} << bit % 64;
    }
    const Distinct distinct = CountDistinct(bitmap);
    EXPECT_FALSE(distinct.full);
    const auto exact = static_cast<double>(labels);
    EXPECT_NEAR(static_cast<double>(distinct.estimate), exact,
                1 + 3 * distinct.relative_error * exact)
        << labels;
    EXPECT_LT(distinct.relative_error, 0.05);
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
