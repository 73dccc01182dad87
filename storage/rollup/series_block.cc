#include "storage/rollup/series_block.h"

#include <algorithm>
#include <set>

namespace telltale::storage {
namespace {

uint32_t ToMs(uint64_t ns) { return static_cast<uint32_t>((ns + 500'000) / 1'000'000); }

const v1::SubSeries* FindSub(const v1::SummaryBody& body, uint32_t sub) {
  for (const v1::Vital& vital : body.vitals()) {
    if (vital.id() != sub >> 8) continue;
    const int index = static_cast<int>(sub & 0xff);
    return index < vital.subs_size() ? &vital.subs(index) : nullptr;
  }
  return nullptr;
}

}  // namespace

v1::SeriesBlock MakeSeriesBlock(uint64_t hour_start_ns, const std::vector<SeriesEpoch>& epochs) {
  v1::SeriesBlock block;
  std::set<uint32_t> subs;
  int64_t before_ms = 0;
  for (const SeriesEpoch& epoch : epochs) {
    const int64_t after_ns =
        static_cast<int64_t>(epoch.span.start_ns) - static_cast<int64_t>(hour_start_ns);
    const int64_t start_ms = (after_ns + (after_ns >= 0 ? 500'000 : -500'000)) / 1'000'000;
    block.add_start_ms(static_cast<int32_t>(start_ms - before_ms));
    before_ms = start_ms;
    block.add_length_ms(ToMs(epoch.span.end_ns - epoch.span.start_ns));
    block.add_watched_ms(ToMs(epoch.span.watched_ns));
    block.add_kind(epoch.body->epoch().kind());
    block.add_load1_centi(epoch.body->gauges().load1_centi());
    block.add_memory_available_bytes(epoch.body->gauges().memory_available_bytes());
    block.add_agent_cpu_ns(epoch.body->gauges().agent_cpu_ns());
    for (const v1::Vital& vital : epoch.body->vitals()) {
      if (vital.id() > UINT8_MAX) continue;
      for (int sub = 0; sub < vital.subs_size() && sub <= UINT8_MAX; ++sub) {
        subs.insert(vital.id() << 8 | static_cast<uint32_t>(sub));
      }
    }
  }
  uint32_t place = 0;
  for (uint32_t sub : subs) {
    block.add_sub(sub);
    for (const SeriesEpoch& epoch : epochs) {
      const v1::SubSeries* series = FindSub(*epoch.body, sub);
      uint64_t least = 0;
      uint64_t most = 0;
      if (series == nullptr) {
        block.add_absent(place);
      } else if (series->second_weight_size() != 0) {
        const auto [low, high] =
            std::minmax_element(series->second_weight().begin(), series->second_weight().end());
        least = *low;
        most = *high;
      }
      block.add_events(series == nullptr ? 0 : series->events());
      block.add_weight(series == nullptr ? 0 : series->weight());
      block.add_second_min(least);
      block.add_second_max(most);
      ++place;
    }
  }
  return block;
}

}  // namespace telltale::storage
