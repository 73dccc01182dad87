// A re-drawn epoch is one that a collector accepts and a machine could have had, differs between
// nodes where it should, and is the same whenever it is drawn again.

#include "tests/fleetsim/redraw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/ingest/plausibility.h"
#include "proto/codec.h"
#include "sketch/miss_curve.h"
#include "sketch/round7.h"
#include "sketch/vital_ids.h"
#include "storage/placement.h"
#include "tests/fleetsim/noise.h"
#include "tests/fleetsim/redraw_tables.h"
#include "tests/fleetsim/redraw_weights.h"
#include "tests/support/synthetic_node.h"

namespace telltale::fleetsim {
namespace {

constexpr uint64_t kStartNs = 1'795'021'200ull * 1'000'000'000;

NodeTraits Node(uint64_t seed) {
  NodeTraits node;
  node.name = "sim-" + std::to_string(seed);
  node.number = static_cast<uint32_t>(seed);
  node.seed = Mix(seed);
  node.incarnation = std::string(16, static_cast<char>(seed));
  node.boot_id = std::string(16, static_cast<char>(seed + 1));
  node.agent_start_unix_ns = kStartNs;
  return node;
}

CutEpoch Epoch(uint64_t sequence, uint32_t length_s = 60) {
  CutEpoch epoch;
  epoch.sequence = sequence;
  epoch.start_unix_ns = kStartNs + sequence * length_s * 1'000'000'000;
  epoch.end_unix_ns = epoch.start_unix_ns + length_s * 1'000'000'000ull;
  epoch.start_mono_ns = epoch.start_unix_ns - kStartNs + 1'000'000'000;
  epoch.length_s = length_s;
  return epoch;
}

class RedrawTest : public ::testing::Test {
 protected:
  Redraw::Drawn Draw(uint64_t node, uint64_t sequence) const {
    auto drawn = redraw_.Draw(Node(node), Epoch(sequence), {});
    EXPECT_TRUE(drawn.ok()) << drawn.status();
    return drawn.ok() ? *std::move(drawn) : Redraw::Drawn();
  }
  v1::SummaryBody BodyOf(const Redraw::Drawn& drawn) const {
    auto decoded = proto::DecodeSummary(drawn.record.summary, drawn.record.schema);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_TRUE(proto::DecodeCells(drawn.record.summary).ok());
    return decoded.ok() ? *decoded->body : v1::SummaryBody();
  }

