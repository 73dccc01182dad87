// How many bytes an epoch may have.

#include <gtest/gtest.h>

#include "agent/epoch/byte_bucket.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(ByteBucketTest, QuietEpochsSaveUpAndADebtOfAtMostOneEpochIsPaidBack) {
  ByteBucket bucket(
      {.mean_bytes = 100, .burst_bytes = 300, .hard_bytes = 1'000, .floor_bytes = 10});
  EXPECT_EQ(bucket.Budget(60 * kSecond), 300u);
  bucket.Spend(300);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 100u);
  bucket.Spend(0);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 200u);
  bucket.Spend(450);  // 250 too many, of which one epoch's 100 are owed
  EXPECT_EQ(bucket.Budget(60 * kSecond), 10u);
  bucket.Spend(0);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 100u);
}

TEST(ByteBucketTest, HonoursTheDaysLimit) {
  ByteBucket bucket({.mean_bytes = 16'384,
                     .burst_bytes = 16'384,
                     .hard_bytes = 262'144,
                     .floor_bytes = 0,
                     .bytes_per_day = 1'440'000});
  bucket.Spend(bucket.Budget(60 * kSecond));
  uint64_t spent = 0;
  for (int i = 0; i < 1'440; ++i) {
    const size_t budget = bucket.Budget(60 * kSecond);
    spent += budget;
    bucket.Spend(budget);
  }
  EXPECT_NEAR(static_cast<double>(spent), 1'440'000, 1'440);
}

}  // namespace
}  // namespace telltale::agent
