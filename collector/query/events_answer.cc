#include "collector/query/events_answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/answer_page.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/notable_events.h"
#include "collector/query/stack_names.h"
#include "sketch/time_units.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualEvents = 200, kMaxEvents = 10'000;
constexpr size_t kMaxGapsTold = 1000;
constexpr int kMaxTypes = 64;
constexpr uint64_t kLossesFromRawNs = 2 * storage::kHourNs;

std::string TypeName(v1::EventType type) {
  const std::string& name = v1::EventType_Name(type);
  constexpr size_t kPrefix = sizeof("EVENT_TYPE_") - 1;
  return name.size() > kPrefix ? absl::AsciiStrToLower(name.substr(kPrefix))
                               : absl::StrCat("type_", static_cast<int>(type));
}

std::string ExitText(const v1::DiscreteEvent& event) {
  if (event.exit_signal() != 0) {
    const char* name =
        event.exit_signal() < 65 ? sigabbrev_np(static_cast<int>(event.exit_signal())) : nullptr;
    return name == nullptr ? absl::StrCat("killed by signal ", event.exit_signal())
                           : absl::StrCat("killed by SIG", name);
  }
  return absl::StrCat("ended with status ", event.exit_code());
}

std::string TextOf(const v1::DiscreteEvent& event, const std::string& who,
                   const std::string& text) {
  const std::string times = event.count() > 1 ? absl::StrCat(" x ", event.count()) : "";
  switch (event.type()) {
    case v1::EVENT_TYPE_EXEC:
      return absl::StrCat(who, times, " started");
    case v1::EVENT_TYPE_EXIT:
      return absl::StrCat(who, times, " ", ExitText(event));
    case v1::EVENT_TYPE_OOM:
      return absl::StrCat("out of memory: ", who, times, " was killed", text.empty() ? "" : "; ",
                          text);
    case v1::EVENT_TYPE_CLOCK_STEP:
      return absl::StrFormat("clock stepped by %+.3f s", static_cast<double>(event.value()) * 1e-9);
    case v1::EVENT_TYPE_AGENT_START:
      return absl::StrCat("agent started", text.empty() ? "" : ": ", text);
    case v1::EVENT_TYPE_AGENT_STOP:
      return absl::StrCat("agent stopped", text.empty() ? "" : ": ", text);
    default:
      return text.empty() ? absl::StrCat(who, times) : text;
  }
}

v1::EventAnswer NoteOf(const v1::Mark& mark) {
  v1::EventAnswer event;
  event.set_type(kNoteType);
  event.set_node(mark.node());
  event.set_time_s(mark.time_s());
  event.set_text(absl::StrCat(mark.text(), " (", mark.by(), ")"));
  event.set_count(1);
  return event;
}

}  // namespace

