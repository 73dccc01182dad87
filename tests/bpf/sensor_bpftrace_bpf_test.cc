// The sensor beside bpftrace: seven vitals of one known load, counted over the same window by two
// programs that share nothing but the kernel. Where the kernel offers another place to count from,
// bpftrace counts there: at the entry of system calls, from what send and recv returned, from
// wakeups and switches instead of the scheduler's own account of the queue.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/vitals.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

struct Figure {
  const char* name;  // of bpftrace's map
  uint8_t vital;
  std::vector<uint8_t> subs;
  bool weight;     // else events
  uint64_t least;  // what the load does at the very least: 1 % of it must mean something
};
const Figure kFigures[] = {
    {"delay_ns",
     TELLTALE_SCHED_DELAY,
     {TELLTALE_DELAY_WOKEN, TELLTALE_DELAY_PREEMPTED},
     true,
     1'500'000'000},
    {"disk_bytes", TELLTALE_DISK_IO, {TELLTALE_DISK_WRITE_ISSUED}, true, 4 << 20},
    {"pages", TELLTALE_KERNEL_PAGE, {TELLTALE_PAGE_ALLOC}, true, 60'000},
    {"pages_freed", TELLTALE_KERNEL_PAGE, {TELLTALE_PAGE_FREE}, true, 60'000},
    {"faults", TELLTALE_USER_PAGE, {TELLTALE_FAULT_MINOR, TELLTALE_FAULT_MAJOR}, false, 60'000},
    {"calls", TELLTALE_SYSCALL, {TELLTALE_SYSCALL_OK, TELLTALE_SYSCALL_FAILED}, false, 150'000},
    {"socket_bytes",
     TELLTALE_SOCKET,
     {TELLTALE_SOCKET_SENT, TELLTALE_SOCKET_RECEIVED},
     true,
     8'000'000},
    {"signals", TELLTALE_SIGNAL, {TELLTALE_SIGNAL_GENERATED}, false, 20'000},
    {"signals_handled", TELLTALE_SIGNAL, {TELLTALE_SIGNAL_DELIVERED}, false, 20'000},
};

// Where the kernel runs no program while certain tasks are current (a virtual machine's PID 1),
// bpftrace misses their switch to a task of the load, and only sees it leave the CPU with its time
// in the queue unfinished: unseen_ns is the most that it can have missed. 0 on most hosts.
//
// $1 and $2 are the two processes of the load. What a soft interrupt does while one of them is
// current is not theirs. The interval comes last: when it speaks, all before it are attached.
constexpr char kScript[] = R"(
tracepoint:irq:softirq_entry { @soft[cpu] = 1; }
tracepoint:irq:softirq_exit { @soft[cpu] = 0; }
tracepoint:sched:sched_wakeup /args->pid == $1 || args->pid == $2/ { @queued[args->pid] = nsecs; }
tracepoint:sched:sched_switch
/(args->prev_pid == $1 || args->prev_pid == $2) && @queued[args->prev_pid] != 0/ {
  @unseen_ns = sum(nsecs - @queued[args->prev_pid]);
}
tracepoint:sched:sched_switch
/(args->prev_pid == $1 || args->prev_pid == $2) && (args->prev_state & 255) == 0/ {
  @queued[args->prev_pid] = nsecs;
}
tracepoint:sched:sched_switch
/(args->next_pid == $1 || args->next_pid == $2) && @queued[args->next_pid] != 0/ {
  @delay_ns = sum(nsecs - @queued[args->next_pid]);
  @queued[args->next_pid] = 0;
}
tracepoint:block:block_rq_requeue { @sent_back[args->dev, args->sector] = 1; }
tracepoint:block:block_rq_issue {
  if (@sent_back[args->dev, args->sector] == 1) {
    delete(@sent_back[args->dev, args->sector]);
  } else if ((pid == $1 || pid == $2) && @soft[cpu] == 0) {
    @disk_bytes = sum(args->bytes);
  }
}
tracepoint:kmem:mm_page_alloc
/(pid == $1 || pid == $2) && !@soft[cpu] && args->pfn != 0xffffffffffffffff/ {
  @pages = sum(1 << args->order);
}
tracepoint:kmem:mm_page_free /(pid == $1 || pid == $2) && !@soft[cpu]/ {
  @pages_freed = sum(1 << args->order);
}
tracepoint:exceptions:page_fault_user /pid == $1 || pid == $2/ { @faults = count(); }
tracepoint:raw_syscalls:sys_enter /pid == $1 || pid == $2/ { @calls = count(); }
tracepoint:syscalls:sys_exit_sendto,
tracepoint:syscalls:sys_exit_recvfrom
/(pid == $1 || pid == $2) && args->ret > 0/ {
  @socket_bytes = sum(args->ret);
}
tracepoint:signal:signal_generate /(pid == $1 || pid == $2) && !@soft[cpu]/ { @signals = count(); }
tracepoint:signal:signal_deliver /pid == $1 || pid == $2/ { @signals_handled = count(); }
interval:ms:200 { printf("watching\n"); }
)";

// bpftrace with the script above, watching from construction to Finish.
class Bpftrace {
 public:
  Bpftrace(pid_t one, pid_t two) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      execlp("bpftrace", "bpftrace", "-e", kScript, std::to_string(one).c_str(),
             std::to_string(two).c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  ~Bpftrace() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(from_);
  }
  Bpftrace(const Bpftrace&) = delete;
  Bpftrace& operator=(const Bpftrace&) = delete;

  bool AwaitWatching() {
    while (output_.find("watching\n") == std::string::npos) {
      if (!ReadMore()) return false;
    }
    return true;
  }

  // Its sums by name.
  std::map<std::string, uint64_t> Finish() {
    kill(pid_, SIGINT);
    while (ReadMore()) {
    }
    std::map<std::string, uint64_t> sums;
    const auto read = [&](const char* name) {
      const std::string key = std::string("\n@") + name + ": ";
      const size_t at = output_.rfind(key);
      if (at == std::string::npos) return;
      sums[name] = strtoull(output_.c_str() + at + key.size(), nullptr, 10);
    };
    for (const Figure& figure : kFigures) read(figure.name);
    read("unseen_ns");
    return sums;
  }
  const std::string& output() const { return output_; }

 private:
  // False: it said no more, or nothing for a minute.
  bool ReadMore() {
    constexpr int kMinute = 60'000;
    pollfd wait = {from_, POLLIN, 0};
    char part[4096];
    if (poll(&wait, 1, kMinute) != 1) return false;
    const ssize_t got = read(from_, part, sizeof(part));
    if (got > 0) output_.append(part, static_cast<size_t>(got));
    return got > 0;
  }

  pid_t pid_ = -1;
  int from_ = -1;
  std::string output_;
};

void TouchMemory(size_t pages) {
  constexpr size_t kPage = 4096;
  auto* memory = static_cast<char*>(
      mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) memory[i * kPage] = 1;
  munmap(memory, pages * kPage);
}

void TalkToItself(int messages) {
  int ends[2];
  std::vector<char> buffer(2'000);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  for (int i = 0; i < messages; ++i) {
    if (send(ends[0], buffer.data(), buffer.size(), 0) < 0) break;
    if (recv(ends[1], buffer.data(), buffer.size(), MSG_WAITALL) < 0) break;
  }
  close(ends[0]);
  close(ends[1]);
}

void WriteDirectly(int fd, int blocks) {
  constexpr size_t kBlock = 1 << 20;
  void* block = nullptr;
  if (posix_memalign(&block, 4096, kBlock) != 0) return;
  for (int i = 0; i < blocks; ++i) {
    if (write(fd, block, kBlock) != static_cast<ssize_t>(kBlock)) break;
  }
  free(block);
}

uint64_t OwnCpuNs() {
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

void AllKindsOfWork(int fd) {
  signal(SIGUSR2, [](int) {});
  for (int round = 0; round < 4; ++round) {
    TouchMemory(15'000);
    TalkToItself(1'000);
    WriteDirectly(fd, 8);
    for (int i = 0; i < 5'000; ++i) raise(SIGUSR2);
    for (int i = 0; i < 30'000; ++i) syscall(SYS_getppid);
  }
}

TEST_F(SensorTest, AgreesWithBpftraceAboutSevenVitalsOfTheSameLoad) {
  if (access("/sys/kernel/tracing/events", F_OK) != 0) {
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr);
  }
  if (access("/sys/kernel/tracing/events/raw_syscalls", F_OK) != 0 ||
      system("bpftrace --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "SKIPPED: needs bpftrace (package bpftrace) and tracefs";
  }
  const int fd = UnnamedFile(O_DIRECT);
  if (fd < 0) GTEST_SKIP() << "SKIPPED: the working directory's file system has no O_DIRECT";
  auto* const done = static_cast<std::atomic<bool>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  // Two on one CPU, so that each waits for it as long as the other has it.
  Child worker([fd, done] {
    PinTo(0);
    AllKindsOfWork(fd);
    const uint64_t begun = OwnCpuNs();
    while (OwnCpuNs() - begun < 1'500'000'000) {
    }
    done->store(true);
  });
  Child rival([done] {
    PinTo(0);
    while (!done->load()) {
    }
  });
  Bpftrace bpftrace(worker.pid(), rival.pid());
  ASSERT_TRUE(bpftrace.AwaitWatching()) << bpftrace.output();
  Cut();
  worker.Begin();
  rival.Begin();
  Await(worker);
  Await(rival);
  const RawEpoch epoch = Cut();
  std::map<std::string, uint64_t> sums = bpftrace.Finish();
  close(fd);
  munmap(done, 4096);

  printf("bpftrace was not shown the end of at most %.6f s of delay\n",
         static_cast<double>(sums["unseen_ns"]) / 1e9);
  printf("%-12s %-24s %16s %16s %9s\n", "vital", "what", "telltale", "bpftrace", "differs");
  for (const Figure& figure : kFigures) {
    uint64_t seen = 0;
    for (const pid_t pid : {worker.pid(), rival.pid()}) {
      for (const uint8_t sub : figure.subs) {
        const Amount amount = ShareOf(epoch, pid, figure.vital, sub);
        seen += figure.weight ? amount.weight : amount.events;
      }
    }
    const uint64_t counted = sums[figure.name];
    const uint64_t most =
        counted + (figure.vital == TELLTALE_SCHED_DELAY ? sums["unseen_ns"] : uint64_t{0});
    printf("%-12s %-24s %16lu %16lu %8.3f%%\n",
           std::string(sketch::FindVital(figure.vital)->name).c_str(), figure.name, seen, counted,
           100.0 * (static_cast<double>(seen) / static_cast<double>(counted) - 1));
    EXPECT_GE(counted, figure.least) << figure.name << "\n" << bpftrace.output();
    EXPECT_GE(seen, counted - counted / 100) << figure.name;
    EXPECT_LE(seen, most + most / 100) << figure.name;
  }
}

}  // namespace
}  // namespace telltale::agent
