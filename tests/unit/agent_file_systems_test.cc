// Which file systems are asked before they are touched, on a made-up host.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "agent/symbols/block_device.h"
#include "agent/symbols/file_systems.h"
#include "tests/support/temp_dir.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t Number(uint64_t major, uint64_t minor) { return major << 20 | minor; }

class FileSystemsTest : public ::testing::Test {
 protected:
  fs::path root() const { return scratch_.path(); }
  void Write(const fs::path& path, std::string_view text) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // A block device at that place below /sys/devices.
  void AddDevice(const std::string& number, const std::string& place) const {
    const fs::path device = root() / "sys/devices" / place;
    Write(device / "dev", number + "\n");
    fs::create_directories(root() / "sys/dev/block");
    fs::create_directory_symlink(device, root() / "sys/dev/block" / number);
  }
  void AddSlave(const std::string& of, const std::string& place) const {
    const fs::path slaves = root() / "sys/devices/virtual/block" / of / "slaves";
    fs::create_directories(slaves);
    fs::create_directory_symlink(root() / "sys/devices" / place,
                                 slaves / fs::path(place).filename());
  }
  bool ByItself(uint64_t major, uint64_t minor) const {
    return AnswersByItself(scratch_.path(), Number(major, minor));
  }

  telltale::testing::TempDir scratch_;
};

TEST_F(FileSystemsTest, DisksOfABusAnswerByThemselvesAndThoseOfANetworkDoNot) {
  AddDevice("254:0", "pci0000:00/0000:00:02.0/virtio1/block/vda");
  AddDevice("8:0", "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda");
  AddDevice("8:16", "platform/host6/session1/target6:0:0/6:0:0:0/block/sdb");
  AddDevice("8:32", "pci0000:00/0000:00:03.0/host1/rport-1:0-0/target1:0:0/1:0:0:0/block/sdc");
  AddDevice("43:0", "virtual/block/nbd0");
  AddDevice("251:0", "rbd/0/block/rbd0");
  AddDevice("253:0", "virtual/block/zram0");
  EXPECT_TRUE(ByItself(254, 0));
  EXPECT_TRUE(ByItself(8, 0));
  EXPECT_FALSE(ByItself(8, 16)) << "iSCSI";
  EXPECT_FALSE(ByItself(8, 32)) << "Fibre Channel";
  EXPECT_FALSE(ByItself(43, 0)) << "NBD";
  EXPECT_FALSE(ByItself(251, 0)) << "RBD";
  EXPECT_TRUE(ByItself(253, 0)) << "memory";
  EXPECT_FALSE(ByItself(99, 9)) << "nothing is known of it";
}

TEST_F(FileSystemsTest, APartitionIsItsDisk) {
  const std::string disk = "pci0000:00/0000:00:02.0/virtio1/block/vda";
  AddDevice("254:1", disk + "/vda1");
  Write(root() / "sys/devices" / disk / "vda1/partition", "1\n");
  AddDevice("43:1", "virtual/block/nbd0/nbd0p1");
  Write(root() / "sys/devices/virtual/block/nbd0/nbd0p1/partition", "1\n");
  EXPECT_TRUE(ByItself(254, 1));
  EXPECT_FALSE(ByItself(43, 1));
}

TEST_F(FileSystemsTest, WhatIsMadeOfOtherDevicesAnswersIfAllOfThemDo) {
  const std::string near = "pci0000:00/0000:00:02.0/virtio1/block/vda",
                    far = "platform/host6/session1/target6:0:0/6:0:0:0/block/sdb";
  AddDevice("254:0", near);
  AddDevice("8:16", far);
  AddDevice("252:0", "virtual/block/dm-0");
  AddDevice("252:1", "virtual/block/dm-1");
  AddDevice("252:2", "virtual/block/dm-2");
  AddSlave("dm-0", near);
  AddSlave("dm-1", "virtual/block/dm-0");
  AddSlave("dm-2", "virtual/block/dm-0");
  AddSlave("dm-2", far);
  EXPECT_TRUE(ByItself(252, 0));
  EXPECT_TRUE(ByItself(252, 1)) << "of another layer";
  EXPECT_FALSE(ByItself(252, 2)) << "one of two is far away";
  AddDevice("252:3", "virtual/block/dm-3");
  AddSlave("dm-3", "virtual/block/dm-3");
  EXPECT_FALSE(ByItself(252, 3)) << "made of itself";
}

TEST_F(FileSystemsTest, ADiskOfSeveralControllersAnswersIfAllAreOnABus) {
  const std::string subsystem = "virtual/nvme-subsystem/nvme-subsys0";
  AddDevice("259:0", subsystem + "/nvme0n1");
  EXPECT_FALSE(ByItself(259, 0)) << "of no controller";
  const fs::path devices = root() / "sys/devices";
  fs::create_directories(devices / "pci0000:00/0000:00:04.0/nvme/nvme0");
  fs::create_directory_symlink(devices / "pci0000:00/0000:00:04.0/nvme/nvme0",
                               devices / subsystem / "nvme0");
  EXPECT_TRUE(ByItself(259, 0));
  fs::create_directories(devices / "virtual/nvme-fabrics/ctl/nvme1");
  fs::create_directory_symlink(devices / "virtual/nvme-fabrics/ctl/nvme1",
                               devices / subsystem / "nvme1");
  EXPECT_FALSE(ByItself(259, 0));
}

TEST_F(FileSystemsTest, WhatAProgramServesMayWaitOnABlockDeviceToo) {
  AddDevice("8:1", "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda");
  AddDevice("8:2", "pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0/block/sdb");
  AddDevice("43:0", "virtual/block/nbd0");
  Write(root() / "proc/42/mountinfo",
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 8:2 / /windows rw - fuseblk /dev/sdb rw\n"
        "3 1 43:0 / /far rw - ext4 /dev/nbd0 rw\n"
        "4 1 0:40 / /run rw - tmpfs none rw\n"
        "5 1 0:41 / /nfs rw - nfs4 server:/ rw\n");
  FileSystems files({.root = scratch_.path()});
  EXPECT_FALSE(files.MayWait(42, Number(8, 1)));
  EXPECT_TRUE(files.MayWait(42, Number(8, 2)));
  EXPECT_TRUE(files.MayWait(42, Number(43, 0)));
  EXPECT_FALSE(files.MayWait(42, Number(0, 40)));
  EXPECT_TRUE(files.MayWait(42, Number(0, 41)));
}

// What it does not list it may have had.
TEST_F(FileSystemsTest, WhatAProcessThatIsGoneHadMountedIsLookedForAgain) {
  AddDevice("8:2", "pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0/block/sdb");
  FileSystems files({.root = scratch_.path()});
  EXPECT_FALSE(files.MayWait(42, Number(8, 2)));
  Write(root() / "proc/43/mountinfo", "2 1 8:2 / /windows rw - fuseblk /dev/sdb rw\n");
  EXPECT_TRUE(files.MayWait(43, Number(8, 2)));
}

}  // namespace
}  // namespace telltale::agent
