#include "collector/query/judged_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "collector/query/base_unit.h"

namespace telltale::query {
namespace {

// An epoch of which less was watched says too little about its rate.
constexpr double kLeastWatched = 0.25;
// A deviation is at least so many of what is worth one sample each second.
constexpr double kFloorQuanta = 2;
// Beyond it how far does not say how much it matters.
constexpr double kFarthest = 50;
// What is less than this is told after what is more, however rare: a twentieth of a processor or of
// one who waits, in vitals of time; so many times what is worth a sample, each second, in others.
constexpr double kMattersS = 0.05, kMattersQuanta = 20;
// A sub-series is told in place of its vital if it is so nearly as far.
constexpr double kNarrower = 0.9;
// Those who show up in these vitals wait for what others do.
constexpr std::array<std::string_view, 4> kWaiting = {"sched_delay", "blocking", "lock", "reclaim"};

bool Waiting(const std::string& vital) {
  return std::ranges::find(kWaiting, vital) != kWaiting.end();
}

}  // namespace

JudgedLines::JudgedLines(const VitalBook& book) {
  for (const auto& [id, vital] : book.all()) {
    quanta_[vital.name()] =
        std::max(1.0, static_cast<double>(vital.quantum())) * BaseFactor(vital.unit());
    matters_[vital.name()] =
        vital.unit() == v1::UNIT_NANOSECONDS ? kMattersS : kMattersQuanta * quanta_[vital.name()];
  }
}

void JudgedLines::AddNow(const v1::SeriesAnswer& answer) {
  for (const v1::Series& series : answer.series()) {
    Line& line = lines_[{series.node(), series.vital(), series.sub()}];
    line.unit = series.unit();
    for (int i = 0; i < series.rate_size(); ++i) {
      if (series.watched(i) < kLeastWatched) continue;
      line.now.push_back({series.start_s(i), series.length_s(i), series.rate(i)});
    }
  }
}

uint32_t JudgedLines::AddPast(const v1::SeriesAnswer& answer) {
  size_t points = 0;
  std::map<std::string, size_t> by_node;
  for (const v1::Series& series : answer.series()) {
    const auto line = lines_.find({series.node(), series.vital(), series.sub()});
    if (line == lines_.end()) continue;
    size_t watched = 0;
    for (int i = 0; i < series.rate_size(); ++i) {
      if (series.watched(i) < kLeastWatched) continue;
      line->second.past.push_back(series.rate(i));
      ++watched;
    }
    size_t& most = by_node[series.node()];
    most = std::max(most, watched);
  }
  for (const auto& [node, most] : by_node) points += most;
  return static_cast<uint32_t>(points);
}

size_t JudgedLines::PastPoints() const {
  std::vector<size_t> points;
  for (const auto& [key, line] : lines_) points.push_back(line.past.size());
  if (points.empty()) return 0;
  std::ranges::sort(points);
  return points[points.size() / 2];
}

uint32_t JudgedLines::unjudged() const {
  return static_cast<uint32_t>(std::ranges::count_if(
      lines_, [](const auto& line) { return line.second.past.size() < kLeastPast; }));
}

double JudgedLines::FloorOf(const std::string& vital) const {
  const auto quantum = quanta_.find(vital);
  return kFloorQuanta * (quantum == quanta_.end() ? 1 : quantum->second);
}

// From 0, next to nothing, to 1.
double JudgedLines::SizeOf(const v1::Finding& finding) const {
  const auto matters = matters_.find(finding.vital());
  if (matters == matters_.end()) return 1;
  return std::min(1.0, std::abs(finding.peak() - finding.usual()) / matters->second);
}

// The farther the first, up to where far is far, and the less the smaller it is; then who does
// something before who waits for it, then what differs by more of what is worth a sample.
bool JudgedLines::Before(const v1::Finding& a, const v1::Finding& b) const {
  const double far_a = std::min(std::abs(a.severity()), kFarthest) * SizeOf(a);
  const double far_b = std::min(std::abs(b.severity()), kFarthest) * SizeOf(b);
  if (far_a != far_b) return far_a > far_b;
  if (a.waiting() != b.waiting()) return b.waiting();
  return std::abs(a.peak() - a.usual()) / FloorOf(a.vital()) >
         std::abs(b.peak() - b.usual()) / FloorOf(b.vital());
}

std::vector<v1::Finding> JudgedLines::Findings() const {
  std::map<std::pair<std::string, std::string>, v1::Finding> farthest;  // by node and vital
  for (const auto& [key, line] : lines_) {
    const auto& [node, vital, sub] = key;
    const std::optional<Usual> usual = UsualOf(line.past, FloorOf(vital));
    if (!usual.has_value()) continue;
    const std::optional<UnusualWhile> found = FarthestWhile(line.now, *usual);
    if (!found.has_value()) continue;
    v1::Finding& finding = farthest[{node, vital}];
    // Lines ascend by sub-series, the headline (no name) first: where it says little more, the
    // narrower one is told.
    const double known = std::abs(finding.severity()) * (finding.sub().empty() ? kNarrower : 1);
    if (!finding.node().empty() && known > std::abs(found->severity)) continue;
    finding.set_node(node);
    finding.set_vital(vital);
    finding.set_sub(sub);
    finding.set_unit(line.unit);
    finding.set_start_s(found->start_s);
    finding.set_end_s(found->end_s);
    finding.set_value(found->rate);
    finding.set_peak(found->peak);
    finding.set_usual(usual->median);
    finding.set_usual_low(usual->low);
    finding.set_usual_high(usual->high);
    finding.set_deviation(usual->deviation);
    finding.set_severity(found->severity);
    finding.set_past_points(static_cast<uint32_t>(line.past.size()));
    finding.set_past_as_far(static_cast<uint32_t>(found->as_far));
    finding.set_waiting(Waiting(vital));
  }
  std::vector<v1::Finding> findings;
  for (auto& [key, finding] : farthest) findings.push_back(std::move(finding));
  std::ranges::stable_sort(
      findings, [this](const v1::Finding& a, const v1::Finding& b) { return Before(a, b); });
  return findings;
}

std::vector<std::string> JudgedLines::FarthestNodes(size_t most) const {
  std::vector<std::string> nodes;
  std::set<std::string> seen;
  for (const v1::Finding& finding : Findings()) {
    if (nodes.size() == most) break;
    if (seen.insert(finding.node()).second) nodes.push_back(finding.node());
  }
  return nodes;
}

}  // namespace telltale::query
