#include "agent/epoch/label_bounds.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "sketch/saturating.h"
#include "sketch/vital_ids.h"
#include "sketch/votes.h"

namespace telltale::agent {
namespace {

using sketch::Place;

// Vitals of the epoch by id, with their totals.
struct ById {
  std::array<const RawVital*, TELLTALE_MAX_VITAL + 1> vital{};
  std::array<uint64_t, TELLTALE_MAX_VITAL + 1> total{};
};

ById Index(const RawEpoch& raw) {
  ById by_id;
  for (const RawVital& vital : raw.vitals) {
    if (vital.id >= by_id.vital.size()) continue;
    by_id.vital[vital.id] = &vital;
    for (const RawSub& sub : vital.subs) {
      by_id.total[vital.id] = sketch::SaturatingAdd(by_id.total[vital.id], sub.weight);
    }
  }
  return by_id;
}

// Each of the label's places once, ascending.
std::vector<Place> PlacesOf(const FoldedLabel& label, uint32_t columns) {
  std::vector<Place> places;
  for (const uint64_t hash : label.hashes) places.push_back(sketch::PlaceOf(hash, columns));
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// Places that labels of one vital share, ascending.
using Shared = std::array<std::vector<Place>, TELLTALE_MAX_VITAL + 1>;

Shared SharedPlaces(const std::vector<FoldedLabel>& labels, const ById& by_id) {
  std::vector<std::pair<uint8_t, Place>> all;
  for (const FoldedLabel& label : labels) {
    const RawVital* vital = by_id.vital[label.vital];
    if (vital == nullptr || vital->cells.columns() == 0) continue;
    for (const Place& place : PlacesOf(label, vital->cells.columns())) {
      all.emplace_back(label.vital, place);
    }
  }
  std::ranges::sort(all);
  Shared shared;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[i - 1]) shared[all[i].first].push_back(all[i].second);
  }
  return shared;
}

Bounds BoundsOf(const FoldedLabel& label, const RawVital& vital, uint64_t total,
                const std::vector<Place>& shared) {
  const uint64_t proved = label.sampled_weight;
  if (vital.cells.columns() == 0) return {proved, std::max(proved, total)};
  std::vector<Place> places = PlacesOf(label, vital.cells.columns());
  const sketch::Interval all = sketch::Estimate(vital.cells, places, proved);
  std::erase_if(places, [&](const Place& p) { return std::ranges::binary_search(shared, p); });
  const uint64_t low = sketch::Estimate(vital.cells, places, proved).low;
  // Hashes that found no room may lie anywhere.
  return {low, std::max(low, label.more_hashes ? total : all.high)};
}

}  // namespace

std::vector<Bounds> BoundLabels(const FoldedEpoch& epoch, const RawEpoch& raw) {
  const ById by_id = Index(raw);
  const Shared shared = SharedPlaces(epoch.labels, by_id);
  std::vector<Bounds> bounds;
  bounds.reserve(epoch.labels.size());
  for (const FoldedLabel& label : epoch.labels) {
    const RawVital* vital = by_id.vital[label.vital];
    bounds.push_back(vital == nullptr
                         ? Bounds{label.sampled_weight, label.sampled_weight}
                         : BoundsOf(label, *vital, by_id.total[label.vital], shared[label.vital]));
  }
  return bounds;
}

std::map<uint8_t, uint64_t> BoundUnlisted(const FoldedEpoch& epoch, const RawEpoch& raw,
                                          const std::vector<Bounds>& bounds,
                                          const std::vector<bool>& listed) {
  const ById by_id = Index(raw);
  std::map<uint8_t, std::vector<Place>> places;
  std::map<uint8_t, uint64_t> high;
  for (size_t i = 0; i < epoch.labels.size(); ++i) {
    const FoldedLabel& label = epoch.labels[i];
    const RawVital* vital = by_id.vital[label.vital];
    if (!listed[i]) high[label.vital] = std::max(high[label.vital], bounds[i].high);
    if (!listed[i] || vital == nullptr || vital->cells.columns() == 0) continue;
    const std::vector<Place> of_label = PlacesOf(label, vital->cells.columns());
    places[label.vital].insert(places[label.vital].end(), of_label.begin(), of_label.end());
  }
  for (const RawVital& vital : raw.vitals) {
    std::vector<Place>& of_vital = places[vital.id];
    std::ranges::sort(of_vital);
    high[vital.id] = std::max(high[vital.id], sketch::UnlistedHigh(vital.cells, of_vital));
  }
  return high;
}

}  // namespace telltale::agent
