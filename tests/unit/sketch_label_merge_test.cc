#include "sketch/label_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace telltale::sketch {
namespace {

using ::testing::ElementsAre;

LabelWeight Label(uint64_t id, uint64_t low, uint64_t high) { return {id, low, high, 1}; }

TEST(LabelMergeTest, ALabelAChildDoesNotListGrowsByThatChildsThreshold) {
  const std::vector<LabelList> children = {
      {{Label(1, 10, 12), Label(2, 5, 7)}, 1000, 3, 0},
      {{Label(1, 20, 20)}, 1000, 4, 0},
  };
  const LabelList merged = MergeLabels(children);
  EXPECT_THAT(merged.labels, ElementsAre(LabelWeight{1, 30, 32, 2}, LabelWeight{2, 5, 7 + 4, 1}));
  EXPECT_EQ(merged.threshold, 3u + 4u);
  EXPECT_EQ(merged.total, 2000u);
}

TEST(LabelMergeTest, NoLabelExceedsWhatTheOthersLeaveOfTheTotal) {
  const std::vector<LabelList> children = {{{Label(1, 60, 100), Label(2, 30, 90)}, 100, 50, 0}};
  const LabelList merged = MergeLabels(children);
  EXPECT_THAT(merged.labels, ElementsAre(LabelWeight{1, 60, 70, 1}, LabelWeight{2, 30, 40, 1}));
  EXPECT_EQ(merged.threshold, 10u);
}

TEST(LabelMergeTest, KeepsTheGreatestLowsAndTellsWhatTheRestMayWeigh) {
  std::vector<LabelList> children(1);
  for (uint64_t id = 1; id <= 5; ++id) children[0].labels.push_back(Label(id, 10, 10 + id));
  children[0].labels.push_back(Label(9, 11, 11));
  children[0].total = 10'000;
  children[0].threshold = 2;
  const LabelList merged = MergeLabels(children, 3);
  EXPECT_THAT(merged.labels, ElementsAre(Label(9, 11, 11), Label(1, 10, 11), Label(2, 10, 12)));
  EXPECT_EQ(merged.threshold, 15u) << "label 5 was put away and may weigh 15";
  EXPECT_EQ(merged.other_samples, 3u);
}

TEST(LabelMergeTest, NothingMergesToNothing) {
  EXPECT_EQ(MergeLabels({}), LabelList());
  EXPECT_EQ(OtherOf(MergeLabels({})).high, 0u);
}

TEST(LabelMergeTest, EstimatesDivideTheTotalAndOnlyAddUpWhereALabelIsListed) {
  LabelList epoch{{Label(1, 10, 50), Label(2, 20, 100)}, 60, 90, 0};
  DivideTotal(epoch);
  EXPECT_EQ(epoch.labels[0].estimate, 10u + 40 * 30 / 120);
  EXPECT_EQ(epoch.labels[1].estimate, 20u + 80 * 30 / 120);
  LabelList roomy = epoch;
  roomy.total = 1000;
  DivideTotal(roomy);
  EXPECT_EQ(roomy.labels[1].estimate, 100u);
  const LabelList other{{Label(2, 5, 9)}, 500, 400, 0};
  const LabelList merged = MergeLabels(std::vector<LabelList>{epoch, epoch, other});
  ASSERT_EQ(merged.labels[1].id, 1u);
  EXPECT_EQ(merged.labels[1].estimate, 2 * epoch.labels[0].estimate)
      << "the third says nothing about label 1, however much it may weigh there";
  const uint64_t most = ~uint64_t{0};
  LabelList huge{{Label(1, most, most), Label(2, 0, most)}, most, most, most};
  DivideTotal(huge);
  EXPECT_EQ(huge.labels[0].estimate, most);
  EXPECT_EQ(huge.labels[1].estimate, 0u);
}

TEST(LabelMergeTest, HostileSumsSaturate) {
  const uint64_t most = ~uint64_t{0};
  const LabelList huge{{Label(1, most, most)}, most, most, most};
  const LabelList merged = MergeLabels(std::vector<LabelList>{huge, huge, huge});
  EXPECT_THAT(merged.labels, ElementsAre(LabelWeight{1, most, most, 3}));
  EXPECT_EQ(merged.total, most);
}

// A world whose true weights are known: each child lists some labels with intervals around the
// truth and a threshold above all it leaves out.
struct World {
  std::vector<LabelList> children;
  std::map<uint64_t, uint64_t> truth;  // label to weight over all children
};

World MakeWorld(std::mt19937_64& random) {
  World world;
  const size_t labels = 1 + random() % 80;
  for (size_t child = 1 + random() % 12; child > 0; --child) {
    LabelList list;
    for (uint64_t id = 1; id <= labels; ++id) {
      const uint64_t weight =
          random() % 3 == 0 ? 0 : random() % (uint64_t{1} << (1 + random() % 20));
      world.truth[id] += weight;
      list.total += weight;
      if (random() % 2 == 0) {
        list.labels.push_back(
            {id, weight - std::min(weight, random() % 50), weight + random() % 50, random() % 3});
      } else {
        list.threshold = std::max(list.threshold, weight + random() % 10);
      }
    }
    world.children.push_back(std::move(list));
  }
  return world;
}

void ExpectHolds(const LabelList& merged, const World& world) {
  std::map<uint64_t, uint64_t> unlisted = world.truth;
  uint64_t listed_weight = 0;
  for (const LabelWeight& label : merged.labels) {
    const uint64_t weight = world.truth.at(label.id);
    ASSERT_LE(label.low, weight);
    ASSERT_GE(label.high, weight);
    listed_weight += weight;
    unlisted.erase(label.id);
  }
  for (const auto& [id, weight] : unlisted) ASSERT_LE(weight, merged.threshold) << id;
  const Rest rest = OtherOf(merged);
  ASSERT_LE(rest.low, merged.total - listed_weight);
  ASSERT_GE(rest.high, merged.total - listed_weight);
}

TEST(LabelMergeTest, IntervalsAndThresholdHoldTheTruth) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 1000; ++round) {
    const World world = MakeWorld(random);
    ExpectHolds(MergeLabels(world.children, random() % 30), world);
  }
}

