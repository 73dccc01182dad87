#include "agent/governor/governor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace telltale::agent {
namespace {

constexpr double kSecond = 1e9;
constexpr double kAim = 0.85;     // of the budget, after turning down
constexpr double kTooMuch = 1.2;  // of the budget: it is not worth watching any more
constexpr double kComfort = 0.7;  // of the budget, at most, after a step back
constexpr double kSmall = 0.05;   // of the budget: a step back that may fill it up to kAim
constexpr double kMeanS = 10;     // in which a reading fades to 1/e of the mean

// Kernel ns of a switch with all its programs, without stacks, counting only: 500, 250, 150 (and as
// much again where an event asks who runs).
constexpr double kSwitchShare[] = {1.0, 0.5, 0.3};
// Of a short life what its identity takes.
constexpr double kTasksShare[] = {1.0, 0.1};
// Copying and unwinding 4 KB instead of all (measured with 16 KB in all); nothing.
constexpr double kUnwindShare[] = {1.0, 0.4, 0.0};
// So far samples are turned down before user stacks are given up: of a quarter of the samples they
// say more than all say without.
constexpr uint8_t kSamplesForStacks = 2;

}  // namespace

Governor::Governor(const GovernorOptions& options) : options_(options), retry_s_(options.retry_s) {}

double Governor::Cost(Part part, uint8_t level, double full_ns) {
  if (IsCycled(part)) return std::ldexp(full_ns, -level);
  if (part == Part::kSwitch) return full_ns * kSwitchShare[std::min<uint8_t>(level, 2)];
  if (part == Part::kTasks) return full_ns * kTasksShare[std::min<uint8_t>(level, 1)];
  if (part == Part::kUnwinding) return full_ns * kUnwindShare[std::min<uint8_t>(level, 2)];
  if (part == Part::kSamples) return std::ldexp(full_ns, -level);
  return full_ns;
}

PerPart<double> Governor::Taken(const GovernorReading& reading) const {
  PerPart<double> taken_ns{};
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Part>(i);
    if (detached_ && IsInKernel(part)) continue;
    taken_ns[i] = Cost(part, level(part), reading.full_ns[i]);
  }
  taken_ns[Index(Part::kRest)] += reading.cycling_ns;
  return taken_ns;
}

double Governor::BudgetNs(double seconds) const {
  return options_.budget * options_.cpus * seconds * kSecond;
}

Governor::Second Governor::Window() const {
  Second sum;
  for (const Second& reading : readings_) {
    sum.seconds += reading.seconds;
    sum.cycling_ns += reading.cycling_ns;
    for (size_t i = 0; i < kParts; ++i) sum.full_ns[i] += reading.full_ns[i];
  }
  return sum;
}

void Governor::AddToMean(const Second& reading) {
  const double kept = std::exp(-reading.seconds / kMeanS);
  mean_.seconds = kept * mean_.seconds + reading.seconds;
  mean_.cycling_ns = kept * mean_.cycling_ns + reading.cycling_ns;
  for (size_t i = 0; i < kParts; ++i) {
    mean_.full_ns[i] = kept * mean_.full_ns[i] + reading.full_ns[i];
  }
}

// There are no more samples than are wanted, and stacks are of the samples there are: what they
// took was of as many as at the present level.
double Governor::CostAt(Part part, const Second& window, const PerPart<uint8_t>& levels) const {
  const double full_ns = window.full_ns[Index(part)];
  if (part != Part::kSamples && part != Part::kUnwinding) {
    return Cost(part, levels[Index(part)], full_ns);
  }
  constexpr size_t kSamples = Index(Part::kSamples);
  const double growth =
      std::min(std::ldexp(1.0, levels_[kSamples] - levels[kSamples]), sample_growth_);
  const uint8_t level = part == Part::kSamples ? levels_[kSamples] : levels[Index(part)];
  return growth * Cost(part, level, full_ns);
}

double Governor::Predict(const Second& window, const PerPart<uint8_t>& levels) const {
  double ns = window.cycling_ns;
  for (size_t i = 0; i < kParts; ++i) ns += CostAt(static_cast<Part>(i), window, levels);
  return ns;
}

