// Time that tasks do not run: queueing for a CPU, and waits that are still open when the epoch is
// cut.

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sketch/vital_ids.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

constexpr double kOnePercent = 0.01;

uint64_t DelayShare(const RawEpoch& epoch, pid_t pid) {
  uint64_t sum = 0;
  for (const RawProcess& process : epoch.processes) {
    if (process.tgid != static_cast<uint32_t>(pid)) continue;
    for (const RawProcess::Share& share : process.shares) {
      if (share.vital == TELLTALE_SCHED_DELAY) sum += share.weight;
    }
  }
  return sum;
}

// What the scheduler itself accounts to a task: time on a CPU and time in the queue.
struct Schedstat {
  uint64_t run_ns = 0, delay_ns = 0;
};
Schedstat ReadSchedstat(pid_t pid) {
  Schedstat stat;
  std::ifstream("/proc/" + std::to_string(pid) + "/schedstat") >> stat.run_ns >> stat.delay_ns;
  return stat;
}

// Shared by the two spinners.
struct Turn {
  std::atomic<int> present;
  std::atomic<int64_t> deadline_ns;  // 0: not both have come yet
};

// While both are there, whenever one has the CPU the other waits: for 4 s that is 4 s of delay.
// Others on the CPU make both wait, so on a busy host it is more; how much more the scheduler
// knows.
TEST_F(SensorCountTest, TwoSpinnersOnOneCpuForFourSecondsShowFourSecondsOfDelay) {
  using std::chrono::steady_clock;
  constexpr uint64_t kFourSeconds = 4'000'000'000;
  auto* const turn = static_cast<Turn*>(
      mmap(nullptr, sizeof(Turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto spin = [turn] {
    PinTo(0);
    const auto now = [] { return steady_clock::now().time_since_epoch().count(); };
    turn->present.fetch_add(1);
    while (turn->present.load() < 2) {
    }
    int64_t unset = 0;
    turn->deadline_ns.compare_exchange_strong(unset, now() + int64_t{kFourSeconds});
    while (now() < turn->deadline_ns.load()) {
    }
  };
  Child one(spin), two(spin);
  const pid_t pids[] = {one.pid(), two.pid()};
  uint64_t run = 0, delay = 0, run_expected = 0, delay_expected = 0;
  for (const pid_t pid : pids) {
    run_expected -= ReadSchedstat(pid).run_ns;
    delay_expected -= ReadSchedstat(pid).delay_ns;
  }
  Cut();
  one.Begin();
  two.Begin();
  Await(one);
  Await(two);
  const RawEpoch epoch = Cut();
  for (const pid_t pid : pids) {
    run_expected += ReadSchedstat(pid).run_ns;
    delay_expected += ReadSchedstat(pid).delay_ns;
    const RawProcess* row = Find(epoch, pid);
    ASSERT_NE(row, nullptr);
    run += row->run_ns;
    delay += DelayShare(epoch, pid);
    EXPECT_EQ(row->queue_ns, DelayShare(epoch, pid));
  }
  printf("delay %.6f s, schedstat %.6f s; run %.6f s, schedstat %.6f s\n",
         static_cast<double>(delay) / 1e9, static_cast<double>(delay_expected) / 1e9,
         static_cast<double>(run) / 1e9, static_cast<double>(run_expected) / 1e9);
  EXPECT_TRUE(Within(kOnePercent, delay, delay_expected));
  EXPECT_TRUE(Within(kOnePercent, run, run_expected));
  EXPECT_GE(delay, kFourSeconds * 99 / 100);
  munmap(turn, sizeof(Turn));
}

TEST_F(SensorTest, ShowsAWaitWhileItLastsAndChargesOnlyTheRestAfterwards) {
  Child child([] {
    timespec two_seconds = {2, 0};
    nanosleep(&two_seconds, nullptr);
  });
  Cut();
  child.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const RawEpoch during = Cut();
  const uint64_t first =
      ShareOf(during, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_TIMER).weight;
  EXPECT_GE(first, 1'150'000'000U);
  bool open = false;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_BLOCKING || sample.tid != static_cast<uint32_t>(child.pid())) {
      continue;
    }
    open |= sample.open && !sample.stack.kernel.empty();
  }
  EXPECT_TRUE(open) << "no open sample with a kernel stack";
  Await(child);
  const RawEpoch after = Cut();
  const uint64_t rest = ShareOf(after, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_TIMER).weight;
  EXPECT_TRUE(Within(kOnePercent, first + rest, 2'000'000'000U));
}

// Eight threads cannot wait for more than eight seconds in one second, neither while they wait nor
// when all that they waited for comes at once. What others on the host wait for is not known, so
// all of it is allowed.
TEST_F(SensorCountTest, NoSecondHoldsMoreWaitingThanItsTasksCan) {
  constexpr uint64_t kThreads = 8, kSecond = 1'000'000'000;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child child([&ends] {
    close(ends[1]);
    std::atomic<uint64_t> done = 0;
    for (uint64_t i = 0; i < kThreads; ++i) {
      std::thread([&done, from = ends[0]] {
        char byte = 0;
        (void)!read(from, &byte, 1);  // until no writer is left
        ++done;
        pause();
      }).detach();
    }
    while (done < kThreads) usleep(10'000);
  });
  const auto largest_fits = [&](const RawEpoch& epoch) {
    const uint64_t own = ShareOf(epoch, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_PIPE).weight;
    EXPECT_GT(own, kThreads * kSecond * 5 / 4) << "the threads waited long enough to tell";
    for (const RawVital& vital : epoch.vitals) {
      if (vital.id != TELLTALE_BLOCKING) continue;
      const RawSub& sub = vital.subs[TELLTALE_BLOCK_PIPE];
      uint64_t sum = 0;
      for (const uint64_t second : sub.second_weight) {
        EXPECT_LE(second, kThreads * kSecond * 102 / 100 + (sub.weight - own));
        sum += second;
      }
      EXPECT_EQ(sum, sub.weight);
    }
  };
  Cut();
  child.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(3300));
  largest_fits(Cut());  // all are open
  std::this_thread::sleep_for(std::chrono::milliseconds(3300));
  close(ends[0]);
  close(ends[1]);
  Await(child);
  largest_fits(Cut());
}

// A parent in vfork waits uninterruptibly until its child lets go: as stuck as a task on dead
// storage.
TEST_F(SensorTest, ShowsATaskStuckInAnUninterruptibleWait) {
  Child child([] {
    const pid_t inner = vfork();
    if (inner == 0) {
      timespec nap = {1, 500'000'000};
      nanosleep(&nap, nullptr);
      _exit(0);
    }
    waitpid(inner, nullptr, 0);
  });
  Cut();
  child.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const RawEpoch during = Cut();
  EXPECT_GE(ShareOf(during, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_UNINTERRUPTIBLE).weight,
            950'000'000U);
  bool open = false;
  for (const RawSample& sample : kept_.samples) {
    open |= sample.open && sample.vital == TELLTALE_BLOCKING &&
            sample.sub == TELLTALE_BLOCK_UNINTERRUPTIBLE &&
            sample.tgid == static_cast<uint32_t>(child.pid());
  }
  EXPECT_TRUE(open) << "the stuck task has no open sample";
  Await(child);
}

TEST_F(SensorCountTest, TellsAWaitOnAPipeFromOneOnATimer) {
  Child child([] {
    int ends[2];
    if (pipe(ends) != 0) return;
    if (fork() == 0) {
      usleep(300'000);
      _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1) return;
    usleep(200'000);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const uint64_t pipe_ns =
      ShareOf(epoch, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_PIPE).weight;
  const uint64_t timer_ns =
      ShareOf(epoch, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_TIMER).weight;
  EXPECT_GE(pipe_ns, 295'000'000U);
  EXPECT_GE(timer_ns, 190'000'000U);  // an emulated processor takes milliseconds to go to sleep
}

// Burns this much CPU time.
void Burn(int milliseconds) {
  const auto used_ns = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  const int64_t end_ns = used_ns() + int64_t{milliseconds} * 1'000'000;
  while (used_ns() < end_ns) {
  }
}

// False if it did not go to sleep within a second.
bool AwaitAsleep(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    std::string word;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    stat >> word >> word >> word;
    if (word == "S") return true;
  }
  return false;
}

int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Since 6.12 a task that had more than its part of the CPU stays on the run queue for a moment when
// it goes to sleep. If it is moved to another CPU then, the scheduler's own account takes it for
// queued however long it sleeps, which is told here by what it says of each sleep.
TEST_F(SensorCountTest, ASleeperMovedToAnotherCpuDoesNotQueue) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "SKIPPED: needs two CPUs";
  constexpr int kRounds = 60, kCutAtRound = 30;
  constexpr uint64_t kSleep = 50'000'000;
  struct Shared {
    std::atomic<bool> ended;
    int64_t ran_at_ns[kRounds];  // when the sleeper ran again
    uint64_t delay_ns[kRounds];  // and what the scheduler said of it then
  };
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child sleeper([&] {
    for (int round = 0; round < kRounds; ++round) {
      PinTo(0);
      Burn(1 + round % 3);
      char byte = 0;
      if (read(ends[0], &byte, 1) != 1) return;
      shared->ran_at_ns[round] = NowNs();
      shared->delay_ns[round] = ReadSchedstat(getpid()).delay_ns;
    }
  });
  Child rival([shared] {
    PinTo(0);
    while (!shared->ended.load()) {
    }
  });
  cpu_set_t other;
  CPU_ZERO(&other);
  CPU_SET(1, &other);

  Cut();
  const uint64_t delay_before_ns = ReadSchedstat(sleeper.pid()).delay_ns;
  rival.Begin();
  sleeper.Begin();
  int64_t woken_at_ns[kRounds];
  uint64_t asleep_delay_ns[kRounds], delay_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(AwaitAsleep(sleeper.pid()));
    ASSERT_EQ(sched_setaffinity(sleeper.pid(), sizeof(other), &other), 0);
    asleep_delay_ns[round] = ReadSchedstat(sleeper.pid()).delay_ns;
    std::this_thread::sleep_for(std::chrono::nanoseconds(kSleep));
    if (round == kCutAtRound) delay_ns += DelayShare(Cut(), sleeper.pid());
    woken_at_ns[round] = NowNs();
    ASSERT_EQ(write(ends[1], "x", 1), 1);
  }
  Await(sleeper);
  shared->ended.store(true);
  Await(rival);
  delay_ns += DelayShare(Cut(), sleeper.pid());
  const uint64_t scheduler_ns = ReadSchedstat(sleeper.pid()).delay_ns - delay_before_ns;
  uint64_t not_queued_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t said = shared->delay_ns[round] - asleep_delay_ns[round];
    const auto most = static_cast<uint64_t>(shared->ran_at_ns[round] - woken_at_ns[round]);
    if (said > most + kSleep / 2) not_queued_ns += said - most;
  }
  printf("delay %.3f s, schedstat %.3f s, of it asleep %.3f s\n",
         static_cast<double>(delay_ns) / 1e9, static_cast<double>(scheduler_ns) / 1e9,
         static_cast<double>(not_queued_ns) / 1e9);
  munmap(shared, sizeof(*shared));
  for (const int end : ends) close(end);
  if (not_queued_ns < 2 * kSleep) {
    GTEST_SKIP() << "SKIPPED: the scheduler took no sleeper for queued here (kernels before 6.12)";
  }
  EXPECT_LE(delay_ns, scheduler_ns - not_queued_ns * 9 / 10);
}

// On every kernel, by whatever hook: a wait without the code that asked for it explains little.
TEST_F(SensorTest, KeepsTheUserStackOfAWait) {
  Child child([] {
    for (int i = 0; i < 20; ++i) usleep(20'000);
  });
  Cut();
  child.Begin();
  Await(child);
  Cut();
  size_t waits = 0, with_user_stack = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_BLOCKING || sample.sub != TELLTALE_BLOCK_TIMER) continue;
    if (sample.tgid != static_cast<uint32_t>(child.pid()) || sample.open) continue;
    ++waits;
    with_user_stack += sample.stack.user.empty() ? 0 : 1;
  }
  EXPECT_GE(waits, 3U);
  EXPECT_EQ(with_user_stack, waits);
}

TEST_F(SensorTest, TakesAWaitForAContendedMutexForALockAndNamesItsOwner) {
  Child child([] {
    std::mutex mutex;
    mutex.lock();
    std::atomic<bool> there = false;
    std::thread waiter([&] {
      there = true;
      const std::lock_guard<std::mutex> hold(mutex);
    });
    while (!there) usleep(1'000);
    usleep(400'000);
    mutex.unlock();
    waiter.join();
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const uint64_t waited = ShareOf(epoch, child.pid(), TELLTALE_LOCK, TELLTALE_LOCK_FUTEX).weight;
  EXPECT_GE(waited, 390'000'000U);
  EXPECT_LT(waited, 780'000'000U);  // not counted twice
  bool owner_named = false, let_go = false;
  for (const RawSample& sample : kept_.samples) {
    owner_named |= sample.vital == TELLTALE_LOCK && sample.sub == TELLTALE_LOCK_FUTEX &&
                   sample.detail[1] == static_cast<uint64_t>(child.pid()) &&
                   sample.holder.tid == static_cast<uint32_t>(child.pid()) &&
                   std::string(sample.holder.comm.data()) == std::string(sample.comm.data());
    let_go |= sample.vital == TELLTALE_LOCK && Through(sample.holder.stack.kernel, "futex_wake");
  }
  EXPECT_TRUE(owner_named);
  EXPECT_TRUE(let_go) << "no stack of the owner that wakes who waits";
}

// Whoever waits for a lock when the epoch is cut has waited for it in that epoch, too.
TEST_F(SensorTest, ChargesAWaitForAMutexWhileItLastsAndNamesWhoHoldsIt) {
  Child child([] {
    std::mutex mutex;
    mutex.lock();
    std::thread waiter([&] { const std::lock_guard<std::mutex> hold(mutex); });
    usleep(2'000'000);
    mutex.unlock();
    waiter.join();
  });
  const auto lock_share = [&child](const RawEpoch& epoch) {
    return ShareOf(epoch, child.pid(), TELLTALE_LOCK, TELLTALE_LOCK_FUTEX).weight;
  };
  Cut();
  child.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const uint64_t first = lock_share(Cut());
  EXPECT_GE(first, 1'100'000'000U);
  bool named = false, holds_asleep = false;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_LOCK || sample.sub != TELLTALE_LOCK_FUTEX || !sample.open)
      continue;
    if (sample.tgid != static_cast<uint32_t>(child.pid()) ||
        sample.holder.tid != static_cast<uint32_t>(child.pid())) {
      continue;
    }
    named = true;
    holds_asleep |= Through(sample.holder.stack.kernel, "nanosleep");
  }
  EXPECT_TRUE(named) << "no open sample names the holder";
  EXPECT_EQ(holds_asleep, LooksTasksUp()) << "the stack of the holder, which sleeps with the lock";
  Await(child);
  EXPECT_TRUE(Within(0.03, first + lock_share(Cut()), 2'000'000'000U));
}

// A mutex knows its owner by the number that the owner itself sees: in a container another task's.
TEST_F(SensorTest, NamesTheHolderOfAMutexInAnotherPidNamespace) {
  auto* const inside = static_cast<std::atomic<pid_t>*>(
      mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Child child([inside] {
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t pid = fork();
    if (pid == 0) {
      std::mutex mutex;
      mutex.lock();
      std::thread waiter([&] { const std::lock_guard<std::mutex> hold(mutex); });
      usleep(1'200'000);
      mutex.unlock();
      waiter.join();
      _exit(0);
    }
    inside->store(pid);
    waitpid(pid, nullptr, 0);
  });
  Cut();
  child.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  Cut();
  if (!TryAwait(child)) GTEST_SKIP() << "SKIPPED: no pid namespace to be had";
  Cut();
  const auto holder = static_cast<uint32_t>(inside->load());
  int open = 0, ended = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_LOCK || sample.sub != TELLTALE_LOCK_FUTEX) continue;
    if (sample.tgid != holder) continue;
    (sample.open ? open : ended) += 1;
    EXPECT_EQ(sample.holder.tid, holder) << sample.holder.comm.data();
    EXPECT_EQ(sample.holder.tgid, holder);
    EXPECT_EQ(sample.holder.start_ns, sample.start_ns);
    EXPECT_EQ(sample.detail[1], holder);
    if (sample.open) {
      EXPECT_EQ(Through(sample.holder.stack.kernel, "nanosleep"), LooksTasksUp());
    }
  }
  EXPECT_GE(open, 1);
  EXPECT_GE(ended, 1);
  munmap(inside, sizeof(pid_t));
}

// What systemd's daemons do all day.
TEST_F(SensorCountTest, TakesAPollByItsNewestCallForAPoll) {
  Child child([] {
    const int poll = epoll_create1(0);
    epoll_event event = {};
    const timespec patience = {0, 300'000'000};
    syscall(SYS_epoll_pwait2, poll, &event, 1, &patience, nullptr, 0);
    close(poll);
  });
  Cut();
  child.Begin();
  Await(child);
  EXPECT_GE(ShareOf(Cut(), child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_POLL).weight,
            290'000'000U);
}

TEST_F(SensorCountTest, ChargesReclaimForACgroupsLimitToTheTaskThatPaysForIt) {
  const std::string group = "/sys/fs/cgroup/memory/telltale_sensor_test";
  if (mkdir(group.c_str(), 0755) != 0) {
    GTEST_SKIP() << "SKIPPED: no memory cgroup (version 1) can be made at " << group;
  }
  Child child([&group] {
    std::ofstream(group + "/memory.limit_in_bytes") << (24 << 20);
    std::ofstream(group + "/cgroup.procs") << getpid();
    const int fd = UnnamedFile();
    const std::vector<char> block(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) {
      if (write(fd, block.data(), block.size()) < 0) break;
      sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    close(fd);
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const pid_t pid = child.pid();
  child.End();
  rmdir(group.c_str());
  const Amount paid = ShareOf(epoch, pid, TELLTALE_RECLAIM, TELLTALE_RECLAIM_CGROUP);
  EXPECT_GE(paid.events, 1U);
  EXPECT_GE(paid.weight, 1'000U);
}

TEST_F(SensorCountTest, NamesTheLastLevelCacheUnavailableWithAReasonWithoutCounters) {
  const std::vector<VitalStatus> status = sensor_->Status();
  ASSERT_EQ(status.size(), static_cast<size_t>(TELLTALE_BUILTIN_VITALS - 1));
  for (const VitalStatus& vital : status) {
    if (vital.state == VitalState::kUnavailable) {
      EXPECT_TRUE(vital.hook.empty());
      EXPECT_FALSE(vital.reason.empty()) << "vital " << int{vital.id};
    } else {
      EXPECT_FALSE(vital.hook.empty()) << "vital " << int{vital.id};
    }
  }
}

}  // namespace
}  // namespace telltale::agent
