// Crashes at random points, one kind after the other: nothing acknowledged is lost, nothing counts
// twice, every gap is in the ledger, every tier is what its source adds up to. tests/soak crash
// runs many more of them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "tests/support/crash_collector.h"
#include "tests/support/crash_disk.h"

namespace telltale::testing {
namespace {

// A directory serves so many trials: later ones find what earlier ones left.
constexpr uint64_t kTrialsOfADirectory = 40;
constexpr uint64_t kUsualRuns = 50;
// From so many on the rare places must have been met, too.
constexpr uint64_t kTrialsThatMeetAll = 200;

// Of all runs: two thirds storage on a disk of the test's, one third a real collector.
uint64_t Runs() {
  const char* runs = std::getenv("TELLTALE_CRASH_RUNS");
  return runs == nullptr ? kUsualRuns : std::strtoull(runs, nullptr, 10);
}
uint64_t CollectorRuns() { return Runs() / 3; }

// Hundreds of trials take many minutes: how far they are, a line now and then.
void TellProgress(uint64_t done, uint64_t trials, uint64_t acked) {
  if (done % kTrialsOfADirectory != 0 || trials <= kUsualRuns) return;
  std::printf("%lu of %lu trials, %lu epochs acknowledged\n", done, trials, acked);
  std::fflush(stdout);
}

TEST(CrashTest, StorageLosesNothingAndCountsNothingTwice) {
  std::unique_ptr<CrashDisk> disk;
  uint64_t acked = 0, backups = 0, cuts = 0;
  std::map<std::string, uint64_t> deaths;
  const uint64_t trials = Runs() - CollectorRuns();
  for (uint64_t i = 0; i < trials; ++i) {
    if (i % kTrialsOfADirectory == 0) disk = std::make_unique<CrashDisk>();
    const uint64_t before = disk->acked(), backed = disk->backups();
    const DiskTrial trial{.during = static_cast<CrashDuring>(i % kCrashKinds),
                          .seed = i + 1,
                          .power_cut = i / kCrashKinds % 2 == 0};
    const std::string wrong = disk->Run(trial);
    ASSERT_EQ(wrong, "") << "trial " << i << " of kind " << i % kCrashKinds
                         << (trial.power_cut ? ", with a power cut" : "");
    acked += disk->acked() - before;
    backups += disk->backups() - backed;
    ++deaths[disk->died_in()];
    cuts += trial.power_cut ? 1 : 0;
    TellProgress(i + 1, trials, acked);
  }
  std::printf("%lu crashes, %lu with a power cut: %lu epochs acknowledged, %lu whole backups\n",
              trials, cuts, acked, backups);
  for (const auto& [where, times] : deaths) std::printf("  %4lu in %s\n", times, where.c_str());
  EXPECT_GT(acked, trials * 5) << "too little was stored for the trials to say anything";
  EXPECT_GT(deaths["a write to the log"], 0u) << "no crash came between write and sync";
  if (trials < kTrialsThatMeetAll) return;
  for (const char* where : {"a manifest", "a backup", "a compaction"}) {
    EXPECT_GT(deaths[where], 0u) << "no crash in " << where;
  }
}

TEST(CrashTest, AnAcknowledgementBeforeTheSyncIsFound) {
  CrashDisk disk;
  std::string found;
  for (uint64_t seed = 1; seed <= 10 && found.empty(); ++seed) {
    found = disk.Run({.during = CrashDuring::kStreaming,
                      .seed = seed,
                      .power_cut = true,
                      .ack_before_sync = true});
  }
  EXPECT_NE(found, "") << "a writer that acknowledges before it syncs passed ten power cuts";
}

TEST(CrashTest, ACollectorLosesNothingAndCountsNothingTwice) {
  std::unique_ptr<CrashCollector> collector;
  uint64_t acked = 0, between = 0, backups = 0;
  const uint64_t trials = CollectorRuns();
  for (uint64_t i = 0; i < trials; ++i) {
    if (i % kTrialsOfADirectory == 0) collector = std::make_unique<CrashCollector>();
    const uint64_t before = collector->acked(), torn = collector->between();
    const uint64_t backed = collector->backups();
    const bool while_backing_up = i % 3 == 2;
    const std::string wrong = collector->Run(i + 1, while_backing_up);
    ASSERT_EQ(wrong, "") << "trial " << i << (while_backing_up ? ", while backing up" : "");
    acked += collector->acked() - before;
    between += collector->between() - torn;
    backups += collector->backups() - backed;
    TellProgress(i + 1, trials, acked);
  }
  std::printf(
      "%lu kills: %lu epochs acknowledged, %lu stored and killed before their verdict, "
      "%lu whole backups\n",
      trials, acked, between, backups);
  EXPECT_GT(acked, trials * 5) << "too little was sent for the trials to say anything";
  EXPECT_GT(between, 0u) << "no kill came between an epoch's storing and its verdict";
}

}  // namespace
}  // namespace telltale::testing
