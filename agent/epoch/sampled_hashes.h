// Whose samples were taken in an epoch, by label hash: what sketch::MeasureMiss asks of them.
// Bounded; past the bound it says so. One thread.

#ifndef TELLTALE_AGENT_EPOCH_SAMPLED_HASHES_H_
#define TELLTALE_AGENT_EPOCH_SAMPLED_HASHES_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/sensor/sensor.h"
#include "sketch/miss_curve.h"

namespace telltale::agent {

class SampledHashes {
 public:
  static constexpr size_t kMost = 16'384;

  // Samples of one CPU in the order they were taken.
  void Add(const RawSample& sample);

  // Some hash had no room: what there is is not all.
  bool overflowed() const { return overflowed_; }

  bool Has(uint8_t vital, uint64_t hash) const { return counts_.contains({vital, hash}); }

  std::vector<sketch::SampledLabel> Of(uint8_t vital, uint32_t columns) const;

 private:
  struct Counts {
    uint64_t samples = 0, repeated = 0;
  };
  using Key = std::pair<uint8_t, uint64_t>;                // vital, hash
  using CellKey = std::tuple<uint8_t, uint32_t, uint8_t>;  // vital, CPU, the hash's highest bits

  bool overflowed_ = false;
  absl::flat_hash_map<Key, Counts> counts_;
  absl::flat_hash_map<CellKey, uint64_t> last_;  // hash
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_SAMPLED_HASHES_H_
