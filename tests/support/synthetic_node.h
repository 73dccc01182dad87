// A made-up node for tests of the store and above: valid summaries, distinct for each (seed,
// sequence), the same in every run. No clock, no randomness.

#ifndef TELLTALE_TESTS_SUPPORT_SYNTHETIC_NODE_H_
#define TELLTALE_TESTS_SUPPORT_SYNTHETIC_NODE_H_

#include <array>
#include <cstdint>
#include <string>

#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::testing {

struct MadeSummary {
  v1::Summary summary;
  v1::SummaryBody body;
};

class SyntheticNode {
 public:
  // Nodes of different `seed` have other numbers, processes and code locations, some of them in
  // common.
  SyntheticNode(std::string name, uint64_t seed);

  const std::string& name() const { return name_; }
  std::array<uint8_t, 16> incarnation() const;
  void set_incarnation_byte(uint8_t byte) { incarnation_byte_ = byte; }

  // One epoch of `length_s` seconds that begins at `start_ns` (wall clock of the node, equal to the
  // collector's).
  MadeSummary Make(uint64_t sequence, uint64_t start_ns, uint32_t length_s = 60) const;
  // As Make, with the body changed before it is sealed.
  template <typename Change>
  MadeSummary MakeWith(uint64_t sequence, uint64_t start_ns, uint32_t length_s,
                       const Change& change) const {
    v1::SummaryBody body = Body(sequence, start_ns, length_s);
    change(body);
    return Seal(sequence, std::move(body));
  }

  // Only the body of Make.
  v1::SummaryBody Body(uint64_t sequence, uint64_t start_ns, uint32_t length_s) const;

 private:
  MadeSummary Seal(uint64_t sequence, v1::SummaryBody body) const;

  std::string name_;
  uint64_t seed_;
  uint8_t incarnation_byte_ = 1;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_SYNTHETIC_NODE_H_
