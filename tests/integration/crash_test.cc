// Crashes at random points, one kind after the other: nothing acknowledged is lost, nothing counts
// twice, every gap is in the ledger, every tier is what its source adds up to. tests/soak crash
// runs many more of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/crash_agents.h"
#include "tests/support/crash_collector.h"
#include "tests/support/crash_disk.h"

namespace telltale::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

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
// And besides these so many kills of agents.
uint64_t AgentRuns() { return Runs() / 5; }

// Hundreds of trials take many minutes: how far they are, a line now and then.
void TellProgress(const char* of, uint64_t done, uint64_t trials, uint64_t acked) {
  if (done % kTrialsOfADirectory != 0 || trials <= kUsualRuns) return;
  std::printf("%s: %lu of %lu trials, %lu epochs acknowledged\n", of, done, trials, acked);
  std::fflush(stdout);
}

// For whoever makes a page of it.
void Record(const std::string& what, uint64_t number) {
  ::testing::Test::RecordProperty(what, std::to_string(number));
}

// What the trials of each kind came to.
class DiskTrials {
 public:
  void Add(CrashDuring during, const CrashTally& tally) {
    of_[during].Add(tally);
    all_.Add(tally);
  }
  const CrashTally& Of(CrashDuring during) { return of_[during]; }
  const CrashTally& all() const { return all_; }

  void Tell() const {
    std::printf(
        "%lu crashes, %lu with a power cut: %lu epochs acknowledged (%lu stored before the crash "
        "that came before their acknowledgement), %lu declared lost, %lu missing, %lu windows "
        "computed, %lu days expired, %lu whole backups, %lu batches refused\n",
        all_.trials, all_.power_cuts, all_.acked, all_.stored_before, all_.declared_lost,
        all_.missing, all_.computed, all_.expired, all_.backups, all_.refused);
    const std::pair<const char*, uint64_t> numbers[] = {
        {"trials", all_.trials},         {"power cuts", all_.power_cuts},
        {"acknowledged", all_.acked},    {"stored before", all_.stored_before},
        {"lost", all_.declared_lost},    {"missing", all_.missing},
        {"windows", all_.computed},      {"days", all_.expired},
        {"whole backups", all_.backups}, {"found", all_.found},
        {"counted", all_.counted},       {"explained", all_.explained},
    };
    for (const auto& [name, number] : numbers) Record(name, number);
    Record("refused by a full disk", Refused(CrashDuring::kFullDisk));
    Record("refused by a failing disk", Refused(CrashDuring::kWriteErrors));
    for (int step = 0; step < kCrashSteps; ++step) {
      for (int file = 0; file < kCrashFiles; ++file) {
        const uint64_t times = all_.deaths[step][file];
        if (times == 0) continue;
        const std::string where = std::string(NameOf(CrashStep{static_cast<uint32_t>(step)})) +
                                  ": " + NameOf(CrashFile{static_cast<uint32_t>(file)});
        std::printf("  %4lu in %s\n", times, where.c_str());
        Record("died in " + where, times);
      }
    }
  }

 private:
  uint64_t Refused(CrashDuring during) const {
    const auto found = of_.find(during);
    return found == of_.end() ? 0 : found->second.refused;
  }

  std::map<CrashDuring, CrashTally> of_;
  CrashTally all_;
};

TEST(CrashTest, StorageLosesNothingAndCountsNothingTwice) {
  std::unique_ptr<CrashDisk> disk;
  DiskTrials done;
  const uint64_t trials = Runs() - CollectorRuns();
  for (uint64_t i = 0; i < trials; ++i) {
    if (i % kTrialsOfADirectory == 0) disk = std::make_unique<CrashDisk>();
    const CrashTally before = disk->tally();
    const DiskTrial trial{.during = static_cast<CrashDuring>(i % kCrashKinds),
                          .seed = i + 1,
                          .power_cut = i / kCrashKinds % 2 == 0};
    const std::string wrong = disk->Run(trial);
    ASSERT_EQ(wrong, "") << "trial " << i << " of kind " << i % kCrashKinds
                         << (trial.power_cut ? ", with a power cut" : "");
    done.Add(trial.during, disk->tally().Since(before));
    TellProgress("storage", i + 1, trials, done.all().acked);
  }
  done.Tell();
  EXPECT_GT(done.all().acked, trials * 5) << "too little was stored for the trials to say anything";
  EXPECT_GT(done.all().DeathsIn(CrashFile::kLog), 0u) << "no crash came between write and sync";
  if (trials < kCrashKinds) return;
  EXPECT_GT(done.all().computed, 0u);
  if (trials < kTrialsThatMeetAll) return;  // what a few meet is chance
  const CrashTally& retention = done.Of(CrashDuring::kRetention);
  // Each of these kinds can only die inside of what it is about, or at its end.
  EXPECT_GT(done.Of(CrashDuring::kRollup).DeathsIn(CrashStep::kRollingUp), 0u);
  EXPECT_GT(done.Of(CrashDuring::kRollup).computed, 0u) << "each died before its first window";
  EXPECT_GT(retention.DeathsIn(CrashStep::kRetention), 0u);
  EXPECT_GT(retention.expired, 0u);
  EXPECT_GT(done.Of(CrashDuring::kBackup).DeathsIn(CrashStep::kBackingUp), 0u);
  EXPECT_GT(done.Of(CrashDuring::kFlush).DeathsIn(CrashStep::kFlush), 0u);
  EXPECT_GT(done.Of(CrashDuring::kCompaction).DeathsIn(CrashStep::kCompaction), 0u);
  // And these only once the disk has refused something.
  EXPECT_GT(done.Of(CrashDuring::kFullDisk).refused, 0u);
  EXPECT_GT(done.Of(CrashDuring::kWriteErrors).refused, 0u);
  for (uint32_t step = 1; step < kCrashSteps; ++step) {
    EXPECT_GT(done.all().DeathsIn(CrashStep{step}), 0u)
        << "no crash in " << NameOf(CrashStep{step});
  }
  EXPECT_GT(done.all().DeathsIn(CrashFile::kManifest), 0u);
  EXPECT_GT(done.all().stored_before, 0u)
      << "no crash came between an epoch's storing and its acknowledgement";
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
  ASSERT_NE(found, "") << "a writer that acknowledges before it syncs passed ten power cuts";
  // In these words only: a writer that ended by itself, say, was not found out.
  EXPECT_THAT(found, AnyOf(HasSubstr(", acked, sent again, was taken for a new one"),
                           ContainsRegex("acked [0-9]+ is lost")));
  Record("power cuts", disk.tally().power_cuts);
  RecordProperty("found", found);
}

