// Holds the agent to a share of the host's processor time.
//
// It is told what each part of the sensor would cost if it did all it can, and says how far each is
// to be turned down. It turns the largest part down as soon as the budget of two seconds has been
// overdrawn, by as many steps as are needed, and takes each part back, as far as would have fitted,
// after 30 s in which it would have, on the mean of some seconds: a draft written every few
// seconds is no storm, and a load that comes and goes every few seconds finds it turned down and
// cannot make it swing. A part that had to be turned down within a minute of that goes back by one
// step at a time. One that went back does not keep the next waiting for another 30 s. A step back
// must leave 30 % of the budget free, one that takes less than 5 % of it half as much. Before user
// stacks are given up there are fewer samples, down to a quarter, where their stacks fit, and so
// they are taken back, too: what half as many say with their stacks is worth more than what all say
// without. When nothing that helps is left to turn down and the budget is still exceeded by a
// fifth, it asks for the sensor to be detached as soon as 20 s of budget have been overspent so, 5
// s where it is for the context switches alone (programs that are on their way off are not counted
// in that: they would not come off sooner; nor is what was spent long ago: it would not be saved),
// and tries again later: when the host has been calm for 30 s, as far as it can tell, else after a
// pause that doubles each time. After such a calm the first parts go back as soon as there is a
// mean to judge by.
//
// Pure: no clock, no kernel. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_GOVERNOR_H_
#define TELLTALE_AGENT_GOVERNOR_GOVERNOR_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "agent/governor/parts.h"

namespace telltale::agent {

struct GovernorOptions {
  double budget = 0;  // share of all CPUs together; 0: only reckons, turns nothing down
  uint32_t cpus = 1;
  double cycling_ns = 0;  // a second, of taking a part's programs off and on
  double burst_s = 2;     // what may be overdrawn, in seconds of budget
  double calm_s = 30;     // a step back must have fitted so long
  double relapse_s = 60;  // turned down so soon after it was taken back: by one step the next time
  double settle_s = 1;    // after a step, before the next is judged by what it did
  // With nothing left to turn down, what may be overspent; then: detach. Less than the shortest
  // pause that follows, so that with it the agent stays within its budget.
  double give_up_s = 20;
  // The same where it is the context switch alone that does not fit: that is no passing expense of
  // a storm's beginning.
  double give_up_switch_s = 5;
  double retry_s = 60;  // first pause after that; doubles up to
  double retry_max_s = 600;
};

// CPU ns since the last reading.
struct GovernorReading {
  uint64_t mono_ns = 0;
  // What each part would have cost at level 0. kRest: what it did cost.
  PerPart<double> full_ns{};
  // Attaching and detaching what is attached part of the time, and its programs before and after
  // their windows.
  double cycling_ns = 0;
  // Those programs' part of cycling_ns.
  double unseen_ns = 0;
  // What of full_ns, at the present levels, was spent before the last reading and is told only now.
  double paid_ns = 0;
  // How many times as many samples there would be at level 0, at most (sample_demand.h).
  double sample_growth = std::numeric_limits<double>::infinity();
  // False while detached on a host that does not tell: full_ns is not what it would cost.
  bool known = true;
};

struct GovernorStep {
  Part part;
  uint8_t from, to;
};

struct GovernorDecision {
  std::vector<GovernorStep> steps;  // in order; empty: go on
  std::optional<bool> detached;     // changed to
  double over = 0;                  // share of the host it took, when that was too much
};

class Governor {
 public:
  explicit Governor(const GovernorOptions& options);

  // Every 100 ms or so.
  GovernorDecision Update(const GovernorReading& reading);

  uint8_t level(Part part) const { return levels_[Index(part)]; }
  bool detached() const { return detached_; }
  // Share of the host over the last second or so, as estimated: all parts at their levels.
  double share() const { return share_; }
  // What each part took since the last reading, of which Update has not been told yet. While the
  // sensor is taken off, what programs are reckoned to take is what they would: they took nothing.
  PerPart<double> Taken(const GovernorReading& reading) const;
  // What this part takes at this level if it takes `full_ns` at level 0.
  static double Cost(Part part, uint8_t level, double full_ns);

 private:
  struct Second {
    double seconds = 0;
    PerPart<double> full_ns{};
    double cycling_ns = 0;
  };
  // Levels to go to, and what taking programs off and on would cost then.
  struct Candidate {
    PerPart<uint8_t> levels;
    double cycling_ns;
  };
  double BudgetNs(double seconds) const;
  Second Window() const;
  void AddToMean(const Second& reading);
  double CostAt(Part part, const Second& window, const PerPart<uint8_t>& levels) const;
  double Predict(const Second& window, const PerPart<uint8_t>& levels) const;
  std::optional<PerPart<uint8_t>> FewerWithStacks(const Second& window,
                                                  PerPart<uint8_t> levels) const;
  void TurnDown(uint64_t now, const Second& window, GovernorDecision& decision);
  Candidate At(size_t part, uint8_t level, const PerPart<uint8_t>& levels) const;
  std::optional<Candidate> StepBack(size_t part, const PerPart<uint8_t>& levels) const;
  bool SwitchAloneIsTooMuch(const Second& window) const;
  bool Fits(const Candidate& candidate) const;
  double CostOf(const Candidate& candidate) const;
  std::optional<Candidate> StacksForSamples() const;
  void TurnUp(uint64_t now, GovernorDecision& decision);
  void Detach(uint64_t now, GovernorDecision& decision);
  void Retry(uint64_t now, GovernorDecision& decision);
  // While detached.
  void Await(const GovernorReading& reading, double passed_s, GovernorDecision& decision);
  void StepTo(Part part, uint8_t to, GovernorDecision& decision);
  void RevalueSamples(uint8_t to);

  const GovernorOptions options_;
  PerPart<uint8_t> levels_{};
  PerPart<uint64_t> calm_since_ns_{};
  PerPart<uint64_t> stepped_back_ns_{};  // when it last was; 0: never
  PerPart<bool> relapsed_{};             // and soon had to be turned down again
  std::deque<Second> readings_;          // of the last second
  Second mean_;                          // sums that fade; over mean_.seconds a mean
  uint64_t last_ns_ = 0;
  uint64_t changed_ns_ = 0;      // a level, last
  uint64_t turned_down_ns_ = 0;  // a part, or it was tried
  double overdrawn_ns_ = 0;
  double share_ = 0;
  double sample_growth_ = std::numeric_limits<double>::infinity();  // as last told
  bool helpless_ = false;    // far over budget with nothing that helps left to turn down
  double overspent_ns_ = 0;  // since it is
  bool detached_ = false;
  uint64_t retry_at_ns_ = 0;
  double retry_s_ = 0;
  uint64_t retried_ns_ = 0;  // when it last came back
  uint64_t stormy_ns_ = 0;   // while detached: when the host was last too busy
  bool came_early_ = false;  // it came back because the host was calm
  bool misled_ = false;      // and had to go at once: what makes it dear is not among what is told
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_GOVERNOR_H_
