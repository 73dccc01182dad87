// The filters of a collector put together: log, runner with the built-in filters, and what the
// query engine asks. Owned by main; made before the engine, started once ingest runs, destroyed
// after the engine's last caller.

#ifndef TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_
#define TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/filter_runner.h"
#include "collector/filter/query_anomalies.h"
#include "collector/filter/replay.h"
#include "collector/incident/incident_book.h"
#include "storage/store.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

class FilterSide {
 public:
  // `store` outlives it. `log_line` takes what went wrong, from the runner's thread.
  static absl::StatusOr<std::unique_ptr<FilterSide>> Open(
      storage::Store* store, std::function<uint64_t()> now_ns,
      std::function<void(const std::string&)> log_line);

  void Start() { runner_->Start(); }
  void Stop() { runner_->Stop(); }

  // Which filters there are, and how they are; any thread.
  v1::ListFiltersAnswer List() const;
  // A filter over the past of a node again, see replay.h; any thread. NotFound: no such filter or
  // node.
  absl::StatusOr<Replayed> Run(const std::string& name, uint32_t node, uint64_t from_ns,
                               uint64_t to_ns, const std::function<bool()>& stop) const;

  incident::IncidentBook* incidents() const { return incidents_.get(); }
  AnomalyLog* log() { return log_.get(); }
  const FilterRunner* runner() const { return runner_.get(); }
  const query::AnomalySource* anomalies() const { return anomalies_.get(); }

 private:
  FilterSide() = default;
  storage::Store* store_ = nullptr;
  std::vector<const telltale_filter*> filters_;
  std::unique_ptr<AnomalyLog> log_;
  std::unique_ptr<incident::IncidentBook> incidents_;
  std::unique_ptr<StoreEpochSource> epochs_;
  std::unique_ptr<FilterRunner> runner_;
  std::unique_ptr<QueryAnomalies> anomalies_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_FILTER_SIDE_H_
