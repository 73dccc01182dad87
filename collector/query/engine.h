// The one read path: every question of query.proto and its answer, with bounds and coverage. gRPC,
// web and metrics call it; it knows no transport.
//
// Thread-safe: answers share nothing but the source and the cache. Owned by main, outlives its
// callers.

#ifndef TELLTALE_COLLECTOR_QUERY_ENGINE_H_
#define TELLTALE_COLLECTOR_QUERY_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/query/answer_cache.h"
#include "collector/query/helpers.h"
#include "collector/query/selection.h"
#include "collector/query/source.h"
#include "telltale/v1/query.pb.h"

namespace telltale::query {

using Cancelled = std::function<bool()>;

// Anomalies as found by filters. Implemented beside the filters; thread-safe.
class AnomalySource {
 public:
  virtual ~AnomalySource() = default;
  // Newest first, `limit` at most; the request's vital, filter, min_severity and page apply.
  // Cancelled: as asked.
  virtual absl::StatusOr<v1::AnomaliesAnswer> List(const v1::AnomaliesRequest& request,
                                                   const Selection& selection,
                                                   const Cancelled& cancelled) const = 0;
  // At most `limit` that were stored after the cursor, in the order stored, each with its cursor.
  // InvalidArgument: not a cursor of ours.
  virtual absl::StatusOr<std::vector<v1::Anomaly>> After(const std::string& cursor,
                                                         size_t limit) const = 0;
  virtual std::string Newest() const = 0;  // cursor of the last one stored
  // The series that a filter emitted of its own; the request's filter, series, vital and limit
  // apply. NotFound: there is no such filter. Cancelled: as asked.
  virtual absl::StatusOr<v1::FilterSeriesAnswer> Series(const v1::FilterSeriesRequest& request,
                                                        const Selection& selection,
                                                        const Cancelled& cancelled) const = 0;
};

// What operators noted. Thread-safe.
class MarkSource {
 public:
  virtual ~MarkSource() = default;
  // Of [start_s, end_s), ascending by time: those of all nodes and those of `nodes`. A mark of
  // several nodes has a time on each: it is told with those of them that have it in that time, at
  // the time of the first.
  virtual std::vector<v1::Mark> Between(double start_s, double end_s,
                                        const std::set<std::string>& nodes) const = 0;
};

struct EngineOptions {
  const Source* source = nullptr;            // outlives the engine
  const AnomalySource* anomalies = nullptr;  // nullptr: no filters run
  const MarkSource* marks = nullptr;         // nullptr: nobody can note anything
  std::function<uint64_t()> now_ns;          // collector's wall clock
  std::string version;
  std::string store_id_hex;
  // Adds what only others know: ack latency, refusals, filters. May be empty.
  std::function<void(v1::StatusAnswer&)> add_status;
  // The effective configuration as text, without secrets, for the bundle. May be empty.
  std::function<std::string()> config_text;
  size_t cache_bytes = 64 << 20;  // answers kept; 0: none
  // Threads beside the asker's that read for answers about many nodes. Not given: one fewer than
  // there are processors, three at most.
  std::optional<size_t> helpers = std::nullopt;
};

class Engine {
 public:
  explicit Engine(EngineOptions options);

