#include "tests/support/line_oracle.h"

#include <algorithm>

namespace telltale::testing {
namespace {

constexpr uint64_t kMinuteNs = 60'000'000'000;

uint64_t WindowLength(storage::Tier tier) {
  return tier == storage::Tier::k5Min    ? 5 * kMinuteNs
         : tier == storage::Tier::k1Hour ? 60 * kMinuteNs
                                         : 24 * 60 * kMinuteNs;
}

uint64_t BucketLength(storage::Tier tier) {
  return tier == storage::Tier::k5Min    ? 60 * kMinuteNs
         : tier == storage::Tier::k1Hour ? 24 * 60 * kMinuteNs
                                         : 30 * 24 * 60 * kMinuteNs;
}

}  // namespace

void LineOracle::Add(storage::Tier tier, uint32_t node, uint64_t start_ns,
                     const v1::RollupWindow& window) {
  const uint64_t bucket = start_ns - start_ns % BucketLength(tier);
  const Place place{node % 256, static_cast<uint32_t>((start_ns - bucket) / WindowLength(tier))};
  for (const v1::VitalTotals& totals : window.vitals()) {
    if (totals.subs_size() == 0) continue;
    Entry& entry = blocks_[{tier, static_cast<uint8_t>(totals.id()), bucket, node / 256}][place];
    entry.watched_ms = window.watched_ns() / 1'000'000;
    entry.subs.assign(totals.subs().begin(), totals.subs().end());
  }
}

std::map<std::string, v1::LineBlock> LineOracle::Blocks() const {
  std::map<std::string, v1::LineBlock> blocks;
  for (const auto& [where, entries] : blocks_) {
    const auto& [tier, vital, bucket, group] = where;
    v1::LineBlock& block = blocks[storage::EncodeLineKey({tier, vital, bucket, group})];
    std::map<uint32_t, uint32_t> windows_of;  // by node
    size_t subs = 0;
    for (const auto& [place, entry] : entries) {
      ++windows_of[place.first];
      subs = std::max(subs, entry.subs.size());
      block.add_window(place.second);
      block.add_watched_ms(entry.watched_ms);
    }
    for (const auto& [node, windows] : windows_of) {
      block.add_node(node);
      block.add_windows(windows);
    }
    block.set_subs(static_cast<uint32_t>(subs));
    for (size_t sub = 0; sub < subs; ++sub) {
      for (const auto& [place, entry] : entries) {
        const v1::SubTotals totals = sub < entry.subs.size() ? entry.subs[sub] : v1::SubTotals();
        block.add_events(totals.events());
        block.add_weight(totals.weight());
        block.add_second_min(totals.second_min());
        block.add_second_max(totals.second_max());
      }
    }
  }
  return blocks;
}

}  // namespace telltale::testing
