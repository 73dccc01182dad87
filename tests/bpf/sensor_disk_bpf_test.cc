// Requests that a full device sends back are issued again: that is no second request.

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace
}  // namespace telltale::agent
