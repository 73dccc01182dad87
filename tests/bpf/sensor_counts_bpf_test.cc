// Counts of the sensor against an exactly known load: every event of the child is in its row, and
// no cut loses one.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sketch/vital_ids.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

constexpr double kOnePercent = 0.01;

TEST_F(SensorCountTest, CountsEverySystemCallOfAKnownLoadByResult) {
  constexpr int kCalls = 100'000;
  Child child([] {
    for (int i = 0; i < kCalls; ++i) syscall(SYS_getppid);
    for (int i = 0; i < kCalls / 2; ++i) syscall(SYS_close, -1);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events,
                     kCalls));
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_FAILED).events,
                     kCalls / 2));
}

// Programs, their libraries and stacks lie elsewhere each time they are started.
TEST_F(SensorTest, AProgramStartedManyTimesHasTheLabelsOfOne) {
  constexpr int kStarts = 12;
  Cut();
  for (int i = 0; i < kStarts; ++i) {
    const int status = system("n=0; while [ $n -lt 300 ]; do kill -0 $$; n=$((n + 1)); done");
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(sensor_->Drain(kept_).ok());
  }
  Cut();
  std::set<uint64_t> labels, places;
  std::set<uint32_t> processes;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_SYSCALL || sample.label[0] != SYS_kill ||
        std::string(sample.comm.data()) != "sh")
      continue;
    labels.insert(sample.label_hash);
    places.insert(sample.label[1]);
    processes.insert(sample.tgid);
  }
  EXPECT_GT(processes.size(), 1U);
  EXPECT_EQ(labels.size(), 1U);
  EXPECT_EQ(places.size(), 1U);
}

