// What the cutter makes of the epochs of a replayed node, seen through the codec that a collector
// uses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/epoch/label_bounds.h"
#include "proto/codec.h"
#include "tests/unit/replayed_node.h"

namespace telltale::agent {
namespace {

v1::Identity Someone() {
  v1::Identity identity;
  identity.set_node("n1");
  identity.set_incarnation(std::string(16, 'i'));
  identity.set_sequence(1);
  return identity;
}

const v1::Vital& VitalOf(const v1::SummaryBody& body, uint32_t id) {
  return *std::ranges::find(body.vitals(), id, &v1::Vital::id);
}

TEST(EpochCutterTest, MakesBodiesThatTheCodecAccepts) {
  ReplayedNode node;
  for (const uint32_t seconds : {10u, 60u, 5u}) {
    const CutResult cut = node.Epoch(seconds);
    const v1::Schema schema = proto::BuiltinSchema();
    const auto summary = proto::EncodeSummary(Someone(), schema.id(), cut.body, cut.cells);
    ASSERT_TRUE(summary.ok()) << summary.status();
    const auto decoded = proto::DecodeSummary(*summary, schema);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(proto::Canonical(*decoded->body), proto::Canonical(cut.body));
    EXPECT_GT(cut.body.vitals_size(), 10);
    EXPECT_GT(cut.body.tables().stacks_size(), 10);
  }
}

TEST(EpochCutterTest, SaysHowTheUserStacksOfAllSamplesEnded) {
  ReplayedNode node;
  node.raw = node.Run(10);
  node.raw.unwinding = {
      .stacks = 9, .frames = 90, .ns = 900, .tables_built = 3, .tables_damaged = 1};
  node.folded = node.folder.Take();
  const uint64_t complete = node.folded.user_stacks[v1::STACK_END_COMPLETE];
  EXPECT_GT(complete, 100u);
  node.folded.user_stacks[v1::STACK_END_WINDOW] = 7;
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(10));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::UserStacks& stacks = cut->body.user_stacks();
  EXPECT_THAT(stacks.end(), testing::ElementsAre(v1::STACK_END_COMPLETE, v1::STACK_END_WINDOW));
  EXPECT_THAT(stacks.samples(), testing::ElementsAre(complete, 7));
  EXPECT_EQ(stacks.unwound(), 9u);
  EXPECT_EQ(stacks.frames(), 90u);
  EXPECT_EQ(stacks.unwind_ns(), 900u);
  EXPECT_EQ(stacks.tables_built(), 3u);
  EXPECT_EQ(stacks.tables_damaged(), 1u);
}

TEST(EpochCutterTest, SaysWhatTheFramesOfAllUserStacksAreCalled) {
  ReplayedNode node;
  node.raw = node.Run(10);
  node.folded = node.folder.Take();
  const uint64_t named = node.folded.user_frames[v1::NAME_OUTCOME_NAMED];
  EXPECT_GT(named, 100u);
  node.folded.user_frames = {{v1::NAME_OUTCOME_NO_SYMBOL, 7}, {v1::NAME_OUTCOME_NAMED, named}};
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(10));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::UserFrames& frames = cut->body.user_frames();
  EXPECT_THAT(frames.outcome(),
              testing::ElementsAre(v1::NAME_OUTCOME_NAMED, v1::NAME_OUTCOME_NO_SYMBOL));
  EXPECT_THAT(frames.frames(), testing::ElementsAre(named, 7));
}

