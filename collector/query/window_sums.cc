#include "collector/query/window_sums.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/query/tier_scan.h"
#include "sketch/vital_ids.h"

namespace telltale::query {
namespace {

void AddGroups(std::array<storage::GroupModel, storage::kGroupings> from,
               std::array<GroupSum, storage::kGroupings>* to) {
  for (size_t by = 0; by < from.size(); ++by) {
    GroupSum& sum = (*to)[by];
    sum.weights.Add(std::move(from[by].list));
    sum.text.merge(from[by].text);
    sum.estimated = sum.estimated || from[by].estimated;
  }
}

// A child without accounts: nothing is known of who it was but the total.
void AddUnknown(uint64_t total, std::array<GroupSum, storage::kGroupings>* to) {
  sketch::LabelList unknown;
  unknown.total = unknown.threshold = total;
  for (GroupSum& sum : *to) sum.weights.Add(unknown);
}

uint64_t NotIdle(const storage::VitalModel& vital, const v1::VitalDescriptor& descriptor) {
  uint64_t total = 0;
  for (size_t i = 0; i < vital.subs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (index < descriptor.subs_size() && descriptor.subs(index).idle()) continue;
    total += vital.subs[i].weight;
  }
  return total;
}

}  // namespace

WindowSums::WindowSums(const std::vector<uint32_t>& vitals, bool run_time) : run_time_(run_time) {
  parts_.vitals = vitals;
  parts_.run_time =
      run_time || std::find(vitals.begin(), vitals.end(), TELLTALE_CPU) != vitals.end();
  parts_.distributions = false;
  parts_.facts = [this](uint32_t vital, uint64_t label, std::optional<uint64_t> digest) {
    return WantsFacts(vital, label, digest);
  };
  for (const uint32_t vital : vitals) {
    for (GroupSum& sum : vitals_[vital].run_time) sum.other_measure = true;
  }
}

// A label's facts come from where it is met first, then from the smallest exemplar.
bool WindowSums::WantsFacts(uint32_t vital, uint64_t label, std::optional<uint64_t> digest) const {
  const auto sum = vitals_.find(vital);
  if (sum == vitals_.end()) return false;
  const auto known = sum->second.facts.find(label);
  if (known == sum->second.facts.end()) return true;
  if (!digest.has_value()) return false;
  const auto& exemplar = known->second.facts.exemplar;
  return !exemplar.has_value() || *digest < exemplar->digest;
}

bool WindowSums::merged_early() const {
  return std::any_of(vitals_.begin(), vitals_.end(),
                     [](const auto& vital) { return vital.second.labels.merged_early(); });
}

VitalSum* WindowSums::Find(uint32_t vital) {
  const auto found = vitals_.find(vital);
  if (found == vitals_.end() || found->second.state == v1::VITAL_STATE_UNSPECIFIED) return nullptr;
  return &found->second;
}

void WindowSums::Add(uint32_t node, storage::WindowModel model, const v1::Schema& schema) {
  for (auto& [id, sum] : vitals_) {
    const auto found = model.vitals.find(id);
    if (found == model.vitals.end()) continue;
    storage::VitalModel& vital = found->second;
    if (vital.state != v1::VITAL_STATE_UNSPECIFIED &&
        (sum.state == v1::VITAL_STATE_UNSPECIFIED || vital.state < sum.state)) {
      sum.state = vital.state;
    }
    if (const v1::VitalDescriptor* descriptor = storage::DescriptorOf(schema, id)) {
      sum.descriptor = *descriptor;
    }
    std::vector<double>& of_node = sum.node_weight[node];
    const size_t subs = vital.subs.size();
    for (std::vector<double>* column : {&sum.events, &sum.weight, &of_node}) {
      if (column->size() < subs) column->resize(subs, 0);
    }
    for (size_t i = 0; i < subs; ++i) {
      sum.events[i] += static_cast<double>(vital.subs[i].events);
      sum.weight[i] += static_cast<double>(vital.subs[i].weight);
      of_node[i] += static_cast<double>(vital.subs[i].weight);
    }
    if (subs == 0) continue;
    sum.labels.Add(std::move(vital.labels));
    for (auto& [label, facts] : vital.facts) {
      std::optional<uint64_t> digest;
      if (facts.exemplar.has_value()) digest = facts.exemplar->digest;
      if (WantsFacts(id, label, digest)) {
        sum.facts.insert_or_assign(label, LabelSum{std::move(facts), node});
      }
    }
    const uint64_t total = NotIdle(vital, sum.descriptor);
    vital.has_groups ? AddGroups(std::move(vital.groups), &sum.groups)
                     : AddUnknown(total, &sum.groups);
    if (!run_time_ && id != TELLTALE_CPU) continue;
    model.has_run_time ? AddGroups(model.run_time, &sum.run_time)
                       : AddUnknown(total, &sum.run_time);
  }
}

absl::StatusOr<std::unique_ptr<WindowSums>> SumWindows(const Selection& selection,
                                                       const Context& context, TierChoice tier,
                                                       const VitalBook& book,
                                                       const std::vector<uint32_t>& vitals,
                                                       bool run_time, CoverageBuilder& coverage) {
  auto sums = std::make_unique<WindowSums>(vitals, run_time);
  TierVisitor visitor;
  visitor.parts = {proto::BodyParts::Depth::kLabels, vitals};
  visitor.epoch = [&](const StoredEpoch& epoch) {
    coverage.AddEpoch(epoch, book, vitals);
    sums->Add(
        epoch.node,
        storage::FromSummary(*epoch.body, *epoch.schema, epoch.span, epoch.sequence, sums->parts()),
        *epoch.schema);
  };
  std::shared_ptr<const v1::Schema> schema;
  uint32_t unknown = 0;
  visitor.window = [&](const storage::RollupRow& row) {
    if (schema == nullptr || schema->id() != row.window.schema_id()) {
      schema = context.source->Schema(row.window.schema_id());
    }
    if (schema == nullptr) {
      ++unknown;
      return;
    }
    coverage.AddWindow(row, book, vitals);
    sums->Add(row.key.node, storage::FromRows(row.window, row.vitals, *schema, sums->parts()),
              *schema);
  };
  TierScan scan(selection, context, tier,
                storage::RollupParts::Labels(vitals, sums->parts().run_time), visitor);
  if (absl::Status status = scan.All(); !status.ok()) return status;
  if (unknown > 0) {
    coverage.Note(absl::StrCat(unknown, " windows whose vitals nobody described are left out"));
  }
  NoteDefects(scan, coverage);
  if (sums->merged_early()) coverage.Note(std::string(kMergedEarlyNote));
  return sums;
}

std::string KeptLabelsNote() {
  return absl::StrCat("code and stacks are bounded: windows keep ", sketch::kKeptLabels,
                      " labels of each vital, each with one stack");
}

bool LabelsAffordable(v1::Tier tier, const Selection& selection, size_t vitals,
                      bool single_process) {
  // What makes an answer of 100 to 200 ms (tests/bench/query_bench.cc).
  constexpr double kMaxRows = 400, kMaxVitalRows = 2'100, kMaxProcessEpochs = 20'000;
  constexpr uint64_t kAlwaysEpochsNs = 600 * storage::kSecondNs;
  const double rows = RowsOf(tier, selection);
  if (tier != v1::TIER_RAW) {
    return rows <= kMaxRows && rows * static_cast<double>(vitals) <= kMaxVitalRows;
  }
  return rows <= (single_process ? kMaxProcessEpochs : kMaxRows) ||
         selection.end_ns - selection.start_ns <= kAlwaysEpochsNs;
}

}  // namespace telltale::query
