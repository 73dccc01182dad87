// Which folded samples are worth keeping when not all can travel.

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "agent/epoch/sample_list.h"
#include "agent/vitals/vitals.h"
#include "sketch/votes.h"

namespace telltale::agent {
namespace {

constexpr int kMustPerVital = 3;
constexpr size_t kEndedPerOpen = 2;

bool Idle(const FoldedLabel& label, const FoldedEntry& entry) {
  const sketch::Vital* vital = FindVital(label.vital);
  return vital != nullptr && entry.sub < vital->subs.size() && vital->subs[entry.sub].idle;
}

struct Candidate {
  uint32_t entry = 0;
  bool idle = false;
  double share = 0;  // of its sub-series' weight
};

// Samples of each label's ended entries, and those that its cell gave. A label of several cells
// counts in the first one's.
struct EndedSamples {
  std::vector<uint64_t> of_label, of_cell;  // by label
};

EndedSamples CountEnded(const FoldedEpoch& epoch, const RawEpoch& raw) {
  EndedSamples ended{std::vector<uint64_t>(epoch.labels.size()), {}};
  for (const FoldedEntry& entry : epoch.entries) {
    if (!entry.open) ended.of_label[entry.label] += entry.samples;
  }
  std::array<uint32_t, TELLTALE_MAX_VITAL + 1> columns{};
  for (const RawVital& vital : raw.vitals) {
    if (vital.id < columns.size()) columns[vital.id] = vital.cells.columns();
  }
  std::vector<std::pair<uint8_t, uint32_t>> cell_of;
  std::map<std::pair<uint8_t, uint32_t>, uint64_t> of_cell;
  for (size_t i = 0; i < epoch.labels.size(); ++i) {
    const FoldedLabel& label = epoch.labels[i];
    const bool placed = columns[label.vital] != 0 && !label.hashes.empty();
    cell_of.emplace_back(label.vital,
                         placed ? sketch::PlaceOf(label.hashes[0], columns[label.vital]).cell : 0);
    of_cell[cell_of.back()] += ended.of_label[i];
  }
  for (const auto& cell : cell_of) ended.of_cell.push_back(of_cell[cell]);
  return ended;
}

// Of what is contested in its cell, an entry's part is its share of the cell's samples; of what its
// label certainly weighs, its share of the label's.
double EstimatedWeight(const FoldedEntry& entry, const Bounds& bounds, const EndedSamples& ended) {
  const auto sampled = static_cast<double>(entry.sampled_weight);
  if (entry.open) return sampled;
  const auto samples = static_cast<double>(entry.samples);
  const auto of_label = static_cast<double>(ended.of_label[entry.label]);
  const auto of_cell = static_cast<double>(ended.of_cell[entry.label]);
  const auto low = static_cast<double>(bounds.low);
  const auto open_range = static_cast<double>(bounds.high - bounds.low);
  return std::max(sampled, low * samples / std::max(1.0, of_label) +
                               open_range * samples / std::max(1.0, of_cell));
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
  const EndedSamples ended_samples = CountEnded(epoch, raw);
  std::vector<Candidate> ended, open;
  for (uint32_t i = 0; i < epoch.entries.size(); ++i) {
    const FoldedEntry& entry = epoch.entries[i];
    const FoldedLabel& label = epoch.labels[entry.label];
    const double weight = EstimatedWeight(entry, bounds[entry.label], ended_samples);
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
