#include "agent/host/mount_list.h"

#include <gtest/gtest.h>

namespace telltale::agent {
namespace {

constexpr const char* kText =
    "22 27 0:21 / /proc rw,nosuid shared:11 - proc proc rw\n"
    "27 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n"
    "90 27 0:53 / /mnt/the\\040tools ro shared:2 master:3 - nfs4 10.0.0.1:/tools ro,hard\n"
    "nonsense\n"
    "91 27 0:54 / /mnt\n"
    "92 27 0:55 / /home rw - fuse.sshfs somebody@there:/ rw\n"
    "93 27 0:56 / /home rw - tmpfs tmpfs rw\n";

TEST(MountListTest, NamesDevicePointAndTypeOfEachMount) {
  const std::vector<Mount> mounts = ParseMounts(kText, 100);
  ASSERT_EQ(mounts.size(), 5u) << "what is no mount is skipped";
  EXPECT_EQ(mounts[1].device, uint64_t{259} << 20 | 1);
  EXPECT_EQ(mounts[1].type, "ext4");
  EXPECT_EQ(mounts[2].device, 53u);
  EXPECT_EQ(mounts[2].point, "/mnt/the tools");
  EXPECT_EQ(mounts[2].type, "nfs4");
  EXPECT_EQ(mounts[2].options, "ro,hard");
  EXPECT_EQ(ParseMounts(kText, 2).size(), 2u);
}

TEST(MountListTest, APathLiesInTheMountThatCoversIt) {
  const std::vector<Mount> mounts = ParseMounts(kText, 100);
  EXPECT_EQ(MountOf(mounts, "/usr/bin/vim")->type, "ext4");
  EXPECT_EQ(MountOf(mounts, "/mnt/the tools/bin/vim")->type, "nfs4");
  EXPECT_EQ(MountOf(mounts, "/mnt/the toolshed")->type, "ext4") << "another directory";
  EXPECT_EQ(MountOf(mounts, "/home/a")->type, "tmpfs") << "mounted over the first";
  EXPECT_EQ(MountOf({}, "/usr"), nullptr);
}

}  // namespace
}  // namespace telltale::agent
