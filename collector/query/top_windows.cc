#include "collector/query/top_windows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collector/query/top_sample.h"
#include "sketch/vital_ids.h"

namespace telltale::query {
namespace {

double Counted(const std::vector<double>& subs, const VitalChoice& choice) {
  double sum = 0;
  for (size_t i = 0; i < subs.size(); ++i) {
    if (choice.Counts(static_cast<int>(i))) sum += subs[i];
  }
  return sum;
}

bool AnyListed(GroupSum& groups) {
  const auto& rows = groups.weights.Sum().labels;
  return std::any_of(rows.begin(), rows.end(),
                     [](const sketch::LabelWeight& row) { return row.low > 0; });
}

// Group tables are sums over the sub-series that are not idle: right for a choice of just these.
bool GroupsFit(const VitalChoice& choice) {
  for (int i = 0; i < choice.vital.subs_size(); ++i) {
    if (choice.Counts(i) == choice.vital.subs(i).idle()) return false;
  }
  return true;
}

// The group tables that say who did this; nullptr: none do.
GroupSum* GroupsFor(VitalSum& sum, const VitalChoice& choice, v1::Dimension by) {
  const int index = by == v1::DIMENSION_USER     ? storage::kByUid
                    : by == v1::DIMENSION_CGROUP ? storage::kByCgroup
                                                 : storage::kByExe;
  if (!GroupsFit(choice)) return nullptr;
  if (AnyListed(sum.groups[static_cast<size_t>(index)])) {
    return &sum.groups[static_cast<size_t>(index)];
  }
  // What the kernel itself counts as run time is the same for the processor as a whole.
  if (choice.vital.id() != TELLTALE_CPU || choice.sub >= 0) return nullptr;
  if (AnyListed(sum.run_time[static_cast<size_t>(index)]))
    return &sum.run_time[static_cast<size_t>(index)];
  return nullptr;
}

bool AddGroups(GroupSum& groups, ProcessFilter& filter, TopTable& table) {
  const sketch::LabelList& list = groups.weights.Sum();
  bool exact = list.threshold == 0 && !groups.estimated;
  if (groups.estimated) table.SetEstimated();
  table.Unlisted(static_cast<double>(list.threshold), 0);
  for (const sketch::LabelWeight& row : list.labels) {
    if (row.low == 0) continue;
    const auto text = groups.text.find(row.id);
    const std::string name = text == groups.text.end() ? "" : text->second;
    if (table.by() == v1::DIMENSION_EXE && !filter.Matches(0, name, name)) continue;
    exact = exact && row.low == row.high;
    const double low = static_cast<double>(row.low), high = static_cast<double>(row.high);
    // The value is what is known to be theirs: what windows put away is in the table's other.
    table.Add(absl::StrCat(row.id), low, low, high, [&](v1::TopRow& fresh) {
      switch (table.by()) {
        case v1::DIMENSION_USER:
          fresh.set_name(absl::StrCat("uid ", row.id));
          fresh.set_uid(static_cast<uint32_t>(row.id));
          fresh.set_user(absl::StrCat(row.id));
          return;
        case v1::DIMENSION_CGROUP:
          fresh.set_name(name.empty() ? "(no cgroup)" : name);
          fresh.set_cgroup(name);
          return;
        default:
          fresh.set_name(name);
          fresh.set_exe(name);
      }
    });
  }
  return exact;
}

void AddLabel(const LabelWeightOf& weight, const VitalSum& sum, SymbolCache& cache,
              TopTable& table) {
  const LabelSum& label = *weight.label;
  const std::string who = WhoOf(label);
  const bool code = table.by() == v1::DIMENSION_SITE || table.by() == v1::DIMENSION_STACK;
  std::string key, name;
  switch (table.by()) {
    case v1::DIMENSION_SITE:
    case v1::DIMENSION_STACK:
      name = FrameText(SiteOfLabel(label, sum.descriptor, cache));
      key = table.by() == v1::DIMENSION_STACK ? StackIdOf(label) : "";
      key = absl::StrCat(key.empty() ? name : key, "\n", who);
      break;
    case v1::DIMENSION_USER:
      key = label.facts.label.irq ? "" : absl::StrCat(label.facts.label.uid);
      name = key.empty() ? "[irq]" : absl::StrCat("uid ", key);
      break;
    case v1::DIMENSION_CGROUP:
      key = label.facts.exemplar.has_value() ? label.facts.exemplar->cgroup : "?";
      name = key == "?" ? "(cgroup not kept)" : key.empty() ? "(no cgroup)" : key;
      break;
    default:
      key = name = who;
  }
  const double low = RowsAreStacks(table.by(), &sum.descriptor) ? weight.at_stack : weight.low;
  v1::TopRow& row = table.Add(key, weight.value, low, weight.high, [&](v1::TopRow& fresh) {
    fresh.set_name(name);
    if (code || table.by() == v1::DIMENSION_EXE) fresh.set_exe(who);
    if (table.by() == v1::DIMENSION_CGROUP && key != "?") fresh.set_cgroup(key);
    if (table.by() != v1::DIMENSION_USER) return;
    fresh.set_uid(label.facts.label.uid);
    fresh.set_user(key);
  });
  row.set_samples(row.samples() + static_cast<uint32_t>(weight.samples));
  const auto& exemplar = label.facts.exemplar;
  if (!code || !exemplar.has_value() || !exemplar->has_stack) return;
  table.FillIfHeaviest(key, weight.value, [&label, &cache](v1::TopRow& shown) {
    for (v1::Frame& frame : StackOf(label, cache)) *shown.add_stack() = std::move(frame);
    shown.set_stack_id(StackIdOf(label));
  });
}

}  // namespace

std::vector<LabelWeightOf> LabelsOf(VitalSum& sum, const VitalChoice& choice) {
  const sketch::LabelList& list = sum.labels.Sum();
  const double most = Counted(sum.weight, choice);
  std::vector<LabelWeightOf> labels;
  for (const sketch::LabelWeight& label : list.labels) {
    const auto facts = sum.facts.find(label.id);
    if (facts == sum.facts.end() || !choice.Counts(static_cast<int>(facts->second.facts.sub))) {
      continue;
    }
    LabelWeightOf out;
    out.label = &facts->second;
    out.low = static_cast<double>(label.low);
    out.high = std::max(out.low, std::min(static_cast<double>(label.high), most));
    out.value = std::clamp(static_cast<double>(label.estimate), out.low, out.high);
    if (const auto& exemplar = out.label->facts.exemplar; exemplar.has_value()) {
      out.at_stack = std::min(out.low, static_cast<double>(exemplar->numbers.weight()));
    }
    out.samples = label.samples;
    labels.push_back(out);
  }
  return labels;
}

void LookForExe(const VitalSum& sum, ProcessFilter& filter) {
  if (filter.everything()) return;
  for (const auto* groups : {&sum.groups, &sum.run_time}) {
    for (const auto& [id, name] : (*groups)[storage::kByExe].text) filter.Matches(0, name, name);
  }
}

ExeLimits ExeLimitsOf(VitalSum& sum, const VitalChoice& choice) {
  for (int i = 0; i < choice.vital.subs_size(); ++i) {
    if (choice.Counts(i) && choice.vital.subs(i).idle()) return ExeLimits();  // in no group table
  }
  if (AnyListed(sum.groups[storage::kByExe])) return ExeLimits(sum.groups[storage::kByExe]);
  if (choice.vital.id() != TELLTALE_CPU) return ExeLimits();
  return ExeLimits(sum.run_time[storage::kByExe]);
}

bool AddWindows(VitalSum& sum, const std::map<uint32_t, std::string>& node_names,
                ProcessFilter& filter, SymbolCache& cache, TopTable& table) {
  const VitalChoice& choice = table.choice();
  table.AddTotal(Counted(sum.weight, choice), Counted(sum.events, choice));
  table.SetState(sum.state);
  if (std::ranges::any_of(sum.groups, &GroupSum::estimated)) table.SetEstimated();
  if (table.by() == v1::DIMENSION_NODE) {
    for (const auto& [node, subs] : sum.node_weight) {
      const auto name = node_names.find(node);
      const double weight = Counted(subs, choice);
      table.Add(absl::StrCat(node), weight, weight, weight, [&](v1::TopRow& row) {
        row.set_name(name == node_names.end() ? "" : name->second);
        row.set_node(row.name());
      });
    }
    return !table.estimated();
  }
  const bool code = table.by() == v1::DIMENSION_SITE || table.by() == v1::DIMENSION_STACK;
  const bool told = filter.everything() || table.by() == v1::DIMENSION_EXE;
  if (!code && told) {
    if (GroupSum* groups = GroupsFor(sum, choice, table.by())) {
      return AddGroups(*groups, filter, table);
    }
  }
  for (const LabelWeightOf& weight : LabelsOf(sum, choice)) {
    const std::string who = WhoOf(*weight.label);
    const auto& exemplar = weight.label->facts.exemplar;
    if (!filter.Matches(0, who, exemplar.has_value() ? exemplar->comm : "")) continue;
    AddLabel(weight, sum, cache, table);
  }
  if (code) table.Fit(ExeLimitsOf(sum, choice));
  table.Unlisted(static_cast<double>(sum.labels.Sum().threshold), sketch::kKeptLabels);
  return false;
}

}  // namespace telltale::query
