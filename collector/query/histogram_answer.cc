#include "collector/query/histogram_answer.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"
#include "collector/query/histogram_sum.h"
#include "collector/query/nearest.h"
#include "collector/query/tier_scan.h"
#include "collector/query/window_sums.h"

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

}  // namespace

absl::StatusOr<v1::HistogramAnswer> AnswerHistogram(const v1::HistogramRequest& request,
                                                    const Context& context) {
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  CoverageBuilder coverage(*selection, context);
  std::map<std::string, HistogramSum> sums;
  absl::StatusOr<TierChoice> tier = ChooseTier(*selection, context, [&](v1::Tier asked) {
    return LabelsAffordable(asked, *selection, false);
  });
  if (!tier.ok()) return tier.status();
  const auto add = [&](const google::protobuf::RepeatedPtrField<v1::Histogram>& histograms,
                       double length_s) {
    for (const v1::Histogram& histogram : histograms) {
      if (histogram.subject_kind() != v1::SUBJECT_KIND_NONE) continue;
      sums[NameOf(histogram)].Add(histogram, length_s);
    }
  };
  TierScan scan(*selection, context, *tier, {TierScan::kWindowOnly},
                {[&](const StoredEpoch& epoch) {
                   coverage.AddEpoch(epoch, book, {});
                   add(epoch.body->histograms(), Seconds(epoch.span.end_ns - epoch.span.start_ns));
                 },
                 [&](const storage::RollupRow& row) {
                   coverage.AddWindow(row, book, {});
                   add(row.window.histograms(), Seconds(row.window.covered_ns()));
                 }});
  if (absl::Status status = scan.All(); !status.ok()) return status;
  coverage.AddDamaged(scan.damaged());
  NoteBehind(scan, coverage);
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
  absl::StatusOr<v1::Coverage> finished =
      coverage.Finish(tier->coarsest, answer.histograms_size() > 0);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
