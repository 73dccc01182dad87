#include "agent/loop/live_seconds.h"

#include <algorithm>
#include <utility>

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// Cuts are aligned to the collector's clock: an epoch of 60 s may be somewhat shorter, and its last
// second still is one.
constexpr uint64_t kShort = kSecond / 20;

bool Has(VitalState wanted, const std::vector<VitalStatus>& states, uint8_t id) {
  return std::ranges::any_of(states, [wanted, id](const VitalStatus& state) {
    return state.id == id && state.state == wanted;
  });
}

}  // namespace

void LiveSeconds::Add(const RawEpoch& epoch, const std::vector<VitalStatus>& states,
                      int64_t wall_minus_mono_ns) {
  const uint64_t seconds = (epoch.end_mono_ns - epoch.start_mono_ns + kShort) / kSecond;
  const uint64_t end_ns = epoch.start_mono_ns + seconds * kSecond;
  next_ns_ = end_ns + kSecond;
  if (seconds == 0 || end_ns <= told_ns_) return;
  told_ns_ = end_ns;
  v1::Live live;
  bool counted = false;
  live.set_unix_ns(end_ns + static_cast<uint64_t>(wall_minus_mono_ns));
  for (const RawVital& vital : epoch.vitals) {
    if (Has(VitalState::kUnavailable, states, vital.id)) continue;
    v1::LiveVital told;
    told.set_id(vital.id);
    bool any = false;
    for (const RawSub& sub : vital.subs) {
      const bool known = seconds <= sub.second_weight.size();
      told.add_sub_weight(known ? sub.second_weight[seconds - 1] : 0);
      any = any || told.sub_weight().rbegin()[0] > 0;
    }
    counted = counted || any;
    if (any || !Has(VitalState::kDegraded, states, vital.id)) {
      *live.add_vitals() = std::move(told);
    }
  }
  if (counted) second_ = std::move(live);
}

std::optional<v1::Live> LiveSeconds::Take() { return std::exchange(second_, std::nullopt); }

}  // namespace telltale::agent
