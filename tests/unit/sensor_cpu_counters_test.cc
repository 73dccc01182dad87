// One counter a CPU, through a fake of the kernel's performance events.

#include "agent/sensor/cpu_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/sensor/vital_groups.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sketch/vital_ids.h"
#include "tests/support/fake_perf_events.h"

namespace telltale::agent {
namespace {

using testing::HasSubstr;

constexpr PerfCounter kCounter = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1000};
constexpr int kProgram = 77;

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

class CpuCountersTest : public testing::Test {
 protected:
  absl::Status Start() { return counters_.Start(fake_, kCounter, kProgram); }

  FakePerfEvents fake_;
  CpuCounters counters_;
};

TEST_F(CpuCountersTest, OpensOneWithItsPeriodOnEachCpuAndRunsTheProgramThere) {
  fake_.cpus = {0, 1, 5};
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(counters_.gaps(), "");
  ASSERT_EQ(fake_.opened.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fake_.opened[i].cpu, fake_.cpus[i]);
    EXPECT_EQ(fake_.opened[i].counter.type, uint32_t{PERF_TYPE_HARDWARE});
    EXPECT_EQ(fake_.opened[i].counter.config, uint64_t{PERF_COUNT_HW_CACHE_MISSES});
    EXPECT_EQ(fake_.opened[i].counter.period, 1000U);
    EXPECT_EQ(fake_.ran.at(i), std::make_pair(fake_.opened[i].fd, kProgram));
  }
}

TEST_F(CpuCountersTest, ClosesThemWhenStopped) {
  fake_.cpus = {0, 1};
  ASSERT_TRUE(Start().ok());
  for (const auto& opened : fake_.opened) EXPECT_TRUE(IsOpen(opened.fd));
  counters_.Stop();
  for (const auto& opened : fake_.opened) EXPECT_FALSE(IsOpen(opened.fd));
}

// Counts time of a CPU, without a program.
class ClockPerfEvents : public FakePerfEvents {
 public:
  ClockPerfEvents() { stand_in = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1'000'000'000}; }
  int Run(int fd, int) override { return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0 ? 0 : -errno; }
  uint64_t Count() const {
    uint64_t count = 0;
    EXPECT_EQ(read(opened.at(0).fd, &count, sizeof count), static_cast<ssize_t>(sizeof count));
    return count;
  }
};

TEST(CpuCountersPauseTest, CountsNothingMeanwhile) {
  ClockPerfEvents perf;
  CpuCounters counters;
  if (const auto started = counters.Start(perf, kCounter, kProgram); !started.ok()) {
    GTEST_SKIP() << started;
  }
  const auto passes = [&] {
    const uint64_t before = perf.Count();
    usleep(2'000);
    return perf.Count() - before;
  };
  EXPECT_GT(passes(), 0u);
  counters.Pause();
  EXPECT_EQ(passes(), 0u);
  counters.GoOn();
  EXPECT_GT(passes(), 0u);
}

TEST_F(CpuCountersTest, ACpuThatWentOfflineLeavesAGapThatIsSaid) {
  fake_.cpus = {0, 1, 2};
  fake_.open_errors[1] = ENODEV;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(counters_.gaps(), "not counted on CPU 1: it is offline");
  EXPECT_EQ(fake_.ran.size(), 2U);
}

TEST_F(CpuCountersTest, SaysEveryReasonAndDoesNotListHundredsOfCpus) {
  fake_.cpus.clear();
  for (int cpu = 0; cpu < 200; ++cpu) {
    fake_.cpus.push_back(cpu);
    if (cpu >= 100) fake_.open_errors[cpu] = EMFILE;
  }
  fake_.open_errors[3] = EBUSY;
  ASSERT_TRUE(Start().ok());
  EXPECT_THAT(counters_.gaps(), HasSubstr("on CPU 3: others use all counters"));
  EXPECT_THAT(counters_.gaps(),
              HasSubstr("on CPUs 100, 101, 102, 103 and 96 more: no file descriptor left"));
}

TEST_F(CpuCountersTest, ACounterThatCannotRunTheProgramIsClosedAndAGap) {
  fake_.cpus = {0, 1};
  fake_.run_errors[1] = EINVAL;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(counters_.gaps(), "not counted on CPU 1: Invalid argument");
  EXPECT_TRUE(IsOpen(fake_.opened[0].fd));
  EXPECT_FALSE(IsOpen(fake_.opened[1].fd));
}

TEST_F(CpuCountersTest, NoneAtAllIsAnErrorWithTheReasonAndWhatToDo) {
  const struct {
    int error;
    const char* said;
  } kCases[] = {{ENOENT, "no hardware counters on this machine"},
                {EOPNOTSUPP, "no hardware counters on this machine"},
                {EACCES, "needs CAP_PERFMON"},
                {EPERM, "needs CAP_PERFMON"},
                {EMFILE, "raise it (LimitNOFILE, ulimit -n)"},
                {EBUSY, "kernel.nmi_watchdog=0"}};
  fake_.cpus = {0, 1};
  for (const auto& [error, said] : kCases) {
    fake_.open_errors = {{0, error}, {1, error}};
    const absl::Status status = Start();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(said));
  }
  EXPECT_TRUE(fake_.ran.empty());
}

TEST(PerfEventsTest, ReadsTheKernelsListsOfCpus) {
  EXPECT_EQ(ParseCpuList("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5"), (std::vector<int>{5}));
  EXPECT_EQ(ParseCpuList(""), std::vector<int>{});
  EXPECT_EQ(ParseCpuList("none,-2"), std::vector<int>{});
  EXPECT_EQ(ParseCpuList("0-999999999").size(), 8192U);
}

TEST(VitalGroupsTest, TheCacheVitalCountsMissesByHardware) {
  for (const VitalGroup& group : VitalGroups()) {
    const Rung& rung = group.rungs.front();
    if (group.vitals != std::vector<uint8_t>{TELLTALE_LLC}) {
      EXPECT_FALSE(rung.counter.has_value()) << group.object;
      continue;
    }
    ASSERT_TRUE(rung.counter.has_value());
    EXPECT_EQ(rung.counter->type, uint32_t{PERF_TYPE_HARDWARE});
    EXPECT_EQ(rung.counter->config, uint64_t{PERF_COUNT_HW_CACHE_MISSES});
    EXPECT_GE(rung.counter->period, 10'000U) << "interrupts cost";
  }
}

}  // namespace
}  // namespace telltale::agent
