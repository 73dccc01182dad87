#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "sketch/saturating.h"
#include "storage/rollup/window_model.h"

namespace telltale::storage {
namespace {

using sketch::SaturatingAdd;

void MergeSub(const SubModel& child, SubModel* into) {
  into->events = SaturatingAdd(into->events, child.events);
  into->weight = SaturatingAdd(into->weight, child.weight);
  into->second_min = std::min(into->second_min, child.second_min);
  into->second_max = std::max(into->second_max, child.second_max);
  sketch::Merge(child.seconds, into->seconds);
}

void MergeLosses(const std::map<int, v1::Loss>& child, std::map<int, v1::Loss>* into) {
  for (const auto& [reason, loss] : child) {
    v1::Loss& sum = (*into)[reason];
    sum.set_reason(loss.reason());
    sum.set_events(SaturatingAdd(sum.events(), loss.events()));
    sum.set_weight(SaturatingAdd(sum.weight(), loss.weight()));
  }
}

// The facts of a label that kept its row; nothing: no child has any. Where children disagree the
// smaller exemplar digest and the better supported sub-series win, whatever the order.
std::optional<LabelFacts> MergeFacts(
    uint64_t label, const std::vector<std::pair<uint64_t, const VitalModel*>>& children,
    bool with_exemplar) {
  std::optional<LabelFacts> merged;
  const PortableExemplar* exemplar = nullptr;
  for (const auto& [child_ns, vital] : children) {
    const auto found = vital->facts.find(label);
    if (found == vital->facts.end()) continue;
    const LabelFacts& child = found->second;
    if (!merged.has_value()) {
      merged = LabelFacts{child.label, child.stable_id, child.sub, child.sub_samples, {}};
    } else if (child.sub_samples > merged->sub_samples ||
               (child.sub_samples == merged->sub_samples && child.sub < merged->sub)) {
      merged->sub = child.sub;
      merged->sub_samples = child.sub_samples;
    }
    if (child.exemplar.has_value() &&
        (exemplar == nullptr || child.exemplar->digest < exemplar->digest)) {
      exemplar = &*child.exemplar;
    }
  }
  // With its stack it is most of what there is to copy.
  if (with_exemplar && exemplar != nullptr) merged->exemplar = *exemplar;
  return merged;
}

GroupModel MergeGroup(const std::vector<const GroupModel*>& children) {
  GroupModel merged;
  std::vector<sketch::LabelList> lists;
  for (const GroupModel* child : children) {
    lists.push_back(child->list);
    merged.estimated = merged.estimated || child->estimated;
  }
  merged.list = sketch::MergeLabels(lists, kKeptGroups);
  for (const sketch::LabelWeight& label : merged.list.labels) {
    for (const GroupModel* child : children) {
      auto it = child->text.find(label.id);
      if (it == child->text.end()) continue;
      merged.text.insert(*it);
      break;
    }
  }
  return merged;
}

void MergeGroups(const std::vector<const std::array<GroupModel, kGroupings>*>& children,
                 std::array<GroupModel, kGroupings>* into) {
  for (int by = 0; by < kGroupings; ++by) {
    std::vector<const GroupModel*> of_kind;
    for (const auto* child : children) of_kind.push_back(&(*child)[by]);
    (*into)[by] = MergeGroup(of_kind);
  }
}

VitalModel MergeVital(const std::vector<std::pair<uint64_t, const VitalModel*>>& children) {
  VitalModel merged;
  std::vector<sketch::LabelList> lists;
  std::vector<const std::array<GroupModel, kGroupings>*> groups;
  uint64_t latest_ns = 0;
  for (const auto& [child_ns, child] : children) {
    merged.state = std::max(merged.state, child->state);
    if (child->quantum != 0 && child_ns >= latest_ns) {
      latest_ns = child_ns;
      merged.quantum = child->quantum;
    }
    if (child->subs.size() > merged.subs.size()) {
      SubModel empty;
      empty.seconds.r = kSecondsParts;
      merged.subs.resize(child->subs.size(), empty);
    }
    for (size_t i = 0; i < child->subs.size(); ++i) MergeSub(child->subs[i], &merged.subs[i]);
    MergeLosses(child->losses, &merged.losses);
    lists.push_back(child->labels);
    if (child->has_groups) groups.push_back(&child->groups);
  }
  merged.labels = sketch::MergeLabels(lists);
  size_t place = 0;
  for (const sketch::LabelWeight& label : merged.labels.labels) {
    auto facts = MergeFacts(label.id, children, place < kExemplarLabels);
    if (!facts.has_value()) continue;
    merged.facts.emplace(label.id, *std::move(facts));
    ++place;
  }
  merged.has_groups = !groups.empty();
  if (merged.has_groups) MergeGroups(groups, &merged.groups);
  return merged;
}

void MergeHistogram(const HistogramModel& child, HistogramModel* into, bool fresh) {
  if (fresh) {
    *into = child;
    return;
  }
  sketch::Merge(child.values, into->values);
  into->entries = SaturatingAdd(into->entries, child.entries);
  into->exits = SaturatingAdd(into->exits, child.exits);
  into->share_time += child.share_time;
}

// Of the whole node there are as many as a sensor has kinds, of single executables or groups many
// more. Beyond the bound of each the busiest stay: what an operation is called is for a node to
// say.
void BoundHistograms(WindowModel* model) {
  std::vector<std::pair<uint64_t, HistogramKey>> whole, single;
  for (const auto& [key, histogram] : model->histograms) {
    auto& kind = std::get<2>(key) == v1::SUBJECT_KIND_NONE ? whole : single;
    kind.emplace_back(histogram.exits, key);
  }
  const auto bound = [model](std::vector<std::pair<uint64_t, HistogramKey>>& keys, size_t most) {
    if (keys.size() <= most) return;
    std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (size_t i = most; i < keys.size(); ++i) {
      model->histograms.erase(keys[i].second);
      ++model->histograms_dropped;
    }
  };
  bound(whole, kWholeHistograms);
  bound(single, kSubjectHistograms);
}

// Ascending; what overlaps or meets is one, and beyond the limit what lies nearest.
void JoinUnreadable(std::vector<UnreadableTime>* times) {
  std::sort(times->begin(), times->end(), [](const UnreadableTime& a, const UnreadableTime& b) {
    return std::tie(a.start_ns, a.end_ns, a.rows) < std::tie(b.start_ns, b.end_ns, b.rows);
  });
  const auto join = [&](size_t at) {  // with the one behind it
    UnreadableTime& into = (*times)[at];
    const UnreadableTime& next = (*times)[at + 1];
    into.end_ns = std::max(into.end_ns, next.end_ns);
    into.rows = SaturatingAdd(into.rows, next.rows);
    times->erase(times->begin() + static_cast<std::ptrdiff_t>(at) + 1);
  };
  for (size_t at = 0; at + 1 < times->size();) {
    (*times)[at + 1].start_ns <= (*times)[at].end_ns ? join(at) : void(++at);
  }
  while (times->size() > kUnreadableParts) {
    size_t nearest = 0;
    uint64_t least = UINT64_MAX;
    for (size_t at = 0; at + 1 < times->size(); ++at) {
      const uint64_t between = (*times)[at + 1].start_ns - (*times)[at].end_ns;
      if (between < least) {
        least = between;
        nearest = at;
      }
    }
    join(nearest);
  }
}

}  // namespace

WindowModel MergeWindows(std::span<const WindowModel> children) {
  WindowModel merged;
  std::map<uint32_t, std::vector<std::pair<uint64_t, const VitalModel*>>> vitals;
  std::vector<const std::array<GroupModel, kGroupings>*> run_time;
  for (const WindowModel& child : children) {
    if (std::pair(child.latest_ns, child.schema_id) >=
        std::pair(merged.latest_ns, merged.schema_id)) {
      merged.latest_ns = child.latest_ns;
      merged.schema_id = child.schema_id;
    }
    merged.watched_ns = SaturatingAdd(merged.watched_ns, child.watched_ns);
    merged.covered_ns = SaturatingAdd(merged.covered_ns, child.covered_ns);
    merged.epochs += child.epochs;
    merged.partial_epochs += child.partial_epochs;
    for (const auto& [id, vital] : child.vitals) vitals[id].emplace_back(child.latest_ns, &vital);
    for (const auto& [key, histogram] : child.histograms) {
      auto [it, fresh] = merged.histograms.try_emplace(key);
      MergeHistogram(histogram, &it->second, fresh);
    }
    merged.histograms_dropped = SaturatingAdd(merged.histograms_dropped, child.histograms_dropped);
    MergeLosses(child.losses, &merged.losses);
    if (child.has_run_time) run_time.push_back(&child.run_time);
    merged.unreadable.insert(merged.unreadable.end(), child.unreadable.begin(),
                             child.unreadable.end());
  }
  JoinUnreadable(&merged.unreadable);
  for (const auto& [id, of_vital] : vitals) merged.vitals[id] = MergeVital(of_vital);
  BoundHistograms(&merged);
  merged.has_run_time = !run_time.empty();
  if (merged.has_run_time) MergeGroups(run_time, &merged.run_time);
  return merged;
}

}  // namespace telltale::storage
