// What is done once, told of over minutes: reading the names of all that runs already when the
// agent starts, and making the tables of a program met first.
//
// It comes in bursts of a hundred times the budget that no turning down would have saved. Told of
// when it comes, it would have the sensor see little just then, for minutes: at a start, or when
// programs run that did not run before, which is when it should see much. Told of over minutes it
// is still in the account whole, and a host where it never ends has it in each second.
//
// Pure: no clock. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_ONCE_COST_H_
#define TELLTALE_AGENT_GOVERNOR_ONCE_COST_H_

namespace telltale::agent {

class OnceCost {
 public:
  void Add(double ns) { untold_ns_ += ns; }

  // ns to charge these seconds with: what is untold fades to 1/e in kFadeS.
  double Tell(double passed_s);

 private:
  static constexpr double kFadeS = 300;
  double untold_ns_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_ONCE_COST_H_
