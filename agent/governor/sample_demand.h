// How many times as many samples there would be at level 0 of Part::kSamples as there are now, as
// far as can be told from those that were refused lately.
//
// Each level halves what may be taken. On a host where so many are not even due, that halves
// nothing, and all may be taken back at once: else the samples that are left were reckoned 2^level
// times as dear, and a storm's limits would stay for minutes after it.
//
// Pure: no clock. Owned by the sensor, its thread only.

#ifndef TELLTALE_AGENT_GOVERNOR_SAMPLE_DEMAND_H_
#define TELLTALE_AGENT_GOVERNOR_SAMPLE_DEMAND_H_

#include <cstdint>

namespace telltale::agent {

class SampleDemand {
 public:
  // In the last `passed_s` seconds so many samples were taken and so many refused for the limit. A
  // refused label is due again with its next event, so `refused` may be far above what is wanted.
  void Learn(double passed_s, uint64_t taken, uint64_t refused);

  // 1 ... 2^level.
  double Growth(uint8_t level) const;

 private:
  // Sums that fade.
  double taken_ = 0;
  double refused_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_GOVERNOR_SAMPLE_DEMAND_H_