TEST(EpochCutterTest, CarriesWhatTheHostCallsUsersAndDisksAndTheTermsOfProcesses) {
  ReplayedNode node;
  node.raw = node.Run(10);
  node.folded = node.folder.Take();
  CutContext context = node.Context(10);
  std::set<uint32_t> asked;
  context.host.terms = [&](uint32_t pid) {
    asked.insert(pid);
    return ProcessTerms{.policy = 1,
                        .real_time_priority = 50,
                        .cgroup = "/shop.slice",
                        .throttled = {.periods = 48, .ns = 4'000'000'000}};
  };
  context.host.user = [](uint32_t uid) { return uid == 0 ? "root" : ""; };
  context.host.disk = [](uint64_t) { return "sda"; };
  const auto cut = node.cutter.Cut(node.raw, node.folded, context);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::SummaryBody& body = cut->body;
  const auto text = [&](uint32_t string) {
    return body.tables().strings(static_cast<int>(string) - 1);
  };
  EXPECT_FALSE(asked.contains(0)) << "no process";
  size_t told = 0;
  for (const v1::ProcessRow& row : body.processes().rows()) {
    if (row.throttled_cgroup() == 0) continue;
    ++told;
    EXPECT_EQ(text(row.throttled_cgroup()), "/shop.slice");
    EXPECT_EQ(row.throttled_periods(), 48u);
    EXPECT_EQ(row.throttled_ns(), 4'000'000'000u);
    EXPECT_EQ(row.policy(), 1u);
    EXPECT_EQ(row.real_time_priority(), 50u);
  }
  EXPECT_EQ(told, asked.size());
  EXPECT_GT(told, 3u);
  const v1::HostNames& names = body.host_names();
  EXPECT_THAT(names.uid(), testing::ElementsAre(0)) << "the others have no names";
  EXPECT_EQ(text(names.user(0)), "root");
  ASSERT_GT(names.device_size(), 0);
  EXPECT_EQ(text(names.disk(0)), "sda");
  const v1::Schema schema = proto::BuiltinSchema();
  EXPECT_TRUE(proto::EncodeSummary(Someone(), schema.id(), body, cut->cells).ok());
}

TEST(EpochCutterTest, KeepsTheSensorsTotalsExactly) {
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  for (const RawVital& vital : node.raw.vitals) {
    const v1::Vital& wire = VitalOf(cut.body, vital.id);
    ASSERT_EQ(wire.subs_size(), static_cast<int>(vital.subs.size()));
    for (size_t i = 0; i < vital.subs.size(); ++i) {
      EXPECT_EQ(wire.subs(i).events(), vital.subs[i].events);
      EXPECT_EQ(wire.subs(i).weight(), vital.subs[i].weight);
    }
  }
}

TEST(EpochCutterTest, SaysWhichKnobWasTurnedAndWhen) {
  ReplayedNode node;
  node.raw = node.Run(10);
  node.folded = node.folder.Take();
  RawVital& raw = *std::ranges::find(node.raw.vitals, TELLTALE_BLOCKING, &RawVital::id);
  const std::vector<std::pair<KnobKind, v1::Knob>> kinds = {
      {KnobKind::kTLog2, v1::KNOB_T_LOG2},      {KnobKind::kTokens, v1::KNOB_TOKENS},
      {KnobKind::kQuantum, v1::KNOB_QUANTUM},   {KnobKind::kDuty, v1::KNOB_DUTY_PPM},
      {KnobKind::kStacks, v1::KNOB_STACKS},     {KnobKind::kLeastRun, v1::KNOB_LEAST_RUN_NS},
      {KnobKind::kAttached, v1::KNOB_ATTACHED}, {KnobKind::kWaits, v1::KNOB_WAITS}};
  raw.knobs.clear();
  for (const auto& [kind, knob] : kinds) {
    raw.knobs.push_back({node.raw.start_mono_ns + 2 * kSecond, kind, 2, 1});
  }
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(10));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::Vital& vital = VitalOf(cut->body, TELLTALE_BLOCKING);
  ASSERT_EQ(vital.knobs_size(), static_cast<int>(kinds.size()));
  for (int i = 0; i < vital.knobs_size(); ++i) {
    EXPECT_EQ(vital.knobs(i).knob(), kinds[static_cast<size_t>(i)].second);
    EXPECT_EQ(vital.knobs(i).time_ms(), 2'000u);
    EXPECT_EQ(vital.knobs(i).from(), 2u);
    EXPECT_EQ(vital.knobs(i).to(), 1u);
  }
  const v1::Schema schema = proto::BuiltinSchema();
  EXPECT_TRUE(proto::EncodeSummary(Someone(), schema.id(), cut->body, cut->cells).ok());
}

TEST(EpochCutterTest, SaysWhatAnUnavailableVitalIsAndGivesItNoTotals) {
  ReplayedNode node;
  const CutResult cut = node.Epoch(5);
  EXPECT_EQ(VitalOf(cut.body, TELLTALE_LLC).state(), v1::VITAL_STATE_UNAVAILABLE);
  EXPECT_EQ(VitalOf(cut.body, TELLTALE_LLC).subs_size(), 0);
}

TEST(EpochCutterTest, SamplesOfAVitalThatCannotBeWatchedDoNotCostTheEpoch) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  CutContext context = node.Context(5);
  const auto syscall = std::ranges::find(context.vitals, TELLTALE_SYSCALL, &VitalStatus::id);
  syscall->state = VitalState::kUnavailable;
  ASSERT_GT(std::ranges::count(node.folded.labels, TELLTALE_SYSCALL, &FoldedLabel::vital), 0);
  const auto cut = node.cutter.Cut(node.raw, node.folded, context);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::Schema schema = proto::BuiltinSchema();
  const auto summary = proto::EncodeSummary(Someone(), schema.id(), cut->body, cut->cells);
  EXPECT_TRUE(summary.ok()) << summary.status();
}

TEST(EpochCutterTest, SecondsKeepSevenSignificantBitsOfEachSecond) {
  ReplayedNode node;
  const CutResult cut = node.Epoch(10);
  const RawVital& raw = *std::ranges::find(node.raw.vitals, TELLTALE_SYSCALL, &RawVital::id);
  const v1::SubSeries& sub = VitalOf(cut.body, TELLTALE_SYSCALL).subs(0);
  ASSERT_EQ(sub.second_weight_size(), 10);
  for (int s = 0; s < 10; ++s) {
    const auto exact = static_cast<double>(raw.subs[0].second_weight[s]);
    EXPECT_NEAR(static_cast<double>(sub.second_weight(s)), exact, exact / 128);
  }
}

TEST(EpochCutterTest, RowsAndOtherAreTheTotalsOfEveryColumn) {
  EpochCutter::Options options;
  options.processes.max_rows = 7;
  ReplayedNode node({}, options);
  const CutResult cut = node.Epoch(30);
  const v1::ProcessTable& table = cut.body.processes();
  EXPECT_EQ(table.rows_size(), 7);
  EXPECT_GT(table.other_processes(), 0u);
  for (int c = 0; c < table.columns_size(); ++c) {
    uint64_t sum = table.other().values(c);
    for (const v1::ProcessRow& row : table.rows()) sum += row.values(c);
    uint64_t expected = 0;
    const uint32_t column = table.columns(c);
    if (column >= v1::PROCESS_COLUMN_FIRST_VITAL) {
      const uint32_t vital = (column - v1::PROCESS_COLUMN_FIRST_VITAL) / 32;
      const RawVital& raw = *std::ranges::find(node.raw.vitals, vital, &RawVital::id);
      const RawSub& sub = raw.subs[(column - v1::PROCESS_COLUMN_FIRST_VITAL) % 32 / 2];
      expected = column % 2 == 1 ? sub.weight : sub.events;
    } else if (column == v1::PROCESS_COLUMN_RUN_NS) {
      for (const RawProcess& p : node.raw.processes) expected += p.run_ns;
    } else {
      continue;
    }
    EXPECT_EQ(sum, expected) << "column " << column;
  }
}

TEST(EpochCutterTest, ARowSaysAtMostOnePartIn64TooLittleAndWhatItLeavesOutIsInOther) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  RawProcess big = {.tgid = 4'001, .start_ns = 1}, small = {.tgid = 4'002, .start_ns = 1};
  big.run_ns = 3'999'999'999'999;
  big.switches_voluntary = 999'999;
  small.switches_voluntary = 99;  // below one part in 1,000
  big.faults_major = 99;
  small.faults_major = 999'999;
  small.rss_pages = 12'345'678;
  small.own_pages = 2'345'679;
  small.open_files = 54'321;
  small.threads = 4'321;
  node.raw.processes.push_back(big);
  node.raw.processes.push_back(small);
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::ProcessTable& table = cut->body.processes();
  const auto value = [&](uint32_t pid, uint32_t column) -> uint64_t {
    const auto row = std::ranges::find(table.rows(), pid, &v1::ProcessRow::pid);
    const auto at = std::ranges::find(table.columns(), column);
    EXPECT_TRUE(row != table.rows().end() && at != table.columns().end()) << pid;
    return row->values(static_cast<int>(at - table.columns().begin()));
  };
  const uint64_t run = value(4'001, v1::PROCESS_COLUMN_RUN_NS);
  EXPECT_LT(run, big.run_ns);
  EXPECT_GE(run, big.run_ns - big.run_ns / 64);
  EXPECT_EQ(value(4'002, v1::PROCESS_COLUMN_SWITCHES_VOLUNTARY), 0u);
  EXPECT_EQ(value(4'001, v1::PROCESS_COLUMN_FAULTS_MAJOR), big.faults_major)
      << "who runs for so much leaves nothing out";
  EXPECT_LE(table.whole_from_run_ns(), (node.raw.end_mono_ns - node.raw.start_mono_ns) / 20);
  EXPECT_GT(table.whole_from_run_ns(), small.run_ns);
  // What leaks slowly is looked for in these.
  EXPECT_EQ(value(4'002, v1::PROCESS_COLUMN_RSS_BYTES), small.rss_pages * 4096);
  EXPECT_EQ(value(4'002, v1::PROCESS_COLUMN_OWN_BYTES), small.own_pages * 4096);
  EXPECT_EQ(value(4'002, v1::PROCESS_COLUMN_OPEN_FILES), small.open_files);
  EXPECT_EQ(value(4'002, v1::PROCESS_COLUMN_THREADS), small.threads);
  const auto switches =
      std::ranges::find(table.columns(), uint32_t{v1::PROCESS_COLUMN_SWITCHES_VOLUNTARY});
  const int at = static_cast<int>(switches - table.columns().begin());
  uint64_t sum = table.other().values(at), expected = node.raw.other.switches_voluntary;
  for (const v1::ProcessRow& row : table.rows()) sum += row.values(at);
  for (const RawProcess& process : node.raw.processes) expected += process.switches_voluntary;
  EXPECT_EQ(sum, expected);
}

TEST(EpochCutterTest, BoundsOfLabelsAreRoundedOutwards) {
  ReplayedNode node;
  node.raw = node.Run(20);
  node.folded = node.folder.Take();
  const std::vector<Bounds> bounds = BoundLabels(node.folded, node.raw);
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(20));
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::multiset<std::pair<uint64_t, uint64_t>> exact;
  for (const Bounds& bound : bounds) exact.insert({bound.low, bound.high});
  int rounded = 0;
  for (const v1::Vital& vital : cut->body.vitals()) {
    for (const v1::FoldedSample& sample : vital.samples()) {
      rounded += !exact.contains({sample.low(), sample.high()});
      EXPECT_TRUE(std::ranges::any_of(bounds,
                                      [&](const Bounds& bound) {
                                        return sample.low() <= bound.low &&
                                               sample.low() + sample.low() / 64 >= bound.low &&
                                               sample.high() >= bound.high &&
                                               sample.high() - sample.high() / 64 <= bound.high;
                                      }))
          << sample.low() << ".." << sample.high();
    }
  }
  EXPECT_GT(rounded, 0);
}

TEST(EpochCutterTest, WhoHoldsMostMemoryOrFilesHasARowAlsoWhileItDoesNothing) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  RawProcess memory = {.tgid = 4'001, .start_ns = 1}, files = {.tgid = 4'002, .start_ns = 1};
  memory.rss_pages = 10'000'000;
  files.open_files = 60'000;
  node.raw.processes.push_back(memory);
  node.raw.processes.push_back(files);
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::vector<uint32_t> pids;
  for (const v1::ProcessRow& row : cut->body.processes().rows()) pids.push_back(row.pid());
  EXPECT_THAT(pids, testing::IsSupersetOf({4'001u, 4'002u}));
}

// In an epoch with room for few rows, each of which is the first of some vital.
TEST(EpochCutterTest, AServiceHasARowWhateverComesAndGoesBesideIt) {
  EpochCutter::Options options;
  options.processes.max_rows = 16;
  ReplayedNode node({}, options);
  node.raw = node.Run(60);
  node.folded = node.folder.Take();
  const std::set<uint32_t> services = {4'001, 4'002, 4'003, 4'004};
  for (const uint32_t pid : services) {
    RawProcess& service = node.raw.processes.emplace_back(
        RawProcess{.tgid = pid, .start_ns = 1, .run_ns = 50 * kSecond});
    service.exe = {.device = 1, .inode = pid, .generation = 0};
  }
  uint32_t pid = 5'000;
  for (const RawVital& vital : node.raw.vitals) {
    for (uint8_t sub = 0; sub < vital.subs.size(); ++sub) {
      RawProcess& job = node.raw.processes.emplace_back(RawProcess{
          .tgid = ++pid, .start_ns = node.raw.start_mono_ns + 1, .run_ns = 60 * kSecond});
      job.exe = {.device = 1, .inode = pid, .generation = 0};
      job.shares = {{.vital = vital.id, .sub = sub, .events = 1, .weight = uint64_t{1} << 50}};
    }
  }
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(60));
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::set<uint32_t> have_rows;
  int jobs = 0;
  for (const v1::ProcessRow& row : cut->body.processes().rows()) {
    have_rows.insert(row.pid());
    jobs += row.pid() > 5'000 ? 1 : 0;
  }
  EXPECT_THAT(have_rows, testing::IsSupersetOf(services));
  EXPECT_GE(jobs, 11) << "of the other rows";
}

TEST(EpochCutterTest, ShortLivedProcessesOfOneProgramAreOneRowWithTheirNumber) {
  ReplayedNode node;
  const CutResult cut = node.Epoch(30);
  const auto compilers =
      std::ranges::count_if(node.raw.processes, [](const RawProcess& p) { return p.exited; });
  ASSERT_GT(compilers, 10);
  int rows = 0;
  for (const v1::ProcessRow& row : cut.body.processes().rows()) {
    if (row.exe() == 0) continue;
    const std::string& exe = cut.body.tables().strings(static_cast<int>(row.exe()) - 1);
    if (!exe.ends_with("cc1plus")) continue;
    ++rows;
    EXPECT_EQ(row.instances(), compilers);
    EXPECT_EQ(row.pid(), 0u);
  }
  EXPECT_EQ(rows, 1);
}

TEST(EpochCutterTest, ThoseOfAProgramThatWereNotFollowedAreCountedWithThoseThatWere) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  RawProcess all = {.tgid = 4'001, .start_ns = node.raw.start_mono_ns + 1};
  all.exe = {.device = 1, .inode = 77, .generation = 0};
  all.exited = true;
  all.run_ns = 1'000'000'000'000;
  all.instances = 700;
  RawProcess one = all;
  one.instances = 1;
  node.raw.processes.push_back(one);
  node.raw.processes.push_back(all);
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const auto& rows = cut->body.processes().rows();
  const auto row = std::ranges::find(rows, 701u, &v1::ProcessRow::instances);
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->pid(), 0u);
}

TEST(EpochCutterTest, WhatNoProcessWasGivenStandsInOther) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  RawSub& calls = std::ranges::find(node.raw.vitals, TELLTALE_SYSCALL, &RawVital::id)->subs[0];
  calls.weight += 12'345;  // of a process whose row was lost
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::ProcessTable& table = cut->body.processes();
  const auto column = std::ranges::find(table.columns(),
                                        v1::PROCESS_COLUMN_FIRST_VITAL + TELLTALE_SYSCALL * 32 + 1);
  ASSERT_NE(column, table.columns().end());
  const int c = static_cast<int>(column - table.columns().begin());
  uint64_t sum = table.other().values(c);
  for (const v1::ProcessRow& row : table.rows()) sum += row.values(c);
  EXPECT_GE(table.other().values(c), 12'345u);
  EXPECT_EQ(sum, calls.weight);
}

TEST(EpochCutterTest, SharesBeyondTheTotalAreMarkedAsEstimates) {
  ReplayedNode node;
  node.raw = node.Run(5);
  node.folded = node.folder.Take();
  node.raw.processes[0].shares.push_back({TELLTALE_SYSCALL, 0, 1u << 30, 1u << 30});
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const uint32_t column = v1::PROCESS_COLUMN_FIRST_VITAL + TELLTALE_SYSCALL * 32 + 1;
  EXPECT_THAT(cut->body.processes().estimated(), testing::Contains(column));
}

TEST(EpochCutterTest, BodyKeepsToItsBytesAndCountsWhatWasFoldedAway) {
  EpochCutter::Options options;
  options.bytes.mean_bytes = options.bytes.burst_bytes = 9'500;
  ReplayOptions loud;
  loud.intensity = 3;
  ReplayedNode node(loud, options);
  for (int i = 0; i < 3; ++i) {
    const CutResult cut = node.Epoch(20);
    EXPECT_LE(cut.compressed_bytes, cut.budget_bytes);
    EXPECT_GT(cut.folded_away, 0u);
    uint64_t kept = 0, away = 0, sampled = 0;
    for (const v1::Vital& vital : cut.body.vitals()) {
      for (const v1::FoldedSample& s : vital.samples()) kept += s.samples();
      away += vital.folded_away().samples();
    }
    for (const FoldedEntry& entry : node.folded.entries) sampled += entry.samples;
    EXPECT_EQ(kept + away, sampled);
  }
}

// Which pack to next to nothing: a program of any user may have such.
TEST(EpochCutterTest, StacksThroughFilesWithEndlessAlikePathsDoNotCostTheEpoch) {
  ReplayedNode node;
  node.raw = node.Run(20);
  node.folded = node.folder.Take();
  ASSERT_GT(node.folded.entries.size(), 30u);
  uint32_t number = 0;
  for (FoldedEntry& entry : node.folded.entries) {
    FoldStack stack;
    for (int i = 0; i < 200; ++i) {
      CodeFile file{v1::MAPPING_KIND_FILE, std::string(20, 'b'),
                    std::string(1'000, 'p') + std::to_string(++number % 4'000)};
      stack.user.push_back(node.folded.tables.Frame({std::make_shared<const CodeFile>(file), 1}));
    }
    entry.stack = node.folded.tables.Stack(stack);
  }
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(20));
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_GT(cut->folded_away, 0u);
  const auto summary =
      proto::EncodeSummary(Someone(), proto::BuiltinSchema().id(), cut->body, cut->cells);
  EXPECT_TRUE(summary.ok()) << summary.status();
}

// Two hundred threads, asleep for seventeen days, end in one minute.
TEST(EpochCutterTest, WaitsOfWeeksThatEndTogetherDoNotCostTheEpoch) {
  ReplayedNode node;
  node.raw = node.Run(10);
  ASSERT_FALSE(node.raw.histograms.empty());
  for (RawHistogram& histogram : node.raw.histograms) {
    histogram.sum = 200 * 17 * 86'400ull * 1'000'000'000;
  }
  node.folded = node.folder.Take();
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(10));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const auto summary =
      proto::EncodeSummary(Someone(), proto::BuiltinSchema().id(), cut->body, cut->cells);
  EXPECT_TRUE(summary.ok()) << summary.status();
}

TEST(EpochCutterTest, KeepsThreeSamplesOfEveryVitalHoweverFewBytes) {
  EpochCutter::Options options;
  options.bytes.mean_bytes = options.bytes.burst_bytes = options.bytes.floor_bytes = 10;
  ReplayedNode node({}, options);
  const CutResult cut = node.Epoch(20);
  std::map<uint32_t, uint64_t> entries;
  for (const FoldedEntry& e : node.folded.entries) ++entries[node.folded.labels[e.label].vital];
  ASSERT_GT(entries.size(), 8u);
  for (const auto& [vital, count] : entries) {
    EXPECT_EQ(VitalOf(cut.body, vital).samples_size(),
              static_cast<int>(std::min<uint64_t>(3, count)));
  }
}

TEST(EpochCutterTest, SaysHowOftenALabelIsMissedByItsWeight) {
  ReplayedNode node;
  const CutResult cut = node.Epoch(20);
  int told = 0;
  for (const v1::Vital& vital : cut.body.vitals()) {
    const v1::SketchDigest& sketch = vital.sketch();
    if (sketch.columns() == 0 || sketch.total() < vital.quantum()) continue;
    ASSERT_GT(sketch.miss_size(), 0) << vital.id();
    if (vital.samples_size() < 20) continue;
    ++told;
    EXPECT_GT(uint64_t{2} << sketch.miss_from(), vital.quantum()) << "lighter ones are not sampled";
    for (int i = 1; i < sketch.miss_size(); ++i) EXPECT_LE(sketch.miss(i), sketch.miss(i - 1));
    EXPECT_LT(*sketch.miss().rbegin(), 100u);
  }
  EXPECT_GT(told, 0);
}

// Of a group of light labels, half of which were sampled, half are missed: so it says of all.
TEST(EpochCutterTest, SaysOfLabelsWhatHappenedToThoseCountedExactly) {
  ReplayedNode node;
  node.Epoch(20);
  const auto raw = std::ranges::find(node.raw.vitals, TELLTALE_SYSCALL, &RawVital::id);
  ASSERT_NE(raw, node.raw.vitals.end());
  const uint64_t light = 4 * raw->quantum, load = raw->cells.Sum() / raw->cells.columns();
  ASSERT_LT(light, load);
  for (uint64_t i = 0; i < 2'000; ++i) {
    const uint64_t hash = 0x1234'5600'0000 + i;
    raw->group.push_back({hash, i % 100 == 0 ? 4 * load : light});
    if (i % 2 == 0) {
      RawSample sample;
      sample.vital = TELLTALE_SYSCALL;
      sample.label_hash = hash;
      node.folded.sampled.Add(sample);
    }
  }
  raw->group.push_back({1, raw->quantum - 1});
  const auto told_of = [](const v1::SketchDigest& sketch) {
    sketch::MissCurve told{sketch.miss_from(), {}};
    for (const uint32_t parts : sketch.miss()) told.miss.push_back(parts / 10'000.0);
    return told;
  };
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(20));
  ASSERT_TRUE(cut.ok()) << cut.status();
  const v1::SketchDigest& sketch = VitalOf(cut->body, TELLTALE_SYSCALL).sketch();
  EXPECT_EQ(sketch.control_labels(), 2'000u) << "one is too light to be sampled at all";
  EXPECT_EQ(sketch.control_heavy(), 20u);
  EXPECT_EQ(sketch.control_heavy_missed(), 0u);
  EXPECT_EQ(sketch.control_heavy_unlisted(), 20u) << "nothing of these was folded";
  EXPECT_NEAR(told_of(sketch).At(light), 0.5, 0.06);

  raw->estimated = true;
  const auto in_part = node.cutter.Cut(node.raw, node.folded, node.Context(20));
  ASSERT_TRUE(in_part.ok()) << in_part.status();
  EXPECT_GT(told_of(VitalOf(in_part->body, TELLTALE_SYSCALL).sketch()).At(light), 0.6)
      << "labels that were not seen at all are in no group";
}

TEST(EpochCutterTest, HeavyLabelsOfTheGroupThatHaveAnEntryAreNotCountedAsLeftOut) {
  for (const bool few_bytes : {false, true}) {
    EpochCutter::Options options;
    options.max_samples = 100'000;
    options.bytes.mean_bytes = options.bytes.burst_bytes = few_bytes ? 4'500 : 1 << 20;
    options.bytes.hard_bytes = 1 << 20;
    ReplayedNode node({}, options);
    node.Epoch(20);
    std::map<uint8_t, uint32_t> heavy;
    for (const FoldedLabel& label : node.folded.labels) {
      const auto raw = std::ranges::find(node.raw.vitals, label.vital, &RawVital::id);
      if (raw == node.raw.vitals.end() || raw->cells.columns() == 0 || label.hashes.empty())
        continue;
      raw->group.push_back({label.hashes[0], raw->cells.Sum() + raw->quantum});
      ++heavy[label.vital];
    }
    const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(20));
    ASSERT_TRUE(cut.ok()) << cut.status();
    uint32_t unlisted = 0;
    for (const v1::Vital& vital : cut->body.vitals()) {
      EXPECT_EQ(vital.sketch().control_heavy(), heavy[static_cast<uint8_t>(vital.id())]);
      unlisted += vital.sketch().control_heavy_unlisted();
    }
    EXPECT_EQ(unlisted > 0, few_bytes) << cut->folded_away << " folded away";
  }
}

TEST(EpochCutterTest, SaysWhatNoLabelWithoutAnEntryExceeds) {
  EpochCutter::Options few;
  few.bytes.mean_bytes = few.bytes.burst_bytes = few.bytes.floor_bytes = 10;
  ReplayedNode all, cut({}, few);
  const CutResult a = all.Epoch(20), b = cut.Epoch(20);
  int wider = 0;
  for (const v1::Vital& vital : a.body.vitals()) {
    if (vital.sketch().columns() == 0) continue;
    const uint64_t kept = vital.sketch().unlisted_high();
    const uint64_t away = VitalOf(b.body, vital.id()).sketch().unlisted_high();
    EXPECT_EQ(vital.sketch().layout(), v1::CELL_LAYOUT_VOTED);
    EXPECT_GE(away, kept);
    wider += away > kept ? 1 : 0;
  }
  EXPECT_GT(wider, 0) << "what was folded away counts";
}

TEST(EpochCutterTest, EqualNodesMakeEqualBytes) {
  ReplayedNode a, b;
  for (int i = 0; i < 3; ++i) {
    const CutResult x = a.Epoch(10), y = b.Epoch(10);
    EXPECT_EQ(proto::Canonical(x.body), proto::Canonical(y.body));
    EXPECT_EQ(proto::Canonical(x.cells), proto::Canonical(y.cells));
  }
}

TEST(EpochCutterTest, CellsComeAlongWhereTheyAreWanted) {
  EpochCutter::Options options;
  options.cells = false;
  ReplayedNode with, without({}, options);
  const CutResult x = with.Epoch(10), y = without.Epoch(10);
  EXPECT_GT(x.cells.vitals_size(), 0);
  EXPECT_EQ(y.cells.vitals_size(), 0);
  EXPECT_EQ(proto::Canonical(x.body), proto::Canonical(y.body)) << "which does not need them";
}

TEST(EpochCutterTest, ADraftTakesNoBytesFromTheBucket) {
  ReplayedNode a, b;
  a.Epoch(10), b.Epoch(10);
  const RawEpoch peek = *a.sensor.Peek();
  b.sensor.Peek().IgnoreError();
  FoldedEpoch so_far = a.folder.Current();
  CutContext context = a.Context(10);
  context.spend = false;
  RawEpoch some = peek;
  some.end_mono_ns = some.start_mono_ns + kSecond;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(a.cutter.Cut(some, so_far, context).ok());
  EXPECT_EQ(a.Epoch(10).budget_bytes, b.Epoch(10).budget_bytes);
}

// Of a loud node: what fits an epoch is what its draft has, however little of the bucket is left.
TEST(EpochCutterTest, ADraftHasAsManySamplesAsFittedTheEpochBefore) {
  EpochCutter::Options options;
  options.bytes.mean_bytes = options.bytes.burst_bytes = 9'000;
  ReplayOptions loud;
  loud.intensity = 3;
  ReplayedNode node(loud, options);
  const auto entries = [](const v1::SummaryBody& body) {
    int count = 0;
    for (const v1::Vital& vital : body.vitals()) count += vital.samples_size();
    return count;
  };
  const int fitted = entries(node.Epoch(20).body);
  node.raw = node.Run(20);
  node.folded = node.folder.Take();
  CutContext context = node.Context(20);
  context.spend = false;
  const auto draft = node.cutter.Cut(node.raw, node.folded, context);
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(entries(draft->body), fitted);

  EpochCutter::Options ample;
  ample.bytes.mean_bytes = ample.bytes.burst_bytes = 200'000;
  ample.max_samples = 10'000;
  ReplayedNode quiet({}, ample);
  ASSERT_EQ(quiet.Epoch(5).folded_away, 0u);
  quiet.raw = quiet.Run(20);
  quiet.folded = quiet.folder.Take();
  const auto whole = quiet.cutter.Cut(quiet.raw, quiet.folded, context);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->folded_away, 0u) << "nothing had to give way in the epoch before";
}

TEST(EpochCutterTest, RefusesAnEpochThatIsNoInterval) {
  ReplayedNode node;
  RawEpoch raw = node.Run(5);
  raw.end_mono_ns = raw.start_mono_ns;
  FoldedEpoch folded = node.folder.Take();
  const auto cut = node.cutter.Cut(raw, folded, node.Context(5));
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.status().message()), testing::HasSubstr("not an interval"));
}

TEST(EpochCutterTest, TheEndOfWhatHadRunForLongStaysAmongManyShortLivedOnes) {
  EpochCutter::Options options;
  options.max_events = 5;
  ReplayedNode node({}, options);
  node.raw = node.Run(5);
  RawEvent exit;
  exit.kind = RawEventKind::kExit;
  for (uint32_t i = 0; i < 200; ++i) {
    exit.tgid = 5'000 + i;
    exit.mono_ns = node.raw.start_mono_ns + i;
    exit.uid = 1 + i % 50;
    node.folder.OnEvent(exit);
  }
  exit.tgid = 4'001;
  exit.uid = 0;
  node.folder.OnEvent(exit);
  node.raw.processes.push_back({.tgid = 4'001, .start_ns = 1, .exited = true});
  node.folded = node.folder.Take();
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok()) << cut.status();
  ASSERT_EQ(cut->body.events_size(), 5);
  EXPECT_EQ(std::ranges::count(cut->body.events(), 4'001u, &v1::DiscreteEvent::pid), 1);
}

TEST(EpochCutterTest, FoldsEqualEventsAndCountsThoseBeyondTheLimit) {
  EpochCutter::Options options;
  options.max_events = 20;
  ReplayedNode node({}, options);
  node.raw = node.Run(5);
  RawEvent exit;
  exit.kind = RawEventKind::kExit;
  for (int i = 0; i < 100; ++i) {
    exit.tgid = 5'000 + i;
    exit.mono_ns = node.raw.start_mono_ns + i;
    exit.uid = i % 50;  // 50 distinct ones, twice each
    exit.count = i == 0 ? 40 : 1;
    node.folder.OnEvent(exit);
  }
  RawEvent oom = exit;
  oom.kind = RawEventKind::kOom;
  oom.mono_ns = node.raw.end_mono_ns;
  node.folder.OnEvent(oom);
  node.folded = node.folder.Take();
  uint64_t all = 0;
  for (const FoldedEvent& e : node.folded.events) all += e.count;
  EXPECT_EQ(std::ranges::count(node.folded.events, 41U, &FoldedEvent::count), 1);
  const auto cut = node.cutter.Cut(node.raw, node.folded, node.Context(5));
  ASSERT_TRUE(cut.ok());
  ASSERT_EQ(cut->body.events_size(), 20);
  EXPECT_EQ(cut->body.events(19).type(), v1::EVENT_TYPE_OOM);  // rare and last
  uint64_t kept = 0, lost = 0;
  for (const v1::DiscreteEvent& e : cut->body.events()) kept += std::max(1u, e.count());
  for (const v1::Loss& loss : cut->body.losses()) {
    if (loss.reason() == v1::LOSS_REASON_ROW_LIMIT) lost += loss.events();
  }
  EXPECT_EQ(kept + lost, all);
}

}  // namespace
}  // namespace telltale::agent
