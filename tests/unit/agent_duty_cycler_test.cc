// Programs that come and go, without a kernel: what a host sees that lets one wait long for either.

#include "agent/sensor/duty_cycler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

// A program that remembers when it might count.
class WatchedTimes {
 public:
  DutyCycler::Hooks Hooks(std::chrono::milliseconds to_attach = 0ms,
                          std::chrono::milliseconds to_detach = 0ms) {
    const auto attach = [to_attach] {
      std::this_thread::sleep_for(to_attach);
      return absl::OkStatus();
    };
    const auto detach = [to_detach] { std::this_thread::sleep_for(to_detach); };
    return {attach, detach, [this](bool open) { Gate(open); }};
  }
  // In seconds of the steady clock, those that are over.
  std::vector<std::pair<double, double>> Over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  static double Now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  void Gate(bool open) {
    const std::lock_guard lock(mutex_);
    if (!open && begin_ > 0) over_.emplace_back(begin_, Now());
    begin_ = open ? Now() : 0;
  }

  std::mutex mutex_;
  double begin_ = 0;  // 0: it may not
  std::vector<std::pair<double, double>> over_;
};

// Events that come evenly for a part of each period, and not at all in the rest.
struct Load {
  std::string name;
  double period_s = 1, busy = 1;
  double phase_s = 0;

  double EventsUntil(double at_s) const {
    const double periods = std::floor((at_s - phase_s) / period_s);
    const double inside = at_s - phase_s - periods * period_s;
    return busy * period_s * periods + std::min(inside, busy * period_s);
  }
  double Events(double from_s, double to_s) const {
    return EventsUntil(to_s) - EventsUntil(from_s);
  }
};

class DutyCyclerSumsTest : public ::testing::TestWithParam<int> {};

// What is seen an eighth of the time and stands for eight times as much adds up to what there was
// (Horvitz, Thompson, 1952), also of loads that repeat themselves: every seven periods, as one of
// 7 s does where periods take a second, or as often as the windows. Each period's window is a draw
// of its own, so the sums are off by no more than draws are, and a little for windows that the end
// cuts off.
TEST_P(DutyCyclerSumsTest, WhatIsSeenStandsForWhatThereWasWithoutBias) {
  constexpr double kPeriodS = 0.2, kRunS = 8;
  constexpr int kRuns = 64, kDutyLog2 = 3;
  constexpr double kDeviations = 4, kCutOff = 0.05;
  std::vector<WatchedTimes> watched(kRuns);
  std::vector<std::unique_ptr<DutyCycler>> cyclers;
  for (WatchedTimes& times : watched) {
    cyclers.push_back(std::make_unique<DutyCycler>(CostPace(0, kPeriodS, kPeriodS)));
    cyclers.back()->SetDuty(
        cyclers.back()->AddUnit(times.Hooks(std::chrono::milliseconds(GetParam()))), kDutyLog2);
  }
  std::this_thread::sleep_for(3s);  // until they are out of step
  const double begin = WatchedTimes::Now(), end = begin + kRunS;
  std::this_thread::sleep_for(std::chrono::duration<double>(kRunS + 2 * kPeriodS));
  cyclers.clear();

  size_t draws = 0;
  for (WatchedTimes& times : watched) {
    for (const auto& [from, to] : times.Over()) draws += to > begin && from < end ? 1 : 0;
  }
  ASSERT_GT(draws, 0U);
  for (const Load& load : {Load{"steady"}, Load{"every seven periods, half", 7 * kPeriodS, 0.5},
                           Load{"every seven periods, one", 7 * kPeriodS, 1.0 / 7},
                           Load{"every period, a quarter", kPeriodS, 0.25}}) {
    double there = 0, seen = 0;
    for (WatchedTimes& times : watched) {
      // The same moments for all runs: what always falls into windows of one kind would add up.
      Load of_run = load;
      of_run.phase_s = begin;
      there += of_run.Events(begin, end);
      for (const auto& [from, to] : times.Over()) {
        if (to <= begin || from >= end) continue;
        seen += of_run.Events(std::max(from, begin), std::min(to, end)) * (1 << kDutyLog2);
      }
    }
    const double error = std::sqrt((1 - load.busy) / load.busy / static_cast<double>(draws));
    EXPECT_NEAR(seen / there, 1, kDeviations * error + kCutOff) << load.name;
  }
}
// Milliseconds that attaching takes; as long as a period where a host lets tasks starve.
INSTANTIATE_TEST_SUITE_P(Attaching, DutyCyclerSumsTest, ::testing::Values(0, 100, 200));

// A change closes all windows; what they had seen until then counts, also where the kernel is busy
// with another program then and more changes come before it is done. Periods are long against what
// attaching takes on a busy host: a grace period of RCU.
TEST(DutyCyclerTest, WhatOthersAreTurnedDownAndUpForMakesNoSumWrong) {
  constexpr double kPeriodS = 0.5, kRunS = 12;
  constexpr int kRuns = 16, kDutyLog2 = 2;
  std::vector<WatchedTimes> watched(kRuns), turned(kRuns);
  std::vector<std::unique_ptr<DutyCycler>> cyclers;
  for (int run = 0; run < kRuns; ++run) {
    DutyCycler& cycler =
        *cyclers.emplace_back(std::make_unique<DutyCycler>(CostPace(0, kPeriodS, kPeriodS)));
    cycler.AddUnit(turned[run].Hooks(0ms, 40ms));
    cycler.AddUnit(watched[run].Hooks());
    cycler.SetDuty(0, kDutyLog2 + 1);
    cycler.SetDuty(1, kDutyLog2);
  }
  std::this_thread::sleep_for(1s);  // until each has a period behind it
  const double begin = WatchedTimes::Now(), end = begin + kRunS;
  for (bool away = true; WatchedTimes::Now() < end + 2 * kPeriodS; away = !away) {
    for (auto& cycler : cyclers) cycler->SetAway(0, away);
    std::this_thread::sleep_for(20ms);
    for (auto& cycler : cyclers) cycler->SetDuty(0, kDutyLog2 + 1);
    std::this_thread::sleep_for(380ms);
  }
  cyclers.clear();
  double seen = 0;
  for (WatchedTimes& times : watched) {
    for (const auto& [from, to] : times.Over()) {
      seen += std::max(0.0, std::min(to, end) - std::max(from, begin)) * (1 << kDutyLog2);
    }
  }
  EXPECT_NEAR(seen / (kRuns * kRunS), 1, 0.1);
}

}  // namespace
}  // namespace telltale::agent