absl::StatusOr<v1::EventsAnswer> AnswerEvents(const v1::EventsRequest& request,
                                              const std::vector<v1::Mark>& marks,
                                              const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (request.limit() > kMaxEvents) {
    return absl::InvalidArgumentError(absl::StrCat("events: limit ", request.limit(), " is above ",
                                                   kMaxEvents,
                                                   "; ask for fewer and follow next_page"));
  }
  if (request.types_size() > kMaxTypes) {
    return absl::InvalidArgumentError(absl::StrCat("events: ", request.types_size(),
                                                   " types asked for, limit ", kMaxTypes,
                                                   "; leave them out for all"));
  }
  Place before;
  if (!request.page().empty()) {
    absl::StatusOr<Place> parsed = ParsePlace(request.page(), "events");
    if (!parsed.ok()) return parsed.status();
    before = *parsed;
  }
  const size_t limit = request.limit() == 0 ? kUsualEvents : request.limit();
  std::map<uint32_t, std::string> node_names;
  for (const storage::NodeRecord& node : selection->nodes) node_names[node.number()] = node.name();
  const VitalBook book(*selection, context);
  CoverageBuilder coverage(*selection, context);
  SymbolCache cache(context.source);
  std::map<Place, v1::EventAnswer> kept;  // the newest `limit` before the page's begin
  uint32_t left_out = 0;                  // older ones
  bool found = false;
  const auto wanted = [&](const Place& place) {
    if (!request.page().empty() && !(place < before)) return false;
    if (kept.size() < limit || kept.begin()->first < place) return true;
    ++left_out;
    return false;
  };
  const auto keep = [&](const Place& place, v1::EventAnswer event) {
    kept.emplace(place, std::move(event));
    if (kept.size() <= limit) return;
    kept.erase(kept.begin());
    ++left_out;
  };
  for (const v1::Mark& mark : marks) {
    // No node has the number; two marks of one moment are told apart by what they say.
    const auto time_ns = static_cast<uint64_t>(std::llround(mark.time_s() * 1e6)) * 1000;
    const uint64_t which =
        storage::DigestText(absl::StrCat(mark.id(), " ", mark.node(), " ", mark.text()));
    const Place place{time_ns, UINT32_MAX, which, 0, 0};
    if (wanted(place)) keep(place, NoteOf(mark));
  }
  LeftOut damaged;
  absl::Status status = ForEachEpoch(
      *selection, context,
      [&](const StoredEpoch& epoch) {
        coverage.AddEpoch(epoch, book, {});
        const StackNames names(&epoch.body->tables(), epoch.node, &cache);
        for (int i = 0; i < epoch.body->events_size(); ++i) {
          const v1::DiscreteEvent& event = epoch.body->events(i);
          const auto& types = request.types();
          if (!types.empty() && std::find(types.begin(), types.end(), event.type()) == types.end())
            continue;
          found = true;
          const Place place{epoch.span.start_ns + event.time_ms() * kNsPerMs, epoch.node,
                            epoch.span.start_ns, 0, i};
          if (!wanted(place)) continue;
          v1::EventAnswer out;
          out.set_node(node_names[epoch.node]);
          out.set_time_s(Seconds(place.time_ns));
          out.set_type(TypeName(event.type()));
          out.set_exe(names.String(event.exe()));
          out.set_comm(names.String(event.comm()));
          out.set_pid(event.pid());
          out.set_uid(event.uid());
          out.set_count(std::max(1u, event.count()));
          const std::string who = out.exe().empty() ? out.comm() : out.exe();
          out.set_text(TextOf(event, who, names.String(event.text())));
          keep(place, std::move(out));
        }
      },
      &damaged);
  if (!status.ok()) return status;
  coverage.AddDamaged(damaged);
  coverage.NoteRawFloor();
  if (left_out > 0) {
    coverage.Note(absl::StrCat(left_out, " older events are on the pages that follow"));
  }
  v1::EventsAnswer answer;
  if (left_out > 0) answer.set_next_page(kept.begin()->first.Page());
  answer.set_left_out(left_out);
  for (auto& [place, event] : kept) *answer.add_events() = std::move(event);
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, found);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

absl::StatusOr<v1::CoverageAnswer> AnswerCoverage(const v1::CoverageRequest& request,
                                                  const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  CoverageBuilder coverage(*selection, context);
  // Losses stand in the epochs themselves; for long times reading them all would cost more than
  // they tell.
  if (selection->end_ns - selection->start_ns <= kLossesFromRawNs) {
    LeftOut damaged;
    absl::Status status = ForEachEpoch(
        *selection, context, [&](const StoredEpoch& epoch) { coverage.AddEpoch(epoch, book, {}); },
        &damaged);
    if (!status.ok()) return status;
    coverage.AddDamaged(damaged);
  } else {
    coverage.Note("lost events are added up for at most 2 h; ask for a shorter time to see them");
  }
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, true);
  if (!finished.ok()) return finished.status();
  v1::CoverageAnswer answer;
  if (finished->epochs_received() == 0) {
    finished = coverage.Finish(v1::TIER_RAW, false);
    if (!finished.ok()) return finished.status();
  }
  *answer.mutable_coverage() = *std::move(finished);
  bool more = false;
  for (v1::Gap& gap : coverage.Gaps(kMaxGapsTold, &more)) *answer.add_gaps() = std::move(gap);
  if (more)
    answer.mutable_coverage()->add_notes(
        absl::StrCat("only the first ", kMaxGapsTold, " gaps are listed"));
  return answer;
}

}  // namespace telltale::query
