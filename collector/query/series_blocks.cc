// How SeriesLines takes what coarser rows hold: columns of series and line blocks, totals of
// windows.

#include <algorithm>

#include "collector/query/base_unit.h"
#include "collector/query/series_lines.h"
#include "collector/query/tier_scan.h"

namespace telltale::query {
namespace {

// Sums of sub-series: no second is heavier than all there is, either.
void AddSub(double events, double weight, double least, double most, Point& point) {
  point.events += events;
  point.weight += weight;
  AddExtremes(least, most, point);
  point.max = std::min(point.max, point.weight);
}

}  // namespace

void SeriesLines::AddBlock(const storage::SeriesKey& key, const v1::SeriesBlock& block,
                           uint64_t from_ns, uint64_t to_ns, CoverageBuilder& coverage) {
  constexpr uint64_t kMsNs = 1'000'000;
  const int epochs = block.start_ms_size(), subs = block.sub_size();
  const int places = epochs * subs;
  if (block.length_ms_size() < epochs || block.watched_ms_size() < epochs ||
      block.events_size() < places || block.weight_size() < places ||
      block.second_min_size() < places || block.second_max_size() < places) {
    coverage.AddDamaged({.epochs = static_cast<uint32_t>(epochs)});
    return;
  }
  uint32_t unreadable = 0;
  for (const int32_t start_ms : block.unreadable_ms()) {
    const uint64_t start_ns = key.hour_start_ns + static_cast<uint64_t>(start_ms * int64_t{kMsNs});
    if (start_ns >= from_ns && start_ns < to_ns) ++unreadable;
  }
  coverage.AddDamaged({.epochs = unreadable});
  std::vector<Point> frame(static_cast<size_t>(epochs));
  std::vector<bool> wanted(static_cast<size_t>(epochs));
  int64_t after_ms = 0;
  for (int i = 0; i < epochs; ++i) {
    after_ms += block.start_ms(i);
    storage::EpochSpan span;
    span.start_ns = key.hour_start_ns + static_cast<uint64_t>(after_ms) * kMsNs;
    span.end_ns = span.start_ns + block.length_ms(i) * kMsNs;
    const auto at = static_cast<size_t>(i);
    wanted[at] = Belongs(span, from_ns, to_ns);
    if (!wanted[at]) continue;
    frame[at].start_s = Seconds(span.start_ns);
    frame[at].length_s = Seconds(span.end_ns - span.start_ns);
    frame[at].watched_s = Seconds(block.watched_ms(i) * kMsNs);
    coverage.Used(v1::TIER_RAW, 1, frame[at].length_s);
    coverage.Covers(span.start_ns, span.end_ns);
  }
  std::vector<bool> absent(static_cast<size_t>(places));
  for (const uint32_t place : block.absent()) {
    if (place < static_cast<uint32_t>(places)) absent[place] = true;
  }
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    std::vector<int> columns;
    for (int k = 0; k < subs; ++k) {
      if (block.sub(k) >> 8 == choices_[choice].vital.id() &&
          choices_[choice].Counts(static_cast<int>(block.sub(k) & 0xff))) {
        columns.push_back(k);
      }
    }
    for (int i = 0; i < epochs && !columns.empty(); ++i) {
      if (!wanted[static_cast<size_t>(i)]) continue;
      Point point = frame[static_cast<size_t>(i)];
      bool known = false;
      for (const int k : columns) {
        const int place = k * epochs + i;
        if (absent[static_cast<size_t>(place)]) continue;
        known = true;
        AddSub(static_cast<double>(block.events(place)), static_cast<double>(block.weight(place)),
               static_cast<double>(block.second_min(place)),
               static_cast<double>(block.second_max(place)), point);
      }
      if (known) AddTotals(choice, key.node, point);
    }
  }
}

std::optional<std::map<uint32_t, uint32_t>> SeriesLines::AddLine(
    const storage::LineKey& key, const v1::LineBlock& block, uint64_t from_ns, uint64_t to_ns,
    const std::map<uint32_t, Stretches>& wanted) {
  std::map<uint32_t, uint32_t> counted;
  const int entries = block.window_size(), subs = static_cast<int>(std::min(block.subs(), 256u));
  const int places = entries * subs;
  if (block.watched_ms_size() < entries || block.events_size() < places ||
      block.weight_size() < places || block.second_min_size() < places ||
      block.second_max_size() < places || block.windows_size() < block.node_size()) {
    return std::nullopt;
  }
  // Which sub-series count is asked once: a month of a fleet has hundreds of thousands of entries.
  std::vector<std::pair<size_t, std::vector<int>>> columns;  // of which choice
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    if (choices_[choice].vital.id() != key.vital) continue;
    std::vector<int>& counted_subs = columns.emplace_back(choice, std::vector<int>()).second;
    for (int sub = 0; sub < subs; ++sub) {
      if (choices_[choice].Counts(sub)) counted_subs.push_back(sub);
    }
  }
  const uint64_t window_ns = storage::WindowNs(key.tier);
  int entry = 0;
  for (int n = 0; n < block.node_size(); ++n) {
    const uint32_t node = key.group * storage::kLineGroupNodes + block.node(n);
    const int begin = entry;
    const int end = begin + static_cast<int>(std::min<uint64_t>(
                                block.windows(n), static_cast<uint64_t>(entries - begin)));
    entry = end;
    const auto time = wanted.find(node);
    if (time == wanted.end()) continue;
    uint32_t windows = 0;
    for (int i = begin; i < end; ++i) {
      const uint64_t start = key.bucket_start_ns + block.window(i) * window_ns;
      if (start < from_ns || start + window_ns > to_ns) continue;
      if (!time->second.Overlaps(start, start + window_ns)) continue;
      ++windows;
      Point frame;
      frame.start_s = Seconds(start);
      frame.length_s = Seconds(window_ns);
      frame.watched_s = static_cast<double>(block.watched_ms(i)) * 1e-3;
      for (const auto& [choice, counted_subs] : columns) {
        Point point = frame;
        for (const int sub : counted_subs) {
          const int place = sub * entries + i;
          AddSub(static_cast<double>(block.events(place)), static_cast<double>(block.weight(place)),
                 static_cast<double>(block.second_min(place)),
                 static_cast<double>(block.second_max(place)), point);
        }
        AddTotals(choice, node, point);
      }
    }
    if (windows > 0) counted.emplace_hint(counted.end(), node, windows);
  }
  return counted;
}

void SeriesLines::AddWindow(const storage::RollupRow& row) {
  const uint64_t start = row.key.window_start_ns, length = storage::WindowNs(row.key.tier);
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    for (const v1::VitalTotals& vital : row.window.vitals()) {
      if (vital.id() != choices_[choice].vital.id() || vital.subs().empty()) continue;
      Point point;
      point.start_s = Seconds(start);
      point.length_s = Seconds(length);
      point.watched_s = Seconds(row.window.watched_ns());
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        if (!choices_[choice].Counts(sub)) continue;
        const v1::SubTotals& totals = vital.subs(sub);
        AddSub(static_cast<double>(totals.events()), static_cast<double>(totals.weight()),
               static_cast<double>(totals.second_min()), static_cast<double>(totals.second_max()),
               point);
      }
      AddTotals(choice, row.key.node, point);
    }
  }
}

}  // namespace telltale::query
