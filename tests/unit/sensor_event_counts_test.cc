#include "agent/sensor/event_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/governor/cost_model.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

// A storm's programs that are to come off, and that the kernel has not let go yet, still cost.
TEST(EventCounts, ProgramsOutsideOfTheirWindowsCostMoreThanHalfOfWhatCountingDoes) {
  const std::vector<telltale_cpu> cpus(2);
  const std::vector<const telltale_cpu*> blocks = {&cpus[0], &cpus[1]};
  const EventCounts before = CountEvents(blocks, 0);
  auto later = cpus;
  later[0].unseen[TELLTALE_SYSCALL - 1] = 600'000;
  later[1].unseen[TELLTALE_SYSCALL - 1] = 400'000;
  later[1].unseen[TELLTALE_USER_PAGE - 1] = 1'000'000;
  const std::vector<const telltale_cpu*> later_blocks = {&later[0], &later[1]};
  const double counting = 1e6 * (kEventNs[Index(Part::kSyscall)] + kEventNs[Index(Part::kFault)]);
  const double unseen = UnseenNs(CountEvents(later_blocks, 1), before);
  EXPECT_GT(unseen, 0.5 * counting);
  EXPECT_LT(unseen, counting);
}

TEST(EventCounts, SoftInterruptsCountWhetherTheirWindowIsOpenAndDoNotCostTwice) {
  std::vector<telltale_cpu> cpus(1);
  const std::vector<const telltale_cpu*> blocks = {&cpus[0]};
  cpus[0].unseen[TELLTALE_SOFTIRQ - 1] = 1'000'000;
  EXPECT_EQ(UnseenNs(CountEvents(blocks, 0), {}), 0);
}

// Its programs count on while they are read: the first look saw the switch and not yet that it was
// to a task of another cgroup.
TEST(EventCounts, SwitchesOfAQuietCgroupAreNeverLessThanNone) {
  std::vector<telltale_cpu> cpus(2);
  const std::vector<const telltale_cpu*> blocks = {&cpus[0], &cpus[1]};
  cpus[0].switches = 201;
  cpus[0].outside[TELLTALE_SCHED_DELAY - 1] = 200;
  const EventCounts first = CountEvents(blocks, 0);
  cpus[0].outside[TELLTALE_SCHED_DELAY - 1] = 201;
  const EventCounts second = CountEvents(blocks, 0);
  EXPECT_EQ(SwitchesInside(second, first), 0);
  cpus[1].switches = 40;
  cpus[1].outside[TELLTALE_SCHED_DELAY - 1] = 30;
  EXPECT_EQ(SwitchesInside(CountEvents(blocks, 0), second), 10);
}

}  // namespace
}  // namespace telltale::agent
