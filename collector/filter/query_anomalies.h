// What the query engine asks about anomalies, answered from log and stored outputs.
//
// Thread-safe; what it points to outlives it.

#ifndef TELLTALE_COLLECTOR_FILTER_QUERY_ANOMALIES_H_
#define TELLTALE_COLLECTOR_FILTER_QUERY_ANOMALIES_H_

#include <functional>
#include <string>
#include <vector>

#include "collector/filter/anomaly_list.h"
#include "collector/filter/anomaly_log.h"
#include "collector/filter/filter_versions.h"
#include "collector/query/engine.h"

namespace telltale::filter {

class QueryAnomalies : public query::AnomalySource {
 public:
  // `filters`: those that run; `learning`: where they cannot speak yet; any thread.
  QueryAnomalies(storage::DerivedStore* store, const AnomalyLog* log,
                 std::function<std::vector<FilterIdentity>()> filters,
                 std::function<std::vector<v1::FilterLearning>()> learning)
      : store_(store), log_(log), filters_(std::move(filters)), learning_(std::move(learning)) {}

  absl::StatusOr<v1::AnomaliesAnswer> List(const v1::AnomaliesRequest& request,
                                           const query::Selection& selection,
                                           const query::Cancelled& cancelled) const override;
  absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string& cursor,
                                                 size_t limit) const override {
    return log_->After(cursor, limit);
  }
  std::string Newest() const override { return log_->NowCursor(); }
  absl::StatusOr<v1::FilterSeriesAnswer> Series(const v1::FilterSeriesRequest& request,
                                                const query::Selection& selection,
                                                const query::Cancelled& cancelled) const override;

 private:
  // All that lists read.
  absl::StatusOr<std::vector<FilterIdentity>> Filters() const {
    return WithStored(*store_, filters_());
  }

  storage::DerivedStore* const store_;
  const AnomalyLog* const log_;
  const std::function<std::vector<FilterIdentity>()> filters_;
  const std::function<std::vector<v1::FilterLearning>()> learning_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_QUERY_ANOMALIES_H_
