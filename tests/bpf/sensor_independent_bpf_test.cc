// The sensor's counts of one process beside those of `perf stat`, which counts the same tracepoints
// by a mechanism of its own.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "sketch/vitals.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

struct Counter {
  const char* event;  // as perf names it
  uint8_t vital;
  int sub;  // -1: all of the vital's
};
constexpr Counter kCounters[] = {
    {"raw_syscalls:sys_exit", TELLTALE_SYSCALL, -1},
    {"exceptions:page_fault_user", TELLTALE_USER_PAGE, -1},
    {"kmem:mm_page_alloc", TELLTALE_KERNEL_PAGE, TELLTALE_PAGE_ALLOC},
    {"kmem:mm_page_free", TELLTALE_KERNEL_PAGE, TELLTALE_PAGE_FREE},
    {"signal:signal_generate", TELLTALE_SIGNAL, TELLTALE_SIGNAL_GENERATED},
    {"signal:signal_deliver", TELLTALE_SIGNAL, TELLTALE_SIGNAL_DELIVERED},
};

void MixedLoad() {
  constexpr size_t kPage = 4096, kPages = 3'000;
  signal(SIGUSR2, [](int) {});
  for (int round = 0; round < 5; ++round) {
    auto* memory = static_cast<char*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages; ++i) memory[i * kPage] = 1;
    munmap(memory, kPages * kPage);
    for (int i = 0; i < 1'000; ++i) raise(SIGUSR2);
    for (int i = 0; i < 20'000; ++i) syscall(SYS_getppid);
  }
}

// Counts by event name from the lines of `perf stat -x,`.
std::map<std::string, uint64_t> ReadPerf(const std::string& path) {
  std::map<std::string, uint64_t> counts;
  std::ifstream lines(path);
  std::string line;
  while (std::getline(lines, line)) {
    for (const Counter& counter : kCounters) {
      if (line.find(std::string(",") + counter.event) == std::string::npos) continue;
      counts[counter.event] = strtoull(line.c_str(), nullptr, 10);
    }
  }
  return counts;
}

TEST_F(SensorTest, AgreesWithPerfAboutTheSameProcess) {
  if (access("/sys/kernel/tracing/events", F_OK) != 0) {
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr);
  }
  if (access("/sys/kernel/tracing/events/raw_syscalls", F_OK) != 0 ||
      system("perf -v >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "SKIPPED: needs perf (package linux-perf) and tracefs";
  }
  Child child(MixedLoad);
  std::string out = "telltale_perf.XXXXXX";
  close(mkstemp(out.data()));
  const pid_t perf = fork();
  if (perf == 0) {
    std::string events;
    for (const Counter& counter : kCounters)
      events += std::string(events.empty() ? "" : ",") + counter.event;
    execlp("perf", "perf", "stat", "-x,", "-o", out.c_str(), "-e", events.c_str(), "-p",
           std::to_string(child.pid()).c_str(), nullptr);
    _exit(127);
  }
  // Both must watch before the load begins; perf tells nobody when it does.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  kill(perf, SIGINT);
  waitpid(perf, nullptr, 0);
  const std::map<std::string, uint64_t> counts = ReadPerf(out);
  unlink(out.c_str());
  for (const Counter& counter : kCounters) {
    const auto counted = counts.find(counter.event);
    ASSERT_NE(counted, counts.end()) << counter.event;
    uint64_t seen = 0;
    const auto subs = static_cast<int>(sketch::FindVital(counter.vital)->subs.size());
    for (int sub = 0; sub < subs; ++sub) {
      if (counter.sub >= 0 && sub != counter.sub) continue;
      seen += ShareOf(epoch, child.pid(), counter.vital, static_cast<uint8_t>(sub)).events;
    }
    EXPECT_GE(counted->second, 4'900U) << counter.event;
    EXPECT_TRUE(Within(0.01, seen, counted->second)) << counter.event;
    RecordProperty(counter.event, std::to_string(seen) + " of " + std::to_string(counted->second));
  }
}

}  // namespace
}  // namespace telltale::agent
