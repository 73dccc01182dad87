// The series that filters emit of their own, read from what is stored of them. Free functions; any
// thread.

#ifndef TELLTALE_COLLECTOR_FILTER_SERIES_LIST_H_
#define TELLTALE_COLLECTOR_FILTER_SERIES_LIST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/anomaly_list.h"
#include "storage/derived.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

struct SeriesQuery {
  uint64_t from_ns = 0, to_ns = 0;                                // points in [from, to)
  std::function<std::optional<std::string>(uint32_t)> node_name;  // nullopt: not asked about
  std::string series;                                             // empty: all
  std::string vital;                                              // "cpu", "cpu/user"; empty: all
  size_t limit = 0;                                               // points, all together
  std::function<bool()> cancelled = [] { return false; };
};

// Of the versions of one filter: what the first ones say of an hour replaces what later ones do,
// see filter_versions.h, and each has series of its own. Of coverage only what damage weakens is
// noted. DataLoss: what is stored is damaged; Cancelled: as asked.
absl::StatusOr<v1::FilterSeriesAnswer> ListSeries(storage::DerivedStore* store,
                                                  const std::vector<FilterIdentity>& versions,
                                                  const SeriesQuery& query);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_SERIES_LIST_H_
