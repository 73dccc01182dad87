// Adding up the kernel's per-CPU blocks, without a kernel.

#include "agent/sensor/epoch_reader.h"

#include <cmath>
#include <memory>
#include <numeric>

#include "agent/sensor/control_words.h"
#include "agent/sensor/vital_groups.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sketch/vitals.h"

namespace telltale::agent {
namespace {

class EpochReaderTest : public testing::Test {
 protected:
  RawEpoch Read(uint32_t seconds) {
    RawEpoch epoch;
    const telltale_half* halves[] = {cpu_[0].get(), cpu_[1].get()};
    sums_ = ReadEpoch(halves, bitmaps_->word[0], *control_, base_, seconds, epoch);
    return epoch;
  }

  std::unique_ptr<telltale_half> cpu_[2] = {std::make_unique<telltale_half>(),
                                            std::make_unique<telltale_half>()};
  std::unique_ptr<telltale_bitmaps> bitmaps_ = std::make_unique<telltale_bitmaps>();
  std::unique_ptr<telltale_control> control_ = std::make_unique<telltale_control>();
  BacklogBase base_{};
  EpochSums sums_;
};

TEST(DenseSubsTest, AgreeWithTheFirstIndexOfEachVital) {
  constexpr int kFirst[TELLTALE_VITALS] = {
      TELLTALE_SUBS_CPU,         TELLTALE_SUBS_LLC,        TELLTALE_SUBS_SCHED_DELAY,
      TELLTALE_SUBS_BLOCKING,    TELLTALE_SUBS_DISK_IO,    TELLTALE_SUBS_USER_PAGE,
      TELLTALE_SUBS_KERNEL_PAGE, TELLTALE_SUBS_SYSCALL,    TELLTALE_SUBS_SIGNAL,
      TELLTALE_SUBS_SOCKET,      TELLTALE_SUBS_LOCK,       TELLTALE_SUBS_SOFTIRQ,
      TELLTALE_SUBS_RECLAIM,     TELLTALE_SUBS_RETRANSMIT,
  };
  for (const sketch::Vital& vital : sketch::Vitals()) {
    const DenseSub sub = DenseSubs()[kFirst[vital.id - 1]];
    EXPECT_EQ(sub.vital, vital.id) << vital.name;
    EXPECT_EQ(sub.sub, 0) << vital.name;
  }
  EXPECT_EQ(DenseSubs().back().vital, TELLTALE_RETRANSMIT);
}

TEST_F(EpochReaderTest, AddsTheCpusAndLeavesWhatIsNotYetInASecondInTheCurrentOne) {
  constexpr int kSub = TELLTALE_SUBS_SYSCALL;
  cpu_[0]->total[kSub] = {10, 10};
  cpu_[0]->second_weight[kSub][0] = 7;
  cpu_[0]->second_base[kSub] = 7;
  cpu_[0]->second = 2;
  cpu_[1]->total[kSub] = {5, 5};
  const RawSub sub = Read(3).vitals[TELLTALE_SYSCALL - 1].subs[TELLTALE_SYSCALL_OK];
  EXPECT_EQ(sub.events, 15U);
  EXPECT_EQ(sub.weight, 15U);
  EXPECT_EQ(sub.second_weight, (std::vector<uint64_t>{12, 0, 3}));
}

TEST_F(EpochReaderTest, PutsSecondsPastTheEpochsLastIntoTheLast) {
  cpu_[0]->total[TELLTALE_SUBS_CPU] = {2, 9};
  cpu_[0]->second_weight[TELLTALE_SUBS_CPU][5] = 9;
  cpu_[0]->second_base[TELLTALE_SUBS_CPU] = 9;
  EXPECT_EQ(Read(2).vitals[0].subs[0].second_weight, (std::vector<uint64_t>{0, 9}));
}

TEST_F(EpochReaderTest, TakesAFaultThatProvedMajorOffTheSecondItWasCountedIn) {
  constexpr int kMinor = TELLTALE_SUBS_USER_PAGE;
  cpu_[0]->total[kMinor] = {3, 3};  // 4 in second 0, then one taken back in second 1
  cpu_[0]->second_weight[kMinor][0] = 4;
  cpu_[0]->second_base[kMinor] = 4;
  cpu_[0]->second = 1;
  EXPECT_EQ(Read(2).vitals[TELLTALE_USER_PAGE - 1].subs[0].second_weight,
            (std::vector<uint64_t>{3, 0}));
}

TEST_F(EpochReaderTest, CarriesTheBacklogFromSecondToSecondAndEpochToEpoch) {
  base_[TELLTALE_BACKLOG_DISK] = 4;
  cpu_[0]->begun[TELLTALE_BACKLOG_DISK][0] = 4;
  cpu_[0]->ended[TELLTALE_BACKLOG_DISK][0] = 1;
  cpu_[1]->ended[TELLTALE_BACKLOG_DISK][1] = 5;
  const RawEpoch epoch = Read(3);
  EXPECT_EQ(epoch.vitals[TELLTALE_DISK_IO - 1].backlog, (std::vector<int64_t>{7, 2, 2}));
  EXPECT_EQ(sums_.backlog_end[TELLTALE_BACKLOG_DISK], 2);
}

// An exec that found no room is no sample of a wait that was due to be kept.
TEST_F(EpochReaderTest, RecordsOfProcessesThatWereLostAreTheSensorsLossAndNoVitals) {
  cpu_[0]->lost_records = 3;
  cpu_[1]->lost_records = 1;
  const RawEpoch epoch = Read(1);
  ASSERT_EQ(epoch.losses.size(), 1U);
  EXPECT_EQ(epoch.losses[0].kind, LossKind::kRingFull);
  EXPECT_EQ(epoch.losses[0].vital, 0);
  EXPECT_EQ(epoch.losses[0].events, 4U);
}

TEST(LocksOpenAtCutTest, AreThoseFoundOpenLessWhatCameSinceTheCut) {
  const auto cpu = std::make_unique<telltale_cpu>(), iterator = std::make_unique<telltale_cpu>();
  const std::array<const telltale_cpu*, 2> blocks = {cpu.get(), iterator.get()};
  EXPECT_EQ(LocksOpenAtCut(blocks, 1), 0);
  iterator->open_locks = 3;  // of tasks
  cpu->irq_lock_begin_ns = 1'000;
  cpu->irq_lock_duty_log2 = 2;
  cpu->half[1].begun[TELLTALE_BACKLOG_LOCK][0] = 5;
  cpu->half[1].ended[TELLTALE_BACKLOG_LOCK][0] = 3;
  cpu->half[0].begun[TELLTALE_BACKLOG_LOCK][0] = 100;  // before the cut
  EXPECT_EQ(LocksOpenAtCut(blocks, 1), 3 + 4 - 2);
  cpu->half[1].begun[TELLTALE_BACKLOG_LOCK][0] = 50;  // one began as the tasks were gone through
  EXPECT_EQ(LocksOpenAtCut(blocks, 1), 0);
}

TEST_F(EpochReaderTest, CountsWhatTheCellsLackOfTheTotalsAsNestedAdds) {
  constexpr int kAlloc = TELLTALE_SUBS_KERNEL_PAGE, kFree = kAlloc + 1;
  cpu_[0]->total[kAlloc] = {4, 40};
  cpu_[1]->total[kFree] = {2, 16};
  cpu_[0]->sketch[TELLTALE_KERNEL_PAGE - 1].slot[7].total = 33;
  cpu_[1]->sketch[TELLTALE_KERNEL_PAGE - 1].slot[7].total = 16;
  cpu_[0]->total[TELLTALE_SUBS_SIGNAL] = {3, 3};
  cpu_[0]->sketch[TELLTALE_SIGNAL - 1].slot[9].total = 3;
  RawEpoch epoch = Read(1);
  CountNestedAdds(epoch);
  ASSERT_EQ(epoch.losses.size(), 1U);
  EXPECT_EQ(epoch.losses[0].kind, LossKind::kNestedAdd);
  EXPECT_EQ(epoch.losses[0].vital, TELLTALE_KERNEL_PAGE);
  EXPECT_EQ(epoch.losses[0].events, 1U);
  EXPECT_EQ(epoch.losses[0].weight, 7U);
}

TEST_F(EpochReaderTest, AddsTheVotesOfTheCpusAndCopiesTheBitmapOfItsHalf) {
  constexpr unsigned kVital = TELLTALE_SYSCALL - 1;
  for (const auto& [cpu, weight] : {std::pair{0, 10}, std::pair{1, 7}}) {
    telltale_add(&cpu_[cpu]->sketch[kVital].slot[3], 77, static_cast<uint64_t>(weight), 0, 1, 0);
  }
  telltale_add(&cpu_[1]->sketch[kVital].slot[3], 78, 5, 0, 1, 0);
  bitmaps_->word[0][kVital][9] = 6;
  bitmaps_->word[1][kVital][9] = 1;
  const RawVital vital = Read(1).vitals[kVital];
  EXPECT_EQ(vital.cells.total[3], 22U);
  EXPECT_EQ(vital.cells.MarginAt({3, 77}), 12U);
  EXPECT_EQ(vital.cells.contested[3], 5U);
  EXPECT_EQ(vital.bitmap[9], 6U);
}

TEST_F(EpochReaderTest, GivesHistogramBucketsTheIndexOfTheirLogarithm) {
  cpu_[0]->hist[TELLTALE_HIST_RUNQUEUE].bucket[1] = 1;  // from 256 ns on
  cpu_[1]->hist[TELLTALE_HIST_RUNQUEUE].bucket[0] = 2;  // shorter
  for (const RawHistogram& histogram : Read(1).histograms) {
    if (histogram.op != HistogramOp::kRunqueueWait) continue;
    const auto index = static_cast<size_t>(std::floor(histogram.r * std::log2(256.0)));
    EXPECT_EQ(histogram.buckets[index], 1U);
    EXPECT_EQ(histogram.buckets[index - 1], 2U);
  }
}

TEST(VitalGroupsTest, ARefusedProgramCostsItsOwnVital) {
  for (const VitalGroup& group : VitalGroups()) {
    for (const std::string& program : group.rungs.front().programs) {
      const uint8_t vital = VitalOfProgram(group.vitals, program);
      if (group.vitals.empty()) {
        EXPECT_EQ(vital, 0) << program;
        continue;
      }
      EXPECT_THAT(group.vitals, testing::Contains(vital)) << program;
    }
  }
  EXPECT_EQ(VitalOfProgram({TELLTALE_USER_PAGE, TELLTALE_KERNEL_PAGE}, "on_free"),
            TELLTALE_KERNEL_PAGE);
}

TEST_F(EpochReaderTest, AVitalsControlGroupIsWholeOrNotThere) {
  auto group = std::make_unique<telltale_group_half>();
  group->label[TELLTALE_SIGNAL - 1][9] = {77, 5};
  group->label[TELLTALE_SIGNAL - 1][10] = {78, 6 | TELLTALE_EXACT_LEFT_OUT};
  group->label[TELLTALE_LOCK - 1][0] = {79, 7};
  group->dropped[TELLTALE_LOCK - 1] = 1;
  RawEpoch epoch = Read(1);
  ReadGroup(*group, epoch);
  const std::vector<RawExact>& signals = epoch.vitals[TELLTALE_SIGNAL - 1].group;
  ASSERT_EQ(signals.size(), 1U) << "what is never sampled is left out";
  EXPECT_EQ(signals[0].hash, 77U);
  EXPECT_EQ(signals[0].weight, 5U);
  EXPECT_TRUE(epoch.vitals[TELLTALE_LOCK - 1].group.empty()) << "who came late is missing";
}

TEST(ControlWordsTest, TheControlGroupHasRoomAndFewEvents) {
  auto control = std::make_unique<telltale_control>();
  const auto mask = [&](uint64_t events_per_s, uint64_t labels) {
    SetGroup(*control, 1, 0, events_per_s, labels);
    return control->knobs[0].group_mask[1];
  };
  EXPECT_EQ(mask(100, 1000), 0) << "every label of a quiet vital";
  EXPECT_EQ(mask(8000, 1000), 1) << "half of them";
  EXPECT_EQ(mask(1'000'000'000, 1000), 63) << "1 in 64 however many events";
  EXPECT_EQ(mask(100, 4 * TELLTALE_GROUP_LABELS), 7) << "half of the table";
  EXPECT_EQ(mask(100, 1'000'000'000), 255);
  EXPECT_EQ(control->knobs[0].group_mask[0], 0) << "of the other half";
}

TEST(ControlWordsTest, RoundsAQuantumToTheNearestPowerOfTwo) {
  EXPECT_EQ(QuantumLog2(1), 0);
  EXPECT_EQ(QuantumLog2(4096), 12);
  EXPECT_EQ(QuantumLog2(1'000'000), 20);
  EXPECT_EQ(QuantumLog2(64'000), 16);
  EXPECT_EQ(QuantumLog2(70'000), 16);
}

TEST(ControlWordsTest, ALabelIsHeavyFromAQuarterOfACpusMeanCellOn) {
  auto control = std::make_unique<telltale_control>();
  control->knobs[0].quantum_log2 = 3;
  SetHeavy(*control, 0, uint64_t{100} * 8 * 4 * TELLTALE_COLUMNS * 4, 4);
  EXPECT_EQ(control->knobs[0].heavy_log2, 6) << "100 quanta, rounded down to a power of two";
  SetHeavy(*control, 0, 12, 4);
  EXPECT_EQ(control->knobs[0].heavy_log2, 0);
}

TEST(ControlWordsTest, MarksEveryPowerOfT) {
  telltale_control control = {};
  SetTLog2(control, 0, 3);
  EXPECT_EQ(control.knobs[0].powers & 0xfff, 0b001001001001U);
  SetTLog2(control, 0, 1);
  EXPECT_EQ(control.knobs[0].powers, ~uint64_t{0});
}

}  // namespace
}  // namespace telltale::agent
