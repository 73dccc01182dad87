// What a sample tells besides its own task: who woke it and from where, who ran instead, who held
// the lock and how many waited for it, what the target of a signal will do, how much memory was
// free.

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sketch/vital_ids.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

// Memory that test and children share.
template <typename T>
T* Shared() {
  return static_cast<T*>(
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

TEST_F(SensorTest, NamesThePipesWriterAsWhoWokeTheReader) {
  auto* const writer = Shared<std::atomic<pid_t>>();
  Child reader([writer] {
    int ends[2];
    if (pipe(ends) != 0) return;
    if (const pid_t pid = fork(); pid == 0) {
      for (int i = 0; i < 40; ++i) {
        usleep(5'000);
        if (write(ends[1], "x", 1) != 1) _exit(1);
      }
      _exit(0);
    } else {
      writer->store(pid);
    }
    char byte = 0;
    for (int i = 0; i < 40; ++i) {
      if (read(ends[0], &byte, 1) != 1) return;
    }
  });
  Cut();
  reader.Begin();
  Await(reader);
  Cut();
  bool named = false, with_stack = false;
  std::string seen;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_BLOCKING || sample.sub != TELLTALE_BLOCK_PIPE) continue;
    if (sample.tgid != static_cast<uint32_t>(reader.pid())) continue;
    absl::StrAppend(&seen, " ", sample.waker.tid, "/", sample.waker.tgid, "+",
                    sample.waker.stack.kernel.size());
    if (sample.waker.tgid != static_cast<uint32_t>(writer->load())) continue;
    EXPECT_EQ(sample.waker.tid, sample.waker.tgid);
    EXPECT_EQ(std::string(sample.waker.comm.data()), std::string(sample.comm.data()));
    EXPECT_GT(sample.waker.start_ns, sample.start_ns);
    named = true;
    with_stack |= Through(sample.waker.stack.kernel, "pipe_write");
  }
  EXPECT_TRUE(named) << "wakers seen, tid/pid+frames:" << seen;
  EXPECT_TRUE(with_stack) << "no stack of the writer passes through pipe_write";
}

TEST_F(SensorTest, NamesAnInterruptAsWhatWokeASleeper) {
  Child sleeper([] {
    for (int i = 0; i < 40; ++i) usleep(5'000);
  });
  Cut();
  sleeper.Begin();
  Await(sleeper);
  Cut();
  bool named = false;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_BLOCKING || sample.sub != TELLTALE_BLOCK_TIMER) continue;
    if (sample.tgid != static_cast<uint32_t>(sleeper.pid())) continue;
    named |= sample.waker.tid == 0 && std::string(sample.waker.comm.data()) == "[irq]" &&
             Through(sample.waker.stack.kernel, "hrtimer_wakeup");
  }
  EXPECT_TRUE(named) << "no sample of the sleeper woken by the timer interrupt";
}

// Both real-time, so that no third comes in between when the stronger one lets go.
TEST_F(SensorTest, NamesWhoRanInstead) {
  auto* const done = Shared<std::atomic<bool>>();
  const auto become = [](int priority) {
    const sched_param realtime = {priority};
    // In this order: on CPU 0 the stronger one would first have to get past the weaker.
    if (sched_setscheduler(0, SCHED_FIFO, &realtime) != 0) return false;
    PinTo(0);
    return true;
  };
  Child one([done, become] {
    if (!become(1)) _exit(7);
    while (!done->load()) {
    }
  });
  Child two([done, become] {
    if (!become(2)) _exit(7);
    for (int i = 0; i < 30; ++i) {
      volatile uint64_t sum = 0;
      for (uint64_t k = 0; k < 3'000'000; ++k) sum = sum + k;
      usleep(2'000);
    }
    done->store(true);
  });
  Cut();
  one.Begin();
  two.Begin();
  Await(one);
  Await(two);
  Cut();
  bool named = false;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_SCHED_DELAY || sample.sub != TELLTALE_DELAY_PREEMPTED) continue;
    named |= sample.tid == static_cast<uint32_t>(one.pid()) &&
             sample.ran_instead.tid == static_cast<uint32_t>(two.pid()) &&
             sample.ran_instead.start_ns > sample.start_ns;  // was made after it
  }
  EXPECT_TRUE(named);
}

