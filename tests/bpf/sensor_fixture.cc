#include "tests/bpf/sensor_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace telltale::agent {

Child::Child(std::function<void()> work) {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) abort();
  pid_ = fork();
  if (pid_ == 0) {
    close(down[1]);
    close(up[0]);
    char token = 0;
    if (read(down[0], &token, 1) == 1) {
      work();
      if (write(up[1], &token, 1) != 1) _exit(2);
      if (read(down[0], &token, 1) != 1) _exit(3);
    }
    _exit(0);
  }
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    End();
  }
}

void Child::Begin() { ASSERT_EQ(write(to_child_, "g", 1), 1); }

Child::State Child::AwaitDone(int timeout_ms) {
  pollfd wait = {from_child_, POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) != 1) return State::kWorking;
  char token = 0;
  return read(from_child_, &token, 1) == 1 ? State::kDone : State::kGaveUp;
}

int Child::End() {
  int status = -1;
  if (write(to_child_, "e", 1) < 0) status = -2;
  close(to_child_);
  close(from_child_);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

void SensorTest::Start(BpfSensorOptions options) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "SKIPPED: the kernel sensor needs root (or CAP_BPF and CAP_PERFMON)";
  }
  signal(SIGPIPE, SIG_IGN);
  sensor_ = std::make_unique<BpfSensor>(std::move(options));
  const absl::Status started = sensor_->Start();
  if (absl::IsFailedPrecondition(started)) {
    GTEST_SKIP() << "SKIPPED: this kernel cannot be watched: " << started;
  }
  ASSERT_TRUE(started.ok()) << started;
}

bool SensorTest::TryAwait(Child& child) {
  constexpr int kDrainMs = 50, kDrains = 120'000 / kDrainMs;
  for (int i = 0; i < kDrains; ++i) {
    const Child::State state = child.AwaitDone(kDrainMs);
    if (state != Child::State::kWorking) return state == Child::State::kDone;
    EXPECT_TRUE(sensor_->Drain(kept_).ok());
  }
  ADD_FAILURE() << "the child's work took more than two minutes";
  return false;
}

void SensorTest::Await(Child& child) { ASSERT_TRUE(TryAwait(child)); }

RawEpoch SensorTest::Cut() {
  absl::StatusOr<RawEpoch> epoch = sensor_->Cut(kept_);
  EXPECT_TRUE(epoch.ok()) << epoch.status();
  return epoch.ok() ? *std::move(epoch) : RawEpoch{};
}

Amount SensorTest::Total(const RawEpoch& epoch, uint8_t vital, uint8_t sub) {
  for (const RawVital& v : epoch.vitals) {
    if (v.id == vital) return {v.subs.at(sub).events, v.subs.at(sub).weight};
  }
  return {};
}

uint64_t SensorTest::AccountedNs(const RawEpoch& epoch) {
  uint64_t sum = 0;
  for (const RawProcess& process : epoch.processes) {
    sum += process.on_cpu_ns + process.queue_ns + process.blocked_ns;
  }
  return sum;
}

Amount SensorTest::ShareOf(const RawEpoch& epoch, pid_t tgid, uint8_t vital, uint8_t sub) {
  Amount sum;
  for (const RawProcess& process : epoch.processes) {
    if (process.tgid != static_cast<uint32_t>(tgid)) continue;
    for (const RawProcess::Share& share : process.shares) {
      if (share.vital != vital || share.sub != sub) continue;
      sum.events += share.events;
      sum.weight += share.weight;
    }
  }
  return sum;
}

const RawProcess* SensorTest::Find(const RawEpoch& epoch, pid_t tgid) {
  for (const RawProcess& process : epoch.processes) {
    if (process.tgid == static_cast<uint32_t>(tgid)) return &process;
  }
  return nullptr;
}

void SensorTest::PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

std::unique_ptr<BpfSensor> SensorCountTest::before_;

void SensorCountTest::SetUp() {
  if (before_ == nullptr) return SensorTest::SetUp();
  sensor_ = std::move(before_);
  Cut();
  kept_ = {};
}

void SensorCountTest::TearDown() {
  if (!HasFailure() && !IsSkipped()) before_ = std::move(sensor_);
}

int UnnamedFile(int flags) {
  std::string path = "telltale_sensor_test.XXXXXX";
  const int made = mkstemp(path.data());
  const int fd = made < 0 ? -1 : open(path.c_str(), O_RDWR | flags);
  if (made >= 0) {
    close(made);
    unlink(path.c_str());
  }
  return fd;
}

bool Through(const std::vector<uint64_t>& frames, std::string_view part) {
  std::ifstream symbols("/proc/kallsyms");
  std::string line;
  bool inside = false;
  uint64_t begin = 0;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  while (std::getline(symbols, line)) {
    uint64_t address = 0;
    char type = 0, name[128] = {};
    if (sscanf(line.c_str(), "%" SCNx64 " %c %127s", &address, &type, name) != 3) continue;
    if (inside && address > begin) {
      ranges.emplace_back(begin, address);
      inside = false;
    }
    if (!inside && std::string_view(name).find(part) != std::string_view::npos) {
      inside = true;
      begin = address;
    }
  }
  return std::ranges::any_of(frames, [&](uint64_t frame) {
    return std::ranges::any_of(
        ranges, [&](const auto& range) { return frame > range.first && frame <= range.second; });
  });
}

bool LooksTasksUp() {
  std::ifstream symbols("/proc/kallsyms");
  for (std::string line; std::getline(symbols, line);) {
    if (line.ends_with(" bpf_task_from_pid")) return true;
  }
  return false;
}

testing::AssertionResult Within(double share, uint64_t seen, uint64_t expected) {
  const double off = std::fabs(static_cast<double>(seen) - static_cast<double>(expected));
  if (off <= share * static_cast<double>(expected)) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "seen " << seen << ", expected " << expected << " within " << share * 100 << " %";
}

}  // namespace telltale::agent
