// Programs that come and go, without a kernel: what a host sees that lets one wait long for either.

#include "agent/sensor/duty_cycler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <thread>

namespace telltale::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

bool Await(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Windows every few milliseconds.
CostPace Often() { return {0, 0.005, 0.005}; }

struct Program {
  std::atomic<bool> attached = true, counts = true;
  std::atomic<int> windows = 0, blind_windows = 0;  // it may count; it may and is not there

  DutyCycler::Hooks Hooks(std::function<absl::Status()> attach = absl::OkStatus) {
    return {[this, attach] {
              absl::Status status = attach();
              attached = true;
              return status;
            },
            [this] { attached = false; },
            [this](bool open) {
              counts = open;
              if (!open) return;
              ++windows;
              if (!attached) ++blind_windows;
            }};
  }
};

TEST(DutyCyclerTest, WhatIsSeenPartOfTheTimeCountsOnlyWhileItIsAttached) {
  Program program;
  DutyCycler cycler(Often());
  const size_t unit = cycler.AddUnit(program.Hooks());
  cycler.SetDuty(unit, 1);
  EXPECT_FALSE(program.counts);
  EXPECT_TRUE(Await([&] { return program.windows >= 3; }));
  cycler.SetAway(unit, true);
  EXPECT_TRUE(cycler.Settled(kPatience));
  EXPECT_FALSE(program.attached || program.counts);
  cycler.SetAway(unit, false);
  cycler.SetDuty(unit, 0);
  EXPECT_TRUE(cycler.Settled(kPatience));
  EXPECT_TRUE(program.attached && program.counts);
  EXPECT_EQ(program.blind_windows, 0);
}

// On a host that lets ordinary tasks starve, attaching takes many seconds. The governor has other
// parts to turn down meanwhile.
TEST(DutyCyclerTest, NobodyWaitsForTheKernelToAttach) {
  std::latch begun(1), let_go(1);
  std::atomic<bool> first = true;
  Program slow, quick;
  DutyCycler cycler(Often());
  const size_t slow_unit = cycler.AddUnit(slow.Hooks([&] {
    if (first.exchange(false)) {
      begun.count_down();
      let_go.wait();
    }
    return absl::OkStatus();
  }));
  const size_t quick_unit = cycler.AddUnit(quick.Hooks());
  cycler.SetDuty(slow_unit, 1);
  begun.wait();
  std::future<std::string> governor = std::async(std::launch::async, [&] {
    cycler.SetDuty(slow_unit, 3);
    cycler.SetAway(quick_unit, true);
    cycler.Retry();
    return cycler.Problem(slow_unit);
  });
  const bool waits = governor.wait_for(kPatience) != std::future_status::ready;
  if (waits) let_go.count_down();
  ASSERT_FALSE(waits) << "until the kernel is done";
  EXPECT_EQ(governor.get(), "");
  EXPECT_FALSE(quick.counts) << "it goes on counting until the kernel is done with another";
  EXPECT_FALSE(cycler.Settled(0ms));
  let_go.count_down();
  EXPECT_TRUE(cycler.Settled(kPatience));
  EXPECT_FALSE(quick.attached);
}

TEST(DutyCyclerTest, WhatTheKernelRefusedIsToldAndTriedAgain) {
  std::atomic<bool> refused = true;
  Program program;
  DutyCycler cycler(Often());
  const size_t unit = cycler.AddUnit(program.Hooks([&]() -> absl::Status {
    return refused ? absl::ResourceExhaustedError("no room") : absl::OkStatus();
  }));
  cycler.SetAway(unit, true);
  ASSERT_TRUE(cycler.Settled(kPatience));
  cycler.SetAway(unit, false);
  ASSERT_TRUE(cycler.Settled(kPatience));
  EXPECT_EQ(cycler.Problem(unit), "no room");
  refused = false;
  cycler.Retry();
  ASSERT_TRUE(cycler.Settled(kPatience));
  EXPECT_EQ(cycler.Problem(unit), "");
}

}  // namespace
}  // namespace telltale::agent
