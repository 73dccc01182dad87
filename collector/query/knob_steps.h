// When the sensor watched less, or more again: changes of its knobs in raw epochs, as steps of an
// answer's coverage. What one step of the governor changes in several vitals at once is one step
// here. One per answer; one thread at a time: of an answer whose parts several read, each part has
// its own, and they are added.

#ifndef TELLTALE_COLLECTOR_QUERY_KNOB_STEPS_H_
#define TELLTALE_COLLECTOR_QUERY_KNOB_STEPS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collector/query/vital_choice.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

class KnobSteps {
 public:
  // Kept are so many: those of t, which follows the tokens used, go first, then the latest.
  static constexpr size_t kMost = 50;

  // Told are steps in [start, end), collector's clock: epochs are read whole and stick out of the
  // time asked for.
  KnobSteps(uint64_t start_ns, uint64_t end_ns) : start_ns_(start_ns), end_ns_(end_ns) {}

  // `vitals`: ids the answer is about, empty: all. The body need not have others.
  void Add(const StoredEpoch& epoch, const std::string& node, const VitalBook& book,
           const std::vector<uint32_t>& vitals);
  void Add(const KnobSteps& part);
  // Ascending by time, and how many are left out.
  void Write(v1::Coverage* coverage) const;

 private:
  struct Step {
    bool is_t = false;
    uint64_t time_ns = 0;  // collector's clock
    std::string node, knob;
    double from = 0, to = 0;
    std::vector<std::string> vitals;
    auto operator<=>(const Step&) const = default;
  };
  void Keep(Step step);

  uint64_t start_ns_, end_ns_;
  std::multiset<Step> steps_;  // kMost at most
  uint64_t left_out_ = 0;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_KNOB_STEPS_H_
