// What was measured of the filters on faults and loads whose truth is known (tests/scenario/run):
// record.json beside this file, read when the build is configured. RECORD.md is its page.
//
// Constant; any thread.

#ifndef TELLTALE_COLLECTOR_FILTER_RECORD_RECORD_H_
#define TELLTALE_COLLECTOR_FILTER_RECORD_RECORD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "telltale/v1/query.pb.h"

namespace telltale::filter {

struct MeasuredFilter {
  const char* name;
  uint32_t version, built;  // what was measured, and what is built of these sources
  uint32_t hits, misses, false_alarms;
  uint32_t epochs, most_epochs;  // whole ones to the finding: median and most; 0: nothing was found
  uint32_t mute;                 // 1: no innocent load was such that it could have spoken
  uint32_t without_counters;     // 1: it uses hardware counters, and there were none
  double low, high;
  const char* measured;  // the day, or "FIRST to LAST"
};
struct MeasuredRecord {
  const char* day;
  uint32_t faults, innocent_loads;
  std::span<const MeasuredFilter> filters;
};
const MeasuredRecord& Measured();

// nullopt: neither this version of the filter nor an earlier one was measured. The figures of an
// earlier one say so: another version is another filter.
std::optional<v1::FilterRecord> RecordOf(std::string_view filter, uint32_t version);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_RECORD_RECORD_H_
