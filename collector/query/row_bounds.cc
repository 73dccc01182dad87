#include "collector/query/row_bounds.h"

#include <algorithm>
#include <limits>

#include "sketch/saturating.h"
#include "storage/rollup/window_model.h"

namespace telltale::query {
namespace {

using sketch::FlooredSubtract;
using sketch::SaturatingAdd;

uint64_t Whole(double weight) {
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  if (weight >= kBeyond) return std::numeric_limits<uint64_t>::max();
  return weight > 0 ? static_cast<uint64_t>(weight) : 0;
}

}  // namespace

void RowBounds::AddEpoch(const v1::Vital& vital, const VitalChoice& choice,
                         const std::vector<EntryEstimate>& estimates,
                         const std::vector<Part>& parts) {
  sketch::LabelList list;
  uint64_t lows = 0;
  for (int sub = 0; sub < vital.subs_size(); ++sub) {
    if (choice.Counts(sub)) list.total = SaturatingAdd(list.total, vital.subs(sub).weight());
  }
  for (int i = 0; i < vital.samples_size(); ++i) {
    if (!choice.Counts(static_cast<int>(vital.samples(i).sub()))) continue;
    lows = SaturatingAdd(lows, Whole(estimates[static_cast<size_t>(i)].low));
  }
  list.threshold = storage::EpochThreshold(vital, list.total, lows);

  // Entries of one label in one row (stacks of a site) prove their lows together, but what is not
  // proven of the label is in the interval of each and counts once.
  std::map<uint64_t, sketch::LabelWeight> weights;
  uint64_t in_rows = 0;
  for (const Part& part : parts) {
    const uint64_t id = ids_.try_emplace({part.row, part.label}, ids_.size()).first->second;
    sketch::LabelWeight& weight = weights[id];
    const uint64_t low = Whole(part.weight.low);
    const uint64_t width =
        std::max(weight.high - weight.low, FlooredSubtract(Whole(part.weight.high), low));
    weight.id = id;
    weight.low = SaturatingAdd(weight.low, low);
    weight.high = SaturatingAdd(weight.low, width);
    in_rows = SaturatingAdd(in_rows, low);
  }
  for (const auto& [id, weight] : weights) list.labels.push_back(weight);
  // What is proven for entries that a filter left out cannot be in a row.
  list.total = FlooredSubtract(list.total, FlooredSubtract(lows, in_rows));
  labels_.Add(list);
}

std::map<std::string, RowBounds::Bounds> RowBounds::Sum() {
  const sketch::LabelList& list = labels_.Sum();
  // What an early merge put away weighs no more than the threshold.
  std::vector<Bounds> of_label(ids_.size(), Bounds{0, static_cast<double>(list.threshold)});
  for (const sketch::LabelWeight& label : list.labels) {
    of_label[label.id] = {static_cast<double>(label.low), static_cast<double>(label.high)};
  }
  std::map<std::string, Bounds> rows;
  double lows = 0;
  for (const auto& [row_label, id] : ids_) {
    Bounds& row = rows[row_label.first];
    row.low += of_label[id].low;
    row.high += of_label[id].high;
    lows += of_label[id].low;
  }
  for (auto& [name, row] : rows) {
    const double room = static_cast<double>(list.total) - (lows - row.low);
    row.high = std::max(row.low, std::min(row.high, room));
  }
  return rows;
}

}  // namespace telltale::query
