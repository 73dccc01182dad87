// What the cutter makes of the epochs of a replayed node, seen through the codec that a collector
// uses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "agent/epoch/byte_bucket.h"
#include "agent/epoch/epoch_cutter.h"
#include "agent/epoch/label_bounds.h"
#include "agent/epoch/sample_folder.h"
#include "agent/epoch/sample_list.h"
#include "agent/sensor/replay_sensor.h"
#include "agent/symbols/name_book.h"
#include "proto/codec.h"
#include "sketch/votes.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A node with a clock that a test moves.
struct Node {
  explicit Node(ReplayOptions options = {}, EpochCutter::Options cut = {})
      : sensor([&] {
          options.mono_ns = [this] { return now; };
          return options;
        }()),
        folder({}, resolver, names),
        cutter(cut, resolver) {
    EXPECT_TRUE(sensor.Start().ok());
  }

  RawEpoch Run(uint64_t seconds) {
    for (uint64_t s = 0; s < seconds * 10; ++s) {
      now += kSecond / 10;
      EXPECT_TRUE(sensor.Drain(folder).ok());
    }
    return *sensor.Cut(folder);
  }

  CutContext Context(uint32_t length_s) {
    CutContext context;
    context.clock.wall_minus_mono_ns = 1'795'000'000 * static_cast<int64_t>(kSecond);
    context.length_s = length_s;
    context.boot_id = std::string(16, 'b');
    context.vitals = sensor.Status();
    return context;
  }

  CutResult Epoch(uint32_t seconds) {
    raw = Run(seconds);
    folded = folder.Take();
    absl::StatusOr<CutResult> result = cutter.Cut(raw, folded, Context(seconds));
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  uint64_t now = 1'000 * kSecond;
  ReplaySensor sensor;
  ReplayResolver resolver;
  NameBook names;
  SampleFolder folder;
  EpochCutter cutter;
  RawEpoch raw;
  FoldedEpoch folded;
};

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
  Node node;
  for (const uint32_t seconds : {10u, 60u, 5u}) {
    const CutResult cut = node.Epoch(seconds);
    const v1::Schema schema = proto::BuiltinSchema();
    const auto summary = proto::EncodeSummary(Someone(), schema.id(), cut.body, cut.cells);
    ASSERT_TRUE(summary.ok()) << summary.status();
    const auto decoded = proto::DecodeSummary(*summary, schema);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(proto::Canonical(decoded->body), proto::Canonical(cut.body));
    EXPECT_GT(cut.body.vitals_size(), 10);
    EXPECT_GT(cut.body.tables().stacks_size(), 10);
  }
}

