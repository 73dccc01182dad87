// Which weights the votes and samples of an epoch prove of its labels.
#include "agent/epoch/label_bounds.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

// One vital with four cells: cell 0 is led by mark 1 (30) and, on another CPU, by mark 2 (8).
RawEpoch FourCells() {
  RawEpoch raw;
  raw.vitals.resize(1);
  raw.vitals[0].id = TELLTALE_CPU;
  raw.vitals[0].cells = {
      .total = {50, 20, 0, 30}, .contested = {6, 10, 0, 15}, .leads = {{{0, 1}, 30}, {{0, 2}, 8}}};
  raw.vitals[0].subs = {{.events = 9, .weight = 100, .second_weight = {}}};
  return raw;
}

FoldedLabel CpuLabel(std::vector<uint64_t> hashes, uint64_t sampled_weight) {
  FoldedLabel label;
  label.vital = TELLTALE_CPU;
  label.hashes = std::move(hashes);
  label.sampled_weight = sampled_weight;
  return label;
}

constexpr uint64_t kCell1 = uint64_t{1} << 62, kCell3 = uint64_t{3} << 62;

TEST(LabelBoundsTest, AreTheMarginAndWhatIsContestedInTheCells) {
  FoldedEpoch epoch;
  epoch.labels = {CpuLabel({1}, 4), CpuLabel({2 | kCell1, 2}, 4), CpuLabel({9 | kCell3}, 4)};
  RawEpoch raw = FourCells();
  const std::vector<Bounds> bounds = BoundLabels(epoch, raw);
  EXPECT_EQ(bounds[0].low, 30u);
  EXPECT_EQ(bounds[0].high, 36u);
  EXPECT_EQ(bounds[1].low, 8u);
  EXPECT_EQ(bounds[1].high, 24u) << "two cells";
  EXPECT_EQ(bounds[2].low, 4u) << "leads nowhere: its samples";
  EXPECT_EQ(bounds[2].high, 15u);
  epoch.labels[0].more_hashes = true;  // they may lie anywhere
  EXPECT_EQ(BoundLabels(epoch, raw)[0].high, 100u);
  raw.vitals[0].cells = {};  // none kept: the vital's total is all that is known
  EXPECT_EQ(BoundLabels(epoch, raw)[1].high, 100u);
  EXPECT_EQ(BoundLabels(epoch, raw)[1].low, 4u);
}

TEST(LabelBoundsTest, HashesThatShareAPlaceCountItOnce) {
  FoldedEpoch epoch;
  epoch.labels = {CpuLabel({1, 1 | uint64_t{1} << 30, 1 | uint64_t{1} << 40}, 0)};
  EXPECT_EQ(BoundLabels(epoch, FourCells())[0].low, 30u);
  EXPECT_EQ(BoundLabels(epoch, FourCells())[0].high, 36u);
}

TEST(LabelBoundsTest, AMarginThatTwoLabelsShareIsNobodysOwn) {
  FoldedEpoch epoch;
  epoch.labels = {CpuLabel({1}, 4), CpuLabel({1 | uint64_t{1} << 30}, 5)};
  for (const Bounds& bounds : BoundLabels(epoch, FourCells())) {
    EXPECT_LE(bounds.low, 5u);
    EXPECT_EQ(bounds.high, 36u);
  }
}

TEST(LabelBoundsTest, WhatIsNotListedIsBoundByItsCellsAndByWhatWasFoldedAway) {
  FoldedEpoch epoch;
  epoch.labels = {CpuLabel({1}, 4), CpuLabel({2 | kCell1, 2, 9 | kCell3}, 4)};
  const RawEpoch raw = FourCells();
  const std::vector<Bounds> bounds = BoundLabels(epoch, raw);
  EXPECT_EQ(BoundUnlisted(epoch, raw, bounds, {true, true}).at(TELLTALE_CPU), 15u);
  EXPECT_EQ(BoundUnlisted(epoch, raw, bounds, {false, true}).at(TELLTALE_CPU), 36u);
  EXPECT_EQ(bounds[1].high, 39u);
  EXPECT_EQ(BoundUnlisted(epoch, raw, bounds, {true, false}).at(TELLTALE_CPU), 39u)
      << "its hashes lie in three cells";
}

}  // namespace
}  // namespace telltale::agent
