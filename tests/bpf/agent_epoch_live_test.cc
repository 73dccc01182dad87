// A known load on this host, seen through the real sensor, /proc and the cutter: what a collector
// would read about it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/epoch/epoch_cutter.h"
#include "agent/epoch/sample_folder.h"
#include "agent/host/gauges.h"
#include "agent/sensor/bpf_sensor.h"
#include "agent/symbols/host_resolver.h"
#include "agent/symbols/name_book.h"
#include "proto/codec.h"

// The load, in a function that a stack should name. Volatile work keeps it from being folded.
extern "C" __attribute__((noinline)) void TelltaleLiveLoad(volatile uint64_t* sum) {
  for (uint64_t i = 0;; ++i) *sum = *sum + i;
}

namespace telltale::agent {
namespace {

using namespace std::chrono_literals;

class LiveEpochTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "SKIPPED: the kernel sensor needs root (or CAP_BPF and CAP_PERFMON)";
    }
    if (!sensor_) {
      // Tokens enough for a busy machine: what is tested is what becomes of samples, not their
      // choice.
      sensor_ = std::make_unique<BpfSensor>(
          BpfSensorOptions{.budget = {.per_second = 50'000, .burst = 50'000}, .seed = {}});
      start_ = sensor_->Start();
    }
    if (absl::IsFailedPrecondition(start_)) {
      GTEST_SKIP() << "SKIPPED: this kernel cannot be watched: " << start_;
    }
    ASSERT_TRUE(start_.ok()) << start_;
  }
  static void TearDownTestSuite() { sensor_.reset(); }

  // Runs `load` in a child while an epoch of 3 s passes; what the cut says about it.
  void Watch(void (*load)()) {
    ASSERT_TRUE(sensor_->Cut(folder_).ok());
    folder_.Take();
    child_ = fork();
    if (child_ == 0) {
      load();
      _exit(0);
    }
    for (int i = 0; i < 60; ++i) {
      std::this_thread::sleep_for(50ms);
      ASSERT_TRUE(sensor_->Drain(folder_).ok());
    }
    auto raw = sensor_->Cut(folder_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    ASSERT_TRUE(raw.ok()) << raw.status();
    FoldedEpoch folded = folder_.Take();
    CutContext context;
    context.clock.wall_minus_mono_ns = 1'795'000'000'000'000'000;
    context.length_s = 5;
    context.boot_id = std::string(16, 'b');
    context.vitals = sensor_->Status();
    context.gauges = gauges_.Read();
    auto cut = cutter_.Cut(*raw, folded, context);
    ASSERT_TRUE(cut.ok()) << cut.status();
    cut_ = *std::move(cut);
    for (const v1::Names& names :
         names_.Unsent(cut_.body.tables(), cut_.body.epoch().start_unix_ns())) {
      ASSERT_TRUE(proto::CheckNames(names).ok()) << proto::CheckNames(names);
      for (int i = 0; i < names.offset_size(); ++i) {
        named_[{names.build_id(), names.offset(i)}] = names.name(i);
      }
    }
  }

  const v1::Vital& VitalOf(uint32_t id) const {
    return *std::ranges::find(cut_.body.vitals(), id, &v1::Vital::id);
  }
  std::string Text(uint32_t index_plus_1) const {
    return index_plus_1 == 0 ? "" : cut_.body.tables().strings(static_cast<int>(index_plus_1) - 1);
  }
  std::vector<std::string> UserStack(const v1::FoldedSample& sample) const {
    std::vector<std::string> functions;
    const v1::Tables& tables = cut_.body.tables();
    if (sample.stack() == 0) return functions;
    for (const uint32_t frame : tables.stacks(static_cast<int>(sample.stack()) - 1).user()) {
      const uint32_t mapping = tables.frame_mapping(static_cast<int>(frame));
      if (mapping == 0) continue;
      const auto it = named_.find({tables.mappings(static_cast<int>(mapping) - 1).build_id(),
                                   tables.frame_offset(static_cast<int>(frame))});
      functions.push_back(it == named_.end() ? "?" : it->second);
    }
    return functions;
  }

  static inline std::unique_ptr<BpfSensor> sensor_;  // of all tests: loading takes a while
  static inline absl::Status start_;
  HostResolver resolver_{{}};
  NameBook names_;
  SampleFolder folder_{{}, resolver_, names_};
  EpochCutter cutter_{{}, resolver_};
  GaugeReader gauges_{{.root = "", .agent_pids = [] {
                         return std::vector<uint32_t>{static_cast<uint32_t>(getpid())};
                       }}};
  CutResult cut_;
  std::map<std::pair<std::string, uint64_t>, std::string> named_;
  pid_t child_ = 0;
};

TEST_F(LiveEpochTest, NamesTheFunctionThatUsesTheProcessorAndItsCallers) {
  Watch([] {
    volatile uint64_t sum = 0;
    TelltaleLiveLoad(&sum);
  });
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  bool seen = false;
  for (const v1::FoldedSample& sample : VitalOf(TELLTALE_CPU).samples()) {
    if (Text(sample.exe()) != own || sample.sub() != TELLTALE_CPU_USER) continue;
    const std::vector<std::string> stack = UserStack(sample);
    if (stack.empty() || stack[0] != "TelltaleLiveLoad") continue;
    EXPECT_THAT(stack, testing::Contains(testing::HasSubstr("LiveEpochTest")));
    EXPECT_EQ(Text(sample.exemplar().cgroup()).substr(0, 1), "/");
    EXPECT_LE(sample.low(), sample.high());
    seen = true;
  }
  EXPECT_TRUE(seen);
  ASSERT_GT(cut_.body.processes().rows_size(), 0);
  const auto row = std::ranges::find(cut_.body.processes().rows(), static_cast<uint32_t>(child_),
                                     &v1::ProcessRow::pid);
  ASSERT_NE(row, cut_.body.processes().rows().end());
  EXPECT_EQ(Text(row->exe()), own);
}

