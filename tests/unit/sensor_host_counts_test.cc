// What the kernel counts by itself, as /proc/stat tells it.

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

}  // namespace
}  // namespace telltale::agent
