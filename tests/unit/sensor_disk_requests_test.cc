// Requests in flight, from the kernel's text.

#include "agent/sensor/disk_requests.h"

#include <sstream>

#include "gtest/gtest.h"

namespace telltale::agent {
namespace {

TEST(DiskRequestsTest, AddsWholeDisksAndLeavesOutPartitionsAndBrokenLines) {
  std::istringstream text(
      " 254       0 vda 36841 4 2 3 29014 6 7 8 5 10 11 0 0 0 0 0 0\n"
      " 254       1 vda1 36841 4 2 3 29014 6 7 8 5 10 11 0 0 0 0 0 0\n"
      " 254      16 vdb 1 4 2 3 1 6 7 8 2 10 11 0 0 0 0 0 0\n"
      " 253       0 vdc 1 4\n");
  EXPECT_EQ(DiskRequestsInFlight(text, [](const std::string& name) { return name != "vda1"; }), 7);
}

}  // namespace
}  // namespace telltale::agent
