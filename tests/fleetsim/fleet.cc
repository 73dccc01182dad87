#include "tests/fleetsim/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sketch/epoch.h"
#include "sketch/time_units.h"
#include "tests/fleetsim/certificates.h"
#include "tests/fleetsim/fleet_loop.h"
#include "tests/fleetsim/noise.h"
#include "tests/fleetsim/recording.h"

namespace telltale::fleetsim {
namespace {

constexpr uint32_t kNodesWithStacks = 200;  // whose distinct stacks are counted
constexpr uint64_t kSayEveryNs = 5 * kNsPerS;

Behaviour BehaviourOf(const FleetOptions& options, uint32_t node) {
  for (const auto& [behaviour, count] : {std::pair{Behaviour::kSlowReader, options.slow_readers},
                                         {Behaviour::kGarbage, options.garbage},
                                         {Behaviour::kOversize, options.oversize},
                                         {Behaviour::kFlood, options.flood}}) {
    if (node < count) return behaviour;
    node -= count;
  }
  return Behaviour::kGood;
}

NodePlan PlanOf(const FleetOptions& options, uint32_t node, uint64_t run) {
  NodePlan plan;
  plan.behaviour = BehaviourOf(options, node);
  plan.traits = TraitsOf(options.seed, options.first + node, run);
  const uint64_t seed = plan.traits.seed;
  if (options.skew_s != 0) {
    const double off = (2 * Uniform(Mix(seed, 23)) - 1) * options.skew_s;
    plan.skew_ns = static_cast<int64_t>(off * static_cast<double>(kNsPerS));
  }
  plan.boot_unix_ns = run - (1 + Mix(seed, 24) % 1000) * 3600 * kNsPerS;
  plan.count_stacks = node < kNodesWithStacks;
  plan.slow_ns = options.slow_s * kNsPerS;
  return plan;
}

class Run {
 public:
  Run(const FleetOptions& options, const Requests& requests) : options_(options), ask_(requests) {}

  absl::StatusOr<RunFigures> Go() {
    if (absl::Status status = SetUp(); !status.ok()) return status;
    Connect();
    Cut();
    Drain();
    return Finish();
  }

 private:
  absl::Status SetUp();
  void Connect();
  void Cut();
  void Drain();
  absl::StatusOr<RunFigures> Finish();
  // Until then, or as long as `more` says; storms and lines on the way. False: stop.
  bool WaitUntil(uint64_t wall_ns, const std::function<bool()>& more);
  void StormDue();

