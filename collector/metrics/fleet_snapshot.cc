#include "collector/metrics/fleet_snapshot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace telltale::metrics {
namespace {

constexpr size_t kMaxGroupBytes = 128;

// Who of the nodes stays shown: a heap whose front is the one to give up first.
class Shown {
 public:
  Shown(const MetricSources& sources, size_t limit) : sources_(sources), limit_(limit) {}

  void Offer(const NodeFigures& node) {
    if (limit_ == 0) return;
    Entry entry{sources_.recent_anomalies ? sources_.recent_anomalies(node.number) : 0, node};
    if (entries_.size() == limit_) {
      if (!Before(entry, entries_.front())) return;
      std::ranges::pop_heap(entries_, Before);
      entries_.back() = std::move(entry);
    } else {
      entries_.push_back(std::move(entry));
    }
    std::ranges::push_heap(entries_, Before);
  }

  std::vector<NodeFigures> ByName() && {
    std::vector<NodeFigures> nodes;
    nodes.reserve(entries_.size());
    for (Entry& entry : entries_) nodes.push_back(std::move(entry.node));
    std::ranges::sort(nodes, {}, &NodeFigures::name);
    return nodes;
  }

 private:
  struct Entry {
    uint64_t anomalies = 0;
    NodeFigures node;
  };
  static bool Before(const Entry& a, const Entry& b) {
    return a.anomalies != b.anomalies ? a.anomalies > b.anomalies : a.node.name < b.node.name;
  }

  const MetricSources& sources_;
  const size_t limit_;
  std::vector<Entry> entries_;
};

bool Degraded(const NodeFigures& node) {
  return node.state == v1::NODE_STATE_REPORTING &&
         std::ranges::any_of(node.vital_states, [](const auto& vital) {
           return vital.second != v1::VITAL_STATE_ACTIVE;
         });
}

bool TurnedDown(const NodeFigures& node) {
  return node.state == v1::NODE_STATE_REPORTING &&
         std::ranges::any_of(node.part_level, [](uint32_t level) { return level > 0; });
}

bool OverBudget(const NodeFigures& node) {
  return node.state == v1::NODE_STATE_REPORTING && node.limit_ppm > 0 &&
         node.cost_ppm > node.limit_ppm;
}

}  // namespace

VitalDirectory::VitalDirectory(const std::vector<VitalNames>& local) {
  for (const sketch::Vital& vital : sketch::Vitals()) {
    VitalNames& names = vitals_[vital.id];
    names = {vital.id, std::string(vital.name), vital.unit, std::string(vital.about), {}};
    for (const sketch::Sub& sub : vital.subs) names.subs.emplace_back(sub.name, sub.idle);
  }
  for (const VitalNames& vital : local) vitals_.emplace(vital.id, vital);
}

const VitalNames* VitalDirectory::Find(uint8_t vital) const {
  const auto found = vitals_.find(vital);
  return found == vitals_.end() ? nullptr : &found->second;
}

std::string VitalDirectory::SubName(uint8_t vital, uint8_t sub) const {
  const VitalNames* names = Find(vital);
  if (names != nullptr && sub < names->subs.size()) return names->subs[sub].first;
  return absl::StrCat("sub", static_cast<int>(sub));
}

bool VitalDirectory::Idle(uint8_t vital, uint8_t sub) const {
  const VitalNames* names = Find(vital);
  return names != nullptr && sub < names->subs.size() && names->subs[sub].second;
}

double Quantile(const std::vector<double>& ascending, double q) {
  if (ascending.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(ascending.size()));
  const size_t index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  return ascending[std::min(index, ascending.size() - 1)];
}

FleetSnapshot TakeSnapshot(const MetricSources& sources, const VitalDirectory& vitals, size_t limit,
                           RateTracker& rates) {
  FleetSnapshot fleet;
  Shown shown(sources, limit);
  uint64_t nodes = 0;
  const auto take = [&](const NodeFigures& node) {
    ++nodes;
    std::string name = node.group.empty() ? "default" : node.group;
    const bool full = fleet.groups.size() >= kMaxGroups && !fleet.groups.contains(name);
    if (full || name.size() > kMaxGroupBytes) name = "(other)";
    GroupFigures& group = fleet.groups[name];
    ++group.nodes[static_cast<size_t>(node.state) % kNodeStates];
    if (Degraded(node)) ++group.degraded;
    if (TurnedDown(node)) ++group.turned_down;
    if (OverBudget(node)) ++group.over_budget;
    const std::vector<double> rate = rates.Update(node);
    std::map<uint8_t, double> busy;
    for (size_t i = 0; i < node.subs.size(); ++i) {
      const SubFigure& sub = node.subs[i];
      group.weight[{sub.vital, sub.sub}] += sub.weight;
      if (!rate.empty() && !vitals.Idle(sub.vital, sub.sub)) busy[sub.vital] += rate[i];
    }
    if (node.state == v1::NODE_STATE_REPORTING) {
      for (const auto& [vital, value] : busy) group.rates[vital].push_back(value);
    }
    for (const auto& [reason, events] : node.losses) fleet.losses[reason] += events;
    fleet.epochs += node.epochs;
    fleet.epochs_missing += node.epochs_missing;
    fleet.epochs_too_late += node.epochs_too_late;
    fleet.epochs_apart += node.epochs_apart;
    fleet.epochs_adopted += node.epochs_adopted;
    shown.Offer(node);
  };
  if (sources.for_each_node) sources.for_each_node(take);
  for (auto& [name, group] : fleet.groups) {
    for (auto& [vital, values] : group.rates) std::ranges::sort(values);
  }
  fleet.shown = std::move(shown).ByName();
  fleet.nodes_not_shown = nodes - fleet.shown.size();
  return fleet;
}

}  // namespace telltale::metrics
