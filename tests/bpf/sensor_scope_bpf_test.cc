// A sensor that watches one cgroup: what tasks in it do is counted, whole, and what the same
// program does beside it is not; neither in totals nor in rows nor in samples.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "agent/sensor/cgroup_scope.h"
#include "sketch/vitals.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

constexpr double kOnePercent = 0.01;
constexpr uint64_t kCalls = 20'000;
// What a child does besides: the words it has with the test.
constexpr uint64_t kFewCalls = 200;

std::string Mount() {
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  text << file.rdbuf();
  const bool unified = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  const absl::StatusOr<std::string> mount = CgroupMount(text.str(), unified);
  return mount.ok() ? *mount : "";
}

// Removed with all who are still in it gone.
class Cgroup {
 public:
  explicit Cgroup(std::string path) : path_(std::move(path)), directory_(Mount() + path_) {
    Make();
  }
  ~Cgroup() { Remove(); }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  void Make() { EXPECT_EQ(mkdir(directory_.c_str(), 0755), 0) << directory_; }
  void Remove() {
    for (int i = 0; i < 200 && rmdir(directory_.c_str()) != 0 && errno == EBUSY; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  void Take(pid_t pid) const { Move(directory_, pid); }
  static void Release(pid_t pid) { Move(Mount(), pid); }
  const std::string& path() const { return path_; }

 private:
  static void Move(const std::string& directory, pid_t pid) {
    std::ofstream file(directory + "/cgroup.procs");
    file << pid << std::flush;
    EXPECT_TRUE(file.good()) << directory;
  }
  const std::string path_, directory_;
};

std::string Named(const char* what) {
  return "/telltale_scope_test_" + std::to_string(getpid()) + "_" + what;
}

void Call(uint64_t calls) {
  for (uint64_t i = 0; i < calls; ++i) syscall(SYS_getppid);
}

// A little of everything that leaves a count.
void Work() {
  Call(kCalls);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  std::vector<char> bytes(4096);
  for (int i = 0; i < 500; ++i) {
    if (send(ends[0], bytes.data(), bytes.size(), 0) < 0) abort();
    if (recv(ends[1], bytes.data(), bytes.size(), 0) < 0) abort();
  }
  close(ends[0]);
  close(ends[1]);
  const size_t size = 8 << 20;
  std::vector<char> pages(size, 1);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, [](int) {});
  for (int i = 0; i < 100; ++i) kill(getpid(), SIGUSR2);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
  }
}

