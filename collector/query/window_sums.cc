#include "collector/query/window_sums.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/query/tier_scan.h"
#include "sketch/vital_ids.h"

namespace telltale::query {
namespace {

using Groups = std::array<storage::GroupModel, storage::kGroupings>;
using GroupSums = std::array<GroupSum, storage::kGroupings>;

void AddGroups(const Groups& from, GroupSums* to) {
  for (size_t by = 0; by < from.size(); ++by) {
    GroupSum& sum = (*to)[by];
    sum.weights.Add(from[by].list);
    for (const auto& [id, text] : from[by].text) sum.text.try_emplace(id, text);
    sum.estimated = sum.estimated || from[by].estimated;
  }
}

void AddGroups(GroupSums& from, GroupSums* to) {
  for (size_t by = 0; by < from.size(); ++by) {
    GroupSum& sum = (*to)[by];
    sum.weights.Add(from[by].weights);
    sum.text.merge(from[by].text);
    sum.estimated = sum.estimated || from[by].estimated;
  }
}

// A child without accounts: nothing is known of who it was but the total.
void AddUnknown(uint64_t total, GroupSums* to) {
  sketch::LabelList unknown;
  unknown.total = unknown.threshold = total;
  for (GroupSum& sum : *to) sum.weights.Add(unknown);
}

void AddState(v1::VitalState state, VitalSum& sum) {
  if (state == v1::VITAL_STATE_UNSPECIFIED) return;
  if (sum.state == v1::VITAL_STATE_UNSPECIFIED || state < sum.state) sum.state = state;
}

void Describe(uint32_t vital, const v1::Schema& schema, VitalSum& sum) {
  const v1::VitalDescriptor* descriptor = storage::DescriptorOf(schema, vital);
  if (descriptor == nullptr) return;
  sum.descriptor = *descriptor;
  sum.described_by = schema.id();
}

void AddColumn(const std::vector<double>& from, std::vector<double>& to) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

std::optional<uint64_t> DigestOf(const storage::LabelFacts& facts) {
  if (!facts.exemplar.has_value()) return std::nullopt;
  return facts.exemplar->digest;
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

WindowSums::WindowSums(const LabelQuestion& asked) : run_time_(asked.run_time) {
  parts_.vitals = asked.vitals;
  parts_.run_time = asked.run_time || std::find(asked.vitals.begin(), asked.vitals.end(),
                                                TELLTALE_CPU) != asked.vitals.end();
  parts_.distributions = false;
  parts_.groupings = asked.groupings;
  parts_.groupings.push_back(storage::kByExe);
  parts_.facts = [this](uint32_t vital, uint64_t label, std::optional<uint64_t> digest) {
    return WantsFacts(vital, label, digest);
  };
  parts_.group_text = [this](uint32_t vital, storage::GroupIndex by, uint64_t group) {
    return WantsText(vital, by, group);
  };
  for (const uint32_t vital : asked.vitals) {
    for (GroupSum& sum : vitals_[vital].run_time) sum.other_measure = true;
  }
}

// Run time is added to all vitals that have any.
bool WindowSums::WantsText(uint32_t vital, storage::GroupIndex by, uint64_t group) const {
  if (vital == 0) {
    return std::any_of(vitals_.begin(), vitals_.end(), [&](const auto& sum) {
      return !sum.second.run_time[by].text.contains(group);
    });
  }
  const auto sum = vitals_.find(vital);
  return sum != vitals_.end() && !sum->second.groups[by].text.contains(group);
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
    AddState(vital.state, sum);
    if (sum.described_by != schema.id()) Describe(id, schema, sum);
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
    sum.labels.Add(vital.labels);
    for (auto& [label, facts] : vital.facts) {
      if (WantsFacts(id, label, DigestOf(facts))) {
        sum.facts.insert_or_assign(label, LabelSum{std::move(facts), node});
      }
    }
    const uint64_t total = NotIdle(vital, sum.descriptor);
    vital.has_groups ? AddGroups(vital.groups, &sum.groups) : AddUnknown(total, &sum.groups);
    if (!run_time_ && id != TELLTALE_CPU) continue;
    model.has_run_time ? AddGroups(model.run_time, &sum.run_time)
                       : AddUnknown(total, &sum.run_time);
  }
}

void WindowSums::Add(WindowSums& other) {
  for (auto& [id, from] : other.vitals_) {
    VitalSum& sum = vitals_[id];
    AddState(from.state, sum);
    if (from.described_by.has_value()) {
      sum.descriptor = from.descriptor;
      sum.described_by = from.described_by;
    }
    AddColumn(from.events, sum.events);
    AddColumn(from.weight, sum.weight);
    sum.node_weight.merge(from.node_weight);
    sum.labels.Add(from.labels);
    for (auto& [label, facts] : from.facts) {
      if (WantsFacts(id, label, DigestOf(facts.facts))) {
        sum.facts.insert_or_assign(label, std::move(facts));
      }
    }
    AddGroups(from.groups, &sum.groups);
    AddGroups(from.run_time, &sum.run_time);
  }
}

namespace {

// Some of the nodes of a question, read by one thread.
class PartScan {
 public:
  PartScan(Selection selection, const Context& context, const LabelQuestion& asked)
      : selection_(std::move(selection)),
        context_(context),
        asked_(asked),
        sums_(asked),
        coverage_(selection_, context) {}

