#include "collector/query/samples_answer.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "collector/query/answer_page.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/process_filter.h"
#include "collector/query/sample_text.h"
#include "collector/query/top_process.h"
#include "collector/query/vital_choice.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualSamples = 50, kMaxSamples = 1000;

// The order of the answer: newest first, then by node and position in the epoch.
struct NewestFirst {
  static auto Key(const Place& place) {
    return std::tuple(~place.time_ns, place.node, place.epoch_start_ns, place.vital, place.index);
  }
  bool operator()(const Place& a, const Place& b) const { return Key(a) < Key(b); }
};

}  // namespace

absl::StatusOr<v1::SamplesAnswer> AnswerSamples(const v1::SamplesRequest& request,
                                                const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (request.limit() > kMaxSamples) {
    return absl::InvalidArgumentError(absl::StrCat("samples: limit ", request.limit(), " is above ",
                                                   kMaxSamples,
                                                   "; ask for fewer and follow next_page"));
  }
  const size_t limit = request.limit() == 0 ? kUsualSamples : request.limit();
  const NewestFirst before{};
  const VitalBook book(*selection, context);
  absl::StatusOr<std::vector<VitalChoice>> choices = book.Choose(request.vital(), true);
  if (!choices.ok()) return choices.status();
  std::map<uint32_t, VitalChoice> by_id;
  std::vector<uint32_t> vitals;
  for (VitalChoice& choice : *choices) {
    vitals.push_back(choice.vital.id());
    by_id.emplace(choice.vital.id(), std::move(choice));
  }
  Place after;
  if (!request.page().empty()) {
    absl::StatusOr<Place> parsed = ParsePlace(request.page(), "samples");
    if (!parsed.ok()) return parsed.status();
    after = *parsed;
  }
  std::map<uint32_t, const storage::NodeRecord*> nodes;
  for (const storage::NodeRecord& node : selection->nodes) nodes[node.number()] = &node;

  ProcessFilter filter(request.process());
  SymbolCache cache(context.source);
  CoverageBuilder coverage(*selection, context);
  std::map<Place, v1::SampleAnswer, NewestFirst> kept;  // the first `limit` of the order, so far
  bool more = false;
  LeftOut damaged;
  absl::Status status = ForEachEpoch(
      *selection, context,
      [&](const StoredEpoch& epoch) {
        coverage.AddEpoch(epoch, book, vitals);
        const StackNames names(&epoch.body->tables(), epoch.node, &cache);
        LookForProcess(epoch, names, filter);
        for (const v1::Vital& vital : epoch.body->vitals()) {
          const auto choice = by_id.find(vital.id());
          if (choice == by_id.end()) continue;
          const std::vector<EntryEstimate> estimates = EstimateEntries(vital);
          for (int i = 0; i < vital.samples_size(); ++i) {
            const v1::FoldedSample& sample = vital.samples(i);
            if (choice->second.sub >= 0 && static_cast<int>(sample.sub()) != choice->second.sub)
              continue;
            if (!filter.Matches(sample.exemplar().pid(), names.String(sample.exe()),
                                names.String(sample.exemplar().comm()))) {
              continue;
            }
            const Place place{epoch.span.start_ns + sample.exemplar().time_ns(), epoch.node,
                              epoch.span.start_ns, vital.id(), i};
            if (!request.page().empty() && !before(after, place)) continue;
            if (kept.size() == limit && !before(place, kept.rbegin()->first)) {
              more = true;
              continue;
            }
            kept.emplace(place,
                         ShowSample(epoch, choice->second.vital, sample,
                                    estimates[static_cast<size_t>(i)], *nodes[epoch.node], names));
            if (kept.size() > limit) {
              kept.erase(std::prev(kept.end()));
              more = true;
            }
          }
        }
      },
      &damaged);
  if (!status.ok()) return status;
  if (absl::Status found = filter.Found("samples"); !found.ok()) return found;
  coverage.AddDamaged(damaged);
  coverage.NoteRawFloor();
  v1::SamplesAnswer answer;
  for (auto& [place, sample] : kept) *answer.add_samples() = std::move(sample);
  if (more && !kept.empty()) answer.set_next_page(kept.rbegin()->first.Page());
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, !kept.empty());
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
