// Requests that a full device sends back are issued again: that is no second request. One that
// fails says so as a program is told it.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "sketch/vital_ids.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

// Many writers that each wait for their own small blocks keep a disk's queue full.
void FillTheQueue() {
  constexpr int kWriters = 96, kRounds = 16;
  constexpr size_t kBytes = 256 << 10, kStep = 8192, kBlock = 4096;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([] {
      const int fd = UnnamedFile();
      if (fd < 0) return;
      const std::vector<char> block(kBlock, 'x');
      for (int round = 0; round < kRounds; ++round) {
        // Every second block: no two of them merge.
        for (size_t at = 0; at < kBytes; at += kStep) {
          if (pwrite(fd, block.data(), block.size(), static_cast<off_t>(at)) < 0) return;
        }
        if (fsync(fd) != 0) return;
      }
      close(fd);
    });
  }
  for (std::thread& writer : writers) writer.join();
}

TEST_F(SensorTest, CountsARequestOnceHoweverOftenTheDeviceSendsItBack) {
  Child child(FillTheQueue);
  const RawEpoch before = Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const RawVital& disk = epoch.vitals[TELLTALE_DISK_IO - 1];
  int64_t issued = 0, ended = 0;
  for (const RawHistogram& histogram : epoch.histograms) {
    if (histogram.op != HistogramOp::kDiskRead && histogram.op != HistogramOp::kDiskWrite &&
        histogram.op != HistogramOp::kDiskFlush) {
      continue;
    }
    issued += static_cast<int64_t>(histogram.entries);
    ended += static_cast<int64_t>(histogram.exits);
  }
  if (issued < 1'000) GTEST_SKIP() << "SKIPPED: no disk here, only " << issued << " requests";
  const int64_t begun = before.vitals[TELLTALE_DISK_IO - 1].backlog.back();
  // A request that was sent back and waits to be issued again is in neither number.
  constexpr int64_t kQueued = 256;
  EXPECT_NEAR(static_cast<double>(issued - ended), static_cast<double>(disk.backlog.back() - begun),
              kQueued)
      << issued << " issued, " << ended << " ended";
}

// A disk whose file was cut short below it; "" where this host makes none.
class CutDisk {
 public:
  CutDisk() {
    const int file = mkstemp(file_);
    if (file < 0 || ftruncate(file, 8 << 20) != 0) return;
    const std::string command =
        std::string("losetup -f --show --direct-io=on ") + file_ + " 2>/dev/null";
    if (FILE* said = popen(command.c_str(), "r")) {
      char line[64] = {};
      if (fgets(line, sizeof line, said) != nullptr) device_ = line;
      pclose(said);
    }
    while (!device_.empty() && device_.back() == '\n') device_.pop_back();
    if (ftruncate(file, 1 << 20) != 0) return;
    close(file);
  }
  ~CutDisk() {
    if (!device_.empty() && system(("losetup -d " + device_).c_str()) != 0) {
      ADD_FAILURE() << device_ << " could not be taken away";
    }
    unlink(file_);
  }
  const std::string& device() const { return device_; }

 private:
  char file_[32] = "cut-disk-XXXXXX";
  std::string device_;
};

TEST_F(SensorTest, AReadThatFailsIsKeptWithTheErrorThatTheProgramIsTold) {
  CutDisk disk;
  if (disk.device().empty()) GTEST_SKIP() << "SKIPPED: no loop device could be made here";
  constexpr size_t kBytes = 65'536;
  const int fd = open(disk.device().c_str(), O_RDONLY | O_DIRECT);
  ASSERT_GE(fd, 0);
  void* block = nullptr;
  ASSERT_EQ(posix_memalign(&block, 4096, kBytes), 0);
  Cut();
  kept_.samples.clear();
  int told = 0;
  for (int i = 0; i < 8; ++i) {
    if (pread(fd, block, kBytes, 4 << 20) < 0) told = errno;
  }
  Cut();
  struct stat of = {};
  fstat(fd, &of);
  close(fd);
  free(block);
  if (told == 0) GTEST_SKIP() << "SKIPPED: this kernel's loop device answers what is not there";
  const uint64_t device = static_cast<uint64_t>(major(of.st_rdev)) << 20 | minor(of.st_rdev);
  const auto failed = std::ranges::find_if(kept_.samples, [&](const RawSample& sample) {
    return sample.vital == TELLTALE_DISK_IO && sample.sub == TELLTALE_DISK_READ_DONE &&
           sample.label[2] == device;
  });
  ASSERT_NE(failed, kept_.samples.end());
  EXPECT_EQ(failed->detail[5], static_cast<uint64_t>(told));
}

}  // namespace
}  // namespace telltale::agent
