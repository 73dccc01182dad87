// The vital llc without a PMU: the sensor is given another event of this kernel for the hardware's
// cache misses, so that the program itself runs, on every CPU and in the kernel's own way. It was
// never run by a hardware counter.

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "sketch/vital_ids.h"
#include "tests/bpf/sensor_fixture.h"
#include "tests/support/fake_perf_events.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kPeriod = 16;
constexpr PerfCounter kPageFaults = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, kPeriod};
constexpr size_t kPages = 40'000, kPageBytes = 4096;

class LlcTest : public SensorTest {
 protected:
  BpfSensorOptions Options() override {
    fake_->cpus = KernelPerfEvents().OnlineCpus();
    fake_->stand_in = kPageFaults;
    BpfSensorOptions options;
    options.perf_events = fake_;
    return options;
  }
  VitalStatus Status() const { return sensor_->Status()[TELLTALE_LLC - 1]; }

  std::shared_ptr<FakePerfEvents> fake_ = std::make_shared<FakePerfEvents>();
};

// The code that touches the pages: a function of its own, so that its address can be told.
__attribute__((noinline)) void TouchPages(volatile char* pages) {
  for (size_t i = 0; i < kPages; ++i) pages[i * kPageBytes] = 1;
}

void FaultPages() {
  void* pages = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || madvise(pages, kPages * kPageBytes, MADV_NOHUGEPAGE) != 0) abort();
  TouchPages(static_cast<volatile char*>(pages));
}

TEST_F(LlcTest, ACountersEveryPeriodIsAnEventOfThatWeight) {
  EXPECT_EQ(Status().state, VitalState::kActive) << Status().reason;
  EXPECT_EQ(Status().hook, "perf_event/cache-misses");
  Child child(FaultPages);
  Cut();
  child.Begin();
  Await(child);
  const RawEpoch epoch = Cut();
  const Amount total = Total(epoch, TELLTALE_LLC, 0);
  EXPECT_EQ(total.weight, total.events * kPeriod);
  // Each switch away from the child may leave a period begun to another.
  const Amount share = ShareOf(epoch, child.pid(), TELLTALE_LLC, 0);
  EXPECT_NEAR(static_cast<double>(share.weight), kPages, 0.05 * kPages + 64 * kPeriod);
  const Amount faults = ShareOf(epoch, child.pid(), TELLTALE_USER_PAGE, TELLTALE_FAULT_MINOR);
  EXPECT_NEAR(static_cast<double>(share.weight), static_cast<double>(faults.weight),
              0.05 * kPages + 64 * kPeriod);
}

// Where this program's code begins, proc_pid_stat(5) field 26; children by fork have the same.
uint64_t ImageBegin() {
  std::ifstream stat("/proc/self/stat");
  std::string word;
  for (int field = 1; field <= 26; ++field) stat >> word;
  return std::stoull(word);
}

TEST_F(LlcTest, KeepsTheCodeThatMissed) {
  Child child(FaultPages);
  Cut();
  child.Begin();
  Await(child);
  Cut();
  const auto begin = reinterpret_cast<uint64_t>(&TouchPages);
  size_t found = 0;
  for (const RawSample& sample : kept_.samples) {
    if (sample.vital != TELLTALE_LLC || sample.tgid != static_cast<uint32_t>(child.pid())) continue;
    EXPECT_EQ(sample.weight, kPeriod);
    if (sample.detail[0] < begin || sample.detail[0] > begin + 256) continue;
    EXPECT_EQ(sample.label[0], (sample.detail[0] - ImageBegin()) >> 8);
    ++found;
    EXPECT_FALSE(sample.stack.kernel_wanted) << "it came from user code";
    EXPECT_TRUE(sample.stack.user_wanted);
  }
  EXPECT_GT(found, 0U);
}

class LlcGapTest : public LlcTest {
 protected:
  BpfSensorOptions Options() override {
    BpfSensorOptions options = LlcTest::Options();
    fake_->cpus.push_back(7777);
    fake_->open_errors[7777] = ENODEV;
    return options;
  }
};

TEST_F(LlcGapTest, IsDegradedWhereOneCpuHasNoCounter) {
  EXPECT_EQ(Status().state, VitalState::kDegraded);
  EXPECT_EQ(Status().reason, "not counted on CPU 7777: it is offline");
}

class LlcNoneTest : public LlcTest {
 protected:
  BpfSensorOptions Options() override {
    BpfSensorOptions options = LlcTest::Options();
    for (const int cpu : fake_->cpus) fake_->open_errors[cpu] = ENOENT;
    return options;
  }
};

TEST_F(LlcNoneTest, IsUnavailableNotZeroWithoutCounters) {
  EXPECT_EQ(Status().state, VitalState::kUnavailable);
  EXPECT_EQ(Status().hook, "");
  EXPECT_EQ(Status().reason, "no hardware counters on this machine");
}

}  // namespace
}  // namespace telltale::agent
