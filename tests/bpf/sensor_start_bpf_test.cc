// Starting the sensor, again and again: what a start may lack now and then it must get in the end,
// or say that it is without it.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "agent/sensor/bpf_group.h"
#include "agent/sensor/bpf_sensor.h"
#include "agent/sensor/mapped_array.h"
#include "agent/sensor/vital_groups.h"
#include "sketch/layout.h"

namespace telltale::agent {
namespace {

constexpr int kStarts = 8;

// How often the kernel's verifier may look at each instruction of a program.
constexpr uint64_t kMostVerified = 100;
constexpr uint64_t kMostCopiesKb = 128;

// Resident KB of this process's mappings called so, put together.
uint64_t MappedKb(std::string_view name, const std::function<uint64_t(uint64_t, uint64_t)>& add) {
  std::ifstream smaps("/proc/self/smaps");
  uint64_t kb = 0;
  bool of_name = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) of_name = line.ends_with(name);
    if (of_name && line.starts_with("Rss:")) kb = add(kb, std::stoul(line.substr(4)));
  }
  return kb;
}

TEST(SensorStartTest, EveryStartHasItsTimerOfTheSeconds) {
  for (int start = 0; start < kStarts; ++start) {
    BpfSensor sensor(BpfSensorOptions{});
    const absl::Status status = sensor.Start();
    if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status;
    for (const VitalStatus& vital : sensor.Status()) {
      EXPECT_EQ(vital.reason.find("seconds are"), std::string::npos) << vital.reason;
    }
  }
}

// Where the ticks of a machine come from elsewhere than the local APIC's timer.
TEST(SensorStartTest, ARungThatNothingPassesGivesWayToOneThatTicks) {
  const auto cpus = static_cast<uint32_t>(libbpf_num_possible_cpus());
  SharedMaps maps(cpus);
  std::unique_ptr<BpfGroup> tick;
  for (VitalGroup& group : VitalGroups()) {
    if (group.object == "tick") tick = std::make_unique<BpfGroup>("tick", group.rungs);
  }
  ASSERT_NE(tick, nullptr);
  if (const absl::Status status = tick->Start(maps); !status.ok()) GTEST_SKIP() << status.message();
  EXPECT_EQ(tick->why_not_higher(), "");
  ASSERT_TRUE(tick->StartLower("no tick came", maps).ok());
  EXPECT_EQ(tick->rung()->hook, "tp_btf/hrtimer_expire_entry");
  EXPECT_EQ(tick->why_not_higher(), "no tick came");
  MappedArray blocks;
  ASSERT_TRUE(blocks.Map(maps.fd("cpus"), sizeof(telltale_cpu), cpus + 1, "cpus").ok());
  const auto jiffies = [&] {
    uint64_t sum = 0;
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      sum += std::atomic_ref<uint64_t>(blocks.At<telltale_cpu>(cpu)->tick_jiffies).load();
    }
    return sum;
  };
  const uint64_t before = jiffies();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (jiffies() == before && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_NE(jiffies(), before);
  EXPECT_FALSE(tick->StartLower("that neither", maps).ok()) << "there is no third";
  EXPECT_EQ(tick->rung(), nullptr);
}

// How long a start takes, and so what a restart misses: that a program's loop is followed count by
// count was three seconds of both.
TEST(SensorStartTest, TheVerifierFollowsNoLoopCountByCount) {
  BpfSensor sensor(BpfSensorOptions{});
  const absl::Status status = sensor.Start();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  int programs = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    bpf_prog_info info = {};
    uint32_t length = sizeof(info);
    std::error_code closed;
    if (std::filesystem::read_symlink(file, closed) != "anon_inode:bpf-prog") continue;
    if (bpf_obj_get_info_by_fd(std::stoi(file.path().filename()), &info, &length) != 0) continue;
    ++programs;
    const uint64_t instructions = info.xlated_prog_len / sizeof(bpf_insn);
    EXPECT_LT(info.verified_insns, instructions * kMostVerified) << info.name;
  }
  EXPECT_GE(programs, 20);
}

// What libbpf keeps of the variables of each object is the same memory again, once an object.
TEST(SensorStartTest, KeepsNoCopiesOfTheMaps) {
  BpfSensor sensor(BpfSensorOptions{});
  const absl::Status status = sensor.Start();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  // Shared memory without a file; the maps themselves have one.
  EXPECT_LE(MappedKb("/dev/zero (deleted)", std::plus<>()), kMostCopiesKb) << "KB";
}

// Resident memory counts a ring that is mapped twice twice.
TEST(SensorStartTest, MapsItsRingOnce) {
  BpfSensor sensor(BpfSensorOptions{});
  const absl::Status status = sensor.Start();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  const uint64_t largest_kb =
      MappedKb("anon_inode:bpf-map", [](uint64_t a, uint64_t b) { return std::max(a, b); });
  EXPECT_GE(largest_kb, TELLTALE_RING_BYTES / 1024);
  EXPECT_LT(largest_kb, 3 * TELLTALE_RING_BYTES / 2 / 1024);
}

// Type information, relocations and instructions of each object: 2.6 MB.
TEST(SensorStartTest, KeepsNothingOfAnObjectButItsDescriptors) {
  BpfSensor sensor(BpfSensorOptions{});
  const uint64_t before = mallinfo2().uordblks;
  const absl::Status status = sensor.Start();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_LT(mallinfo2().uordblks, before + (1 << 20));
}

}  // namespace
}  // namespace telltale::agent