bool Governor::SwitchAloneIsTooMuch(const Second& window) const {
  return CostAt(Part::kSwitch, window, levels_) > kTooMuch * BudgetNs(window.seconds);
}

// What samples took so far was of as many as there were.
void Governor::RevalueSamples(uint8_t to) {
  const uint8_t from = level(Part::kSamples);
  const double growth = std::min(std::ldexp(1.0, from - to), sample_growth_);
  mean_.full_ns[Index(Part::kSamples)] *= growth * std::ldexp(1.0, to - from);
  mean_.full_ns[Index(Part::kUnwinding)] *= growth;
  sample_growth_ = std::max(1.0, sample_growth_ / growth);
}

void Governor::StepTo(Part part, uint8_t to, GovernorDecision& decision) {
  if (part == Part::kSamples) RevalueSamples(to);
  uint8_t& level = levels_[Index(part)];
  decision.steps.push_back({part, level, to});
  level = to;
}

// As many samples as fit with their stacks; nothing: not even those of a quarter do.
std::optional<PerPart<uint8_t>> Governor::FewerWithStacks(const Second& window,
                                                          PerPart<uint8_t> levels) const {
  uint8_t& samples = levels[Index(Part::kSamples)];
  while (samples < kSamplesForStacks) {
    ++samples;
    if (Predict(window, levels) <= kAim * BudgetNs(window.seconds)) return levels;
  }
  return std::nullopt;
}

// The largest part first, until what is left fits. A part is not taken off and on to save less than
// that costs, and before there are no user stacks there are fewer samples, where that is enough.
void Governor::TurnDown(uint64_t now, const Second& window, GovernorDecision& decision) {
  const PerPart<uint8_t> before = levels_;
  PerPart<uint8_t> wanted = levels_;
  while (Predict(window, wanted) > kAim * BudgetNs(window.seconds)) {
    size_t largest = kParts;
    double most = 0;
    for (size_t i = 0; i < kParts; ++i) {
      const Part part = static_cast<Part>(i);
      const double cost = CostAt(part, window, wanted);
      const bool begins = IsCycled(part) && wanted[i] == 0;
      if (begins && cost < 2 * options_.cycling_ns * window.seconds) continue;
      if (wanted[i] < MaxLevel(part) && cost > most) {
        most = cost;
        largest = i;
      }
    }
    // Less than a hundredth of the budget is not worth what would no longer be seen.
    if (largest == kParts || most < 0.01 * BudgetNs(window.seconds)) break;
    const std::optional<PerPart<uint8_t>> fewer =
        largest == Index(Part::kUnwinding) && wanted[largest] + 1 == kUnwindNone
            ? FewerWithStacks(window, wanted)
            : std::nullopt;
    if (fewer.has_value()) {
      wanted = *fewer;
    } else {
      ++wanted[largest];
    }
  }
  for (size_t i = 0; i < kParts; ++i) {
    if (wanted[i] == before[i]) continue;
    relapsed_[i] = stepped_back_ns_[i] != 0 &&
                   static_cast<double>(now - stepped_back_ns_[i]) < options_.relapse_s * kSecond;
    StepTo(static_cast<Part>(i), wanted[i], decision);
  }
}

// The part at a lower level. Taking a program off and on costs however much of the time it is
// there, and nothing if it always is.
Governor::Candidate Governor::At(size_t part, uint8_t level, const PerPart<uint8_t>& levels) const {
  Candidate step{levels, mean_.cycling_ns};
  step.levels[part] = level;
  if (!IsCycled(static_cast<Part>(part)) || level > 0) return step;
  int all = 0;
  for (size_t i = 0; i < kParts; ++i) all += IsCycled(static_cast<Part>(i)) && levels[i] > 0;
  step.cycling_ns *= 1 - 1.0 / static_cast<double>(all);
  return step;
}

// What saves by itself fits always. What takes next to nothing needs no room for its error: where
// all else fills the comfort by itself, stacks of few samples are still worth what they take.
bool Governor::Fits(const Candidate& candidate) const {
  const double budget = BudgetNs(mean_.seconds), cost = CostOf(candidate);
  const double now = Predict(mean_, levels_);
  return cost <= std::max(kComfort * budget, now) ||
         (cost <= kAim * budget && cost - now <= kSmall * budget);
}

