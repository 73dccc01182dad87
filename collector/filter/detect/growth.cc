#include "collector/filter/detect/growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>

#include "sketch/time_units.h"

namespace telltale::filter {
namespace {

// Between rows that count: with short epochs a start is no trend. Epochs of a minute may end a
// little early.
constexpr uint64_t kApartS = 55;
constexpr double kToldAgain = 2;    // times what was told
constexpr size_t kProcesses = 48;   // followed on a node, those that grew most
constexpr size_t kNewRows = 10;     // a process is new until then: it cannot have grown yet
constexpr size_t kNew = 192;        // new ones beside those; with few rows they take little room
constexpr uint64_t kForget = 3;     // epochs without a row, and so long: one that sleeps between
constexpr uint32_t kForgetS = 300;  // its growths is not in each epoch's rows
constexpr double kChance = 1e-4;
constexpr uint32_t kYoungS = 2 * 3600;
constexpr double kYoungTimes = 2;

Trend TrendOf(const Growth& growth, size_t from) {
  std::vector<double> hours, level;
  for (size_t i = from; i < growth.level.size(); ++i) {
    hours.push_back(static_cast<double>(growth.time_s[i] - growth.time_s[0]) / 3600);
    level.push_back(growth.level[i]);
  }
  return TheilSen(hours, level);
}

bool IsNew(const Growth& growth) { return growth.level.size() < kNewRows; }

// Sum of the falls as a share of the sum of the rises.
double GivenBack(const Growth& growth) {
  double rises = 0, falls = 0;
  for (size_t i = 1; i < growth.level.size(); ++i) {
    const double step = growth.level[i] - growth.level[i - 1];
    (step > 0 ? rises : falls) += std::abs(step);
  }
  return rises > 0 ? falls / rises : 1;
}

}  // namespace

void GrowthDetector::Epoch(const telltale_filter_epoch& epoch) {
  auto column = ColumnOf(epoch, level_.column);
  if (!column.has_value()) column = ColumnOf(epoch, level_.instead);
  if (!IsUsual(epoch) || !column.has_value()) return;
  ++epochs_;
  const auto end_s = static_cast<uint32_t>(epoch.end_ns / kNsPerS);
  if (minutes_ == 0 || end_s >= minute_s_ + kApartS) {
    ++minutes_;
    minute_s_ = end_s;
  }
  for (uint32_t i = 0; i < epoch.process_count; ++i) {
    const auto& process = *TELLTALE_FILTER_AT(telltale_filter_process, epoch.processes, i);
    if (process.pid == 0 || process.value[*column] == 0) continue;
    Growth& growth = growths_[{process.pid, process.start_ns}];
    growth.seen = epochs_;
    growth.seen_s = end_s;
    // Told by another name, it would be another anomaly that ends.
    if (!growth.open) growth.name = ProcessText(process);
    if (growth.time_s.empty()) growth.first_s = end_s;
    if (!growth.time_s.empty() && end_s < growth.time_s.back() + kApartS) continue;
    growth.time_s.push_back(end_s);
    growth.level.push_back(static_cast<float>(process.value[*column]));
    if (growth.level.size() > kWindow) {
      growth.level.erase(growth.level.begin());
      growth.time_s.erase(growth.time_s.begin());
    }
    Judge(epoch, growth);
  }
  for (auto it = growths_.begin(); it != growths_.end();) {
    const bool gone = it->second.seen + kForget <= epochs_ && it->second.seen_s + kForgetS <= end_s;
    if (gone && it->second.open) Tell(it->second, epoch.start_ns, false);
    it = gone ? growths_.erase(it) : std::next(it);
  }
  KeepThoseThatGrewMost();
  KeepNew();
}

void GrowthDetector::Save(StateWriter& to) const {
  to.Put(epochs_);
  to.Put(minutes_);
  to.Put(minute_s_);
  to.Map(growths_, [&](const Growth& growth) {
    to.Put(growth.seen);
    to.Put(growth.seen_s);
    to.Put(growth.first_s);
    to.Text(growth.name);
    to.List(growth.time_s);
    to.List(growth.level);
    to.Put(static_cast<uint8_t>(growth.open));
    to.Put(growth.start_ns);
    to.Put(growth.start_level);
    to.Put(growth.pace);
    to.Put(growth.p);
    to.Put(growth.grown);
    to.Put(growth.given_back);
    to.Put(growth.judged);
  });
}

bool GrowthDetector::Load(StateReader& from) {
  epochs_ = from.Get<uint64_t>();
  minutes_ = from.Get<uint64_t>();
  minute_s_ = from.Get<uint32_t>();
  bool fits = true;
  from.Map(growths_, [&](Growth& growth) {
    growth.seen = from.Get<uint64_t>();
    growth.seen_s = from.Get<uint32_t>();
    growth.first_s = from.Get<uint32_t>();
    growth.name = from.Text();
    growth.time_s = from.List<uint32_t>();
    growth.level = from.List<float>();
    growth.open = from.Get<uint8_t>() != 0;
    growth.start_ns = from.Get<uint64_t>();
    growth.start_level = from.Get<float>();
    growth.pace = from.Get<double>();
    growth.p = from.Get<double>();
    growth.grown = from.Get<double>();
    growth.given_back = from.Get<double>();
    growth.judged = from.Get<uint64_t>();
    fits = fits && growth.level.size() == growth.time_s.size() && growth.level.size() <= kWindow;
  });
  return from.ok() && fits;
}

void GrowthDetector::Judge(const telltale_filter_epoch& epoch, Growth& growth) const {
  if (growth.level.size() < kNeeded || growth.time_s.back() <= growth.time_s.front()) return;
  const double grown = growth.level.back() - growth.level.front();
  const bool fills = !growth.open && growth.time_s.back() < growth.first_s + kYoungS &&
                     growth.level.back() < kYoungTimes * growth.level.front();
  // Most processes do not grow: no need for all pairs.
  const bool may_leak = grown > level_.least_grown && !fills;
  if (!may_leak && !growth.open) return;
  const Trend trend = TrendOf(growth, 0);
  const Trend later = TrendOf(growth, growth.level.size() / 2);
  const double given_back = GivenBack(growth);
  const bool leaks = may_leak && trend.p < kChance && trend.slope > level_.least_pace &&
                     later.slope > trend.slope / 2 && given_back <= level_.most_given_back;
  if (leaks && !growth.open) {
    growth.start_ns = uint64_t{growth.time_s.front()} * kNsPerS;
    growth.start_level = growth.level.front();
  }
  const double since_start = growth.level.back() - growth.start_level;
  if (leaks == growth.open && !(leaks && since_start >= kToldAgain * growth.grown)) return;
  growth.open = leaks;
  if (leaks) {
    growth.pace = trend.slope;
    growth.p = trend.p;
    growth.grown = since_start;
    growth.given_back = given_back;
    growth.judged = growth.level.size();
  }
  Tell(growth, epoch.end_ns, leaks);
}

void GrowthDetector::Tell(const Growth& growth, uint64_t end_ns, bool open) const {
  Finding found;
  found.subject = growth.name;
  found.start_ns = growth.start_ns;
  found.end_ns = end_ns;
  found.open = open;
  found.value = growth.pace / 3600;
  found.deviation = level_.least_pace / 3600;
  found.learned_epochs = growth.judged;
  Describe(growth, found);
  Emit(found);
}

void GrowthDetector::KeepThoseThatGrewMost() {
  // Open ones stay; then growth, then the process number so that equals are told apart.
  std::vector<std::tuple<bool, float, std::pair<uint32_t, uint64_t>>> order;
  for (const auto& [key, growth] : growths_) {
    if (IsNew(growth)) continue;
    order.emplace_back(!growth.open, growth.level.front() - growth.level.back(), key);
  }
  std::ranges::sort(order);
  for (size_t i = kProcesses; i < order.size(); ++i) growths_.erase(std::get<2>(order[i]));
}

// One by one they have their turn: who was followed longest goes on, so that those that come and go
// keep nobody from being judged.
void GrowthDetector::KeepNew() {
  std::vector<std::tuple<size_t, uint64_t, std::pair<uint32_t, uint64_t>>> order;
  for (const auto& [key, growth] : growths_) {
    if (IsNew(growth)) order.emplace_back(growth.level.size(), growth.seen, key);
  }
  std::ranges::sort(order, std::greater());
  for (size_t i = kNew; i < order.size(); ++i) growths_.erase(std::get<2>(order[i]));
}

}  // namespace telltale::filter
