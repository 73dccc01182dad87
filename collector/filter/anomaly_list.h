// Anomalies by node and time, as the filters' stored outputs have them now: with their end and
// their peak.
//
// Thread-safe; reads the store only.

#ifndef TELLTALE_COLLECTOR_FILTER_ANOMALY_LIST_H_
#define TELLTALE_COLLECTOR_FILTER_ANOMALY_LIST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/filter_versions.h"
#include "storage/derived.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

struct AnomalyQuery {
  uint64_t from_ns = 0;  // those that overlap [from, to)
  uint64_t to_ns = 0;
  // Name of a node that is selected; nullopt: it is not.
  std::function<std::optional<std::string>(uint32_t node)> node_name;
  // Where few are selected and the time is not long, as each day of each is sought: these. Empty:
  // all are read and asked for.
  std::vector<uint32_t> nodes;
  std::function<bool()> cancelled = [] { return false; };
  std::string vital;        // "" all, "blocking" or "blocking/disk"
  std::string filter;       // "": all
  double min_severity = 0;  // of its absolute value
  size_t limit = 1000;
  std::string page;  // from AnomalyPage::next_page
};

struct AnomalyPage {
  std::vector<v1::Anomaly> anomalies;  // newest start first, then by id
  std::string next_page;               // empty: that was all
  uint64_t unreadable = 0;             // node-hours that damage keeps from being read; an estimate
};

// One that began more than a day before `from` is found if it went on for as long as its filter has
// been shown epochs of that day. Of filters of one name, what the first ones say of an hour
// replaces what later ones do, see filter_versions.h; of those that do not run none is open.
// InvalidArgument: a page that is none. Cancelled: as asked.
absl::StatusOr<AnomalyPage> ListAnomalies(storage::DerivedStore* store,
                                          const std::vector<FilterIdentity>& filters,
                                          const AnomalyQuery& query);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_ANOMALY_LIST_H_