#ifdef __x86_64__
std::string PerfMapOf(pid_t pid) { return "/tmp/perf-" + std::to_string(pid) + ".map"; }

// Makes a function that never returns, lists it as programs that make code do, and calls it.
void RunGeneratedCode() {
  // push %rbp; mov %rsp, %rbp; jmp to itself
  constexpr unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfe};
  void* code = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return;
  memcpy(code, kCode, sizeof kCode);
  if (mprotect(code, 4'096, PROT_READ | PROT_EXEC) != 0) return;
  std::ofstream(PerfMapOf(getpid())) << std::hex << reinterpret_cast<uint64_t>(code) << " "
                                     << sizeof kCode << " TelltaleMadeAtRunTime\n";
  reinterpret_cast<void (*)()>(code)();
}

TEST_F(LiveEpochTest, NamesGeneratedCodeByItsPerfMap) {
  Watch(RunGeneratedCode);
  if (child_ > 0) unlink(PerfMapOf(child_).c_str());
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  bool seen = false;
  for (const v1::FoldedSample& sample : VitalOf(TELLTALE_CPU).samples()) {
    if (Text(sample.exe()) != own || sample.sub() != TELLTALE_CPU_USER) continue;
    const std::vector<std::string> stack = UserStack(sample);
    if (stack.empty() || stack[0] != "TelltaleMadeAtRunTime") continue;
    EXPECT_THAT(stack, testing::Contains(testing::HasSubstr("RunGeneratedCode")));
    seen = true;
  }
  EXPECT_TRUE(seen);
  uint64_t generated = 0;
  for (int i = 0; i < cut_.body.user_frames().outcome_size(); ++i) {
    if (cut_.body.user_frames().outcome(i) == v1::NAME_OUTCOME_GENERATED) {
      generated = cut_.body.user_frames().frames(i);
    }
  }
  EXPECT_GT(generated, 0u);
}
#endif

TEST_F(LiveEpochTest, CarriesWhoWokeATaskWithItsStack) {
  bool by_writer = false, by_interrupt = false;
  // Which waits are kept with the stack is chance: once none of the reader's was in three epochs.
  for (int epoch = 0; epoch < 15 && !(by_writer && by_interrupt); ++epoch) {
    Watch([] {
      int ends[2];
      if (pipe(ends) != 0) return;
      const pid_t writer = fork();
      if (writer == 0) {
        close(ends[0]);  // so that it ends with the reader
        while (usleep(5'000) == 0 && write(ends[1], "x", 1) == 1) {
        }
        _exit(0);
      }
      char byte = 0;
      while (read(ends[0], &byte, 1) == 1) {
      }
    });
    const v1::Tables& tables = cut_.body.tables();
    for (const v1::FoldedSample& sample : VitalOf(TELLTALE_BLOCKING).samples()) {
      const v1::Peer& waker = sample.exemplar().waker();
      if (waker.stack() == 0) continue;
      EXPECT_GT(tables.stacks(static_cast<int>(waker.stack()) - 1).kernel_size(), 0);
      by_writer |= sample.exemplar().pid() == static_cast<uint32_t>(child_) && waker.pid() != 0 &&
                   waker.start_mono_ns() != 0 &&
                   Text(waker.comm()) == Text(sample.exemplar().comm());
      by_interrupt |= waker.pid() == 0 && Text(waker.comm()) == "[irq]";
    }
  }
  EXPECT_TRUE(by_writer);
  EXPECT_TRUE(by_interrupt);
}

TEST_F(LiveEpochTest, TheCodecAcceptsWhatThisHostSays) {
  Watch([] {
    for (;;) {
      const pid_t pid = fork();
      if (pid == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
      waitpid(pid, nullptr, 0);
    }
  });
  v1::Identity identity;
  identity.set_node("n1");
  identity.set_incarnation(std::string(16, 'i'));
  identity.set_sequence(1);
  const v1::Schema schema = proto::BuiltinSchema();
  const auto summary = proto::EncodeSummary(identity, schema.id(), cut_.body, cut_.cells);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_TRUE(proto::DecodeSummary(*summary, schema).ok());
  RecordProperty("body_bytes", static_cast<int>(summary->body().size()));
  RecordProperty("cells_bytes", static_cast<int>(summary->cells().size()));

  // Hundreds of short-lived processes are one row and one event each of exec and exit.
  uint32_t instances = 0;
  for (const v1::ProcessRow& row : cut_.body.processes().rows()) {
    if (Text(row.exe()).ends_with("/true")) instances = std::max(instances, row.instances());
  }
  uint32_t execs = 0;
  for (const v1::DiscreteEvent& event : cut_.body.events()) {
    if (event.type() == v1::EVENT_TYPE_EXEC && Text(event.exe()).ends_with("/true")) {
      execs = std::max(execs, event.count());
    }
  }
  EXPECT_GT(instances, 50u);
  EXPECT_GT(execs, 50u);
  EXPECT_GT(cut_.body.gauges().memory_total_bytes(), 0u);
}

}  // namespace
}  // namespace telltale::agent
