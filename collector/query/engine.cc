#include "collector/query/engine.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/comparison.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/events_answer.h"
#include "collector/query/flame.h"
#include "collector/query/histogram_answer.h"
#include "collector/query/host_answer.h"
#include "collector/query/investigate.h"
#include "collector/query/nodes_answer.h"
#include "collector/query/samples_answer.h"
#include "collector/query/series_answer.h"
#include "collector/query/top_answer.h"

namespace telltale::query {
namespace {

constexpr uint32_t kMaxMarks = 10'000;

// What is wrong with the second of two selections.
absl::Status OfAgainst(const absl::Status& status) {
  return {status.code(), absl::StrCat("against: ", status.message())};
}

size_t UsualHelpers() {
  constexpr unsigned kMost = 3;
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  return std::min(processors - 1, kMost);
}

bool Has(const v1::TopAnswer& answer, v1::Dimension by) {
  return std::any_of(answer.tables().begin(), answer.tables().end(),
                     [&](const v1::TopTable& table) { return table.by() == by; });
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      start_ns_(options_.now_ns()),
      cache_(options_.cache_bytes),
      helpers_(options_.helpers.value_or(UsualHelpers())) {}

Context Engine::NewContext(const Cancelled& cancelled) const {
  Context context;
  context.source = options_.source;
  context.now_ns = options_.now_ns();
  context.helpers = &helpers_;
  if (cancelled) context.cancelled = cancelled;
  return context;
}

AnswerBasis Engine::BasisOf(const v1::Selection& asked, uint64_t now_ns) const {
  // An epoch across the edge of an hour is stamped in one of the two.
  constexpr uint64_t kLongestEpochNs = 120 * storage::kSecondNs;
  // What an answer says of the last minutes changes with the clock: "on its way", "silent".
  constexpr uint64_t kUnsettledNs = 300 * storage::kSecondNs;
  constexpr uint64_t kOpenLifeNs = 5 * storage::kSecondNs, kLifeNs = 300 * storage::kSecondNs;
  // 0, as for a time that was not given, for one that no answer comes to.
  const auto to_ns = [](double seconds) {
    return seconds > 0 && seconds < 4e9 ? static_cast<uint64_t>(seconds * 1e9) : uint64_t{0};
  };
  AnswerBasis basis;
  const uint64_t asked_end = to_ns(asked.end_s()), asked_start = to_ns(asked.start_s());
  const uint64_t end = asked_end > 0 ? asked_end : now_ns;
  const uint64_t start = asked_start > 0 ? asked_start : end - std::min(end, storage::kHourNs);
  const uint64_t this_hour = storage::FloorTo(now_ns, storage::kHourNs);
  const bool open = end > this_hour || end + kUnsettledNs > now_ns;
  // Coarser windows are computed after what they hold was stamped: asked for alone, they change
  // without a new stamp.
  const bool windows_only = asked.tier() > v1::TIER_RAW;
  basis.from_ns = start - std::min(start, kLongestEpochNs);
  basis.to_ns = open ? std::min(end, this_hour) : end + kLongestEpochNs;
  basis.expires_ns = now_ns + (open || windows_only ? kOpenLifeNs : kLifeNs);
  if (asked.nodes_size() > 0) {
    std::set<uint32_t> groups;
    const std::unordered_set<std::string_view> names(asked.nodes().begin(), asked.nodes().end());
    for (const storage::NodeRecord& node : options_.source->Nodes()) {
      if (names.contains(node.name())) groups.insert(node.number() / storage::kLineGroupNodes);
    }
    basis.groups.assign(groups.begin(), groups.end());
  }
  basis.stamp = options_.source->Stamp(basis.groups, basis.from_ns, basis.to_ns);
  return basis;
}

uint64_t Engine::StampNow(const AnswerBasis& basis) const {
  return options_.source->Stamp(basis.groups, basis.from_ns, basis.to_ns);
}

template <typename Request>
std::shared_ptr<const std::string> Engine::KeptOf(char kind, const Request& request) const {
  if (!cache_.enabled()) return nullptr;
  return cache_.FindFirst(kind + request.SerializeAsString(), options_.now_ns(),
                          [this](const AnswerBasis& basis) { return StampNow(basis); });
}

template <typename Answer, typename Request>
absl::StatusOr<Answer> Engine::Remembered(char kind, const Request& request,
                                          const Cancelled& cancelled,
                                          absl::StatusOr<Answer> (*answer)(const Request&,
                                                                           const Context&)) const {
  const Context context = NewContext(cancelled);
  if (!cache_.enabled()) return answer(request, context);
  const std::string key = kind + request.SerializeAsString();
  const auto kept = cache_.Find(key, context.now_ns,
                                [this](const AnswerBasis& basis) { return StampNow(basis); });
  Answer known;
  if (kept != nullptr && known.ParseFromString(*kept)) return known;
  AnswerBasis basis = BasisOf(request.selection(), context.now_ns);
  absl::StatusOr<Answer> fresh = answer(request, context);
  if (fresh.ok()) cache_.Keep(key, fresh->SerializeAsString(), std::move(basis));
  return fresh;
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
  return Remembered('s', request, cancelled, &AnswerSeries);
}

absl::StatusOr<v1::TopAnswer> Engine::Top(const v1::TopRequest& request,
                                          const Cancelled& cancelled) const {
  return Remembered('t', request, cancelled, &AnswerTop);
}

absl::StatusOr<v1::SamplesAnswer> Engine::Samples(const v1::SamplesRequest& request,
                                                  const Cancelled& cancelled) const {
  return AnswerSamples(request, NewContext(cancelled));
}

absl::StatusOr<v1::StacksAnswer> Engine::Stacks(const v1::StacksRequest& request,
                                                const Cancelled& cancelled) const {
  return Remembered('k', request, cancelled, &AnswerStacks);
}

std::shared_ptr<const std::string> Engine::Kept(const v1::SeriesRequest& request) const {
  return KeptOf('s', request);
}
std::shared_ptr<const std::string> Engine::Kept(const v1::TopRequest& request) const {
  return KeptOf('t', request);
}

absl::StatusOr<v1::FlameAnswer> Engine::Flame(const v1::FlameRequest& request,
                                              const Cancelled& cancelled) const {
  if (request.max_nodes() > kMaxFlameNodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flame: max_nodes ", request.max_nodes(), " is above ", kMaxFlameNodes, "; ask for fewer"));
  }
  const uint32_t most = request.max_nodes() == 0 ? kUsualFlameNodes : request.max_nodes();
  v1::StacksRequest question = request.stacks();
  question.clear_limit();
  const auto selected = Remembered('f', question, cancelled, &AnswerStacksWhole);
  if (!selected.ok()) return selected.status();
  if (!request.has_against()) return FlameOf(*selected, nullptr, most);
  *question.mutable_selection() =
      AgainstOf(request.stacks().selection(), request.against(), Seconds(options_.now_ns()));
  const auto against = Remembered('f', question, cancelled, &AnswerStacksWhole);
  if (!against.ok()) return OfAgainst(against.status());
  return FlameOf(*selected, &*against, most);
}

absl::StatusOr<v1::TopAnswer> Engine::TopSide(v1::TopRequest request,
                                              const v1::Selection& selection,
                                              const Cancelled& cancelled) const {
  request.clear_limit();
  *request.mutable_selection() = selection;
  return Remembered('d', request, cancelled, &AnswerTopWhole);
}

absl::StatusOr<v1::DiffAnswer> Engine::Diff(const v1::DiffRequest& request,
                                            const Cancelled& cancelled) const {
  constexpr uint32_t kUsualRows = 10;
  if (absl::Status status = CheckTopLimit(request.top().limit()); !status.ok()) return status;
  if (!request.top().page().empty()) {
    return absl::InvalidArgumentError("diff: has no pages; leave out top.page and raise the limit");
  }
  const uint32_t limit = request.top().limit() == 0 ? kUsualRows : request.top().limit();
  const v1::Selection against_selection =
      AgainstOf(request.top().selection(), request.against(), Seconds(options_.now_ns()));
  v1::TopRequest question = request.top();
  while (true) {
    const absl::StatusOr<v1::TopAnswer> selected =
        TopSide(question, request.top().selection(), cancelled);
    if (!selected.ok()) return selected.status();
    const absl::StatusOr<v1::TopAnswer> against = TopSide(question, against_selection, cancelled);
    if (!against.ok()) return OfAgainst(against.status());
    const bool alike = Has(*selected, question.by()) == Has(*against, question.by());
    if (question.by() != v1::DIMENSION_PROCESS || alike) {
      return CompareTops(*selected, *against, limit);
    }
    question.set_by(v1::DIMENSION_EXE);  // one side is of windows, which keep no single processes
  }
}

absl::StatusOr<v1::HistogramAnswer> Engine::Histogram(const v1::HistogramRequest& request,
                                                      const Cancelled& cancelled) const {
  return Remembered('h', request, cancelled, &AnswerHistogram);
}

absl::StatusOr<v1::CoverageAnswer> Engine::Coverage(const v1::CoverageRequest& request,
                                                    const Cancelled& cancelled) const {
  return AnswerCoverage(request, NewContext(cancelled));
}

absl::StatusOr<v1::HostLevelsAnswer> Engine::Host(const v1::HostLevelsRequest& request,
                                                  const Cancelled& cancelled) const {
  return Remembered('o', request, cancelled, &AnswerHost);
}

absl::StatusOr<v1::EventsAnswer> Engine::Events(const v1::EventsRequest& request,
                                                const Cancelled& cancelled) const {
  std::vector<v1::Mark> marks;
  if (request.types().empty()) {
    v1::MarksRequest noted;
    *noted.mutable_selection() = request.selection();
    noted.set_limit(kMaxMarks);
    absl::StatusOr<v1::MarksAnswer> answer = Marks(noted, cancelled);
    if (!answer.ok()) return answer.status();
    marks.assign(answer->marks().begin(), answer->marks().end());
  }
  return AnswerEvents(request, marks, NewContext(cancelled));
}

absl::StatusOr<v1::AnomaliesAnswer> Engine::Anomalies(const v1::AnomaliesRequest& request,
                                                      const Cancelled& cancelled) const {
  const Context context = NewContext(cancelled);
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (!(request.min_severity() >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("anomalies: severity of at least ", request.min_severity(),
                     ": must be 0 or more deviations, drops count like rises"));
  }
  const VitalBook book(*selection, context);
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), true);
  if (!choices.ok()) return choices.status();
  CoverageBuilder coverage(*selection, context);
  v1::AnomaliesAnswer answer;
  if (options_.anomalies == nullptr) {
    coverage.Note("no filter runs on this collector, so nothing looks for anomalies");
  } else {
    absl::StatusOr<v1::AnomaliesAnswer> listed =
        options_.anomalies->List(request, *selection, cancelled);
    if (!listed.ok()) return listed;
    answer = *std::move(listed);
    for (const std::string& note : answer.coverage().notes()) coverage.Note(note);
  }
  // No anomaly is a good answer, not a missing one: only missing data makes it empty.
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, true);
  if (finished.ok() && finished->epochs_received() == 0)
    finished = coverage.Finish(v1::TIER_RAW, false);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

absl::StatusOr<v1::FilterSeriesAnswer> Engine::FilterSeries(const v1::FilterSeriesRequest& request,
                                                            const Cancelled& cancelled) const {
  const Context context = NewContext(cancelled);
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  if (const auto choices = book.Choose(request.vital(), true); !choices.ok()) {
    return choices.status();
  }
  if (options_.anomalies == nullptr) {
    return absl::FailedPreconditionError(
        "filter series: no filter runs on this collector, so none has a series");
  }
  absl::StatusOr<v1::FilterSeriesAnswer> answer =
      options_.anomalies->Series(request, *selection, cancelled);
  if (!answer.ok()) return answer;
  CoverageBuilder coverage(*selection, context);
  for (const std::string& note : answer->coverage().notes()) coverage.Note(note);
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, false);
  if (!finished.ok()) return finished.status();
  *answer->mutable_coverage() = *std::move(finished);
  return answer;
}

