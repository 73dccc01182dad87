// What the kernel counts by itself, as /proc/stat tells it, and how fast that grows.

#include "agent/sensor/host_counts.h"

#include <gtest/gtest.h>

namespace telltale::agent {
namespace {

TEST(HostCountsTest, TellsSwitchesAndTasksBegun) {
  const auto counts = ParseHostCounts(
      "cpu  1 2 3\nintr 9 0 ctxt 7\nctxt 123456\nbtime 1\nprocesses 789\nprocs_running 1\n");
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->switches, 123456u);
  EXPECT_EQ(counts->tasks, 789u);
}

TEST(HostCountsTest, WithoutBothItKnowsNothing) {
  EXPECT_FALSE(ParseHostCounts("").has_value());
  EXPECT_FALSE(ParseHostCounts("cpu 1\nctxt 5\n").has_value());
  EXPECT_FALSE(ParseHostCounts("cpu 1\nctxt x\nprocesses 5\n").has_value());
}

TEST(HostCountsTest, ThisHostTellsThemAndTheyGrow) {
  const auto before = ReadHostCounts();
  if (!before.has_value()) GTEST_SKIP() << "SKIPPED: no counts in /proc/stat here";
  const auto after = ReadHostCounts();
  EXPECT_GE(after->switches, before->switches);
  EXPECT_GT(before->tasks, 0u);
}

TEST(HostPaceTest, TellsHowFastTheyGrowOnceItHasReadTwice) {
  HostPace pace;
  uint64_t switches = 1'000;
  const auto read = [&] { return std::optional(HostCounts{switches, switches / 10}); };
  constexpr uint64_t kSecond = 1'000'000'000;
  pace.Look(5 * kSecond, read);
  EXPECT_FALSE(pace.known());
  switches = 5'000;
  pace.Look(5 * kSecond + kSecond / 2, read);
  EXPECT_FALSE(pace.known()) << "within a second it does not read again";
  pace.Look(7 * kSecond, read);
  ASSERT_TRUE(pace.known());
  EXPECT_DOUBLE_EQ(pace.switches_per_s(), 2'000);
  EXPECT_DOUBLE_EQ(pace.tasks_per_s(), 200);
  pace.Look(9 * kSecond, read);
  EXPECT_DOUBLE_EQ(pace.switches_per_s(), 0);
  EXPECT_TRUE(pace.known()) << "for as long as it is asked";
  pace.Forget();
  EXPECT_FALSE(pace.known());
}

TEST(HostPaceTest, AHostThatDoesNotTellIsNotKnown) {
  HostPace pace;
  for (uint64_t at = 1; at < 5; ++at) {
    pace.Look(at * 1'000'000'000, [] { return std::optional<HostCounts>(); });
    EXPECT_FALSE(pace.known());
  }
}

}  // namespace
}  // namespace telltale::agent
