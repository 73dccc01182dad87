// Where a kernel stack begins.

#include "agent/sensor/stack_trimmer.h"

#include <sstream>

#include "gtest/gtest.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

constexpr char kSymbols[] =
    "ffffffff81000100 T bpf_trace_run2\n"
    "ffffffff81000200 T bpf_prog_alloc\n"
    "ffffffff81000300 t __traceiter_mm_page_alloc\n"
    "ffffffff81000400 T alloc_pages\n"
    "ffffffff81000500 T handle_mm_fault\n"
    "ffffffff81000600 T __schedule\n"
    "ffffffff81000700 T do_syscall_64\n";

RawSample With(std::vector<uint64_t> frames) {
  RawSample sample;
  sample.vital = TELLTALE_KERNEL_PAGE;
  sample.stack.kernel = std::move(frames);
  return sample;
}

StackTrimmer Loaded(const char* symbols) {
  StackTrimmer trimmer;
  std::istringstream text(symbols);
  trimmer.Load(text);
  return trimmer;
}

TEST(StackTrimmerTest, TakesOffTheProgramAndTheTracepointsCallToIt) {
  RawSample sample = With({0xffffffffc0001234, 0xffffffff81000110, 0xffffffff81000310,
                           0xffffffff81000410, 0xffffffff81000510});
  Loaded(kSymbols).Trim(sample);
  EXPECT_EQ(sample.stack.kernel, (std::vector<uint64_t>{0xffffffff81000410, 0xffffffff81000510}));
}

TEST(StackTrimmerTest, TrimsTheWakersStackToo) {
  RawSample sample = With({0xffffffff81000510});
  sample.waker.stack.kernel = {0xffffffffc0001234, 0xffffffff81000110, 0xffffffff81000410};
  Loaded(kSymbols).Trim(sample);
  EXPECT_EQ(sample.waker.stack.kernel, (std::vector<uint64_t>{0xffffffff81000410}));
  EXPECT_EQ(sample.stack.kernel, (std::vector<uint64_t>{0xffffffff81000510}));
}

TEST(StackTrimmerTest, LeavesAStackTakenFromOutsideAsItIs) {
  RawSample sample = With({0xffffffff81000410, 0xffffffff81000510});
  Loaded(kSymbols).Trim(sample);
  EXPECT_EQ(sample.stack.kernel.size(), 2U);
}

TEST(StackTrimmerTest, BeginsATicksStackAtTheInterruptedCode) {
  RawSample sample =
      With({0xffffffffc0001234, 0xffffffff81000110, 0xffffffff81000410, 0xffffffff81000510});
  sample.vital = TELLTALE_CPU;
  sample.detail[0] = 0xffffffff81000510;
  Loaded(kSymbols).Trim(sample);
  EXPECT_EQ(sample.stack.kernel, (std::vector<uint64_t>{0xffffffff81000510}));
}

// A counter interrupts anywhere: the scheduler is then where it happened, not how we came to know.
TEST(StackTrimmerTest, LeavesTheSchedulerOnTheStackOfACacheMiss) {
  const std::vector<uint64_t> frames = {0xffffffff81000410, 0xffffffff81000610, 0xffffffff81000710};
  RawSample sample = With(frames);
  sample.vital = TELLTALE_LLC;
  Loaded(kSymbols).Trim(sample);
  EXPECT_EQ(sample.stack.kernel, frames);
}

TEST(StackTrimmerTest, DoesNothingWhenTheKernelHidesItsAddresses) {
  RawSample sample = With({0x10, 0x20});
  Loaded("0000000000000000 T bpf_trace_run2\n0000000000000000 T alloc_pages\n").Trim(sample);
  EXPECT_EQ(sample.stack.kernel.size(), 2U);
}

}  // namespace
}  // namespace telltale::agent