absl::StatusOr<v1::MarksAnswer> Engine::Marks(const v1::MarksRequest& request,
                                              const Cancelled& cancelled) const {
  constexpr uint32_t kUsualMarks = 200;
  const Context context = NewContext(cancelled);
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (request.limit() > kMaxMarks) {
    return absl::InvalidArgumentError(absl::StrCat("marks: limit ", request.limit(), " is above ",
                                                   kMaxMarks, "; narrow the time"));
  }
  v1::MarksAnswer answer;
  if (options_.marks == nullptr) return answer;
  std::set<std::string> nodes;
  for (const storage::NodeRecord& node : selection->nodes) nodes.insert(node.name());
  for (v1::Mark& mark :
       options_.marks->Between(Seconds(selection->start_ns), Seconds(selection->end_ns), nodes)) {
    *answer.add_marks() = std::move(mark);
  }
  const int most = static_cast<int>(request.limit() == 0 ? kUsualMarks : request.limit());
  const int left_out = std::max(0, answer.marks_size() - most);
  answer.set_left_out(static_cast<uint32_t>(left_out));
  answer.mutable_marks()->DeleteSubrange(0, left_out);
  return answer;
}

absl::StatusOr<v1::InvestigateAnswer> Engine::Investigate(const v1::InvestigateRequest& request,
                                                          const Cancelled& cancelled) const {
  return AnswerInvestigate(request, *this, NewContext(cancelled));
}

absl::StatusOr<std::vector<v1::Anomaly>> Engine::AnomaliesAfter(const std::string& cursor,
                                                                size_t limit) const {
  if (options_.anomalies == nullptr) {
    return absl::FailedPreconditionError(
        "anomalies: no filter runs on this collector, so there is nothing to follow");
  }
  return options_.anomalies->After(cursor, limit);
}

absl::StatusOr<Selection> Engine::Select(const v1::Selection& asked) const {
  return Resolve(asked, NewContext([] { return false; }));
}

std::string Engine::NewestAnomaly() const {
  return options_.anomalies == nullptr ? "" : options_.anomalies->Newest();
}

}  // namespace telltale::query
