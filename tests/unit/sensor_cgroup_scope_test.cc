// Where a cgroup named by its path is looked for.

#include "agent/sensor/cgroup_scope.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace telltale::agent {
namespace {

constexpr char kBoth[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,memory\n"
    "30 25 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 25 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:6 master:1 - cgroup cgroup rw,memory\n";

TEST(CgroupMountTest, IsTheMemoryControllersOrThatOfVersionTwo) {
  EXPECT_EQ(*CgroupMount(kBoth, false), "/sys/fs/cgroup/memory");
  EXPECT_EQ(*CgroupMount(kBoth, true), "/sys/fs/cgroup/unified");
}

TEST(CgroupMountTest, SaysWhichHierarchyIsMountedNowhere) {
  const absl::Status none = CgroupMount("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", true).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_TRUE(absl::StrContains(none.message(), "version 2")) << none;
  EXPECT_TRUE(absl::StrContains(CgroupMount("", false).status().message(), "controller memory"));
}

TEST(CgroupMountTest, PassesOverLinesThatAreNone) {
  EXPECT_FALSE(CgroupMount("\n - \n1 2 3 4 5 6 - cgroup\nx - cgroup2 y z\n", false).ok());
  EXPECT_FALSE(CgroupMount("\n - \n1 2 3 - cgroup2\nx - cgroup2\n", true).ok());
}

TEST(CgroupIdTest, IsOfACgroupOnly) {
  const absl::Status plain = CgroupIdOf("/tmp").status();
  EXPECT_TRUE(absl::IsNotFound(plain));
  EXPECT_TRUE(absl::StrContains(plain.message(), "/tmp is no cgroup")) << plain;
  const absl::Status none = CgroupIdOf("/no/such/directory").status();
  EXPECT_TRUE(absl::StrContains(none.message(), "No such file")) << none;
}

}  // namespace
}  // namespace telltale::agent
