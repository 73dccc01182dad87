#include "collector/query/histogram_answer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/histogram_sum.h"
#include "collector/query/nearest.h"
#include "collector/query/tier_scan.h"
#include "collector/query/window_sums.h"
#include "sketch/vital_ids.h"

namespace telltale::query {
namespace {

std::string NameOf(const v1::Histogram& histogram) {
  const std::string& layer = v1::Layer_Name(histogram.layer());
  constexpr size_t kPrefix = sizeof("LAYER_") - 1;
  const std::string shown = layer.size() > kPrefix
                                ? absl::AsciiStrToLower(layer.substr(kPrefix))
                                : absl::StrCat("layer_", static_cast<int>(histogram.layer()));
  return absl::StrCat(shown, "/", histogram.operation());
}

// Tasks that were blocked when the latest epoch of each node ended.
class StillWaiting {
 public:
  void Look(const StoredEpoch& epoch) {
    for (const v1::Vital& vital : epoch.body->vitals()) {
      if (vital.id() != TELLTALE_BLOCKING || vital.backlog().empty()) continue;
      auto& [end_ns, tasks] = by_node_[epoch.node];
      if (epoch.span.end_ns <= end_ns) continue;
      end_ns = epoch.span.end_ns;
      tasks = *vital.backlog().rbegin();
    }
  }
  // A duration is known when a wait has ended; top counts a wait while it lasts.
  std::string Note() const {
    int64_t tasks = 0;
    for (const auto& [node, at_end] : by_node_) tasks += std::max<int64_t>(at_end.second, 0);
    return absl::StrCat(
        "waits that go on are in no histogram, top counts them",
        by_node_.empty() ? "" : absl::StrCat(": ", tasks, " tasks were blocked at the end"));
  }

 private:
  std::map<uint32_t, std::pair<uint64_t, int64_t>> by_node_;  // end of the epoch, tasks
};

bool OfWaits(const std::string& name) {
  return name.starts_with("block/") || name.starts_with("runqueue/") || name.starts_with("lock/");
}

}  // namespace

absl::StatusOr<v1::HistogramAnswer> AnswerHistogram(const v1::HistogramRequest& request,
                                                    const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  CoverageBuilder coverage(*selection, context);
  std::map<std::string, HistogramSum> sums;
  absl::StatusOr<TierChoice> tier = ChooseTier(*selection, context, [&](v1::Tier asked) {
    return LabelsAffordable(asked, *selection, 1, false);
  });
  if (!tier.ok()) return tier.status();
  const auto add = [&](const google::protobuf::RepeatedPtrField<v1::Histogram>& histograms,
                       double length_s) {
    for (const v1::Histogram& histogram : histograms) {
      if (histogram.subject_kind() != v1::SUBJECT_KIND_NONE) continue;
      sums[NameOf(histogram)].Add(histogram, length_s);
    }
  };
  StillWaiting waiting;
  TierScan scan(*selection, context, *tier, {0},
                {[&](const StoredEpoch& epoch) {
                   waiting.Look(epoch);
                   coverage.AddEpoch(epoch, book, {});
                   add(epoch.body->histograms(), Seconds(epoch.span.end_ns - epoch.span.start_ns));
                 },
                 [&](const storage::RollupRow& row) {
                   coverage.AddWindow(row, book, {});
                   add(row.window.histograms(), Seconds(row.window.covered_ns()));
                 }});
  if (absl::Status status = scan.All(); !status.ok()) return status;
  NoteDefects(scan.defects(), coverage);
  if (!request.name().empty() && !sums.empty() && sums.find(request.name()) == sums.end()) {
    std::vector<std::string> names;
    for (const auto& [name, sum] : sums) names.push_back(name);
    return absl::NotFoundError(absl::StrCat("histogram \"", request.name().substr(0, 64),
                                            "\" is not in the selection",
                                            NearestHint(request.name(), names)));
  }
  v1::HistogramAnswer answer;
  for (const auto& [name, sum] : sums) {
    if (!request.name().empty() && name != request.name()) continue;
    v1::HistogramValues* out = answer.add_histograms();
    out->set_name(name);
    sum.Write(out);
  }
  const bool waits =
      std::any_of(answer.histograms().begin(), answer.histograms().end(),
                  [](const v1::HistogramValues& histogram) { return OfWaits(histogram.name()); });
  if (waits) coverage.Note(waiting.Note());
  absl::StatusOr<v1::Coverage> finished =
      coverage.Finish(tier->coarsest, answer.histograms_size() > 0);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
