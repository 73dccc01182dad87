// A cost that comes in bursts, charged to the seconds after it. The sum is conserved.
//
// Work that comes in bursts would have the governor turn parts down for seconds in which nothing
// that is turned down is saved: what is done once (reading the names of all that runs when the
// agent starts, making the tables of a program met first), and what each epoch begins and ends
// with.
//
// A value, pure: no clock. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_SPREAD_COST_H_
#define TELLTALE_AGENT_GOVERNOR_SPREAD_COST_H_

namespace telltale::agent {

class SpreadCost {
 public:
  void Add(double ns) { untold_ns_ += ns; }

  // ns to charge the last `passed_s` seconds with: what is untold fades to 1/e in `over_s`.
  double Tell(double passed_s, double over_s);
  // What is untold is worth so much from now on.
  void Scale(double by) { untold_ns_ *= by; }

 private:
  double untold_ns_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_SPREAD_COST_H_
