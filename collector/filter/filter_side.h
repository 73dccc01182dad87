// The filters of a collector put together: log, runner with the built-in filters, those of
// filters.d, and what the query engine asks. Owned by main; made before the engine, started once
// ingest runs, destroyed after the engine's last caller.

#ifndef TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_
#define TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/filter_runner.h"
#include "collector/filter/fleet/fleet_watch.h"
#include "collector/filter/host/user_filters.h"
#include "collector/filter/query_anomalies.h"
#include "collector/filter/replay.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/silence_book.h"
#include "storage/store.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

struct FilterSideOptions {
  storage::Store* store = nullptr;  // outlives it
  std::function<uint64_t()> now_ns;
  std::function<void(const std::string&)> log_line;  // what went wrong; any thread
  // What filters mark, each once; from several threads; may be empty.
  std::function<absl::Status(const std::string& filter, const std::string& node,
                             const v1::FilterMark& mark)>
      on_mark;
  uint32_t learn_epochs = 0;  // what rules see of a node before they speak
  FilterOptions filter_options;
  std::set<std::string> hints;  // filters whose anomalies begin no incident
  std::string user_directory;   // filters.d; empty: none
  HostOptions host;             // of its filters
  // What became of one of them, a line at each change; any thread.
  std::function<void(const std::string& filter, const std::string& what)> user_changed;
};

class FilterSide {
 public:
  static absl::StatusOr<std::unique_ptr<FilterSide>> Open(FilterSideOptions options);

  void Start();
  void Stop();

  // Which filters there are, and how they are; any thread.
  v1::ListFiltersAnswer List() const;
  // A filter over the past of a node again, see replay.h; any thread. NotFound: no such filter or
  // node.
  absl::StatusOr<Replayed> Run(const std::string& name, uint32_t node, uint64_t from_ns,
                               uint64_t to_ns, const std::function<bool()>& stop) const;

  incident::IncidentBook* incidents() const { return incidents_.get(); }
  incident::SilenceBook* silences() const { return silences_.get(); }
  AnomalyLog* log() { return log_.get(); }
  const query::AnomalySource* anomalies() const { return anomalies_.get(); }

 private:
  FilterSide() = default;
  // Whether an anomaly of the kind is open on one of the nodes (none named: on any); runner's
  // thread.
  bool GoesOn(const v1::StoredSymptom& symptom, const NodeNames& nodes) const;
  // What is held open of it there, also of nodes that are not heard of now; runner's thread.
  incident::HeldOpen Held(const v1::StoredSymptom& symptom, const NodeNames& nodes) const;
  std::vector<v1::FilterLearning> Learning() const;
  absl::Status Unknown(const std::string& name) const;
  storage::Store* store_ = nullptr;
  std::vector<const telltale_filter*> filters_;
  FilterOptions filter_options_;
  std::unique_ptr<AnomalyLog> log_;
  std::unique_ptr<incident::SilenceBook> silences_;
  std::unique_ptr<incident::IncidentBook> incidents_;
  std::unique_ptr<StoreEpochSource> epochs_;
  std::unique_ptr<FleetWatch> fleet_;
  std::unique_ptr<FilterRunner> runner_;
  std::unique_ptr<UserFilters> users_;
  std::unique_ptr<QueryAnomalies> anomalies_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_