  absl::Status Run(TierChoice tier, const VitalBook& book, ScanCount* count) {
    TierVisitor visitor;
    visitor.parts = {proto::BodyParts::Depth::kLabels, asked_.vitals};
    visitor.epoch = [&](const StoredEpoch& epoch) {
      coverage_.AddEpoch(epoch, book, asked_.vitals);
      sums_.Add(epoch.node,
                storage::FromSummary(*epoch.body, *epoch.schema, epoch.span, epoch.sequence,
                                     sums_.parts()),
                *epoch.schema);
    };
    std::shared_ptr<const v1::Schema> schema;
    visitor.window = [&](const storage::RollupRow& row) {
      if (schema == nullptr || schema->id() != row.window.schema_id()) {
        schema = context_.source->Schema(row.window.schema_id());
      }
      if (schema == nullptr) {
        ++unknown_;
        return;
      }
      coverage_.AddWindow(row, book, asked_.vitals);
      sums_.Add(row.key.node,
                storage::FromRows(row.window, storage::TableView(row.tables), row.vitals, *schema,
                                  sums_.parts()),
                *schema);
    };
    TierScan scan(selection_, context_, tier,
                  storage::RollupParts::Labels(asked_.vitals, sums_.parts().run_time), visitor,
                  count);
    absl::Status status = scan.All();
    defects_ = scan.defects();
    return status;
  }

  WindowSums& sums() { return sums_; }
  const CoverageBuilder& coverage() const { return coverage_; }
  const ScanDefects& defects() const { return defects_; }
  uint32_t unknown() const { return unknown_; }

 private:
  const Selection selection_;
  const Context& context_;
  const LabelQuestion& asked_;
  WindowSums sums_;
  CoverageBuilder coverage_;
  ScanDefects defects_;
  uint32_t unknown_ = 0;  // windows whose vitals nobody described
};

constexpr size_t kPartsAtOnce = 8;

// Always the same parts of the same nodes, whoever reads them: so is the answer.
std::vector<Selection> PartsOf(const Selection& selection) {
  constexpr size_t kNodes = 128;
  std::vector<Selection> parts;
  size_t in_part = kNodes;
  for (const storage::SharedNode& node : selection.nodes.shared()) {
    if (in_part == kNodes) {
      parts.push_back({{}, selection.start_ns, selection.end_ns, selection.tier});
      in_part = 0;
    }
    parts.back().nodes.Add(node);
    ++in_part;
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WindowSums>> SumWindows(const Selection& selection,
                                                       const Context& context, TierChoice tier,
                                                       const VitalBook& book,
                                                       const LabelQuestion& asked,
                                                       CoverageBuilder& coverage) {
  const std::vector<Selection> selections = PartsOf(selection);
  std::vector<std::unique_ptr<PartScan>> parts(selections.size());
  std::vector<absl::Status> read(selections.size());
  ScanCount count(context.limits, selection.nodes.size());
  auto sums = std::make_unique<WindowSums>(asked);
  ScanDefects defects;
  uint32_t unknown = 0;
  // Some at once, for what each part holds is mostly what the others hold: of all at once the
  // largest fleets would take as many times the memory of one.
  for (size_t begin = 0; begin < parts.size(); begin += kPartsAtOnce) {
    const size_t end = std::min(begin + kPartsAtOnce, parts.size());
    const auto scan = [&](size_t i) {
      parts[begin + i] = std::make_unique<PartScan>(selections[begin + i], context, asked);
      read[begin + i] = parts[begin + i]->Run(tier, book, &count);
    };
    if (context.helpers != nullptr) {
      context.helpers->Run(end - begin, scan);
    } else {
      for (size_t i = 0; i < end - begin; ++i) scan(i);
    }
    for (size_t i = begin; i < end; ++i) {
      if (!read[i].ok()) return read[i];
      sums->Add(parts[i]->sums());
      coverage.Add(parts[i]->coverage());
      defects.Add(parts[i]->defects());
      unknown += parts[i]->unknown();
      parts[i].reset();
    }
  }
  if (unknown > 0) {
    coverage.Note(absl::StrCat(unknown, " windows whose vitals nobody described are left out"));
  }
  NoteDefects(defects, coverage);
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
