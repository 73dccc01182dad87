// Starting the sensor, again and again: what a start may lack now and then it must get in the end,
// or say that it is without it.

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "agent/sensor/bpf_sensor.h"

namespace telltale::agent {
namespace {

constexpr int kStarts = 8;

// How often the kernel's verifier may look at each instruction of a program.
constexpr uint64_t kMostVerified = 200;
constexpr uint64_t kMostCopiesKb = 128;

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
  std::ifstream file("/proc/self/status");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "RssShmem:";
  ASSERT_NE(text.find(name), std::string::npos);
  EXPECT_LE(std::stoul(text.substr(text.find(name) + name.size())), kMostCopiesKb) << "KB";
}

}  // namespace
}  // namespace telltale::agent
