// One thread and the nodes it drives: hands them what their streams brought, wakes them when their
// logic wants it, cuts their epochs, makes them come and go. The public methods may be called from
// any thread; what they ask for happens in the loop.

#ifndef TELLTALE_TESTS_FLEETSIM_FLEET_LOOP_H_
#define TELLTALE_TESTS_FLEETSIM_FLEET_LOOP_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/fleetsim/sim_node.h"

namespace telltale::fleetsim {

struct LoopOptions {
  std::string collector;
  uint32_t epoch_s = 60;
  double arrivals_per_s = 100;  // at the start
  double departures_per_s = 0;  // churn, once begun
  double away_s = 10;           // mean time until a node that left is back
  uint64_t seed = 1;
};

class FleetLoop {
 public:
  // `redraw` and `live` outlive the loop.
  FleetLoop(LoopOptions options, std::vector<NodePlan> plans, const Redraw* redraw, Live* live);
  ~FleetLoop();

  void Start();
  // Cuts `epochs` epochs; the first is [first_start_unix_ns, + epoch).
  void CutFrom(uint64_t first_start_unix_ns, uint32_t epochs);
  // What was cut until then is still settled.
  void CutNoMore() {
    no_more_ = true;
    Wake();
  }
  void Storm() {
    ++storms_wanted_;
    Wake();
  }
  void SetMeasuring(bool measuring) { measuring_wanted_ = measuring; }
  void SetChurn(bool churn) { churn_wanted_ = churn; }
  // All honest nodes' cut epochs are settled.
  bool Drained() const { return drained_; }
  void Stop();

  // After Stop.
  Tally& tally() { return tally_; }
  const std::unordered_map<std::string, uint64_t>& problems() const { return problems_; }
  std::vector<NodeOutcome> Outcomes() const;

 private:
  // Where streams leave word; lives as long as the last of them.
  struct Ready {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<uint32_t> nodes;  // guarded by mutex
    bool woken = false;           // guarded by mutex
  };
  struct Timer {
    uint64_t due_ns;
    uint32_t node;
    bool operator>(const Timer& other) const { return due_ns > other.due_ns; }
  };
  using Timers = std::priority_queue<Timer, std::vector<Timer>, std::greater<>>;

  void Run();
  void Wake();
  void Schedule(uint32_t node);
  void Arrive(uint64_t now_ns);
  void Churn(uint64_t now_ns);
  void CutDue();
  void FireTimers(uint64_t now_ns);
  void NoteDrained();
  uint64_t NextTurnNs(uint64_t now_ns) const;

  const LoopOptions options_;
  std::shared_ptr<Ready> ready_ = std::make_shared<Ready>();
  std::atomic<bool> stopping_ = false, measuring_wanted_ = false, churn_wanted_ = false;
  std::atomic<bool> no_more_ = false, drained_ = false;
  std::atomic<uint32_t> storms_wanted_ = 0;
  std::atomic<uint64_t> first_start_ns_ = 0;
  std::atomic<uint32_t> epochs_wanted_ = 0;
  std::thread thread_;

  // Loop thread only.
  Tally tally_;
  bool measuring_ = false;
  std::unordered_map<std::string, uint64_t> problems_;
  SimNode::World world_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<uint64_t> scheduled_ns_;
  Timers timers_;
  Timers returns_;  // nodes that come back
  size_t arrived_ = 0;
  uint64_t begun_ns_ = 0, churned_ns_ = 0, churn_draws_ = 0;
  uint32_t storms_done_ = 0, epochs_cut_ = 0;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_FLEET_LOOP_H_