  const Recording recording_ = Recording::Synthetic(60);
  const Redraw redraw_{&recording_, RedrawOptions()};
};

// Sum of one process column over rows and other.
double ColumnSum(const v1::ProcessTable& table, int column) {
  double sum = static_cast<double>(table.other().values(column));
  for (const v1::ProcessRow& row : table.rows()) sum += static_cast<double>(row.values(column));
  return sum;
}

// What an answer says of a label that holds so much of its vital stays true.
TEST_F(RedrawTest, ALabelOfTheSameShareIsMissedAsOften) {
  v1::SummaryBody recorded;
  v1::Vital& vital = *recorded.add_vitals();
  vital.set_id(TELLTALE_SYSCALL);
  vital.set_state(v1::VITAL_STATE_ACTIVE);
  vital.mutable_sketch()->set_total(1'234'567);  // a round number would stay one
  vital.mutable_sketch()->set_miss_from(4);
  const auto at = [](const v1::SketchDigest& sketch, double share) {
    sketch::MissCurve curve{sketch.miss_from(), {}};
    for (const uint32_t parts : sketch.miss()) curve.miss.push_back(parts / 10'000.0);
    return curve.At(static_cast<uint64_t>(share * static_cast<double>(sketch.total())));
  };
  for (const uint32_t parts : {9500, 9000, 8000, 6500, 4500, 2000, 500, 50, 5}) {
    vital.mutable_sketch()->add_miss(parts);
  }
  double least = 1e9, most = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    v1::SummaryBody drawn = recorded;
    RedrawWeights({.node_seed = Mix(seed), .epoch_seed = Mix(seed + 100), .node_sigma = 1},
                  v1::Schema(), drawn);
    const v1::SketchDigest& sketch = drawn.vitals(0).sketch();
    least = std::min(least, static_cast<double>(sketch.total()));
    most = std::max(most, static_cast<double>(sketch.total()));
    for (const double share : {0.0002, 0.0005, 0.001}) {
      // Between its points, an octave apart, the curve is taken to be straight.
      EXPECT_NEAR(at(sketch, share), at(vital.sketch(), share), 0.03) << share << ' ' << seed;
    }
  }
  EXPECT_LT(least * 8, most) << "they do change";
}

TEST_F(RedrawTest, EveryEpochIsPlausibleAndAddsUp) {
  for (uint64_t node = 1; node <= 40; ++node) {
    const Redraw::Drawn drawn = Draw(node, node);
    const v1::SummaryBody body = BodyOf(drawn);
    const ingest::Judgement judgement =
        ingest::JudgeTotals(body, drawn.record.schema, Node(node).cpus);
    EXPECT_EQ(judgement.belief, ingest::Belief::kPlausible) << judgement.reason;
    std::map<uint32_t, const v1::Vital*> vitals;
    for (const v1::Vital& vital : body.vitals()) vitals[vital.id()] = &vital;
    for (int column = 0; column < body.processes().columns_size(); ++column) {
      const uint32_t number = body.processes().columns(column);
      if (number < v1::PROCESS_COLUMN_FIRST_VITAL) continue;
      const uint32_t code = number - v1::PROCESS_COLUMN_FIRST_VITAL;
      const v1::SubSeries& sub = vitals[code / 32]->subs(static_cast<int>(code % 32 / 2));
      EXPECT_EQ(ColumnSum(body.processes(), column),
                static_cast<double>(code % 2 == 1 ? sub.weight() : sub.events()))
          << "column " << number << " of node " << node;
    }
  }
}

TEST(RedrawWeightsTest, WhereAllCpusWereTakenAllAre) {
  constexpr uint64_t kLength = 60'000'000'000;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    v1::SummaryBody body;
    body.mutable_epoch()->set_end_mono_ns(kLength);
    v1::Vital& cpu = *body.add_vitals();
    cpu.set_id(TELLTALE_CPU);
    cpu.set_state(v1::VITAL_STATE_ACTIVE);
    cpu.add_subs()->set_weight(2 * kLength * 96 / 100);
    const bool recorded_on_two = seed % 2 == 0;
    if (recorded_on_two) body.mutable_gauges()->set_cpus_online(2);
    RedrawWeights(
        {.node_seed = Mix(seed), .epoch_seed = Mix(seed, 1), .cpus = recorded_on_two ? 16u : 2u},
        v1::Schema(), body);
    EXPECT_GT(cpu.subs(0).weight(), 2 * kLength * 80 / 100) << seed;
    EXPECT_LE(cpu.subs(0).weight(), 2 * kLength * 98 / 100) << seed;
  }
}

TEST_F(RedrawTest, LiesWhereItWasCut) {
  const v1::Epoch epoch = BodyOf(Draw(3, 7)).epoch();
  EXPECT_EQ(epoch.start_unix_ns(), Epoch(7).start_unix_ns);
  EXPECT_EQ(epoch.end_unix_ns(), Epoch(7).end_unix_ns);
  EXPECT_EQ(storage::PlaceEpoch(epoch).start_ns, Epoch(7).start_unix_ns);
}

TEST_F(RedrawTest, TellsHowManyCpusItsNodeHas) {
  EXPECT_EQ(BodyOf(Draw(3, 7)).gauges().cpus_online(), Node(3).cpus);
}

TEST_F(RedrawTest, TheSameEpochHasTheSameBytesWheneverItIsDrawn) {
  EXPECT_EQ(proto::Digest(Draw(5, 2).record.summary), proto::Digest(Draw(5, 2).record.summary));
  EXPECT_NE(Draw(5, 2).record.summary.body(), Draw(6, 2).record.summary.body());
  EXPECT_NE(Draw(5, 2).record.summary.body(), Draw(5, 3).record.summary.body());
}

TEST_F(RedrawTest, AShareOfStacksAndCommsBelongsToOneNodeAlone) {
  // What every other node may run, drawn often enough that nothing shared is missed.
  std::set<uint64_t> shared;
  for (uint64_t node = 100; node < 140; ++node) {
    for (uint64_t sequence = 1; sequence <= 32; ++sequence) {
      const Redraw::Drawn drawn = Draw(node, sequence);
      shared.insert(drawn.stacks.begin(), drawn.stacks.end());
    }
  }
  size_t own = 0, all = 0;
  for (uint64_t node = 1; node <= 20; ++node) {
    if (redraw_.OtherBuilds(Node(node))) continue;
    for (const uint64_t stack : Draw(node, 1).stacks) {
      ++all;
      own += shared.contains(stack) ? 0 : 1;
    }
  }
  EXPECT_GE(own, all / 5);
  EXPECT_LE(own, all / 2);
}

TEST_F(RedrawTest, AtLeastOneNodeInTenRunsOtherBuildsWhateverTheSizeOfTheFleet) {
  for (const uint64_t first : {1, 7, 501}) {
    uint64_t others = 0;
    for (uint64_t nodes = 1; nodes <= 1000; ++nodes) {
      if (redraw_.OtherBuilds(Node(first + nodes - 1))) ++others;
      if (nodes < 60) continue;
      ASSERT_GE(others * 10, nodes) << "from node " << first;
    }
    EXPECT_LE(others, 150);
  }
}

TEST_F(RedrawTest, ANodeOfOtherBuildsHasOtherBuildIds) {
  const auto builds = [this](uint64_t node) {
    const v1::SummaryBody body = BodyOf(Draw(node, 1));
    std::set<std::string> ids;
    for (const v1::Mapping& mapping : body.tables().mappings()) {
      if (mapping.kind() == v1::MAPPING_KIND_FILE) ids.insert(mapping.build_id());
    }
    return ids;
  };
  std::set<std::set<std::string>> usual, other;
  for (uint64_t node = 1; node <= 100; ++node) {
    (redraw_.OtherBuilds(Node(node)) ? other : usual).insert(builds(node));
  }
  EXPECT_EQ(usual.size(), 1u);
  EXPECT_GT(other.size(), 3u);
  for (const auto& ids : usual) EXPECT_FALSE(other.contains(ids));
}

TEST_F(RedrawTest, ProcessesHaveIdsOfTheNodesOwnThatLast) {
  const auto moved = [](uint64_t node, uint32_t pid) { return NodePid(Node(node).seed, pid); };
  EXPECT_EQ(moved(1, 4000), moved(1, 4000));
  EXPECT_NE(moved(1, 4000), 4000u);
  EXPECT_NE(moved(1, 4000), moved(2, 4000));
  EXPECT_EQ(moved(1, 4001), moved(1, 4000) + 1);
  EXPECT_EQ(moved(1, 17), 17u);
}

// Agents round most of what they send, so that it compresses; noise must not undo that.
TEST(NoiseTest, WhatAnAgentRoundedIsRoundedAgain) {
  for (const uint64_t recorded : {uint64_t{130}, uint64_t{93} << 20, uint64_t{127} << 40}) {
    for (const double factor : {0.37, 1.0003, 1.9, 7.3}) {
      const uint64_t drawn = Noisy(recorded, factor);
      EXPECT_EQ(drawn, sketch::Floor7(drawn)) << recorded << " times " << factor;
      const double exact = static_cast<double>(recorded) * factor;
      EXPECT_NEAR(static_cast<double>(drawn), exact, exact / 64);
    }
  }
}

TEST_F(RedrawTest, EntropyIsThatOfTheRecording) {
  double drawn = 0;
  size_t epochs = 0;
  for (uint64_t node = 1; node <= 10; ++node) {
    for (uint64_t sequence = 1; sequence <= 32; ++sequence, ++epochs) {
      const v1::Summary summary = Draw(node, sequence).record.summary;
      drawn += static_cast<double>(summary.body().size() + summary.cells().size());
    }
  }
  const double ratio = drawn / static_cast<double>(epochs) / recording_.mean_bytes();
  EXPECT_GT(ratio, 0.9);
  EXPECT_LT(ratio, 1.1);
}

TEST_F(RedrawTest, AStretchedEpochIsValidAndInProportion) {
  const testing::SyntheticNode made("made", 9);
  v1::SummaryBody body = made.Body(1, kStartNs, 10);
  const uint64_t calls = body.vitals(7).subs(0).weight();
  Stretch(60, 10, body);
  NodeTraits node = Node(1);
  v1::Epoch& epoch = *body.mutable_epoch();
  epoch.set_end_unix_ns(epoch.start_unix_ns() + 60'000'000'000);
  epoch.set_end_mono_ns(epoch.start_mono_ns() + 60'000'000'000);
  v1::Identity identity;
  identity.set_node(node.name);
  identity.set_incarnation(node.incarnation);
  identity.set_sequence(1);
  const auto summary =
      proto::EncodeSummary(identity, proto::BuiltinSchema().id(), body, v1::SketchCells());
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_NEAR(static_cast<double>(body.vitals(7).subs(0).weight()), 6 * static_cast<double>(calls),
              50);
  EXPECT_EQ(body.vitals(0).subs(0).second_weight_size(), 60);
}

}  // namespace
}  // namespace telltale::fleetsim