TEST_F(SensorCountTest, LosesNoEventAtTheFlipOfManyQuickCuts) {
  constexpr int kCalls = 2'000'000;
  Child child([] {
    // Not switched out while it works, so that each cut meets it in the middle.
    const sched_param realtime = {1};
    PinTo(1);
    sched_setscheduler(0, SCHED_FIFO, &realtime);
    for (int i = 0; i < kCalls; ++i) syscall(SYS_getppid);
  });
  Cut();
  child.Begin();
  uint64_t seen = 0;
  for (int cut = 0; cut < 20; ++cut) {
    seen += ShareOf(Cut(), child.pid(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events;
  }
  Await(child);
  seen += ShareOf(Cut(), child.pid(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events;
  EXPECT_GE(seen, static_cast<uint64_t>(kCalls));
  EXPECT_LE(seen, static_cast<uint64_t>(kCalls) + 30);  // reads and writes of the handshake
}

// While it lives the process can open no file more; then as many as before.
class NoFileFree {
 public:
  NoFileFree() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none = {0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFileFree() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoFileFree(const NoFileFree&) = delete;
  NoFileFree& operator=(const NoFileFree&) = delete;

 private:
  rlimit before_ = {};
};

uint64_t EventsOfRows(const RawEpoch& epoch, uint8_t vital) {
  uint64_t events = 0;
  for (const RawProcess& process : epoch.processes) {
    for (const RawProcess::Share& share : process.shares) {
      if (share.vital == vital) events += share.events;
    }
  }
  return events;
}

uint64_t LostByFailedCuts(const RawEpoch& epoch, uint8_t vital) {
  uint64_t events = 0;
  for (const RawLoss& loss : epoch.losses) {
    if (loss.kind == LossKind::kCutFailed && loss.vital == vital) events += loss.events;
  }
  return events;
}

// The cut asks for the next epoch's seed just before the flip: from there on it finds no free file,
// which the pass over the tasks, after the flip, cannot do without.
TEST_F(UnstartedSensorTest, WhatAFailedCutLeftIsToldAsLostAndInNoLaterEpoch) {
  constexpr uint64_t kCalls = 1'000'000;
  bool fail = false;
  std::unique_ptr<NoFileFree> no_file;
  BpfSensorOptions options;
  options.seed = [&fail, &no_file](uint64_t number) {
    if (fail) no_file = std::make_unique<NoFileFree>();
    return 1000 + number;
  };
  Start(options);
  if (IsSkipped() || HasFatalFailure()) return;
  Child child([] {
    for (uint64_t i = 0; i < kCalls; ++i) syscall(SYS_getppid);
  });
  Cut();
  child.Begin();
  Await(child);
  fail = true;
  const absl::StatusOr<RawEpoch> failed = sensor_->Cut(kept_);
  fail = false;
  no_file.reset();
  ASSERT_TRUE(absl::IsDataLoss(failed.status())) << failed.status();

  const RawEpoch next = Cut(), after = Cut(), last = Cut();
  EXPECT_GE(LostByFailedCuts(next, TELLTALE_SYSCALL), kCalls);
  EXPECT_EQ(LostByFailedCuts(after, TELLTALE_SYSCALL), 0U) << "told once";
  EXPECT_EQ(next.end_mono_ns, after.start_mono_ns);
  EXPECT_NE(next.seed, after.seed);
  for (const RawEpoch* epoch : {&next, &after, &last}) {
    const uint64_t calls = Total(*epoch, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events;
    const uint64_t failures = Total(*epoch, TELLTALE_SYSCALL, TELLTALE_SYSCALL_FAILED).events;
    EXPECT_LT(calls, kCalls);
    EXPECT_LE(EventsOfRows(*epoch, TELLTALE_SYSCALL), calls + failures);
    EXPECT_LT(ShareOf(*epoch, child.pid(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, kCalls);
  }
}

// Signals are rare: from the third epoch on, which both halves of the counters have been through,
// all of their labels are of the control group.
TEST_F(SensorCountTest, CountsTheLabelsOfTheControlGroupExactly) {
  constexpr uint64_t kSignals = 700;
  Child child([] {
    signal(SIGUSR1, SIG_IGN);
    for (uint64_t i = 0; i < kSignals; ++i) kill(getpid(), SIGUSR1);
  });
  Cut();
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const RawVital& vital = epoch.vitals[TELLTALE_SIGNAL - 1];
  uint64_t sum = 0, greatest = 0;
  for (const RawExact& label : vital.group) {
    sum += label.weight;
    greatest = std::max(greatest, label.weight);
  }
  EXPECT_EQ(greatest, kSignals);
  EXPECT_EQ(sum, vital.cells.Sum()) << "every label, and none twice";
}

TEST_F(SensorCountTest, CountsPageFaultsAndPageAllocationsOfTouchedMemory) {
  constexpr size_t kPages = 20'000;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const faults = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Child child([page, faults] {
    rusage before = {}, after = {};
    faults->store(0);
    getrusage(RUSAGE_SELF, &before);
    auto* memory = static_cast<char*>(
        mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(memory, kPages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages; ++i) memory[i * page] = 1;
    getrusage(RUSAGE_SELF, &after);
    faults->store(static_cast<uint64_t>(after.ru_minflt - before.ru_minflt));
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  EXPECT_GE(faults->load(), kPages);
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_USER_PAGE, TELLTALE_FAULT_MINOR).weight,
                     faults->load()));
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_KERNEL_PAGE, TELLTALE_PAGE_ALLOC).weight,
                     kPages));
  const RawProcess* row = Find(epoch, child.pid());
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(Within(kOnePercent, row->faults_minor, faults->load()));
  EXPECT_GE(row->rss_pages, kPages * 98 / 100);
  EXPECT_GE(row->own_pages, kPages * 98 / 100);
  child.End();
  const RawEpoch after = Cut();
  const uint64_t freed =
      ShareOf(after, static_cast<pid_t>(row->tgid), TELLTALE_KERNEL_PAGE, TELLTALE_PAGE_FREE)
          .weight;
  EXPECT_GE(freed, kPages);  // its memory came back when it ended, and is in its last row
  munmap(faults, page);
}

// A fault is kernel code that no system call asked for.
TEST_F(SensorCountTest, TellsTheKernelsTimeInPageFaultsFromTheProgramsOwn) {
  constexpr size_t kBytes = 32 << 20;
  auto* const system_ns = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Child child([system_ns] {
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(const_cast<char*>(memory), kBytes, MADV_NOHUGEPAGE);
    const auto spent_ns = [] {
      rusage use = {};
      getrusage(RUSAGE_SELF, &use);
      return static_cast<uint64_t>(use.ru_stime.tv_sec) * 1'000'000'000 +
             static_cast<uint64_t>(use.ru_stime.tv_usec) * 1'000;
    };
    const uint64_t before = spent_ns();
    while (spent_ns() - before < 1'500'000'000) {
      for (size_t at = 0; at < kBytes; at += 4096) memory[at] = 1;
      madvise(const_cast<char*>(memory), kBytes, MADV_DONTNEED);
    }
    system_ns->store(spent_ns() - before);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const uint64_t kernel_ns = ShareOf(epoch, child.pid(), TELLTALE_CPU, TELLTALE_CPU_KERNEL).weight;
  const uint64_t user_ns = ShareOf(epoch, child.pid(), TELLTALE_CPU, TELLTALE_CPU_USER).weight;
  printf("kernel %.3f s, the scheduler's account %.3f s; user %.3f s\n",
         static_cast<double>(kernel_ns) / 1e9, static_cast<double>(system_ns->load()) / 1e9,
         static_cast<double>(user_ns) / 1e9);
  EXPECT_TRUE(Within(0.2, kernel_ns, system_ns->load()));
  munmap(system_ns, sizeof(uint64_t));
}

TEST_F(SensorTest, TellsAProcessesOwnMemoryFromFilesItMapsAndFromWhatItShares) {
  constexpr size_t kPages = 5'000;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = UnnamedFile();
  ASSERT_GE(fd, 0);
  {
    // Gone before the child has a copy of all there is.
    const std::vector<char> bytes(kPages * page, 'x');
    ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  auto* const shared = static_cast<volatile char*>(
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Child child([fd, page, shared] {
    const auto* file = static_cast<const volatile char*>(
        mmap(nullptr, kPages * page, PROT_READ, MAP_SHARED, fd, 0));
    unsigned sum = 0;
    for (size_t i = 0; i < kPages; ++i) {
      sum += static_cast<unsigned char>(file[i * page]);
      shared[i * page] = static_cast<char>(sum);
    }
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const RawProcess* row = Find(epoch, child.pid());
  ASSERT_NE(row, nullptr);
  EXPECT_GE(row->rss_pages, 2 * kPages * 98 / 100);
  EXPECT_LE(row->own_pages, kPages / 2);
  munmap(const_cast<char*>(shared), kPages * page);
  close(fd);
}

TEST_F(SensorTest, CountsTheFilesAProcessHasOpen) {
  constexpr int kFiles = 2'900;
  Child child([] {
    const rlimit most = {kFiles + 1'000, kFiles + 1'000};
    setrlimit(RLIMIT_NOFILE, &most);
    std::vector<int> files(kFiles);
    for (int& file : files) file = open("/dev/null", O_RDONLY);
    for (int i = 0; i < kFiles; i += 2) close(files[i]);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const RawProcess* row = Find(epoch, child.pid());
  ASSERT_NE(row, nullptr);
  const std::filesystem::directory_iterator open(absl::StrCat("/proc/", child.pid(), "/fd"));
  EXPECT_EQ(row->open_files, std::distance(begin(open), end(open)));
  EXPECT_GT(row->open_files, kFiles / 2);
}

TEST_F(SensorCountTest, TellsMajorFaultsFromMinorOnes) {
  constexpr size_t kPages = 600;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = UnnamedFile();
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  const std::vector<char> zeros(kPages * page, 'x');
  ASSERT_EQ(write(fd, zeros.data(), zeros.size()), static_cast<ssize_t>(zeros.size()));
  fsync(fd);
  auto* const faults = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Child child([fd, page, faults] {
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    auto* file =
        static_cast<volatile char*>(mmap(nullptr, kPages * page, PROT_READ, MAP_SHARED, fd, 0));
    madvise(const_cast<char*>(file), kPages * page, MADV_RANDOM);
    for (size_t i = 0; i < kPages; ++i) static_cast<void>(file[i * page]);
    getrusage(RUSAGE_SELF, &after);
    faults->store(static_cast<uint64_t>(after.ru_majflt - before.ru_majflt));
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  close(fd);
  if (faults->load() < kPages / 2) {
    GTEST_SKIP() << "SKIPPED: the page cache kept the file, only " << faults->load()
                 << " major faults";
  }
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_USER_PAGE, TELLTALE_FAULT_MAJOR).events,
                     faults->load()));
  munmap(faults, page);
}

TEST_F(SensorTest, CountsSegmentsSentAgain) {
  Child child([] {
    if (unshare(CLONE_NEWNET) != 0) _exit(77);
    // A cable whose other end is up and answers nothing.
    if (system("ip link add near type veth peer name far && ip addr add 10.255.0.1/24 dev near && "
               "ip link set near up && ip link set far up && ip neigh add 10.255.0.2 lladdr "
               "02:00:00:00:00:01 dev near") != 0) {
      _exit(77);
    }
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_in nobody = {};
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(9);
    inet_pton(AF_INET, "10.255.0.2", &nobody.sin_addr);
    connect(fd, reinterpret_cast<const sockaddr*>(&nobody), sizeof(nobody));
    usleep(1'600'000);  // the first retry of an unanswered connect comes after 1 s
  });
  Cut();
  child.Begin();
  if (!TryAwait(child)) {
    GTEST_SKIP() << "SKIPPED: no network namespace with a veth pair to be had";
  }
  const RawEpoch epoch = Cut();
  EXPECT_GE(Total(epoch, TELLTALE_RETRANSMIT, TELLTALE_RETRANSMIT_SEGMENTS).events, 1U);
  bool named = false;
  for (const RawSample& sample : kept_.samples) {
    named |= sample.vital == TELLTALE_RETRANSMIT && sample.label[1] == 9 &&
             sample.addresses[1].family == 4 && sample.addresses[1].bytes[3] == 2;
  }
  EXPECT_TRUE(named) << "no sample names port 9 of 10.255.0.2";
}

TEST_F(SensorCountTest, CountsSignalsMadeAndHandled) {
  constexpr int kSignals = 10'000;
  Child child([] {
    signal(SIGUSR1, [](int) {});
    for (int i = 0; i < kSignals; ++i) raise(SIGUSR1);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_SIGNAL, TELLTALE_SIGNAL_GENERATED).events,
                     kSignals));
  EXPECT_TRUE(Within(kOnePercent,
                     ShareOf(epoch, child.pid(), TELLTALE_SIGNAL, TELLTALE_SIGNAL_DELIVERED).events,
                     kSignals));
}

TEST_F(SensorCountTest, CountsBytesThroughSocketsAndNotThosePeekedAt) {
  constexpr uint64_t kMessages = 2'000, kBytes = 3'000;
  Child child([] {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    std::vector<char> buffer(kBytes);
    for (uint64_t i = 0; i < kMessages; ++i) {
      if (send(ends[0], buffer.data(), kBytes, 0) < 0) return;
      recv(ends[1], buffer.data(), kBytes, MSG_PEEK);
      recv(ends[1], buffer.data(), kBytes, MSG_WAITALL);
    }
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  EXPECT_EQ(ShareOf(epoch, child.pid(), TELLTALE_SOCKET, TELLTALE_SOCKET_SENT).weight,
            kMessages * kBytes);
  EXPECT_EQ(ShareOf(epoch, child.pid(), TELLTALE_SOCKET, TELLTALE_SOCKET_RECEIVED).weight,
            kMessages * kBytes);
}

// A flush is a request of its own, sent on behalf of the one that asks for it: that one is never
// issued, or once, and completes once more than that.
TEST_F(SensorTest, EndsEachDiskRequestOnceWhenFilesAreFlushed) {
  constexpr int kFlushes = 200;
  const int fd = UnnamedFile();
  ASSERT_GE(fd, 0);
  Child child([fd] {
    const std::vector<char> block(4096, 'x');
    for (int i = 0; i < kFlushes; ++i) {
      if (pwrite(fd, block.data(), block.size(), 0) < 0 || fsync(fd) != 0) return;
    }
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  close(fd);
  const uint64_t flushes = Total(epoch, TELLTALE_DISK_IO, TELLTALE_DISK_FLUSH_ISSUED).events;
  if (flushes < kFlushes / 2) {
    GTEST_SKIP() << "SKIPPED: the working directory's file system flushed only " << flushes
                 << " times";
  }
  // Requests in flight: a few of others may have ended, ours cannot have ended twice.
  EXPECT_GT(epoch.vitals[TELLTALE_DISK_IO - 1].backlog.back(), -kFlushes / 4);
}

TEST_F(SensorTest, CountsBytesOfADirectWriteAtIssueAndAtCompletion) {
  constexpr size_t kBlock = 1 << 20, kBlocks = 16;
  const int fd = UnnamedFile(O_DIRECT);
  if (fd < 0) GTEST_SKIP() << "SKIPPED: the working directory's file system has no O_DIRECT";
  Child child([fd] {
    void* block = nullptr;
    if (posix_memalign(&block, 4096, kBlock) != 0) return;
    for (size_t i = 0; i < kBlocks; ++i) {
      if (write(fd, block, kBlock) != static_cast<ssize_t>(kBlock)) return;
    }
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  close(fd);
  EXPECT_TRUE(Within(
      kOnePercent, ShareOf(epoch, child.pid(), TELLTALE_DISK_IO, TELLTALE_DISK_WRITE_ISSUED).weight,
      kBlock * kBlocks));
  EXPECT_GE(Total(epoch, TELLTALE_DISK_IO, TELLTALE_DISK_WRITE_DONE).weight, kBlock * kBlocks);
  bool with_stack = false;
  for (const RawSample& sample : kept_.samples) {
    with_stack |= sample.vital == TELLTALE_DISK_IO && sample.sub == TELLTALE_DISK_WRITE_ISSUED &&
                  sample.tgid == static_cast<uint32_t>(child.pid()) &&
                  sample.stack.kernel.size() > 5;
  }
  EXPECT_TRUE(with_stack) << "no sample of the writer with a kernel stack";
  for (const RawHistogram& histogram : epoch.histograms) {
    if (histogram.op != HistogramOp::kDiskWrite) continue;
    uint64_t sum = 0;
    for (const uint64_t bucket : histogram.buckets) sum += bucket;
    EXPECT_EQ(sum, histogram.exits);
    EXPECT_GE(histogram.exits, kBlocks);
  }
}

}  // namespace
}  // namespace telltale::agent
