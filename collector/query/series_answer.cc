#include "collector/query/series_answer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/process_filter.h"
#include "collector/query/series_lines.h"
#include "collector/query/series_process.h"
#include "collector/query/series_tiers.h"

namespace telltale::query {
namespace {

constexpr uint32_t kMaxPoints = 2000;
constexpr size_t kMaxLines = 5000;

absl::Status TooManyLines(size_t lines) {
  return absl::InvalidArgumentError(absl::StrCat("series: ", lines, " lines asked for, limit ",
                                                 kMaxLines, "; name fewer vitals or nodes"));
}

// The widest epoch or window of the selection: the grid on which sums over nodes are made.
double SlotSeconds(const Selection& selection, v1::Tier tier) {
  double widest = 1;
  for (const storage::NodeRecord& node : selection.nodes) {
    if (tier == v1::TIER_RAW && node.info().epoch_length_s() == 0) continue;
    widest = std::max(widest, TierSeconds(tier, node));
  }
  return widest;
}

// Leaves the vitals that keep a backlog; one that was named and keeps none is an error.
absl::Status KeepBacklogs(const VitalBook& book, bool named, std::vector<VitalChoice>& choices) {
  const auto none = [](const VitalChoice& choice) { return !choice.vital.has_backlog(); };
  const auto wrong = std::find_if(choices.begin(), choices.end(), none);
  if (named && wrong != choices.end()) {
    std::vector<std::string> names;
    for (const auto& [id, vital] : book.all()) {
      if (vital.has_backlog()) names.push_back(vital.name());
    }
    return absl::InvalidArgumentError(
        absl::StrCat("series: ", wrong->vital.name(),
                     " keeps no backlog; those that do: ", absl::StrJoin(names, ", ")));
  }
  choices.erase(std::remove_if(choices.begin(), choices.end(), none), choices.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::SeriesAnswer> AnswerSeries(const v1::SeriesRequest& request,
                                              const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const uint32_t limit =
      request.max_points() == 0 ? kMaxPoints : std::min(request.max_points(), kMaxPoints);
  const VitalBook book(*selection, context);
  std::vector<VitalChoice> choices;
  std::vector<std::string> asked(request.vitals().begin(), request.vitals().end());
  if (asked.empty()) asked.push_back("");
  std::set<std::string_view> named;
  for (const std::string& text : asked) {
    if (!named.insert(text).second) continue;  // the same line again
    absl::StatusOr<std::vector<VitalChoice>> some = book.Choose(text, false);
    if (!some.ok()) return some.status();
    choices.insert(choices.end(), some->begin(), some->end());
    if (choices.size() > kMaxLines) return TooManyLines(choices.size());
  }
  if (request.backlog()) {
    if (absl::Status status = KeepBacklogs(book, !request.vitals().empty(), choices);
        !status.ok()) {
      return status;
    }
  }
  const size_t lines = choices.size() * (request.per_node() ? selection->nodes.size() : 1);
  if (lines > kMaxLines) return TooManyLines(lines);
  std::vector<uint32_t> vitals;
  for (const VitalChoice& choice : choices) vitals.push_back(choice.vital.id());
  std::map<uint32_t, std::string> names;
  for (const storage::NodeRecord& node : selection->nodes) names[node.number()] = node.name();

  const bool process = !request.process().empty();
  const bool inside_epochs = request.per_second() || request.backlog();
  if (process && inside_epochs) {
    return absl::InvalidArgumentError(
        "series: single seconds and the backlog are of all processes together; leave the process "
        "or them away");
  }
  const bool one_pid = ProcessFilter(request.process()).one_pid();
  TierChoice tier{v1::TIER_RAW, true};
  if (!inside_epochs) {
    absl::StatusOr<TierChoice> chosen = ChooseTier(*selection, context, [&](v1::Tier affordable) {
      return process ? ProcessAffordable(affordable, *selection, vitals.size(), one_pid)
                     : SeriesAffordable(affordable, *selection, vitals.size());
    });
    if (!chosen.ok()) return chosen.status();
    tier = *chosen;
  } else if (selection->tier > v1::TIER_RAW) {
    return absl::InvalidArgumentError(
        "series: single seconds and the backlog are in raw epochs only; leave the tier away");
  }
  SeriesLines::Options options{request.per_node(), request.per_second(), request.backlog(), process,
                               0};
  if (!request.per_node() && selection->nodes.size() > 1) {
    options.slot_s = request.per_second() ? 1 : SlotSeconds(*selection, tier.coarsest);
  }
  CoverageBuilder coverage(*selection, context);
  SeriesLines drawn(std::move(choices), options);
  // Points are held until the whole time was read, so how many there are is bounded, not only how
  // many are shown.
  Context bounded = context;
  bounded.cancelled = [&] { return drawn.full() || context.cancelled(); };
  const SeriesScan scan{*selection, bounded, book, vitals, tier, inside_epochs};
  absl::Status status = process ? ScanProcess(scan, request.process(), drawn, coverage)
                                : ScanSeries(scan, drawn, coverage);
  if (drawn.full()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("series: more than ", SeriesLines::kMaxPointsHeld,
                     " points to draw lines of; narrow the time, the nodes or the vitals",
                     request.per_second() ? ", or ask without single seconds" : ""));
  }
  if (!status.ok()) return status;
  v1::SeriesAnswer answer;
  answer.set_process(request.process());
  drawn.Write(names, limit, &answer);
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(tier.coarsest, !drawn.empty());
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