TEST(EpochCutterTest, SaysHowTheUserStacksOfAllSamplesEnded) {
  Node node;
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
  Node node;
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

TEST(EpochCutterTest, KeepsTheSensorsTotalsExactly) {
  Node node;
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

TEST(EpochCutterTest, SaysWhatAnUnavailableVitalIsAndGivesItNoTotals) {
  Node node;
  const CutResult cut = node.Epoch(5);
  EXPECT_EQ(VitalOf(cut.body, TELLTALE_LLC).state(), v1::VITAL_STATE_UNAVAILABLE);
  EXPECT_EQ(VitalOf(cut.body, TELLTALE_LLC).subs_size(), 0);
}

TEST(EpochCutterTest, AVitalThatNobodyCountedInTheEpochIsUnknownAndNotZero) {
  Node node;
  RawEpoch raw = node.Run(10);
  const FoldedEpoch folded = node.folder.Take();
  const auto blocking = std::ranges::find(raw.vitals, TELLTALE_BLOCKING, &RawVital::id);
  ASSERT_NE(blocking, raw.vitals.end());
  const auto cut = [&] {
    FoldedEpoch copy = folded;
    const auto result = node.cutter.Cut(raw, copy, node.Context(10));
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::ranges::find(result->body.vitals(), TELLTALE_BLOCKING, &v1::Vital::id);
  };
  blocking->unwatched_ns = 4 * kSecond;
  EXPECT_EQ(cut().state(), v1::VITAL_STATE_ACTIVE);
  EXPECT_EQ(cut().unwatched_ns(), 4 * kSecond);
  for (RawSub& sub : blocking->subs) sub.events = sub.weight = 0;
  EXPECT_EQ(cut().state(), v1::VITAL_STATE_ACTIVE) << "nothing happened in what was watched";
  blocking->unwatched_ns = raw.watched_ns;
  EXPECT_EQ(cut().state(), v1::VITAL_STATE_UNAVAILABLE);
  EXPECT_EQ(cut().subs_size(), 0);
}

TEST(EpochCutterTest, SecondsKeepSevenSignificantBitsOfEachSecond) {
  Node node;
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
  Node node({}, options);
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

TEST(EpochCutterTest, ShortLivedProcessesOfOneProgramAreOneRowWithTheirNumber) {
  Node node;
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

TEST(EpochCutterTest, WhatNoProcessWasGivenStandsInOther) {
  Node node;
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
  Node node;
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
  options.bytes.mean_bytes = options.bytes.burst_bytes = 9'000;
  ReplayOptions loud;
  loud.intensity = 3;
  Node node(loud, options);
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

TEST(EpochCutterTest, KeepsThreeSamplesOfEveryVitalHoweverFewBytes) {
  EpochCutter::Options options;
  options.bytes.mean_bytes = options.bytes.burst_bytes = options.bytes.floor_bytes = 10;
  Node node({}, options);
  const CutResult cut = node.Epoch(20);
  std::map<uint32_t, uint64_t> entries;
  for (const FoldedEntry& e : node.folded.entries) ++entries[node.folded.labels[e.label].vital];
  ASSERT_GT(entries.size(), 8u);
  for (const auto& [vital, count] : entries) {
    EXPECT_EQ(VitalOf(cut.body, vital).samples_size(),
              static_cast<int>(std::min<uint64_t>(3, count)));
  }
}

// Vital `blocking` with the given weights of its sub-series.
RawEpoch BlockingTotals(std::vector<uint64_t> weights) {
  RawVital vital;
  vital.id = TELLTALE_BLOCKING;
  for (const uint64_t weight : weights) vital.subs.push_back({1, weight, {}});
  RawEpoch raw;
  raw.vitals.push_back(std::move(vital));
  return raw;
}

FoldedEntry Entry(uint32_t label, uint8_t sub, uint64_t samples, uint64_t weight, bool open) {
  FoldedEntry entry;
  entry.label = label;
  entry.sub = sub;
  entry.samples = samples;
  entry.sampled_weight = weight;
  entry.open = open;
  return entry;
}

TEST(SampleRankingTest, AMillionShortWaitsRankBeforeAnIdleThreadsOneLongWait) {
  FoldedEpoch epoch;
  epoch.labels.resize(3);
  for (FoldedLabel& label : epoch.labels) label.vital = TELLTALE_BLOCKING;
  epoch.entries = {Entry(0, 0, 1, 900, true), Entry(1, 0, 1, 20, false),
                   Entry(2, 0, 10, 100, false)};
  const std::vector<Bounds> bounds = {{900, 900}, {20, 30}, {100, 5000}};
  const SampleRanking ranking = RankSamples(epoch, bounds, BlockingTotals({10'000}));
  EXPECT_EQ(ranking.entries, (std::vector<uint32_t>{2, 1, 0}));
}

TEST(SampleRankingTest, ALabelCountsForItsPartOfItsCell) {
  FoldedEpoch epoch;
  epoch.labels.resize(3);
  for (FoldedLabel& label : epoch.labels) label.vital = TELLTALE_BLOCKING;
  epoch.entries = {Entry(0, 0, 1, 1, false), Entry(1, 0, 9, 9, false), Entry(2, 0, 1, 1, false)};
  // The first two share a cell in which 1,000 are contested; the third has 500 for itself.
  epoch.labels[0].hashes = {1};
  epoch.labels[1].hashes = {2};
  epoch.labels[2].hashes = {3 | uint64_t{1} << 62};
  RawEpoch raw = BlockingTotals({1500});
  raw.vitals[0].cells.total = {1000, 500, 0, 0};
  const std::vector<Bounds> bounds = {{1, 1000}, {9, 1000}, {1, 500}};
  const SampleRanking ranking = RankSamples(epoch, bounds, raw);
  EXPECT_EQ(ranking.entries, (std::vector<uint32_t>{1, 2, 0}));
}

TEST(SampleRankingTest, TheHeaviestOfASmallSubSeriesIsNotCrowdedOutByABigOne) {
  FoldedEpoch epoch;
  epoch.labels.resize(3);
  for (FoldedLabel& label : epoch.labels) label.vital = TELLTALE_BLOCKING;
  epoch.entries = {Entry(0, 0, 1, 4000, false), Entry(1, 0, 1, 5000, false),
                   Entry(2, 1, 1, 80, false)};
  const std::vector<Bounds> bounds = {{4000, 4001}, {5000, 5001}, {80, 81}};
  const SampleRanking ranking = RankSamples(epoch, bounds, BlockingTotals({10'000, 100}));
  EXPECT_EQ(ranking.entries, (std::vector<uint32_t>{2, 1, 0}));
}

TEST(LabelBoundsTest, SamplesOfALabelNeverProveMoreThanItsCellsHold) {
  Node node;
  node.Epoch(20);
  const std::vector<Bounds> bounds = BoundLabels(node.folded, node.raw);
  ASSERT_FALSE(bounds.empty());
  for (size_t i = 0; i < bounds.size(); ++i) {
    const FoldedLabel& label = node.folded.labels[i];
    const RawVital& vital = *std::ranges::find(node.raw.vitals, label.vital, &RawVital::id);
    std::set<uint32_t> cells;
    for (const uint64_t hash : label.hashes) {
      cells.insert(sketch::PlaceOf(hash, vital.cells.columns()).cell);
    }
    uint64_t in_cells = 0;
    for (const uint32_t c : cells) in_cells += vital.cells.total[c];
    EXPECT_GE(bounds[i].low, label.sampled_weight);
    EXPECT_LE(bounds[i].high, in_cells);
    EXPECT_LE(bounds[i].low, bounds[i].high);
  }
}

TEST(EpochCutterTest, SaysWhatNoLabelWithoutAnEntryExceeds) {
  EpochCutter::Options few;
  few.bytes.mean_bytes = few.bytes.burst_bytes = few.bytes.floor_bytes = 10;
  Node all, cut({}, few);
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
  Node a, b;
  for (int i = 0; i < 3; ++i) {
    const CutResult x = a.Epoch(10), y = b.Epoch(10);
    EXPECT_EQ(proto::Canonical(x.body), proto::Canonical(y.body));
    EXPECT_EQ(proto::Canonical(x.cells), proto::Canonical(y.cells));
  }
}

TEST(EpochCutterTest, ADraftTakesNoBytesFromTheBucket) {
  Node a, b;
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

TEST(EpochCutterTest, RefusesAnEpochThatIsNoInterval) {
  Node node;
  RawEpoch raw = node.Run(5);
  raw.end_mono_ns = raw.start_mono_ns;
  FoldedEpoch folded = node.folder.Take();
  const auto cut = node.cutter.Cut(raw, folded, node.Context(5));
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.status().message()), testing::HasSubstr("not an interval"));
}

TEST(EpochCutterTest, FoldsEqualEventsAndCountsThoseBeyondTheLimit) {
  EpochCutter::Options options;
  options.max_events = 20;
  Node node({}, options);
  node.raw = node.Run(5);
  RawEvent exit;
  exit.kind = RawEventKind::kExit;
  for (int i = 0; i < 100; ++i) {
    exit.tgid = 5'000 + i;
    exit.mono_ns = node.raw.start_mono_ns + i;
    exit.uid = i % 50;  // 50 distinct ones, twice each
    node.folder.OnEvent(exit);
  }
  RawEvent oom = exit;
  oom.kind = RawEventKind::kOom;
  oom.mono_ns = node.raw.end_mono_ns;
  node.folder.OnEvent(oom);
  node.folded = node.folder.Take();
  uint64_t all = 0;
  for (const FoldedEvent& e : node.folded.events) all += e.count;
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

TEST(ByteBucketTest, QuietEpochsSaveUpAndADebtOfAtMostOneEpochIsPaidBack) {
  ByteBucket bucket(
      {.mean_bytes = 100, .burst_bytes = 300, .hard_bytes = 1'000, .floor_bytes = 10});
  EXPECT_EQ(bucket.Budget(60 * kSecond), 300u);
  bucket.Spend(300);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 100u);
  bucket.Spend(0);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 200u);
  bucket.Spend(450);  // 250 too many, of which one epoch's 100 are owed
  EXPECT_EQ(bucket.Budget(60 * kSecond), 10u);
  bucket.Spend(0);
  EXPECT_EQ(bucket.Budget(60 * kSecond), 100u);
}

TEST(ByteBucketTest, HonoursTheDaysLimit) {
  ByteBucket bucket({.mean_bytes = 16'384,
                     .burst_bytes = 16'384,
                     .hard_bytes = 262'144,
                     .floor_bytes = 0,
                     .bytes_per_day = 1'440'000});
  bucket.Spend(bucket.Budget(60 * kSecond));
  uint64_t spent = 0;
  for (int i = 0; i < 1'440; ++i) {
    const size_t budget = bucket.Budget(60 * kSecond);
    spent += budget;
    bucket.Spend(budget);
  }
  EXPECT_NEAR(static_cast<double>(spent), 1'440'000, 1'440);
}

TEST(NameBookTest, SendsEveryNameOnceAndAgainToAnotherStore) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  Node node;
  const CutResult cut = node.Epoch(20);
  const std::vector<v1::Names> first = node.names.Unsent(cut.body.tables(), kNow);
  ASSERT_GE(first.size(), 3u);
  std::set<std::string> functions;
  for (const v1::Names& names : first) {
    ASSERT_TRUE(proto::CheckNames(names).ok()) << proto::CheckNames(names);
    functions.insert(names.name().begin(), names.name().end());
  }
  EXPECT_THAT(functions, testing::Contains("__schedule"));
  EXPECT_TRUE(node.names.Unsent(cut.body.tables(), kNow).empty());
  node.names.ForgetSent();
  EXPECT_EQ(node.names.Unsent(cut.body.tables(), kNow).size(), first.size());
}

TEST(NameBookTest, SendsANameAgainAWeekLaterWhicheverWayTheClockWent) {
  constexpr uint64_t kNow = 1'700'000'000 * kSecond;
  Node node;
  const CutResult cut = node.Epoch(20);
  const auto unsent = [&](uint64_t now) {
    return node.names.Unsent(cut.body.tables(), now).size();
  };
  const size_t all = unsent(kNow);
  ASSERT_GE(all, 3u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs - 1), 0u);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs), all);
  EXPECT_EQ(unsent(kNow + proto::kNamesTravelAgainNs + 1), 0u);
  EXPECT_EQ(unsent(kNow), all) << "the clock was set back";
}

TEST(NameBookTest, ForgetsTheOldestHalfWhenFull) {
  NameBook book(100);
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  for (uint64_t i = 0; i < 1'000; ++i) book.Learn({file, i}, {v1::NAME_OUTCOME_NAMED, "f"});
  EXPECT_LE(book.size(), 100u);
  EXPECT_EQ(book.Known({file, 999}), v1::NAME_OUTCOME_NAMED);
  EXPECT_EQ(book.Known({file, 0}), v1::NAME_OUTCOME_UNSPECIFIED);
}

TEST(NameBookTest, RemembersWhyThereIsNoNameUnlessThatMayChange) {
  NameBook book;
  const auto file = std::make_shared<const CodeFile>(
      CodeFile{v1::MAPPING_KIND_FILE, std::string(20, 'x'), "/bin/x"});
  book.Learn({file, 1}, {v1::NAME_OUTCOME_NO_SYMBOL, ""});
  book.Learn({file, 2}, {v1::NAME_OUTCOME_NO_FILE, ""});
  EXPECT_EQ(book.Known({file, 1}), v1::NAME_OUTCOME_NO_SYMBOL);
  EXPECT_EQ(book.Known({file, 2}), v1::NAME_OUTCOME_UNSPECIFIED);
}

}  // namespace
}  // namespace telltale::agent
