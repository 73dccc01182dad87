#include "collector/ingest/live_rates.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "proto/convert.h"
#include "sketch/vitals.h"

namespace telltale::ingest {

v1::LiveSecond RatesOf(const std::string& node, const v1::Live& live) {
  v1::LiveSecond second;
  second.set_node(node);
  second.set_end_s(static_cast<double>(live.unix_ns()) * 1e-9);
  for (const v1::LiveVital& told : live.vitals()) {
    if (told.id() > std::numeric_limits<uint8_t>::max()) continue;
    const sketch::Vital* vital = sketch::FindVital(static_cast<uint8_t>(told.id()));
    if (vital == nullptr) continue;
    const proto::BaseUnit unit = proto::BaseUnitOf(static_cast<v1::Unit>(vital->unit));
    v1::LiveRate& rate = *second.add_vitals();
    rate.set_vital(std::string(vital->name));
    rate.set_unit(unit.name);
    const int subs = std::min<int>(told.sub_weight_size(), static_cast<int>(vital->subs.size()));
    for (int i = 0; i < subs; ++i) {
      const double value = static_cast<double>(told.sub_weight(i)) * unit.factor;
      rate.add_sub_rate(value);
      if (!vital->subs[static_cast<size_t>(i)].idle) rate.set_rate(rate.rate() + value);
    }
  }
  return second;
}

}  // namespace telltale::ingest