// A page that is not there until told: whoever copies from it stays where it is, with what it
// holds.
class LatePage {
 public:
  LatePage() {
    fd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    address_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_api api = {};
    api.api = UFFD_API;
    uffdio_register range = {};
    range.range = {reinterpret_cast<uint64_t>(address_), kSize};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    ok_ = fd_ >= 0 && ioctl(fd_, UFFDIO_API, &api) == 0 && ioctl(fd_, UFFDIO_REGISTER, &range) == 0;
  }
  bool ok() const { return ok_; }
  const void* address() const { return address_; }
  bool AwaitFault() const {
    pollfd wait = {fd_, POLLIN, 0};
    uffd_msg message;
    return poll(&wait, 1, 30'000) == 1 && read(fd_, &message, sizeof(message)) == sizeof(message);
  }
  void Arrive() const {
    uffdio_zeropage zero = {};
    zero.range = {reinterpret_cast<uint64_t>(address_), kSize};
    ioctl(fd_, UFFDIO_ZEROPAGE, &zero);
  }

 private:
  static constexpr size_t kSize = 4096;
  int fd_ = -1;
  void* address_ = nullptr;
  bool ok_ = false;
};

bool AwaitUninterruptible(pid_t tid) {
  for (int i = 0; i < 6'000; ++i) {
    std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const size_t end = stat.rfind(')');
    if (end != std::string::npos && stat.compare(end + 2, 1, "D") == 0) return true;
    usleep(5'000);
  }
  return false;
}

// One thread holds the lock that `put` takes for as long as it copies, three more come to wait for
// it.
void HoldAndWait(const std::function<ssize_t(const void*)>& put, std::atomic<pid_t>* holder) {
  constexpr int kWaiters = 3;
  LatePage page;
  if (!page.ok()) return;
  std::thread hold([&] {
    pthread_setname_np(pthread_self(), "tt_holder");
    holder->store(gettid());
    if (put(page.address()) != 1) _exit(4);
  });
  if (!page.AwaitFault()) _exit(5);
  std::atomic<pid_t> tids[kWaiters] = {};
  std::vector<std::thread> waiters;
  for (std::atomic<pid_t>& tid : tids) {
    waiters.emplace_back([&put, &tid] {
      tid.store(gettid());
      if (put("x") != 1) _exit(4);
    });
  }
  for (const std::atomic<pid_t>& tid : tids) {
    while (tid.load() == 0) usleep(1'000);
    if (!AwaitUninterruptible(tid.load())) _exit(6);
  }
  page.Arrive();
  hold.join();
  for (std::thread& waiter : waiters) waiter.join();
}

struct HeldLock {
  bool named = false;
  bool let_go_in = false;
  uint64_t waiters = 0;
};
// `function`: of the kernel, in which the holder takes the lock, holds it and lets it go.
HeldLock FindHeld(const std::vector<RawSample>& samples, pid_t process, uint8_t sub, pid_t holder,
                  std::string_view function) {
  HeldLock found;
  for (const RawSample& sample : samples) {
    if (sample.vital != TELLTALE_LOCK || sample.sub != sub) continue;
    if (sample.tgid != static_cast<uint32_t>(process)) continue;
    if (sample.holder.tid != static_cast<uint32_t>(holder)) continue;
    found.named |= std::string(sample.holder.comm.data()) == "tt_holder" &&
                   sample.detail[1] == static_cast<uint64_t>(holder) &&
                   sample.holder.tgid == static_cast<uint32_t>(process) &&
                   sample.holder.start_ns == sample.start_ns;  // a thread of the same process
    const std::vector<uint64_t>& stack = sample.holder.stack.kernel;
    found.let_go_in |= Through(stack, function) && !Through({stack.front()}, "bpf_");
    found.waiters = std::max(found.waiters, sample.detail[2]);
  }
  return found;
}

TEST_F(SensorTest, NamesTheHolderOfAMutexAndCountsThoseWhoWaitForIt) {
  auto* const holder = Shared<std::atomic<pid_t>>();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  // The pipe's mutex.
  Child child(
      [&] { HoldAndWait([&](const void* byte) { return write(ends[1], byte, 1); }, holder); });
  Cut();
  child.Begin();
  Await(child);
  Cut();
  close(ends[0]);
  close(ends[1]);
  if (holder->load() == 0) GTEST_SKIP() << "SKIPPED: this kernel has no userfaultfd";
  const HeldLock held =
      FindHeld(kept_.samples, child.pid(), TELLTALE_LOCK_MUTEX, holder->load(), "pipe_write");
  EXPECT_TRUE(held.named);
  EXPECT_TRUE(held.let_go_in) << "no stack of the holder letting it go";
  EXPECT_EQ(held.waiters, 3U);
}

TEST_F(SensorTest, NamesTheWriterThatHoldsAnRwsemAndCountsThoseWhoWaitForIt) {
  auto* const holder = Shared<std::atomic<pid_t>>();
  const int fd = UnnamedFile();
  ASSERT_GE(fd, 0);
  // The inode's rwsem.
  Child child(
      [&] { HoldAndWait([&](const void* byte) { return pwrite(fd, byte, 1, 0); }, holder); });
  Cut();
  child.Begin();
  Await(child);
  Cut();
  close(fd);
  if (holder->load() == 0) GTEST_SKIP() << "SKIPPED: this kernel has no userfaultfd";
  const HeldLock held =
      FindHeld(kept_.samples, child.pid(), TELLTALE_LOCK_RWSEM, holder->load(), "_write");
  EXPECT_TRUE(held.named);
  EXPECT_TRUE(held.let_go_in) << "no stack of the holder letting it go";
  EXPECT_EQ(held.waiters, 3U);
}

TEST_F(SensorTest, SaysWhatTheTargetOfASignalWillDo) {
  static constexpr auto kHandler = +[](int) {};
  auto* const target = Shared<std::atomic<pid_t>>();
  Child sender([target] {
    signal(SIGUSR1, kHandler);
    signal(SIGUSR2, SIG_IGN);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    target->store(pid);
    signal(SIGUSR1, SIG_DFL);  // of the sender: must not be taken for the target's
    signal(SIGUSR2, SIG_DFL);
    kill(pid, SIGUSR1);
    kill(pid, SIGUSR2);
    kill(pid, SIGTERM);
    waitpid(pid, nullptr, 0);
  });
  Cut();
  sender.Begin();
  Await(sender);
  Cut();
  int seen = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_SIGNAL || sample.sub != TELLTALE_SIGNAL_GENERATED) continue;
    if (sample.detail[0] != static_cast<uint64_t>(target->load())) continue;
    ++seen;
    const uint64_t expected = sample.label[0] == SIGUSR1   ? reinterpret_cast<uint64_t>(kHandler)
                              : sample.label[0] == SIGUSR2 ? 1U
                                                           : 0U;
    EXPECT_EQ(sample.detail[2], expected) << "signal " << sample.label[0];
  }
  EXPECT_EQ(seen, 3);
}

TEST_F(SensorTest, TellsWhereMemoryWasFree) {
  Child child([] {
    constexpr size_t kPages = 2'000, kPage = 4096;
    auto* memory = static_cast<char*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages; ++i) memory[i * kPage] = 1;
  });
  Cut();
  child.Begin();
  Await(child);
  Cut();
  struct sysinfo info = {};
  ASSERT_EQ(sysinfo(&info), 0);
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  int faults = 0, pages = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.tgid != static_cast<uint32_t>(child.pid())) continue;
    const bool fault = sample.vital == TELLTALE_USER_PAGE;
    if (!fault && sample.vital != TELLTALE_KERNEL_PAGE) continue;
    (fault ? faults : pages) += 1;
    const uint64_t all = sample.detail[fault ? 2 : 1], low = sample.detail[fault ? 3 : 2];
    EXPECT_GT(low, 0U);
    EXPECT_LE(low, all);
    EXPECT_LE(low, (uint64_t{4} << 30) / page);
    EXPECT_LE(all, info.totalram * info.mem_unit / page);
    EXPECT_LE(sample.detail[fault ? 4 : 3], info.totalswap * info.mem_unit / page);
  }
  EXPECT_GT(faults, 0);
  EXPECT_GT(pages, 0);
}

}  // namespace
}  // namespace telltale::agent
