// Starting the sensor, again and again: what a start may lack now and then it must get in the end,
// or say that it is without it.

#include <gtest/gtest.h>

#include "agent/sensor/bpf_sensor.h"

namespace telltale::agent {
namespace {

constexpr int kStarts = 8;

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

}  // namespace
}  // namespace telltale::agent