  const FleetOptions& options_;
  const Requests& ask_;
  std::unique_ptr<Recording> recording_;
  std::unique_ptr<Redraw> redraw_;
  std::optional<Verifier> verifier_;
  std::optional<FsyncProbe> probe_;
  Live live_;
  std::vector<std::unique_ptr<FleetLoop>> loops_;
  RunFigures figures_;
  uint64_t first_start_ns_ = 0, said_ns_ = 0, measure_begin_ns_ = 0;
  uint32_t storms_ = 0;
  bool measuring_ = false;
};

absl::Status Run::SetUp() {
  const std::vector<std::string> directories =
      absl::StrSplit(options_.recordings, ',', absl::SkipEmpty());
  if (directories.empty()) {
    recording_ = std::make_unique<Recording>(Recording::Synthetic(options_.epoch_s));
  } else {
    auto loaded = Recording::Load(directories, options_.epoch_s);
    if (!loaded.ok()) return loaded.status();
    recording_ = std::make_unique<Recording>(*std::move(loaded));
  }
  redraw_ = std::make_unique<Redraw>(recording_.get(), options_.redraw);
  figures_.synthetic = directories.empty();
  figures_.stretched = recording_->stretched();
  figures_.recorded_bytes = recording_->mean_bytes();
  figures_.nodes = options_.nodes;
  figures_.epoch_s = options_.epoch_s;
  figures_.epochs = options_.epochs;
  figures_.collector_known = options_.collector_pid != 0;

  const std::vector<std::string> names = NodeNames(options_);
  ask_.say(absl::StrFormat("%d recorded epochs, certificates of %d nodes",
                           recording_->epochs().size(), names.size()));
  auto tls = NodeCertificates(options_.pki, names);
  if (!tls.ok()) return tls.status();
  if (options_.verify != 0) {
    const auto viewer = ViewerCertificate(options_.pki);
    if (!viewer.ok()) return viewer.status();
    auto verifier = Verifier::Open(options_.collector, *viewer);
    if (!verifier.ok()) return verifier.status();
    verifier_ = *std::move(verifier);
  }
  const uint64_t run = WallNowNs();
  std::vector<std::vector<NodePlan>> shares(options_.threads);
  for (uint32_t i = 0; i < options_.nodes; ++i) {
    NodePlan plan = PlanOf(options_, i, run);
    plan.tls = std::move((*tls)[i]);
    figures_.other_builds += redraw_->OtherBuilds(plan.traits) ? 1 : 0;
    shares[i % options_.threads].push_back(std::move(plan));
  }
  for (uint32_t i = 0; i < options_.threads; ++i) {
    LoopOptions loop;
    loop.collector = options_.collector;
    loop.epoch_s = options_.epoch_s;
    loop.arrivals_per_s = static_cast<double>(options_.arrivals_per_s) / options_.threads;
    loop.departures_per_s = options_.churn_per_minute / 60.0 / options_.threads;
    loop.away_s = options_.away_s;
    loop.seed = Mix(options_.seed, i);
    loops_.push_back(
        std::make_unique<FleetLoop>(loop, std::move(shares[i]), redraw_.get(), &live_));
  }
  if (!options_.disk.empty()) probe_.emplace(options_.disk);
  return absl::OkStatus();
}

void Run::StormDue() {
  const uint64_t at_ns = options_.storm_at_s * kNsPerS;
  if (measuring_ && at_ns != 0 && storms_ < std::max(options_.storms, 1u) &&
      WallNowNs() >= measure_begin_ns_ + at_ns * (storms_ + 1)) {
    ++storms_;
    for (const auto& loop : loops_) loop->Storm();
  }
  if (ask_.storm()) {
    for (const auto& loop : loops_) loop->Storm();
  }
}

bool Run::WaitUntil(uint64_t wall_ns, const std::function<bool()>& more) {
  while (WallNowNs() < wall_ns && more()) {
    if (ask_.stop()) return false;
    StormDue();
    const auto connected = static_cast<uint64_t>(std::max<int64_t>(0, live_.connected));
    figures_.connected_most = std::max(figures_.connected_most, connected);
    if (const uint64_t now = MonoNowNs(); now >= said_ns_ + kSayEveryNs) {
      said_ns_ = now;
      ask_.say(absl::StrFormat("%d of %d nodes connected, %d epochs cut, %d settled", connected,
                               options_.nodes, live_.cut.load(), live_.settled.load()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void Run::Connect() {
  const CpuReading begin = ReadCpu(static_cast<int>(options_.collector_pid));
  const uint64_t begun = MonoNowNs();
  for (const auto& loop : loops_) loop->Start();
  WaitUntil(WallNowNs() + options_.connect_s * kNsPerS,
            [this] { return live_.connected < static_cast<int64_t>(options_.nodes); });
  figures_.connected_most = std::max(figures_.connected_most,
                                     static_cast<uint64_t>(std::max<int64_t>(0, live_.connected)));
  figures_.connect_s = static_cast<double>(MonoNowNs() - begun) * 1e-9;
  figures_.connect_cpu = Between(begin, ReadCpu(static_cast<int>(options_.collector_pid)));
}

void Run::Cut() {
  first_start_ns_ = sketch::IntervalEnd(WallNowNs(), options_.epoch_s);
  for (const auto& loop : loops_) loop->CutFrom(first_start_ns_, options_.epochs);
  const uint64_t length_ns = options_.epoch_s * kNsPerS;
  // Whole epochs, from a cut on: so every phase of the minute is in it as often.
  const uint32_t warmup = std::min(options_.warmup, options_.epochs - 1);
  measure_begin_ns_ = first_start_ns_ + (1 + warmup) * length_ns;
  const uint64_t end_ns = first_start_ns_ + (1 + options_.epochs) * length_ns;
  const auto always = [] { return true; };
  const auto cut_no_more = [this] {
    for (const auto& loop : loops_) loop->CutNoMore();
  };
  if (!WaitUntil(measure_begin_ns_, always)) return cut_no_more();
  measuring_ = true;
  for (const auto& loop : loops_) {
    loop->SetMeasuring(true);
    loop->SetChurn(true);
  }
  const CpuReading begin = ReadCpu(static_cast<int>(options_.collector_pid));
  if (!WaitUntil(end_ns, always)) cut_no_more();
  figures_.cpu = Between(begin, ReadCpu(static_cast<int>(options_.collector_pid)));
  for (const auto& loop : loops_) loop->SetChurn(false);
}

void Run::Drain() {
  WaitUntil(WallNowNs() + options_.drain_s * kNsPerS, [this] {
    return !std::ranges::all_of(loops_, [](const auto& loop) { return loop->Drained(); });
  });
  figures_.drained = std::ranges::all_of(loops_, [](const auto& loop) { return loop->Drained(); });
}

absl::StatusOr<RunFigures> Run::Finish() {
  if (options_.collector_pid != 0) {
    figures_.collector = ReadResident(static_cast<int>(options_.collector_pid));
  }
  figures_.own = ReadResident(getpid());
  if (probe_) figures_.fsync_us = probe_->Take();
  std::vector<NodeOutcome> outcomes;
  for (const auto& loop : loops_) {
    loop->Stop();
    figures_.tally.Add(loop->tally());
    for (const auto& [problem, times] : loop->problems()) figures_.problems[problem] += times;
    for (NodeOutcome& outcome : loop->Outcomes()) outcomes.push_back(std::move(outcome));
  }
  if (verifier_) {
    auto checked = verifier_->Check(outcomes, options_.verify, first_start_ns_);
    if (!checked.ok()) return checked.status();
    figures_.verification = *std::move(checked);
  }
  loops_.clear();
  return std::move(figures_);
}

}  // namespace

absl::StatusOr<RunFigures> RunFleet(const FleetOptions& options, const Requests& requests) {
  return Run(options, requests).Go();
}

}  // namespace telltale::fleetsim
