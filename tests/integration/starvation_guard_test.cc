// The guard on this host's scheduler: a real-time task leaves nothing to an ordinary one.

#include "agent/supervise/starvation_guard.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "agent/clock_ns.h"

namespace telltale::agent {
namespace {

using namespace std::chrono_literals;

void PinToTheFirstCpu() {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  CPU_ZERO(&one);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

TEST(StarvationGuardTest, AThreadThatGetsNoCpuIsPutFirstUntilItHasRun) {
  StarvationGuard guard({.look_every = 20ms, .first_for = 5ms, .priority = 2});
  if (const absl::Status started = guard.Start(); !started.ok()) {
    GTEST_SKIP() << "SKIPPED: no real-time priority here: " << started.message();
  }
  // None of the threads that it finds first.
  std::this_thread::sleep_for(100ms);
  std::atomic<bool> done = false, hogging = false;
  // The lowest real-time priority: it leaves ordinary tasks 50 ms of each second.
  std::thread hog([&] {
    PinToTheFirstCpu();
    const sched_param parameter = {.sched_priority = 1};
    hogging = sched_setscheduler(0, SCHED_FIFO, &parameter) == 0;
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!done && std::chrono::steady_clock::now() < end) {
    }
    hogging = false;
  });
  int policy_after = -1;
  std::thread starved([&] {
    while (!hogging) std::this_thread::sleep_for(1ms);
    PinToTheFirstCpu();
    for (int turn = 0; turn < 5; ++turn) {
      const uint64_t end = ClockNs(CLOCK_THREAD_CPUTIME_ID) + 20'000'000;
      while (ClockNs(CLOCK_THREAD_CPUTIME_ID) < end) {
      }
    }
    done = true;
    while (guard.GetStats().rescues > 0 &&
           (policy_after = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR) {
      std::this_thread::sleep_for(1ms);
    }
  });
  starved.join();
  hog.join();
  const StarvationGuard::Stats stats = guard.GetStats();
  EXPECT_GE(stats.rescues, 1U);
  EXPECT_EQ(stats.refused, 0U);
  EXPECT_GE(stats.starved_ns, stats.rescues * 20'000'000);
  EXPECT_EQ(policy_after, SCHED_OTHER);
}

}  // namespace
}  // namespace telltale::agent
