// Which folded samples are worth keeping when not all can travel.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "agent/epoch/sample_list.h"
#include "sketch/vitals.h"

namespace telltale::agent {
namespace {

constexpr int kMustPerVital = 3;
constexpr size_t kEndedPerOpen = 2;

bool Idle(const FoldedLabel& label, const FoldedEntry& entry) {
  const sketch::Vital* vital = sketch::FindVital(label.vital);
  return vital != nullptr && entry.sub < vital->subs.size() && vital->subs[entry.sub].idle;
}

struct Candidate {
  uint32_t entry = 0;
  bool idle = false;
  double share = 0;  // of its sub-series' weight
};

// Samples that each cell gave: entries of one vital whose upper bound is the same share the cell.
using CellSamples = std::map<std::pair<uint8_t, uint64_t>, uint64_t>;

CellSamples CountCellSamples(const FoldedEpoch& epoch, const std::vector<Bounds>& bounds) {
  CellSamples samples;
  for (const FoldedEntry& entry : epoch.entries) {
    if (entry.open) continue;
    samples[{epoch.labels[entry.label].vital, bounds[entry.label].high}] += entry.samples;
  }
  return samples;
}

double EstimatedWeight(const FoldedEntry& entry, uint8_t vital, const Bounds& bounds,
                       const CellSamples& cells) {
  const auto sampled = static_cast<double>(entry.sampled_weight);
  if (entry.open) return sampled;
  const auto of_cell = static_cast<double>(cells.at({vital, bounds.high}));
  return std::max(sampled, static_cast<double>(bounds.high) * static_cast<double>(entry.samples) /
                               std::max(1.0, of_cell));
}

}  // namespace

SampleRanking RankSamples(const FoldedEpoch& epoch, const std::vector<Bounds>& bounds,
                          const RawEpoch& raw) {
  std::map<std::pair<uint8_t, size_t>, double> total;  // (vital, sub-series)
  for (const RawVital& vital : raw.vitals) {
    for (size_t sub = 0; sub < vital.subs.size(); ++sub) {
      total[{vital.id, sub}] = static_cast<double>(vital.subs[sub].weight);
    }
  }
  const CellSamples cells = CountCellSamples(epoch, bounds);
  std::vector<Candidate> ended, open;
  for (uint32_t i = 0; i < epoch.entries.size(); ++i) {
    const FoldedEntry& entry = epoch.entries[i];
    const FoldedLabel& label = epoch.labels[entry.label];
    const double weight = EstimatedWeight(entry, label.vital, bounds[entry.label], cells);
    (entry.open ? open : ended)
        .push_back(
            {i, Idle(label, entry), weight / std::max(1.0, total[{label.vital, entry.sub}])});
  }
  const auto heavier = [](const Candidate& a, const Candidate& b) {
    return a.idle != b.idle ? !a.idle : a.share > b.share;
  };
  std::ranges::stable_sort(ended, heavier);
  std::ranges::stable_sort(open, heavier);

  SampleRanking ranking;
  std::vector<uint32_t> rest;
  std::array<int, TELLTALE_MAX_VITAL + 1> taken{};
  const auto take = [&](const Candidate& candidate) {
    const uint8_t vital = epoch.labels[epoch.entries[candidate.entry].label].vital;
    (taken[vital]++ < kMustPerVital ? ranking.entries : rest).push_back(candidate.entry);
  };
  for (size_t e = 0, o = 0; e < ended.size() || o < open.size();) {
    for (size_t n = 0; n < kEndedPerOpen && e < ended.size(); ++n) take(ended[e++]);
    if (o < open.size()) take(open[o++]);
  }
  ranking.must = ranking.entries.size();
  ranking.entries.insert(ranking.entries.end(), rest.begin(), rest.end());
  return ranking;
}

}  // namespace telltale::agent