  // Errors: InvalidArgument (the question), NotFound (a name, with the nearest), ResourceExhausted
  // (too much, with the remedy), Cancelled. No data is not an error: the answer is empty and its
  // coverage says where data is.
  absl::StatusOr<v1::StatusAnswer> Status(const v1::StatusRequest& request,
                                          const Cancelled& cancelled) const;
  absl::StatusOr<v1::NodesAnswer> Nodes(const v1::NodesRequest& request,
                                        const Cancelled& cancelled) const;
  absl::StatusOr<v1::VitalsAnswer> Vitals(const v1::VitalsRequest& request,
                                          const Cancelled& cancelled) const;
  absl::StatusOr<v1::SeriesAnswer> Series(const v1::SeriesRequest& request,
                                          const Cancelled& cancelled) const;
  absl::StatusOr<v1::TopAnswer> Top(const v1::TopRequest& request,
                                    const Cancelled& cancelled) const;
  absl::StatusOr<v1::SamplesAnswer> Samples(const v1::SamplesRequest& request,
                                            const Cancelled& cancelled) const;
  absl::StatusOr<v1::StacksAnswer> Stacks(const v1::StacksRequest& request,
                                          const Cancelled& cancelled) const;
  // The bytes of the answer to this question, if it is kept and still valid, for who sends it on
  // as it is: to read a large one and write it again takes longer than to find it. nullptr: ask.
  std::shared_ptr<const std::string> Kept(const v1::SeriesRequest& request) const;
  std::shared_ptr<const std::string> Kept(const v1::TopRequest& request) const;
  absl::StatusOr<v1::FlameAnswer> Flame(const v1::FlameRequest& request,
                                        const Cancelled& cancelled) const;
  absl::StatusOr<v1::DiffAnswer> Diff(const v1::DiffRequest& request,
                                      const Cancelled& cancelled) const;
  absl::StatusOr<v1::HistogramAnswer> Histogram(const v1::HistogramRequest& request,
                                                const Cancelled& cancelled) const;
  absl::StatusOr<v1::CoverageAnswer> Coverage(const v1::CoverageRequest& request,
                                              const Cancelled& cancelled) const;
  absl::StatusOr<v1::HostLevelsAnswer> Host(const v1::HostLevelsRequest& request,
                                            const Cancelled& cancelled) const;
  absl::StatusOr<v1::EventsAnswer> Events(const v1::EventsRequest& request,
                                          const Cancelled& cancelled) const;
  absl::StatusOr<v1::AnomaliesAnswer> Anomalies(const v1::AnomaliesRequest& request,
                                                const Cancelled& cancelled) const;
  absl::StatusOr<v1::FilterSeriesAnswer> FilterSeries(const v1::FilterSeriesRequest& request,
                                                      const Cancelled& cancelled) const;
  absl::StatusOr<v1::MarksAnswer> Marks(const v1::MarksRequest& request,
                                        const Cancelled& cancelled) const;
  absl::StatusOr<v1::InvestigateAnswer> Investigate(const v1::InvestigateRequest& request,
                                                    const Cancelled& cancelled) const;
  // For a follower: what was stored after the cursor. Empty cursor: Newest() is where to begin.
  absl::StatusOr<std::vector<v1::Anomaly>> AnomaliesAfter(const std::string& cursor,
                                                          size_t limit) const;
  std::string NewestAnomaly() const;

  // What a maintainer asks for first: status, nodes, vitals, ledgers, configuration; each part <=
  // 64 KiB.
  absl::StatusOr<std::vector<v1::BundlePart>> Bundle(const Cancelled& cancelled) const;

  // The nodes and times a selection means, for who answers beside the engine. Errors as above.
  absl::StatusOr<Selection> Select(const v1::Selection& asked) const;

  AnswerCache::Figures CacheFigures() const { return cache_.figures(); }

 private:
  Context NewContext(const Cancelled& cancelled) const;
  // What a kept answer was computed from, as it is now.
  uint64_t StampNow(const AnswerBasis& basis) const;
  template <typename Request>
  std::shared_ptr<const std::string> KeptOf(char kind, const Request& request) const;
  // The kept answer to this question, or a new one.
  template <typename Answer, typename Request>
  absl::StatusOr<Answer> Remembered(char kind, const Request& request, const Cancelled& cancelled,
                                    absl::StatusOr<Answer> (*answer)(const Request&,
                                                                     const Context&)) const;
  // One of the two answers that a diff compares.
  absl::StatusOr<v1::TopAnswer> TopSide(v1::TopRequest request, const v1::Selection& selection,
                                        const Cancelled& cancelled) const;
  AnswerBasis BasisOf(const v1::Selection& asked, uint64_t now_ns) const;

  const EngineOptions options_;
  const uint64_t start_ns_;
  mutable AnswerCache cache_;  // thread-safe
  mutable Helpers helpers_;    // thread-safe
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_ENGINE_H_