class ScopedSensorTest : public SensorTest {
 protected:
  void SetUp() override {
    if (geteuid() == 0 && Mount().empty()) {
      GTEST_SKIP() << "SKIPPED: this host has no cgroup hierarchy that can be watched";
    }
    if (geteuid() == 0) cgroup_ = std::make_unique<Cgroup>(Named("inside"));
    BpfSensorOptions options;
    options.cgroup = Named("inside");
    Start(std::move(options));
  }
  // Work in each, at the same time.
  void RunBoth(Child& inside, Child& outside) {
    Cut();
    kept_ = {};
    inside.Begin();
    outside.Begin();
    Await(inside);
    Await(outside);
  }
  void DrainFor(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      EXPECT_TRUE(sensor_->Drain(kept_).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  std::unique_ptr<Cgroup> cgroup_;
};

void ExpectRowsAddUp(const RawEpoch& epoch) {
  std::map<std::pair<int, int>, Amount> sums;
  const auto add = [&sums](const RawProcess& process) {
    for (const RawProcess::Share& share : process.shares) {
      sums[{share.vital, share.sub}].events += share.events;
      sums[{share.vital, share.sub}].weight += share.weight;
    }
  };
  for (const RawProcess& process : epoch.processes) add(process);
  add(epoch.other);
  for (const RawVital& vital : epoch.vitals) {
    for (size_t sub = 0; sub < vital.subs.size(); ++sub) {
      const Amount& sum = sums[{vital.id, sub}];
      EXPECT_EQ(sum.events, vital.subs[sub].events) << sketch::FindVital(vital.id)->name;
      EXPECT_EQ(sum.weight, vital.subs[sub].weight) << sketch::FindVital(vital.id)->name;
    }
  }
}

TEST_F(ScopedSensorTest, CountsWhatIsDoneInTheCgroupAndNothingElse) {
  Child inside(Work), outside(Work);
  cgroup_->Take(inside.pid());
  RunBoth(inside, outside);
  const RawEpoch epoch = Cut();
  for (const RawProcess& process : epoch.processes) {
    if (process.tgid == 0) continue;  // [irq]
    EXPECT_EQ(process.tgid, static_cast<uint32_t>(inside.pid()));
  }
  for (const RawSample& sample : kept_.samples) {
    EXPECT_EQ(sample.tgid, static_cast<uint32_t>(inside.pid())) << "vital " << int{sample.vital};
  }
  EXPECT_FALSE(kept_.samples.empty());
  const Amount calls = Total(epoch, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK);
  EXPECT_GE(calls.events, kCalls + 1'100);
  EXPECT_LE(calls.events, kCalls + 1'400 + kFewCalls);
  EXPECT_EQ(Total(epoch, TELLTALE_SOCKET, TELLTALE_SOCKET_SENT).weight, 500 * 4096U);
  EXPECT_EQ(Total(epoch, TELLTALE_SOCKET, TELLTALE_SOCKET_RECEIVED).weight, 500 * 4096U);
  EXPECT_EQ(Total(epoch, TELLTALE_SIGNAL, TELLTALE_SIGNAL_GENERATED).events, 100U);
  EXPECT_EQ(Total(epoch, TELLTALE_SIGNAL, TELLTALE_SIGNAL_DELIVERED).events, 100U);
  EXPECT_GE(Total(epoch, TELLTALE_USER_PAGE, TELLTALE_FAULT_MINOR).events, 2'000U);
  EXPECT_LE(Total(epoch, TELLTALE_USER_PAGE, TELLTALE_FAULT_MINOR).events, 2'600U);
  const RawProcess* const row = Find(epoch, inside.pid());
  ASSERT_NE(row, nullptr);
  const uint64_t ticks_ns = Total(epoch, TELLTALE_CPU, TELLTALE_CPU_USER).weight +
                            Total(epoch, TELLTALE_CPU, TELLTALE_CPU_KERNEL).weight;
  EXPECT_GT(ticks_ns, 0U);
  EXPECT_LE(ticks_ns, row->run_ns + row->run_ns / 4);
  EXPECT_EQ(Total(epoch, TELLTALE_CPU, TELLTALE_CPU_IRQ).events, 0U);
  EXPECT_EQ(Total(epoch, TELLTALE_SOFTIRQ, 0).events, 0U);
  ExpectRowsAddUp(epoch);
  EXPECT_TRUE(Within(kOnePercent, AccountedNs(epoch), epoch.task_ns));
  printf("of its time the hypervisor had %.1f %%\n",
         100.0 * (static_cast<double>(row->on_cpu_ns) - static_cast<double>(row->run_ns)) /
             static_cast<double>(epoch.task_ns));
  // One task, all the time; it was moved in while it slept, so since it was told to work.
  EXPECT_TRUE(Within(0.1, epoch.task_ns, epoch.watched_ns));
}

TEST_F(ScopedSensorTest, CountsCgroupsBelowItToo) {
  Cgroup below(cgroup_->path() + "/below");
  Child deep([] { Call(kCalls); });
  below.Take(deep.pid());
  Cut();
  deep.Begin();
  Await(deep);
  const RawEpoch epoch = Cut();
  EXPECT_GE(Total(epoch, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, kCalls);
  EXPECT_NE(Find(epoch, deep.pid()), nullptr);
  deep.End();
}

TEST_F(ScopedSensorTest, CountsATaskFromWhereItIsMovedInToWhereItIsMovedOut) {
  int down[2], up[2];
  ASSERT_EQ(pipe(down), 0);
  ASSERT_EQ(pipe(up), 0);
  const auto call_when_told = [&] {
    char token = 0;
    while (read(down[0], &token, 1) == 1 && token != 'e') {
      Call(kCalls);
      if (write(up[1], &token, 1) != 1) abort();
    }
  };
  const auto tell = [&] {
    char token = 'c';
    ASSERT_EQ(write(down[1], &token, 1), 1);
    ASSERT_EQ(read(up[0], &token, 1), 1);
  };
  Child mover(call_when_told);
  mover.Begin();
  Cut();
  tell();
  const RawEpoch before = Cut();
  cgroup_->Take(mover.pid());
  tell();
  DrainFor(std::chrono::milliseconds(300));
  const RawEpoch in = Cut();
  Cgroup::Release(mover.pid());
  tell();
  const RawEpoch leaving = Cut();
  tell();
  const RawEpoch out = Cut();
  cgroup_->Take(mover.pid());
  tell();
  DrainFor(std::chrono::milliseconds(300));
  const RawEpoch again = Cut();
  const auto calls = [](const RawEpoch& epoch) {
    return Total(epoch, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events;
  };
  EXPECT_EQ(calls(before), 0U);
  EXPECT_TRUE(Within(kOnePercent, calls(in), kCalls));
  EXPECT_LE(calls(leaving), kFewCalls);
  EXPECT_EQ(calls(out), 0U);
  EXPECT_EQ(Find(out, mover.pid()), nullptr);
  EXPECT_TRUE(Within(kOnePercent, calls(again), kCalls));
  EXPECT_TRUE(Within(kOnePercent, AccountedNs(in), in.task_ns));
  EXPECT_TRUE(Within(kOnePercent, AccountedNs(again), again.task_ns));
  const RawProcess* const row = Find(again, mover.pid());
  ASSERT_NE(row, nullptr);
  EXPECT_LT(row->task_ns, again.watched_ns) << "its time outside is not its row's";
  const char end = 'e';
  EXPECT_EQ(write(down[1], &end, 1), 1);
}

TEST_F(ScopedSensorTest, RunDelayAndBlockedAddUpToTheTimeOfItsTasks) {
  Child crowd([] {
    for (int i = 0; i < 200; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        if (i % 4 == 0) execl("/bin/true", "true", nullptr);
        Call(2'000);
        _exit(0);
      }
      usleep(2'000);
      waitpid(child, nullptr, 0);
    }
  });
  Child noise(Work);
  cgroup_->Take(crowd.pid());
  RunBoth(crowd, noise);
  DrainFor(std::chrono::milliseconds(500));
  const RawEpoch epoch = Cut();
  EXPECT_GE(epoch.task_ns, epoch.watched_ns);
  EXPECT_TRUE(Within(kOnePercent, AccountedNs(epoch), epoch.task_ns));
  ExpectRowsAddUp(epoch);
  std::set<uint32_t> ended;
  for (const RawEvent& event : kept_.events) {
    if (event.kind == RawEventKind::kExit) ended.insert(event.tgid);
  }
  EXPECT_EQ(ended.size(), 200U);
}

TEST_F(ScopedSensorTest, ASignalIsItsSendersWhereMadeAndItsTargetsWhereHandled) {
  Child target([] {
    signal(SIGUSR2, [](int) {});
    for (int i = 0; i < 50; ++i) usleep(10'000);
  });
  const pid_t aim = target.pid();
  Child sender([aim] {
    for (int i = 0; i < 20; ++i) {
      usleep(5'000);
      kill(aim, SIGUSR2);
    }
  });
  cgroup_->Take(sender.pid());
  RunBoth(sender, target);
  const RawEpoch epoch = Cut();
  EXPECT_EQ(Total(epoch, TELLTALE_SIGNAL, TELLTALE_SIGNAL_GENERATED).events, 20U);
  EXPECT_EQ(Total(epoch, TELLTALE_SIGNAL, TELLTALE_SIGNAL_DELIVERED).events, 0U);
}

TEST_F(ScopedSensorTest, ADiskRequestIsWhoseItWasWhenItWasIssued) {
  const int mine = UnnamedFile(O_DIRECT), others = UnnamedFile(O_DIRECT);
  if (mine < 0 || others < 0) GTEST_SKIP() << "SKIPPED: no disk here that can be written directly";
  constexpr uint64_t kBlock = 65'536, kBlocks = 64;
  const auto write_to = [](int fd) {
    void* block = nullptr;
    if (posix_memalign(&block, 4096, kBlock) != 0) abort();
    for (uint64_t i = 0; i < kBlocks; ++i) {
      if (pwrite(fd, block, kBlock, static_cast<off_t>(i * kBlock)) < 0) abort();
    }
    free(block);
  };
  Child inside([&] { write_to(mine); }), outside([&] { write_to(others); });
  cgroup_->Take(inside.pid());
  RunBoth(inside, outside);
  const RawEpoch epoch = Cut();
  const Amount issued = Total(epoch, TELLTALE_DISK_IO, TELLTALE_DISK_WRITE_ISSUED);
  const Amount done = Total(epoch, TELLTALE_DISK_IO, TELLTALE_DISK_WRITE_ISSUED + 1);
  if (issued.events == 0) GTEST_SKIP() << "SKIPPED: the file lies on nothing that has requests";
  EXPECT_TRUE(Within(0.05, issued.weight, kBlock * kBlocks));
  EXPECT_EQ(done.weight, issued.weight);
  for (const RawVital& vital : epoch.vitals) {
    if (vital.id != TELLTALE_DISK_IO) continue;
    EXPECT_EQ(vital.backlog.back(), 0);
  }
  ExpectRowsAddUp(epoch);
  close(mine);
  close(others);
}

TEST_F(ScopedSensorTest, TwoSensorsSeeEachItsOwnCgroup) {
  Cgroup second(Named("second"));
  BpfSensorOptions options;
  options.cgroup = second.path();
  BpfSensor other(std::move(options));
  KeepAll others;
  ASSERT_TRUE(other.Start().ok());
  Child here([] { Call(kCalls); }), there([] { Call(2 * kCalls); });
  cgroup_->Take(here.pid());
  second.Take(there.pid());
  ASSERT_TRUE(other.Cut(others).ok());
  RunBoth(here, there);
  const RawEpoch one = Cut();
  const absl::StatusOr<RawEpoch> two = other.Cut(others);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_TRUE(
      Within(kOnePercent, Total(one, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, kCalls));
  EXPECT_TRUE(
      Within(kOnePercent, Total(*two, TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, 2 * kCalls));
  EXPECT_EQ(Find(one, there.pid()), nullptr);
  EXPECT_EQ(Find(*two, here.pid()), nullptr);
  there.End();
}

TEST_F(ScopedSensorTest, SaysThatTheCgroupIsGoneAndWatchesTheNextOneOfThatName) {
  const auto told = [this] {
    return absl::StrContains(sensor_->Status()[TELLTALE_SYSCALL - 1].reason, "was removed");
  };
  EXPECT_FALSE(told());
  {
    Child first([] { Call(kCalls); });
    cgroup_->Take(first.pid());
    Cut();
    first.Begin();
    Await(first);
    EXPECT_GE(Total(Cut(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, kCalls);
  }
  cgroup_->Remove();
  DrainFor(std::chrono::milliseconds(1'200));
  EXPECT_TRUE(told());
  cgroup_->Make();
  DrainFor(std::chrono::milliseconds(1'200));
  EXPECT_FALSE(told());
  Child again([] { Call(kCalls); });
  cgroup_->Take(again.pid());
  Cut();
  again.Begin();
  Await(again);
  EXPECT_GE(Total(Cut(), TELLTALE_SYSCALL, TELLTALE_SYSCALL_OK).events, kCalls);
}

TEST_F(ScopedSensorTest, SaysWhatItCannotCountOfACgroup) {
  for (const uint8_t vital : {TELLTALE_SOFTIRQ, TELLTALE_RETRANSMIT}) {
    const VitalStatus status = sensor_->Status()[vital - 1U];
    EXPECT_EQ(status.state, VitalState::kUnavailable);
    EXPECT_TRUE(absl::StrContains(status.reason, cgroup_->path())) << status.reason;
  }
  EXPECT_EQ(sensor_->Status()[TELLTALE_SYSCALL - 1].state, VitalState::kActive);
}

TEST(SensorScopeTest, RefusesACgroupThatIsNotThere) {
  if (geteuid() != 0 || Mount().empty()) GTEST_SKIP() << "SKIPPED: needs root and cgroups";
  BpfSensorOptions options;
  options.cgroup = "/no/such/slice";
  BpfSensor sensor(std::move(options));
  const absl::Status status = sensor.Start();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << "SKIPPED: " << status;
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  for (const char* part : {"cgroup:/no/such/slice", "No such file", "sensor.scope: host"}) {
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  }
}

}  // namespace
}  // namespace telltale::agent
