#include "collector/query/engine.h"

#include <utility>

#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/events_answer.h"
#include "collector/query/histogram_answer.h"
#include "collector/query/nodes_answer.h"
#include "collector/query/samples_answer.h"
#include "collector/query/series_answer.h"
#include "collector/query/top_answer.h"

namespace telltale::query {

Engine::Engine(EngineOptions options)
    : options_(std::move(options)), start_ns_(options_.now_ns()) {}

Context Engine::NewContext(const Cancelled& cancelled) const {
  Context context;
  context.source = options_.source;
  context.now_ns = options_.now_ns();
  if (cancelled) context.cancelled = cancelled;
  return context;
}

absl::StatusOr<v1::StatusAnswer> Engine::Status(const v1::StatusRequest&,
                                                const Cancelled& cancelled) const {
  absl::StatusOr<v1::StatusAnswer> answer = AnswerStatus(NewContext(cancelled));
  if (!answer.ok()) return answer;
  answer->set_version(options_.version);
  answer->set_store_id(options_.store_id_hex);
  answer->set_start_s(Seconds(start_ns_));
  if (options_.add_status) options_.add_status(*answer);
  return answer;
}

absl::StatusOr<v1::NodesAnswer> Engine::Nodes(const v1::NodesRequest& request,
                                              const Cancelled& cancelled) const {
  return AnswerNodes(request, NewContext(cancelled));
}

absl::StatusOr<v1::VitalsAnswer> Engine::Vitals(const v1::VitalsRequest&,
                                                const Cancelled& cancelled) const {
  return AnswerVitals(NewContext(cancelled));
}

absl::StatusOr<v1::SeriesAnswer> Engine::Series(const v1::SeriesRequest& request,
                                                const Cancelled& cancelled) const {
  return AnswerSeries(request, NewContext(cancelled));
}

absl::StatusOr<v1::TopAnswer> Engine::Top(const v1::TopRequest& request,
                                          const Cancelled& cancelled) const {
  return AnswerTop(request, NewContext(cancelled));
}

absl::StatusOr<v1::SamplesAnswer> Engine::Samples(const v1::SamplesRequest& request,
                                                  const Cancelled& cancelled) const {
  return AnswerSamples(request, NewContext(cancelled));
}

absl::StatusOr<v1::StacksAnswer> Engine::Stacks(const v1::StacksRequest& request,
                                                const Cancelled& cancelled) const {
  return AnswerStacks(request, NewContext(cancelled));
}

absl::StatusOr<v1::HistogramAnswer> Engine::Histogram(const v1::HistogramRequest& request,
                                                      const Cancelled& cancelled) const {
  return AnswerHistogram(request, NewContext(cancelled));
}

absl::StatusOr<v1::CoverageAnswer> Engine::Coverage(const v1::CoverageRequest& request,
                                                    const Cancelled& cancelled) const {
  return AnswerCoverage(request, NewContext(cancelled));
}

absl::StatusOr<v1::EventsAnswer> Engine::Events(const v1::EventsRequest& request,
                                                const Cancelled& cancelled) const {
  return AnswerEvents(request, NewContext(cancelled));
}

absl::StatusOr<v1::AnomaliesAnswer> Engine::Anomalies(const v1::AnomaliesRequest& request,
                                                      const Cancelled& cancelled) const {
  const Context context = NewContext(cancelled);
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), true);
  if (!choices.ok()) return choices.status();
  CoverageBuilder coverage(*selection, context);
  v1::AnomaliesAnswer answer;
  if (options_.anomalies == nullptr) {
    coverage.Note("no filter runs on this collector, so nothing looks for anomalies");
  } else {
    absl::StatusOr<v1::AnomaliesAnswer> listed = options_.anomalies->List(request, *selection);
    if (!listed.ok()) return listed;
    answer = *std::move(listed);
  }
  // No anomaly is a good answer, not a missing one: only missing data makes it empty.
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, true);
  if (finished.ok() && finished->epochs_received() == 0)
    finished = coverage.Finish(v1::TIER_RAW, false);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

absl::StatusOr<std::vector<v1::Anomaly>> Engine::AnomaliesAfter(const std::string& cursor,
                                                                size_t limit) const {
  if (options_.anomalies == nullptr) {
    return absl::FailedPreconditionError(
        "anomalies: no filter runs on this collector, so there is nothing to follow");
  }
  return options_.anomalies->After(cursor, limit);
}

std::string Engine::NewestAnomaly() const {
  return options_.anomalies == nullptr ? "" : options_.anomalies->Newest();
}

}  // namespace telltale::query