// As far back as fits; a part that relapsed only one step, or to where it is not taken off and on.
std::optional<Governor::Candidate> Governor::StepBack(size_t part,
                                                      const PerPart<uint8_t>& levels) const {
  for (uint8_t level = 0; level < levels[part]; ++level) {
    const bool whole = level == 0 && IsCycled(static_cast<Part>(part));
    if (relapsed_[part] && !whole && level + 1 < levels[part]) continue;
    Candidate step = At(part, level, levels);
    if (Fits(step)) return step;
  }
  return std::nullopt;
}

double Governor::CostOf(const Candidate& candidate) const {
  Second mean = mean_;
  mean.cycling_ns = candidate.cycling_ns;
  return Predict(mean, candidate.levels);
}

// User stacks again and down to a quarter of the samples, which together take no more than now.
std::optional<Governor::Candidate> Governor::StacksForSamples() const {
  constexpr size_t kStacks = Index(Part::kUnwinding), kSamples = Index(Part::kSamples);
  if (levels_[kStacks] < kUnwindNone) return std::nullopt;
  const uint8_t least = std::min<uint8_t>(levels_[kSamples] + kSamplesForStacks, kTokenLevels);
  for (uint8_t samples = levels_[kSamples] + 1; samples <= least; ++samples) {
    for (uint8_t stacks = 0; stacks < kUnwindNone; ++stacks) {
      Candidate exchange = At(kStacks, stacks, levels_);
      exchange.levels[kSamples] = samples;
      if (Predict(mean_, exchange.levels) <= Predict(mean_, levels_)) return exchange;
    }
  }
  return std::nullopt;
}

// Each part that has been calm for long enough, cheapest first, as far as all of it fits.
void Governor::TurnUp(uint64_t now, GovernorDecision& decision) {
  std::vector<std::pair<double, size_t>> ready;
  for (size_t i = 0; i < kParts; ++i) {
    if (levels_[i] == 0) continue;
    const std::optional<Candidate> step = StepBack(i, levels_);
    if (!step.has_value()) {
      calm_since_ns_[i] = now;
    } else if (static_cast<double>(now - calm_since_ns_[i]) >= options_.calm_s * kSecond) {
      ready.emplace_back(CostOf(*step), i);
    }
  }
  const auto passed = [now](uint64_t since_ns, double seconds) {
    return static_cast<double>(now - since_ns) >= seconds * kSecond;
  };
  // What goes back must have shown in the mean before the next does.
  const bool calm = passed(turned_down_ns_, options_.calm_s) &&
                    passed(changed_ns_, std::min(options_.calm_s, kMeanS));
  if (!calm || overdrawn_ns_ > 0) return;
  std::ranges::sort(ready);
  for (const auto& [cost, i] : ready) {
    const std::optional<Candidate> step = StepBack(i, levels_);
    if (!step.has_value()) continue;
    StepTo(static_cast<Part>(i), step->levels[i], decision);
    stepped_back_ns_[i] = calm_since_ns_[i] = now;
    mean_.cycling_ns = step->cycling_ns;
  }
  if (!decision.steps.empty()) return;
  if (const std::optional<Candidate> exchange = StacksForSamples()) {
    for (const Part part : {Part::kSamples, Part::kUnwinding}) {
      StepTo(part, exchange->levels[Index(part)], decision);
    }
    stepped_back_ns_[Index(Part::kUnwinding)] = now;
  }
}

void Governor::Detach(uint64_t now, GovernorDecision& decision) {
  detached_ = true;
  decision.detached = true;
  const double lasted_s = static_cast<double>(now - retried_ns_) / kSecond;
  if (retried_ns_ == 0 || lasted_s > options_.retry_max_s) retry_s_ = options_.retry_s;
  misled_ = came_early_ && lasted_s < options_.retry_s;
  stormy_ns_ = now;
  retry_at_ns_ = now + static_cast<uint64_t>(retry_s_ * kSecond);
  retry_s_ = std::min(2 * retry_s_, options_.retry_max_s);
}

