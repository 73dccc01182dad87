#include "collector/query/selection.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/base_unit.h"
#include "collector/query/nearest.h"
#include "collector/query/tier_choice.h"

namespace telltale::query {
namespace {

constexpr double kLastSecond = 4e9;  // year 2096: beyond it a time is a mistake
constexpr int kMaxNodesAsked = 10'000;
constexpr int kMaxLabelMatches = 64;  // as many as a node may have labels

absl::StatusOr<uint64_t> ToNs(double seconds, const char* which) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kLastSecond) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "selection: %s %g: must be seconds since 1970, at most %g", which, seconds, kLastSecond));
  }
  return static_cast<uint64_t>(std::llround(seconds * 1e6)) * 1000;
}

}  // namespace

absl::StatusOr<bool> MatchesLabels(const storage::NodeRecord& node,
                                   const google::protobuf::RepeatedPtrField<std::string>& matches) {
  if (matches.size() > kMaxLabelMatches) {
    return absl::InvalidArgumentError(absl::StrCat("selection: ", matches.size(),
                                                   " label matches, limit ", kMaxLabelMatches,
                                                   "; a node has no more labels"));
  }
  for (const std::string& match : matches) {
    const size_t equals = match.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("selection: label match \"", match.substr(0, 100), "\": must be key=value"));
    }
    const std::string key = match.substr(0, equals), value = match.substr(equals + 1);
    const auto& labels = node.info().labels();
    const bool found = std::any_of(labels.begin(), labels.end(), [&](const v1::Label& label) {
      return label.key() == key && label.value() == value;
    });
    if (!found) return false;
  }
  return true;
}

absl::StatusOr<Selection> Resolve(const v1::Selection& asked, const Context& context) {
  if (asked.nodes_size() > kMaxNodesAsked) {
    return absl::InvalidArgumentError(absl::StrCat("selection: ", asked.nodes_size(),
                                                   " nodes named, limit ", kMaxNodesAsked,
                                                   "; select them by label"));
  }
  if (!v1::Tier_IsValid(asked.tier())) {
    return absl::InvalidArgumentError(absl::StrCat("selection: tier ",
                                                   static_cast<int>(asked.tier()),
                                                   ": must be 0 (auto) to ", v1::Tier_MAX));
  }
  Selection selection;
  selection.tier = asked.tier();
  absl::StatusOr<uint64_t> start = ToNs(asked.start_s(), "start_s");
  if (!start.ok()) return start.status();
  absl::StatusOr<uint64_t> end = ToNs(asked.end_s(), "end_s");
  if (!end.ok()) return end.status();
  selection.end_ns = *end == 0 ? context.now_ns : *end;
  selection.start_ns =
      *start == 0 ? selection.end_ns - std::min(selection.end_ns, storage::kHourNs) : *start;
  if (selection.end_ns <= selection.start_ns) {
    return absl::InvalidArgumentError(
        absl::StrFormat("selection: end_s %.3f is not after start_s %.3f; swap them",
                        static_cast<double>(selection.end_ns) * 1e-9,
                        static_cast<double>(selection.start_ns) * 1e-9));
  }

  const storage::NodeList all = context.source->Nodes();
  std::unordered_set<std::string_view> unknown(asked.nodes().begin(), asked.nodes().end());
  const bool by_name = !unknown.empty();
  for (const storage::SharedNode& node : all.shared()) {
    if (by_name && unknown.erase(node->name()) == 0) continue;
    absl::StatusOr<bool> matches = MatchesLabels(*node, asked.label_matches());
    if (!matches.ok()) return matches.status();
    if (*matches) selection.nodes.Add(node);
  }
  for (const std::string& wanted : asked.nodes()) {
    if (!unknown.contains(wanted)) continue;
    std::vector<std::string> names;
    for (const storage::NodeRecord& node : all) names.push_back(node.name());
    return absl::NotFoundError(absl::StrCat(
        "selection: node \"", wanted.substr(0, 128), "\" is unknown",
        names.empty() ? "; no node ever reported to this collector" : NearestHint(wanted, names)));
  }
  if (selection.nodes.empty() && !all.empty()) {
    return absl::NotFoundError(
        absl::StrCat("selection: no node has the labels ",
                     asked.label_matches().size() > 0 ? asked.label_matches(0) : "",
                     asked.label_matches_size() > 1 ? " and the others" : "",
                     "; `telltale nodes` shows labels"));
  }
  return selection;
}

bool Belongs(const storage::EpochSpan& span, uint64_t from_ns, uint64_t to_ns) {
  if (to_ns - from_ns < span.end_ns - span.start_ns) {
    const uint64_t middle_ns = from_ns + (to_ns - from_ns) / 2;
    return middle_ns >= span.start_ns && middle_ns < span.end_ns;
  }
  return span.middle_ns() >= from_ns && span.middle_ns() < to_ns;
}

namespace {

// As many as there would be, had each node reported from its first epoch to its last.
double EpochsBetween(const Selection& selection) {
  double epochs = 0;
  for (const storage::NodeRecord& node : selection.nodes) {
    const uint64_t from = std::max(selection.start_ns, node.first_epoch_ns());
    const uint64_t to = std::min(selection.end_ns, node.last_epoch_ns());
    if (from < to) epochs += Seconds(to - from) / TierSeconds(v1::TIER_RAW, node);
  }
  return epochs;
}

}  // namespace

absl::Status ForEachEpoch(const Selection& selection, const Context& context,
                          const std::function<void(const StoredEpoch&)>& visit, LeftOut* left_out) {
  const absl::Status too_many = absl::ResourceExhaustedError(
      absl::StrCat("query: more than ", context.limits.epochs,
                   " epochs in the selection; narrow the time or the nodes"));
  // What surely is too much is refused before the work; nodes may have been down for half of it.
  if (EpochsBetween(selection) > 2.0 * static_cast<double>(context.limits.epochs)) return too_many;
  uint64_t seen = 0;
  for (const storage::NodeRecord& node : selection.nodes) {
    absl::Status stopped;
    absl::Status status = context.source->ForEachEpoch(
        node.number(), selection.start_ns, selection.end_ns, {},
        [&](const StoredEpoch& epoch) {
          if (!Belongs(epoch.span, selection.start_ns, selection.end_ns)) return true;
          if (context.cancelled()) {
            stopped = absl::CancelledError("query: the asker went away");
            return false;
          }
          if (++seen > context.limits.epochs) {
            stopped = too_many;
            return false;
          }
          visit(epoch);
          return true;
        },
        left_out);
    if (!stopped.ok()) return stopped;
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace telltale::query
