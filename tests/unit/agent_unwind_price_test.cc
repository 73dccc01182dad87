// What the governor takes a user stack to cost, by what unwinding took lately.

#include "agent/governor/unwind_price.h"

#include <gtest/gtest.h>

#include "agent/governor/parts.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kMs = 1'000'000, kUs = 1'000;

TEST(UnwindPriceTest, DearFirstStacksAreForgottenOnceNoneAreTaken) {
  UnwindPrice price;
  // Tables of every program are built: 10 stacks take 20 ms each.
  for (int i = 0; i < 10; ++i) price.Learn(0.1, 20 * kMs, 1, 0);
  EXPECT_GT(price.ns(), 2.0 * kMs);
  // Then it takes none, because they are so dear.
  for (int i = 0; i < 1'800; ++i) price.Learn(0.1, 0, 0, kUnwindNone);
  EXPECT_LT(price.ns(), 100.0 * kUs);
}

TEST(UnwindPriceTest, WhatStacksTakeIsTheirPriceAtEachLevel) {
  UnwindPrice whole, cut_short;
  for (int i = 0; i < 1'000; ++i) {
    whole.Learn(0.1, 5 * 50 * kUs, 5, 0);
    // A copy of 4 KB takes 0.4 of that.
    cut_short.Learn(0.1, 5 * 20 * kUs, 5, kUnwindShort);
  }
  EXPECT_NEAR(whole.ns(), 50.0 * kUs, 2.0 * kUs);
  EXPECT_NEAR(cut_short.ns(), whole.ns(), 1.0);
}

TEST(UnwindPriceTest, AProgramMetFirstIsOneStackAmongMany) {
  UnwindPrice price;
  for (int i = 0; i < 1'000; ++i) price.Learn(0.1, 10 * 20 * kUs, 10, 0);
  price.Learn(0.1, 20 * kMs, 1, 0);
  EXPECT_LT(price.ns(), 40.0 * kUs);
}

}  // namespace
}  // namespace telltale::agent