TEST(LabelMergeTest, HoldTheTruthAfterMergingMergedListsToo) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 500; ++round) {
    const World world = MakeWorld(random);
    const size_t middle = world.children.size() / 2;
    const std::span<const LabelList> all(world.children);
    const std::vector<LabelList> halves = {MergeLabels(all.first(middle), 10),
                                           MergeLabels(all.subspan(middle), 10)};
    ExpectHolds(MergeLabels(halves, 24), world);
  }
}

TEST(LabelSumsTest, ChildrenThatComeOneByOneAndInPartsGiveWhatMergingThemAtOnceDoes) {
  std::mt19937_64 random(14);
  for (int round = 0; round < 500; ++round) {
    const World world = MakeWorld(random);
    LabelSums sums, others;
    for (const LabelList& child : world.children) (random() % 2 == 0 ? sums : others).Add(child);
    sums.Add(others);
    for (const size_t keep : {size_t{10}, kKeptLabels, size_t{1000}}) {
      ASSERT_EQ(sums.Merged(keep), MergeLabels(world.children, keep));
    }
  }
}

TEST(LabelMergeTest, TheOrderOfChildrenAndLabelsDoesNotMatter) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    World world = MakeWorld(random);
    const LabelList merged = MergeLabels(world.children);
    std::ranges::shuffle(world.children, random);
    for (LabelList& child : world.children) std::ranges::shuffle(child.labels, random);
    ASSERT_EQ(MergeLabels(world.children), merged);
  }
}

}  // namespace
}  // namespace telltale::sketch
