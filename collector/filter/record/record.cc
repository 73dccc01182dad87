#include "collector/filter/record/record.h"

#include <algorithm>

namespace telltale::filter {

std::optional<v1::FilterRecord> RecordOf(std::string_view filter, uint32_t version) {
  const MeasuredRecord& measured = Measured();
  const auto of = std::ranges::find_if(measured.filters, [&](const MeasuredFilter& known) {
    return known.name == filter && known.version <= version;
  });
  if (of == measured.filters.end()) return std::nullopt;
  v1::FilterRecord record;
  record.set_hits(of->hits);
  record.set_misses(of->misses);
  record.set_false_alarms(of->false_alarms);
  record.set_epochs(of->epochs);
  record.set_most_epochs(of->most_epochs);
  record.set_mute(of->mute != 0);
  record.set_low(of->low);
  record.set_high(of->high);
  record.set_without_counters(of->without_counters != 0);
  record.set_measured(of->measured);
  record.set_faults(measured.faults);
  record.set_innocent_loads(measured.innocent_loads);
  if (of->version != version) record.set_earlier_version(of->version);
  return record;
}

}  // namespace telltale::filter
