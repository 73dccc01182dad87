#include "collector/filter/filter_side.h"

#include "collector/filter/ewma.h"

namespace telltale::filter {

absl::StatusOr<std::unique_ptr<FilterSide>> FilterSide::Open(
    storage::Store* store, std::function<uint64_t()> now_ns,
    std::function<void(const std::string&)> log_line) {
  std::unique_ptr<FilterSide> side(new FilterSide);
  auto log = AnomalyLog::Open({.store = &store->derived()});
  if (!log.ok()) return log.status();
  side->log_ = *std::move(log);
  side->epochs_ = std::make_unique<StoreEpochSource>(&store->reader());
  FilterRunnerOptions options;
  options.source = side->epochs_.get();
  options.store = &store->derived();
  options.log = side->log_.get();
  options.filters = {telltale_ewma_filter()};
  options.now_ns = std::move(now_ns);
  options.log_line = std::move(log_line);
  auto runner = FilterRunner::Open(std::move(options));
  if (!runner.ok()) return runner.status();
  side->runner_ = *std::move(runner);
  side->anomalies_ = std::make_unique<QueryAnomalies>(
      &store->derived(), side->log_.get(), side->runner_->filters(),
      [runner = side->runner_.get()] { return runner->Learning(); });
  return side;
}

}  // namespace telltale::filter
