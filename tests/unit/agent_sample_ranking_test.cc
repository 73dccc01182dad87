// Which samples of an epoch are kept first, and what they prove of their labels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "agent/epoch/label_bounds.h"
#include "agent/epoch/sample_list.h"
#include "sketch/votes.h"
#include "tests/unit/replayed_node.h"

namespace telltale::agent {
namespace {

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
  ReplayedNode node;
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

}  // namespace
}  // namespace telltale::agent