TEST(CrashTest, ACollectorLosesNothingAndCountsNothingTwice) {
  std::unique_ptr<CrashCollector> collector;
  CrashCollector::Tally all;
  const uint64_t trials = CollectorRuns();
  for (uint64_t i = 0; i < trials; ++i) {
    if (i % kTrialsOfADirectory == 0) {
      if (collector != nullptr) all.Add(collector->tally());
      collector = std::make_unique<CrashCollector>();
    }
    const CrashCollector::Trial trial{
        .moment = i + 1, .late = i % 4 == 3, .backing_up = i % 3 == 2};
    const std::string wrong = collector->Run(trial);
    ASSERT_EQ(wrong, "") << "trial " << i << (trial.late ? ", late" : "")
                         << (trial.backing_up ? ", while backing up" : "");
    TellProgress("a collector", i + 1, trials, all.acked + collector->tally().acked);
  }
  if (collector != nullptr) all.Add(collector->tally());
  std::printf(
      "%lu kills, the latest %.1f s after the streams began: %lu epochs acknowledged, %lu stored "
      "and killed before their verdict, %lu whole backups and %lu torn ones, %lu windows computed "
      "before late kills, %lu of which came amid them\n",
      trials, static_cast<double>(all.longest_ms) / 1000, all.acked, all.between, all.backups,
      all.torn_backups, all.computed, all.torn_rollups);
  const std::pair<const char*, uint64_t> numbers[] = {
      {"trials", trials},
      {"acknowledged", all.acked},
      {"stored before", all.between},
      {"whole backups", all.backups},
      {"torn backups", all.torn_backups},
      {"windows", all.computed},
      {"torn rollups", all.torn_rollups},
      {"latest ms", all.longest_ms},
      {"found", all.found},
      {"counted", all.counted},
  };
  for (const auto& [name, number] : numbers) Record(name, number);
  EXPECT_GT(all.acked, trials * 5) << "too little was sent for the trials to say anything";
  EXPECT_GT(all.between, 0u) << "no kill came between an epoch's storing and its verdict";
  EXPECT_GT(all.computed, 0u) << "no collector lived until it computed windows";
  if (trials < kTrialsThatMeetAll / 2) return;
  EXPECT_GT(all.torn_rollups, 0u) << "no kill came amid the computing of windows";
  EXPECT_GT(all.torn_backups, 0u) << "no kill came amid a backup";
}

TEST(CrashTest, AgentsAndTheirCollectorLoseNothingInSilenceAndCountNothingTwice) {
  CrashAgents::Tally all;
  const uint64_t kills = AgentRuns();
  for (uint64_t i = 0; i < kills;) {
    CrashAgents agents;
    const uint64_t end = std::min(kills, i + kTrialsOfADirectory);
    for (; i < end; ++i) {
      const std::string wrong = agents.Kill(i + 1, /*collector_too=*/i % 4 == 3);
      ASSERT_EQ(wrong, "") << "kill " << i;
    }
    const std::string wrong = agents.Finish();
    ASSERT_EQ(wrong, "") << "after kill " << i;
    all.Add(agents.tally());
    TellProgress("agents", i, kills, all.epochs);
  }
  std::printf(
      "%lu agents, %lu sensors, %lu uplinks and between them %lu collectors killed: %lu epochs "
      "stored, %lu of them cut short by a kill, %lu declared lost, %lu seen in spools\n",
      all.agents, all.sensors, all.uplinks, all.collectors, all.epochs, all.partial, all.lost,
      all.seen);
  const std::pair<const char*, uint64_t> numbers[] = {
      {"agents killed", all.agents},
      {"sensors killed", all.sensors},
      {"uplinks killed", all.uplinks},
      {"collectors killed", all.collectors},
      {"stored", all.epochs},
      {"partial", all.partial},
      {"lost", all.lost},
      {"seen", all.seen},
      {"found", all.found},
      {"counted", all.counted},
      {"cut", all.cut},
  };
  for (const auto& [name, number] : numbers) Record(name, number);
  EXPECT_GT(all.seen, 0u) << "no spool held an epoch when somebody looked";
  EXPECT_GT(all.partial, 0u) << "no kill cut an epoch short";
}

}  // namespace
}  // namespace telltale::testing
