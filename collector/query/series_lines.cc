#include "collector/query/series_lines.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "collector/query/base_unit.h"

namespace telltale::query {
namespace {

void Merge(const Point& from, Point& to) {
  if (to.length_s == 0) {
    to = from;
    return;
  }
  const double end = std::max(to.start_s + to.length_s, from.start_s + from.length_s);
  to.start_s = std::min(to.start_s, from.start_s);
  to.length_s = end - to.start_s;
  to.watched_s += from.watched_s;
  to.weight += from.weight;
  to.events += from.events;
  to.low += from.low;
  to.high += from.high;
  to.min = std::min(to.min, from.min);
  to.max = std::max(to.max, from.max);
  to.bounds |= from.bounds;
  to.backlog = std::max(to.backlog, from.backlog);
}

// The point of a key in an ascending list; what comes is mostly behind all that is there. Counts
// those it adds.
template <typename Key>
Point& PointAt(std::vector<std::pair<Key, Point>>& list, Key key, size_t& held) {
  auto at = list.end();
  if (!list.empty() && list.back().first >= key) {
    at = std::lower_bound(list.begin(), list.end(), key,
                          [](const auto& entry, Key wanted) { return entry.first < wanted; });
  }
  if (at == list.end() || at->first != key) {
    at = list.emplace(at, key, Point());
    ++held;
  }
  return at->second;
}

}  // namespace

SeriesLines::SeriesLines(std::vector<VitalChoice> choices, const Options& options)
    : choices_(std::move(choices)), options_(options) {}

bool SeriesLines::AddsSubs() const {
  return std::any_of(choices_.begin(), choices_.end(), [](const VitalChoice& choice) {
    int counted = 0;
    for (int sub = 0; sub < choice.vital.subs_size(); ++sub) counted += choice.Counts(sub) ? 1 : 0;
    return counted > 1;
  });
}

SeriesLines::Line& SeriesLines::LineOf(size_t choice, uint32_t node) {
  const std::pair key(choice, node);
  if (latest_line_ == nullptr || key != latest_) {
    latest_ = key;
    latest_line_ = &lines_[key];
  }
  return *latest_line_;
}

// Windows of a node come one after the other.
SeriesLines::Slot& SeriesLines::SlotOf(Line& line, int64_t at) {
  if (line.latest != line.slots.end()) {
    const auto next = line.latest->first < at ? std::next(line.latest) : line.latest;
    if (next != line.slots.end() && next->first == at) return (line.latest = next)->second;
  }
  line.latest = line.slots.try_emplace(at).first;
  return line.latest->second;
}

void SeriesLines::AddPoint(size_t choice, uint32_t node, const Point& point) {
  if (options_.per_node || options_.slot_s == 0) {
    Line& line = LineOf(choice, options_.per_node ? node : 0);
    Merge(point, PointAt(line.points, static_cast<int64_t>(std::llround(point.start_s * 1e3)),
                         points_held_));
    return;
  }
  const double middle = point.start_s + point.length_s / 2;
  const auto at = static_cast<int64_t>(std::floor(middle / options_.slot_s));
  Slot& slot = SlotOf(LineOf(choice, 0), at);
  if (point.length_s < options_.slot_s) {
    Merge(point, PointAt(slot.by_node, node, points_held_));
    return;
  }
  if (slot.whole.nodes == 0) ++points_held_;
  AddPart(point, slot.whole);
}

void SeriesLines::AddPart(const Point& part, SlotSum& sum) const {
  // Each node's rate counts for the whole slot, whatever part of it the node watched.
  const double watched = part.watched_s > 0 ? part.watched_s : part.length_s;
  if (watched > 0) {
    sum.point.weight += part.weight / watched * options_.slot_s;
    sum.point.events += part.events / watched * options_.slot_s;
    sum.point.low += part.low / watched * options_.slot_s;
    sum.point.high += part.high / watched * options_.slot_s;
  }
  AddExtremes(part.min, part.max, sum.point);
  sum.point.bounds |= part.bounds;
  sum.point.backlog += part.backlog;
  sum.watched_share += std::min(1.0, part.watched_s / options_.slot_s);
  ++sum.nodes;
}

void SeriesLines::AddTotals(size_t choice, uint32_t node, const Point& stored_units) {
  const double factor = BaseFactor(choices_[choice].vital.unit());
  Point point = stored_units;
  point.weight *= factor;
  point.min *= factor;
  point.max *= factor;
  AddPoint(choice, node, point);
}

void SeriesLines::AddSeconds(size_t choice, const StoredEpoch& epoch, const v1::Vital& vital) {
  const double factor = BaseFactor(choices_[choice].vital.unit());
  const double length_s = Seconds(epoch.span.end_ns - epoch.span.start_ns);
  const double watched = length_s > 0 ? Seconds(epoch.span.watched_ns) / length_s : 0;
  std::vector<double> weight;
  bool none = vital.subs_size() > 0;  // nothing happened: such an epoch keeps no seconds
  for (int sub = 0; sub < vital.subs_size(); ++sub) {
    if (!choices_[choice].Counts(sub)) continue;
    none &= vital.subs(sub).weight() == 0;
    const auto& seconds = vital.subs(sub).second_weight();
    weight.resize(std::max<size_t>(weight.size(), static_cast<size_t>(seconds.size())), 0);
    for (int i = 0; i < seconds.size(); ++i) {
      weight[static_cast<size_t>(i)] += static_cast<double>(seconds.Get(i)) * factor;
    }
  }
  if (none && weight.empty()) weight.resize(static_cast<size_t>(std::ceil(length_s)), 0);
  for (size_t i = 0; i < weight.size(); ++i) {
    Point point;
    point.start_s = Seconds(epoch.span.start_ns) + static_cast<double>(i);
    point.length_s = std::min(1.0, length_s - static_cast<double>(i));
    if (point.length_s <= 0) break;
    point.watched_s = point.length_s * watched;
    point.weight = weight[i];
    point.min = point.max = weight[i] / point.length_s;
    if (static_cast<int>(i) < vital.backlog_size()) {
      point.backlog = static_cast<double>(vital.backlog(static_cast<int>(i)));
    }
    AddPoint(choice, epoch.node, point);
  }
}

void SeriesLines::AddEpoch(const StoredEpoch& epoch) {
  for (size_t i = 0; i < choices_.size(); ++i) {
    const VitalChoice& choice = choices_[i];
    for (const v1::Vital& vital : epoch.body->vitals()) {
      if (vital.id() != choice.vital.id() || vital.state() == v1::VITAL_STATE_UNAVAILABLE) continue;
      if (options_.per_second) {
        AddSeconds(i, epoch, vital);
        continue;
      }
      Point point;
      point.start_s = Seconds(epoch.span.start_ns);
      point.length_s = Seconds(epoch.span.end_ns - epoch.span.start_ns);
      point.watched_s = Seconds(epoch.span.watched_ns);
      std::vector<double> seconds;
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        if (!choice.Counts(sub)) continue;
        const v1::SubSeries& series = vital.subs(sub);
        point.weight += static_cast<double>(series.weight());
        point.events += static_cast<double>(series.events());
        seconds.resize(
            std::max<size_t>(seconds.size(), static_cast<size_t>(series.second_weight_size())), 0);
        for (int k = 0; k < series.second_weight_size(); ++k) {
          seconds[static_cast<size_t>(k)] += static_cast<double>(series.second_weight(k));
        }
      }
      // A last second that was cut short says nothing about a rate: leave it out unless it is the
      // only one.
      if (seconds.size() > 1 && static_cast<double>(seconds.size()) > point.length_s + 0.01)
        seconds.pop_back();
      if (seconds.empty()) {
        point.min = point.max = point.length_s > 0 ? point.weight / point.length_s : 0;
      } else {
        point.min = *std::min_element(seconds.begin(), seconds.end());
        point.max = *std::max_element(seconds.begin(), seconds.end());
      }
      for (const int64_t backlog : vital.backlog()) {
        point.backlog = std::max(point.backlog, static_cast<double>(backlog));
      }
      AddTotals(i, epoch.node, point);
    }
  }
}

