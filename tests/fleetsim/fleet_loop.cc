#include "tests/fleetsim/fleet_loop.h"

#include <algorithm>
#include <chrono>

#include "sketch/time_units.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

constexpr uint64_t kLongestTurnNs = 50'000'000;
constexpr size_t kTimersATurn = 64;  // then streams are looked at again: drawing takes its time

}  // namespace

FleetLoop::FleetLoop(LoopOptions options, std::vector<NodePlan> plans, const Redraw* redraw,
                     Live* live)
    : options_(std::move(options)) {
  world_.collector = options_.collector;
  world_.epoch_s = options_.epoch_s;
  world_.redraw = redraw;
  world_.tally = &tally_;
  world_.live = live;
  world_.measuring = &measuring_;
  world_.problems = &problems_;
  world_.storms = &storms_done_;
  scheduled_ns_.assign(plans.size(), UINT64_MAX);
  for (uint32_t i = 0; i < plans.size(); ++i) {
    nodes_.push_back(std::make_unique<SimNode>(world_, std::move(plans[i]), [ready = ready_, i] {
      const std::lock_guard lock(ready->mutex);
      ready->nodes.push_back(i);
      ready->changed.notify_one();
    }));
  }
}

FleetLoop::~FleetLoop() { Stop(); }

void FleetLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void FleetLoop::Stop() {
  stopping_ = true;
  Wake();
  if (thread_.joinable()) thread_.join();
}

void FleetLoop::Wake() {
  const std::lock_guard lock(ready_->mutex);
  ready_->woken = true;
  ready_->changed.notify_one();
}

void FleetLoop::CutFrom(uint64_t first_start_unix_ns, uint32_t epochs) {
  first_start_ns_ = first_start_unix_ns;
  epochs_wanted_ = epochs;
  Wake();
}

void FleetLoop::Schedule(uint32_t node) {
  const uint64_t due = nodes_[node]->NextWakeNs();
  if (due >= scheduled_ns_[node]) return;
  scheduled_ns_[node] = due;
  timers_.push({due, node});
}

void FleetLoop::FireTimers(uint64_t now_ns) {
  for (size_t fired = 0; fired < kTimersATurn && !timers_.empty(); ++fired) {
    const Timer timer = timers_.top();
    if (timer.due_ns > now_ns) return;
    timers_.pop();
    if (scheduled_ns_[timer.node] != timer.due_ns) continue;  // an earlier one took its place
    scheduled_ns_[timer.node] = UINT64_MAX;
    nodes_[timer.node]->Tick();
    Schedule(timer.node);
  }
}

void FleetLoop::Arrive(uint64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - begun_ns_) / static_cast<double>(kNsPerS);
  const auto due = static_cast<size_t>(seconds * options_.arrivals_per_s) + 1;
  while (arrived_ < std::min(due, nodes_.size())) {
    nodes_[arrived_]->Come();
    Schedule(static_cast<uint32_t>(arrived_++));
  }
}

void FleetLoop::Churn(uint64_t now_ns) {
  while (!returns_.empty() && returns_.top().due_ns <= now_ns) {
    const uint32_t node = returns_.top().node;
    returns_.pop();
    if (nodes_[node]->up()) nodes_[node]->Leave(false);  // its goodbye took too long
    nodes_[node]->Come();
    Schedule(node);
  }
  if (!churn_wanted_ || options_.departures_per_s <= 0) return;
  if (churned_ns_ == 0) churned_ns_ = now_ns;
  const auto pause =
      static_cast<uint64_t>(static_cast<double>(kNsPerS) / options_.departures_per_s);
  while (churned_ns_ + pause <= now_ns) {
    churned_ns_ += pause;
    const uint64_t draw = Mix(options_.seed, ++churn_draws_);
    const auto node = static_cast<uint32_t>(draw % nodes_.size());
    if (!nodes_[node]->up()) continue;
    nodes_[node]->Leave((draw >> 32) % 2 == 0);
    const double away_s = options_.away_s * 2 * Uniform(Mix(draw));
    returns_.push({now_ns + static_cast<uint64_t>(away_s * static_cast<double>(kNsPerS)), node});
    Schedule(node);
  }
}

void FleetLoop::CutDue() {
  if (no_more_) return;
  const uint64_t length_ns = options_.epoch_s * kNsPerS;
  const uint64_t first_ns = first_start_ns_;
  while (epochs_cut_ < epochs_wanted_ && WallNowNs() >= first_ns + (epochs_cut_ + 1) * length_ns) {
    const uint64_t start_ns = first_ns + epochs_cut_++ * length_ns;
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i]->Cut(start_ns, start_ns + length_ns);
      Schedule(i);
    }
    drained_ = false;
  }
}

void FleetLoop::NoteDrained() {
  const bool all_cut = no_more_ || (epochs_wanted_ != 0 && epochs_cut_ >= epochs_wanted_);
  if (drained_ || !all_cut) return;
  drained_ = std::ranges::all_of(
      nodes_, [](const auto& node) { return !node->honest() || node->drained(); });
}

uint64_t FleetLoop::NextTurnNs(uint64_t now_ns) const {
  uint64_t next = now_ns + kLongestTurnNs;
  if (!timers_.empty()) next = std::min(next, timers_.top().due_ns);
  return next;
}

void FleetLoop::Run() {
  begun_ns_ = MonoNowNs();
  uint64_t looked_ns = 0;
  std::vector<uint32_t> spoken;
  while (!stopping_) {
    {
      std::unique_lock lock(ready_->mutex);
      const uint64_t now = MonoNowNs(), next = NextTurnNs(now);
      if (next > now) {
        ready_->changed.wait_for(lock, std::chrono::nanoseconds(next - now),
                                 [this] { return ready_->woken || !ready_->nodes.empty(); });
      }
      ready_->woken = false;
      spoken.clear();
      spoken.swap(ready_->nodes);
    }
    measuring_ = measuring_wanted_;
    for (const uint32_t node : spoken) {
      nodes_[node]->OnEvents();
      Schedule(node);
    }
    const uint64_t now = MonoNowNs();
    Arrive(now);
    Churn(now);
    if (storms_done_ != storms_wanted_) {
      storms_done_ = storms_wanted_;
      for (uint32_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i]->BreakStream();
        Schedule(i);
      }
    }
    CutDue();
    FireTimers(now);
    if (now > looked_ns + kNsPerS / 4) {
      looked_ns = now;
      NoteDrained();
    }
  }
  for (const auto& node : nodes_) {
    if (!node->counts_stacks()) continue;
    tally_.stacks_of_nodes += node->distinct_stacks();
    tally_.private_stacks += node->private_stacks();
    ++tally_.nodes_with_stacks;
  }
}

std::vector<NodeOutcome> FleetLoop::Outcomes() const {
  std::vector<NodeOutcome> outcomes;
  for (const auto& node : nodes_) outcomes.push_back(node->outcome());
  return outcomes;
}

}  // namespace telltale::fleetsim
