#include "storage/node_book.h"

#include <gtest/gtest.h>

namespace telltale::storage {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

v1::SummaryBody Epoch(uint64_t length_s, uint32_t cpus, std::initializer_list<uint64_t> parts_ns) {
  v1::SummaryBody body;
  body.mutable_epoch()->set_start_mono_ns(100 * kSecond);
  body.mutable_epoch()->set_end_mono_ns((100 + length_s) * kSecond);
  body.mutable_gauges()->set_cpus_online(cpus);
  body.mutable_gauges()->set_budget_ppm(10'000);
  body.mutable_gauges()->mutable_part_cpu_ns()->Assign(parts_ns.begin(), parts_ns.end());
  return body;
}

TEST(NodeBookTest, TheCostIsAShareOfAllCpusOfTheLatestEpoch) {
  NodeBook book;
  AddTotals(Epoch(60, 1, {30 * kSecond}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 500'000u);
  AddTotals(Epoch(60, 4, {kSecond, 0, kSecond / 5}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 5'000u) << "1.2 s of 240 s";
  EXPECT_EQ(book.counters.budget_ppm, 10'000u);

  NodeBook read;
  ASSERT_TRUE(DecodeCounters(EncodeCounters(book), &read).ok());
  EXPECT_EQ(read.counters.cost_ppm, 5'000u);
  EXPECT_EQ(read.counters.budget_ppm, 10'000u);
  EXPECT_EQ(read.counters.LimitPpm(), 12'000u);
}

TEST(NodeBookTest, ALittleIsNotNothingAndAnAbsurdFigureIsNoMoreThanTheHost) {
  NodeBook book;
  AddTotals(Epoch(60, 64, {1}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 1u);
  AddTotals(Epoch(60, 1, {UINT64_MAX, UINT64_MAX}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 1'000'000u);
}

TEST(NodeBookTest, AnAgentThatDoesNotSayHasNoCost) {
  NodeBook book;
  AddTotals(Epoch(60, 4, {kSecond}), false, &book.counters);
  AddTotals(Epoch(60, 4, {}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 0u);
  AddTotals(Epoch(0, 4, {kSecond}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 0u) << "an epoch without length";
  AddTotals(Epoch(60, 0, {kSecond}), false, &book.counters);
  EXPECT_EQ(book.counters.cost_ppm, 0u) << "a host without CPUs";
}

}  // namespace
}  // namespace telltale::storage