void SeriesLines::Write(const std::map<uint32_t, std::string>& node_names, size_t limit,
                        v1::SeriesAnswer* answer) const {
  for (const auto& [key, line] : lines_) {
    const VitalChoice& choice = choices_[key.first];
    std::vector<Point> points;
    for (const auto& [at, point] : line.points) points.push_back(point);
    for (const auto& [at, slot] : line.slots) {
      SlotSum all = slot.whole;
      for (const auto& [node, part] : slot.by_node) AddPart(part, all);
      Point sum = all.point;
      sum.start_s = static_cast<double>(at) * options_.slot_s;
      sum.length_s = options_.slot_s;
      // watched_s of a sum is the slot itself; how much of it all nodes watched is a share of the
      // nodes there.
      sum.watched_s =
          options_.slot_s * std::min(1.0, all.watched_share / static_cast<double>(all.nodes));
      if (sum.watched_s > 0) {
        sum.weight *= sum.watched_s / options_.slot_s;
        sum.events *= sum.watched_s / options_.slot_s;
        sum.low *= sum.watched_s / options_.slot_s;
        sum.high *= sum.watched_s / options_.slot_s;
      }
      points.push_back(sum);
    }
    v1::Series* series = answer->add_series();
    series->set_vital(choice.vital.name());
    series->set_sub(choice.SubName());
    series->set_unit(std::string(BaseUnitName(choice.vital.unit())));
    for (const std::string& name : choice.LeftOut()) series->add_left_out(name);
    if (options_.per_node) {
      const auto name = node_names.find(key.second);
      if (name != node_names.end()) series->set_node(name->second);
    }
    const bool backlog = options_.backlog && choice.vital.has_backlog();
    WritePoints(Reduce(std::move(points), limit),
                options_.process ? Columns::kProcess
                : backlog        ? Columns::kBacklog
                                 : Columns::kUsual,
                series);
  }
}

}  // namespace telltale::query
