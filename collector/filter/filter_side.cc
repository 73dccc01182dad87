#include "collector/filter/filter_side.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

#include "collector/filter/detect/detectors.h"
#include "collector/query/nearest.h"

namespace telltale::filter {

absl::StatusOr<std::unique_ptr<FilterSide>> FilterSide::Open(
    storage::Store* store, std::function<uint64_t()> now_ns,
    std::function<void(const std::string&)> log_line) {
  std::unique_ptr<FilterSide> side(new FilterSide);
  auto log = AnomalyLog::Open({.store = &store->derived()});
  if (!log.ok()) return log.status();
  side->log_ = *std::move(log);
  auto incidents =
      incident::IncidentBook::Open({.store = &store->derived(), .log = side->log_.get()});
  if (!incidents.ok()) return incidents.status();
  side->incidents_ = *std::move(incidents);
  side->epochs_ = std::make_unique<StoreEpochSource>(&store->reader());
  side->store_ = store;
  side->filters_ = BuiltinFilters();
  FilterRunnerOptions options;
  options.source = side->epochs_.get();
  options.store = &store->derived();
  options.log = side->log_.get();
  options.filters = side->filters_;
  options.after_look = [book = side->incidents_.get(), now_ns] { return book->Advance(now_ns()); };
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

v1::ListFiltersAnswer FilterSide::List() const {
  v1::ListFiltersAnswer answer;
  std::map<std::string, uint32_t> learning;
  for (const v1::FilterLearning& told : runner_->Learning()) ++learning[told.filter()];
  const std::vector<v1::FilterStatus> status = runner_->Status();
  for (const telltale_filter* filter : filters_) {
    v1::FilterInfo& info = *answer.add_filters();
    info.set_name(filter->name);
    info.set_version(filter->version);
    info.set_about(filter->about);
    info.set_rule(TELLTALE_FILTER_HAS(filter, telltale_filter, rule) ? filter->rule : 0);
    for (const char* const* vital = filter->vitals; vital != nullptr && *vital != nullptr;
         ++vital) {
      info.add_vitals(*vital);
    }
    const auto of = std::ranges::find(status, info.name(), &v1::FilterStatus::name);
    if (of != status.end()) *info.mutable_status() = *of;
    info.set_nodes_learning(learning[info.name()]);
    info.set_nodes(static_cast<uint32_t>(store_->reader().Nodes().size()));
  }
  return answer;
}

absl::StatusOr<Replayed> FilterSide::Run(const std::string& name, uint32_t node, uint64_t from_ns,
                                         uint64_t to_ns, const std::function<bool()>& stop) const {
  const auto filter = std::ranges::find_if(
      filters_, [&](const telltale_filter* known) { return name == known->name; });
  if (filter == filters_.end()) {
    std::vector<std::string> known;
    for (const telltale_filter* one : filters_) known.emplace_back(one->name);
    return absl::NotFoundError(absl::StrCat("filter run: filter \"", name.substr(0, 64),
                                            "\" is unknown", query::NearestHint(name, known)));
  }
  for (NodeHead& head : epochs_->Nodes()) {
    if (head.number != node) continue;
    return Replay({.filter = *filter,
                   .filter_options = {},
                   .source = epochs_.get(),
                   .store = &store_->derived(),
                   .node = std::move(head),
                   .from_ns = from_ns,
                   .to_ns = to_ns},
                  stop);
  }
  return absl::NotFoundError(absl::StrCat("filter run: no node has number ", node));
}

}  // namespace telltale::filter
