#include "agent/epoch/sampled_hashes.h"

#include "sketch/layout.h"

namespace telltale::agent {

void SampledHashes::Add(const RawSample& sample) {
  const Key key{sample.vital, sample.label_hash};
  auto known = counts_.find(key);
  if (known == counts_.end()) {
    if (counts_.size() >= kMost) {
      overflowed_ = true;
      return;
    }
    known = counts_.emplace(key, Counts{}).first;
  }
  Counts& counts = known->second;
  ++counts.samples;
  const auto cell = static_cast<uint8_t>(sample.label_hash >> TELLTALE_CELL_SHIFT);
  const auto [last, first] = last_.try_emplace({sample.vital, sample.cpu, cell}, sample.label_hash);
  if (!first && last->second == sample.label_hash) ++counts.repeated;
  last->second = sample.label_hash;
}

std::vector<sketch::SampledLabel> SampledHashes::Of(uint8_t vital, uint32_t columns) const {
  std::vector<sketch::SampledLabel> labels;
  for (const auto& [key, counts] : counts_) {
    if (key.first != vital) continue;
    labels.push_back({sketch::PlaceOf(key.second, columns), counts.samples, counts.repeated});
  }
  return labels;
}

}  // namespace telltale::agent
