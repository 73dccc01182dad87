// Units in which answers count: stored integers become doubles in base units (seconds, bytes, 1).

#ifndef TELLTALE_COLLECTOR_QUERY_BASE_UNIT_H_
#define TELLTALE_COLLECTOR_QUERY_BASE_UNIT_H_

#include <cstdint>
#include <string_view>

#include "telltale/v1/summary.pb.h"

namespace telltale::query {

// One stored unit in base units: 1e-9 for nanoseconds, else 1.
double BaseFactor(v1::Unit unit);

// "s", "bytes", "pages", "calls", "signals", "misses", "segments"; "units" for ones we do not know.
std::string_view BaseUnitName(v1::Unit unit);

inline double Seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_BASE_UNIT_H_
