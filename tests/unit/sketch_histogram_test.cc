#include "sketch/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace telltale::sketch {
namespace {

// 2^(bucket / r) compared with a value without rounding: value^r against 2^bucket, in long
// multiplication of 32-bit digits.
bool AtLeastPower(uint64_t value, uint32_t r, uint32_t bucket) {
  std::vector<uint64_t> product{1};
  for (uint32_t i = 0; i < r; ++i) {
    std::vector<uint64_t> next(product.size() + 2, 0);
    const uint64_t digit[] = {value & 0xffffffff, value >> 32};
    for (size_t a = 0; a < product.size(); ++a) {
      uint64_t carry = 0;
      for (size_t b = 0; b < 2 || carry != 0; ++b) {
        const uint64_t sum = next[a + b] + carry + (b < 2 ? product[a] * digit[b] : 0);
        next[a + b] = sum & 0xffffffff;
        carry = sum >> 32;
      }
    }
    product = next;
  }
  // product >= 2^bucket iff some bit at `bucket` or above is set.
  for (size_t i = 0; i < product.size(); ++i) {
    for (uint32_t bit = 0; bit < 32; ++bit) {
      if ((product[i] >> bit & 1) != 0 && i * 32 + bit >= bucket) return true;
    }
  }
  return false;
}

std::vector<uint64_t> InterestingValues() {
  std::vector<uint64_t> values{0, 1, ~uint64_t{0}};
  std::mt19937_64 random(1);
  for (int exponent = 1; exponent < 64; ++exponent) {
    for (const double part : {0.0, 0.25, 0.5, 0.75}) {
      const auto middle = static_cast<uint64_t>(std::exp2(exponent + part));
      for (uint64_t step = 0; step < 4; ++step) {
        values.push_back(middle + step);
        values.push_back(middle - step);
      }
    }
    values.push_back(random() >> (63 - exponent));
  }
  for (uint32_t bucket = 1; bucket < BucketCount(4); ++bucket) {  // both sides of every bound
    values.push_back(BoundsOf(bucket, 4).low);
    values.push_back(BoundsOf(bucket, 4).low - 1);
  }
  return values;
}

TEST(HistogramTest, ABucketIsTheFloorOfRTimesTheLogarithm) {
  for (const uint32_t r : {1u, 2u, 4u}) {
    for (const uint64_t value : InterestingValues()) {
      const uint32_t bucket = BucketOf(value, r);
      ASSERT_LT(bucket, BucketCount(r));
      if (value == 0) {
        ASSERT_EQ(bucket, 0u);
        continue;
      }
      ASSERT_TRUE(AtLeastPower(value, r, bucket)) << value << " r " << r;
      ASSERT_FALSE(AtLeastPower(value, r, bucket + 1)) << value << " r " << r;
    }
  }
}

TEST(HistogramTest, BoundsAreTheFirstAndLastValueOfABucket) {
  for (const uint32_t r : {1u, 2u, 4u}) {
    uint64_t next = 0;
    for (uint32_t bucket = 0; bucket < BucketCount(r); ++bucket) {
      const BucketBounds bounds = BoundsOf(bucket, r);
      ASSERT_EQ(bounds.low, next) << "bucket " << bucket << " r " << r;
      next = bounds.high + 1;
      if (bounds.low > bounds.high) continue;  // no integer between
      ASSERT_EQ(BucketOf(bounds.low, r), bucket);
      ASSERT_EQ(BucketOf(bounds.high, r), bucket);
    }
    ASSERT_EQ(next, 0u) << "the last bucket ends with 64 bits";
  }
}

Histogram Of(const std::vector<uint64_t>& values, uint32_t r) {
  std::vector<uint64_t> dense(BucketCount(r));
  uint64_t sum = 0;
  for (const uint64_t value : values) {
    ++dense[BucketOf(value, r)];
    sum += value;
  }
  return Sparse(dense, r, sum);
}

void ExpectSame(const Histogram& a, const Histogram& b) {
  EXPECT_EQ(a.r, b.r);
  EXPECT_EQ(a.bucket, b.bucket);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.sum, b.sum);
}

std::vector<uint64_t> Latencies(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> draw(10, 2.5);
  std::vector<uint64_t> values;
  while (values.size() < count) values.push_back(static_cast<uint64_t>(draw(random)));
  return values;
}

TEST(HistogramTest, MergingEqualsCountingTogetherInAnyOrderAndGrouping) {
  const auto a = Latencies(1, 500), b = Latencies(2, 700), c = Latencies(3, 20);
  std::vector<uint64_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  Histogram left = Of(a, 4);
  Merge(Of(b, 4), left);
  Merge(Of(c, 4), left);
  Histogram right = Of(c, 4);
  Merge(Of(b, 4), right);
  Histogram nested = Of(a, 4);
  Merge(right, nested);
  ExpectSame(left, Of(all, 4));
  ExpectSame(nested, Of(all, 4));
}

TEST(HistogramTest, CoarserPartsAreExactlyWhatCountingWithThemGives) {
  const auto a = Latencies(4, 1000), b = Latencies(5, 1000);
  Histogram mixed = Of(a, 4);
  Merge(Of(b, 2), mixed);
  std::vector<uint64_t> all = a;
  all.insert(all.end(), b.begin(), b.end());
  ExpectSame(mixed, Of(all, 2));
  Coarsen(1, mixed);
  ExpectSame(mixed, Of(all, 1));
}

TEST(HistogramTest, AnyQuantileIsWithinNinePercentOfTheExactOne) {
  auto values = Latencies(6, 10'000);
  for (uint64_t& value : values) value += 1000;  // beyond where integers are coarser than buckets
  const Histogram histogram = Of(values, 4);
  std::ranges::sort(values);
  for (int percent = 0; percent <= 100; ++percent) {
    const double q = percent / 100.0;
    const size_t rank = std::max<size_t>(1, static_cast<size_t>(std::ceil(q * 10'000)));
    const auto exact = static_cast<double>(values[rank - 1]);
    EXPECT_NEAR(Quantile(histogram, q) / exact, 1, 0.091) << percent;
    const BucketBounds bounds = QuantileBounds(histogram, q);
    EXPECT_LE(bounds.low, values[rank - 1]);
    EXPECT_GE(bounds.high, values[rank - 1]);
  }
}

TEST(HistogramTest, AnEmptyHistogramHasNoQuantile) {
  EXPECT_EQ(QuantileBounds(Histogram{}, 0.5).high, 0u);
  EXPECT_EQ(Quantile(Histogram{}, 0.5), 0);
}

TEST(HistogramTest, HugeCountsSaturateInsteadOfBeginningAgain) {
  Histogram a{.r = 1, .bucket = {3}, .count = {~uint64_t{0} - 1}, .sum = ~uint64_t{0}};
  Merge(a, a);
  EXPECT_EQ(a.count[0], ~uint64_t{0});
  EXPECT_EQ(Quantile(a, 1), std::sqrt(8.0 * 15.0));
}

}  // namespace
}  // namespace telltale::sketch
