// Sums that must hold whatever the host does: rows + other = total, run + delay + blocked =
// task-seconds; and the discrete events of processes that come and go.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "sketch/vitals.h"
#include "tests/bpf/sensor_fixture.h"

namespace telltale::agent {
namespace {

constexpr double kOnePercent = 0.01;

// Events nobody can name (an interrupt during a task's last switch, a virtual machine's PID 1 that
// runs no BPF) come a few at a time whatever the load; a share of a hundred events says nothing
// about them.
constexpr uint64_t kFewEvents = 20;

void MixedWork() {
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(127);
    }
    waitpid(child, nullptr, 0);
    usleep(2'000);
  }
}

TEST_F(SensorCountTest, RowsAndOtherAddUpToEachTotalAndOtherIsSmall) {
  Child child(MixedWork);
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  std::map<std::pair<int, int>, Amount> rows;
  for (const RawProcess& process : epoch.processes) {
    for (const RawProcess::Share& share : process.shares) {
      rows[{share.vital, share.sub}].events += share.events;
      rows[{share.vital, share.sub}].weight += share.weight;
    }
  }
  std::map<std::pair<int, int>, Amount> other;
  for (const RawProcess::Share& share : epoch.other.shares) {
    other[{share.vital, share.sub}] = {share.events, share.weight};
  }
  for (const RawVital& vital : epoch.vitals) {
    for (size_t sub = 0; sub < vital.subs.size(); ++sub) {
      const std::pair<int, int> key{vital.id, sub};
      const std::string name = std::string(sketch::FindVital(vital.id)->name) + "." +
                               std::string(sketch::FindVital(vital.id)->subs[sub].name);
      EXPECT_EQ(rows[key].events + other[key].events, vital.subs[sub].events) << name;
      EXPECT_EQ(rows[key].weight + other[key].weight, vital.subs[sub].weight) << name;
      EXPECT_LE(other[key].events, vital.subs[sub].events / 100 + kFewEvents) << name;
    }
  }
}

TEST_F(SensorCountTest, AProcessKeepsWhatItsThreadsDidBeforeTheyEnded) {
  constexpr int kThreads = 8;
  constexpr auto kSleep = std::chrono::milliseconds(400);
  Child child([kSleep] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([kSleep] { std::this_thread::sleep_for(kSleep); });
    for (std::thread& thread : threads) thread.join();
  });
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const Amount slept = ShareOf(epoch, child.pid(), TELLTALE_BLOCKING, TELLTALE_BLOCK_TIMER);
  EXPECT_GE(slept.events, 8U);
  EXPECT_GE(slept.weight, 8 * 399'000'000U);
}

TEST_F(SensorTest, TheKernelCodeThatATickInterruptedIsWhereItsStackBegins) {
  Child child([] {
    std::vector<char> bytes(16 << 20);
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 400; ++i) EXPECT_GT(read(zero, bytes.data(), bytes.size()), 0);
    close(zero);
  });
  Cut();
  child.Begin();
  Await(child);
  Cut();
  size_t seen = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_CPU || sample.sub != TELLTALE_CPU_KERNEL ||
        sample.tgid != static_cast<uint32_t>(child.pid()) || sample.stack.kernel.empty())
      continue;
    ++seen;
    EXPECT_EQ(sample.detail[0], sample.stack.kernel.front());
  }
  EXPECT_GT(seen, 0U);
}

TEST_F(SensorCountTest, SecondsAddUpToEachTotal) {
  Child child(MixedWork);
  Cut();
  child.Begin();
  Await(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  const RawEpoch epoch = Cut();
  for (const RawVital& vital : epoch.vitals) {
    for (const RawSub& sub : vital.subs) {
      uint64_t sum = 0;
      for (const uint64_t second : sub.second_weight) sum += second;
      EXPECT_EQ(sum, sub.weight) << sketch::FindVital(vital.id)->name;
    }
    uint64_t cells = 0, subs = 0;
    for (const uint64_t cell : vital.cells.total) cells += cell;
    for (const RawSub& sub : vital.subs) subs += sub.weight;
    for (const RawLoss& loss : epoch.losses) {
      if (loss.kind == LossKind::kNestedAdd && loss.vital == vital.id) cells += loss.weight;
    }
    EXPECT_EQ(cells, subs) << sketch::FindVital(vital.id)->name;
  }
}

TEST_F(SensorCountTest, RunDelayAndBlockedAddUpToTheTimeOfAllTasks) {
  Child child(MixedWork);
  Cut();
  child.Begin();
  Await(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const RawEpoch epoch = Cut();
  EXPECT_TRUE(Within(kOnePercent, AccountedNs(epoch), epoch.task_ns));
}

TEST_F(UnstartedSensorTest, NumbersEpochsFromZeroWithoutAGapEachWithTheSeedOfItsNumber) {
  BpfSensorOptions options;
  options.seed = [](uint64_t number) { return 1000 + number; };
  Start(options);
  if (IsSkipped() || HasFatalFailure()) return;
  const RawEpoch first = Cut(), second = Cut(), third = Cut();
  EXPECT_EQ(first.number, 0U);
  EXPECT_EQ(first.seed, 1000U);
  EXPECT_EQ(second.number, 1U);
  EXPECT_EQ(second.seed, 1001U);
  EXPECT_EQ(third.seed, 1002U);
  EXPECT_EQ(first.end_mono_ns, second.start_mono_ns);
  EXPECT_EQ(second.end_mono_ns, third.start_mono_ns);
}

TEST_F(SensorTest, KeepsExecAndExitWithItsCause) {
  Cut();
  const pid_t execs = fork();
  if (execs == 0) {
    execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
    _exit(127);
  }
  waitpid(execs, nullptr, 0);
  const pid_t killed = fork();
  if (killed == 0) {
    pause();
    _exit(0);
  }
  kill(killed, SIGKILL);
  waitpid(killed, nullptr, 0);
  Cut();
  bool exec_seen = false, exit_seen = false, kill_seen = false;
  for (const RawEvent& event : kept_.events) {
    const auto pid = static_cast<pid_t>(event.tgid);
    if (pid == execs && event.kind == RawEventKind::kExec) exec_seen = event.path == "/bin/sh";
    if (pid == execs && event.kind == RawEventKind::kExit) {
      exit_seen = WIFEXITED(event.exit_code) && WEXITSTATUS(event.exit_code) == 7;
    }
    if (pid == killed && event.kind == RawEventKind::kExit) {
      kill_seen = event.exit_signal == SIGKILL;
    }
  }
  EXPECT_TRUE(exec_seen);
  EXPECT_TRUE(exit_seen);
  EXPECT_TRUE(kill_seen);
}

}  // namespace
}  // namespace telltale::agent
