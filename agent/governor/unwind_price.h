// What unwinding one sample's user stack takes in the agent, as far as can be told from those that
// were unwound lately.
//
// The first samples of a program are dear: what is mapped is read and its caches are cold (building
// its tables is not among it, spread_cost.h). So the price is that of all stacks
// of the last quarter of a minute or so together, and where few or none were unwound it falls back
// to that of a stack whose tables are there: a part that was turned down because the agent had just
// started is tried again.
//
// Pure: no clock. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_UNWIND_PRICE_H_
#define TELLTALE_AGENT_GOVERNOR_UNWIND_PRICE_H_

#include <cstdint>

namespace telltale::agent {

class UnwindPrice {
 public:
  // `unwound` stacks took `unwind_ns` of CPU time in the last `passed_s` seconds, at this level of
  // Part::kUnwinding.
  void Learn(double passed_s, uint64_t unwind_ns, uint64_t unwound, uint8_t level);

  // ns a stack at level 0.
  double ns() const;

 private:
  // Sums that fade.
  double unwind_ns_ = 0;
  double unwound_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_UNWIND_PRICE_H_