void Governor::Await(const GovernorReading& reading, double passed_s, GovernorDecision& decision) {
  const uint64_t now = reading.mono_ns;
  share_ = 0;
  const double would = Predict({passed_s, reading.full_ns, 0}, levels_) - reading.paid_ns;
  if (!reading.known || would > kComfort * BudgetNs(passed_s)) stormy_ns_ = now;
  const double told = CostAt(Part::kSwitch, {passed_s, reading.full_ns, 0}, levels_) +
                      CostAt(Part::kTasks, {passed_s, reading.full_ns, 0}, levels_);
  if (reading.known && told > kComfort * BudgetNs(passed_s)) misled_ = false;
  came_early_ = !misled_ && static_cast<double>(now - stormy_ns_) >= options_.calm_s * kSecond;
  if (came_early_ || now >= retry_at_ns_) Retry(now, decision);
}

// Comes back with everything as far down as it was.
void Governor::Retry(uint64_t now, GovernorDecision& decision) {
  detached_ = false;
  decision.detached = false;
  retried_ns_ = now;
  helpless_ = false;
  overdrawn_ns_ = 0;
  changed_ns_ = turned_down_ns_ = now;
  // The calm it waited for counts.
  if (came_early_) {
    turned_down_ns_ -= static_cast<uint64_t>(std::max(0.0, options_.calm_s - kMeanS) * kSecond);
  }
  readings_.clear();
  mean_ = {};
}

GovernorDecision Governor::Update(const GovernorReading& reading) {
  GovernorDecision decision;
  const uint64_t now = reading.mono_ns;
  if (last_ns_ == 0 || now <= last_ns_) {
    last_ns_ = now;
    changed_ns_ = turned_down_ns_ = now;
    calm_since_ns_.fill(now);
    return decision;
  }
  const double passed_s = static_cast<double>(now - last_ns_) / kSecond;
  last_ns_ = now;
  sample_growth_ = reading.sample_growth;
  if (detached_) {
    Await(reading, passed_s, decision);
    return decision;
  }
  readings_.push_back({passed_s, reading.full_ns, reading.cycling_ns});
  AddToMean(readings_.back());
  Second window = Window();
  while (readings_.size() > 1 && window.seconds - readings_.front().seconds >= 1) {
    readings_.pop_front();
    window = Window();
  }
  share_ = Predict(window, levels_) / (window.seconds * kSecond * options_.cpus);
  if (options_.budget <= 0) return decision;

  const double spent = Predict(readings_.back(), levels_);
  overdrawn_ns_ = std::max(0.0, overdrawn_ns_ + spent - BudgetNs(passed_s));
  const double since_change_s = static_cast<double>(now - changed_ns_) / kSecond;
  const bool settled =
      changed_ns_ == 0 || since_change_s >= options_.settle_s || levels_ == PerPart<uint8_t>{};
  if (overdrawn_ns_ > BudgetNs(options_.burst_s) && settled) {
    decision.over = share_;
    TurnDown(now, window, decision);
    calm_since_ns_.fill(now);
    turned_down_ns_ = now;
    // Not forgiven all: if this was not enough, half the time is.
    overdrawn_ns_ = BudgetNs(options_.burst_s) / 2;
    if (decision.steps.empty() && !helpless_) {
      helpless_ = true;
      overspent_ns_ = 0;
    }
  } else {
    TurnUp(now, decision);
  }
  // Nothing else that is turned down makes room for switches that take too much by being counted.
  if (!helpless_ && settled && levels_[Index(Part::kSwitch)] == kSwitchCount &&
      SwitchAloneIsTooMuch(window)) {
    helpless_ = true;
    overspent_ns_ = 0;
  }
  if (Predict(window, levels_) <= kTooMuch * BudgetNs(window.seconds)) helpless_ = false;
  // Programs that are coming off would not come off sooner with all of them.
  overspent_ns_ += std::max(0.0, spent - reading.unseen_ns - reading.paid_ns - BudgetNs(passed_s));
  if (!decision.steps.empty()) {
    changed_ns_ = now;
    readings_.clear();
  }
  const double patience_s =
      SwitchAloneIsTooMuch(window) ? options_.give_up_switch_s : options_.give_up_s;
  if (helpless_ && overspent_ns_ > BudgetNs(patience_s)) Detach(now, decision);
  return decision;
}

}  // namespace telltale::agent
