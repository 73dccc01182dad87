#include "collector/ingest/sending_spread.h"

#include <algorithm>

namespace telltale::ingest {
namespace {

// Seconds for so many nodes.
constexpr uint32_t Needed(size_t nodes) {
  constexpr size_t kMostNodes = 10'000'000;
  return static_cast<uint32_t>((std::min(nodes, kMostNodes) + SendingSpread::kNodesPerS - 1) /
                               SendingSpread::kNodesPerS);
}

}  // namespace

void SendingSpread::SetNodes(size_t nodes) {
  const uint32_t needed = std::max(1u, Needed(nodes));
  if (needed <= seconds_ && 2 * needed > seconds_) return;
  seconds_ = needed + needed / 4;
}

}  // namespace telltale::ingest
