#include "collector/query/top_process.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sketch/saturating.h"
#include "sketch/vital_ids.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

struct ProcessColumns {
  std::vector<int> indexes;  // to add up
  bool estimated = false;
  bool kernel = false;  // the kernel's own accounts, not shares of the vital
};

int IndexOf(const v1::ProcessTable& table, uint32_t column) {
  const auto it = std::find(table.columns().begin(), table.columns().end(), column);
  return it == table.columns().end() ? -1 : static_cast<int>(it - table.columns().begin());
}

void Include(const v1::ProcessTable& table, uint32_t column, ProcessColumns& columns) {
  const int index = IndexOf(table, column);
  if (index < 0) return;
  columns.indexes.push_back(index);
  const auto& estimated = table.estimated();
  columns.estimated |= std::find(estimated.begin(), estimated.end(), column) != estimated.end();
}

uint64_t ValueOf(const v1::ProcessRow& row, const ProcessColumns& columns) {
  uint64_t sum = 0;
  for (const int index : columns.indexes) {
    if (index < row.values_size()) sum += row.values(index);
  }
  return sum;
}

bool AnyRow(const v1::ProcessTable& table, const ProcessColumns& columns) {
  return std::any_of(table.rows().begin(), table.rows().end(),
                     [&](const v1::ProcessRow& row) { return ValueOf(row, columns) > 0; });
}

// Kernel accounts that count the same as a sub-series. 0: none does.
uint32_t AccountOf(uint32_t vital, int sub) {
  constexpr uint32_t kNone = v1::PROCESS_COLUMN_UNSPECIFIED;
  if (vital == TELLTALE_CPU && sub < 0) return v1::PROCESS_COLUMN_RUN_NS;
  if (vital == TELLTALE_CPU && sub == TELLTALE_CPU_USER) return v1::PROCESS_COLUMN_USER_NS;
  if (vital == TELLTALE_CPU && sub == TELLTALE_CPU_KERNEL) return v1::PROCESS_COLUMN_SYSTEM_NS;
  if (vital == TELLTALE_SCHED_DELAY && sub < 0) return v1::PROCESS_COLUMN_QUEUE_NS;
  if (vital == TELLTALE_USER_PAGE && sub == TELLTALE_FAULT_MINOR)
    return v1::PROCESS_COLUMN_FAULTS_MINOR;
  if (vital == TELLTALE_USER_PAGE && sub == TELLTALE_FAULT_MAJOR)
    return v1::PROCESS_COLUMN_FAULTS_MAJOR;
  return kNone;
}

ProcessColumns Choose(const StoredEpoch& epoch, const VitalChoice& choice) {
  const v1::ProcessTable& table = epoch.body->processes();
  ProcessColumns shares;
  for (int sub = 0; sub < std::min(choice.vital.subs_size(), 16); ++sub) {
    if (!choice.Counts(sub)) continue;
    const uint32_t column = v1::PROCESS_COLUMN_FIRST_VITAL + choice.vital.id() * 32 +
                            static_cast<uint32_t>(sub) * 2 + 1;
    Include(table, column, shares);
  }
  if (AnyRow(table, shares)) return shares;
  ProcessColumns accounts;
  accounts.kernel = true;
  if (choice.vital.id() == TELLTALE_USER_PAGE && choice.sub < 0) {
    Include(table, v1::PROCESS_COLUMN_FAULTS_MINOR, accounts);
    Include(table, v1::PROCESS_COLUMN_FAULTS_MAJOR, accounts);
  } else if (const uint32_t column = AccountOf(choice.vital.id(), choice.sub); column != 0) {
    Include(table, column, accounts);
  }
  return AnyRow(table, accounts) ? accounts : ProcessColumns{};
}

std::string ExeOf(const v1::ProcessRow& row, const StackNames& names) {
  if (row.irq()) return "[irq]";
  const std::string exe = names.String(row.exe());
  return exe.empty() ? absl::StrCat("[", names.String(row.comm()), "]") : exe;
}

std::string ProcessName(const v1::ProcessRow& row, const std::string& exe,
                        const std::string& comm) {
  if (row.irq()) return "[irq]";
  std::string name = exe.empty() ? absl::StrCat("[", comm, "]") : BaseName(exe);
  if (row.instances() > 1) absl::StrAppend(&name, " x ", row.instances());
  return name;
}

}  // namespace

Accounts AccountsFor(const StoredEpoch& epoch, const VitalChoice& choice) {
  const ProcessColumns columns = Choose(epoch, choice);
  if (columns.indexes.empty()) return Accounts::kNone;
  return columns.estimated ? Accounts::kEstimated : Accounts::kExact;
}

void LookForProcess(const StoredEpoch& epoch, const StackNames& names, ProcessFilter& filter) {
  if (filter.everything()) return;
  for (const v1::ProcessRow& row : epoch.body->processes().rows()) {
    filter.Matches(row.pid(), names.String(row.exe()), names.String(row.comm()));
  }
}

void AddExeAccounts(const StoredEpoch& epoch, const VitalChoice& choice, uint64_t total,
                    const StackNames& names, GroupSum& sum) {
  const v1::ProcessTable& table = epoch.body->processes();
  const ProcessColumns columns = Choose(epoch, choice);
  sum.other_measure = sum.other_measure || columns.kernel;
  sketch::LabelList list;
  if (columns.indexes.empty() || columns.estimated) {
    list.total = list.threshold = total;
    sum.weights.Add(list);
    return;
  }
  const uint64_t other = ValueOf(table.other(), columns);
  std::map<uint64_t, sketch::LabelWeight> weights;
  for (const v1::ProcessRow& row : table.rows()) {
    std::string exe = ExeOf(row, names);
    const uint64_t id = storage::DigestText(exe);
    sum.text.try_emplace(id, std::move(exe));
    sketch::LabelWeight& weight = weights[id];
    weight.id = id;
    weight.low = sketch::SaturatingAdd(weight.low, ValueOf(row, columns));
  }
  list.total = list.threshold = other;
  for (auto& [id, weight] : weights) {
    list.total = sketch::SaturatingAdd(list.total, weight.low);
    weight.high = sketch::SaturatingAdd(weight.low, other);  // it may have processes without a row
    list.labels.push_back(weight);
  }
  sum.weights.Add(list);
}

void AddProcesses(const StoredEpoch& epoch, const std::string& node_name, StackNames& names,
                  ProcessFilter& filter, TopTable& table) {
  const ProcessColumns columns = Choose(epoch, table.choice());
  if (columns.indexes.empty()) return;
  const double other = static_cast<double>(ValueOf(epoch.body->processes().other(), columns));
  table.by() == v1::DIMENSION_PROCESS ? table.AddHidden(other) : table.AddSlack(other);
  for (const v1::ProcessRow& row : epoch.body->processes().rows()) {
    const double value = static_cast<double>(ValueOf(row, columns));
    if (value == 0) continue;
    const std::string exe = names.String(row.exe()), comm = names.String(row.comm());
    if (!filter.Matches(row.pid(), exe, comm)) continue;
    const std::string cgroup = names.String(row.cgroup());
    const std::string who = ExeOf(row, names);
    std::string key;
    switch (table.by()) {
      case v1::DIMENSION_EXE:
        key = who;
        break;
      case v1::DIMENSION_USER:
        key = absl::StrCat(row.uid());
        break;
      case v1::DIMENSION_CGROUP:
        key = cgroup;
        break;
      default:  // one process of one node; short-lived ones by what makes them one row
        key = row.pid() != 0 ? absl::StrCat(epoch.node, "/", row.pid(), "/", row.start_mono_ns())
                             : absl::StrCat(epoch.node, "//", who, "/", row.uid(), "/", cgroup);
    }
    v1::TopRow& out = table.Add(key, value, value, value, [&](v1::TopRow& fresh) {
      switch (table.by()) {
        case v1::DIMENSION_EXE:
          fresh.set_name(who);
          fresh.set_exe(exe);
          return;
        case v1::DIMENSION_USER:
          fresh.set_name(absl::StrCat("uid ", row.uid()));
          fresh.set_uid(row.uid());
          fresh.set_user(absl::StrCat(row.uid()));
          return;
        case v1::DIMENSION_CGROUP:
          fresh.set_name(cgroup.empty() ? "(no cgroup)" : cgroup);
          fresh.set_cgroup(cgroup);
          return;
        default:
          fresh.set_exe(exe);
          fresh.set_uid(row.uid());
          fresh.set_user(absl::StrCat(row.uid()));
          fresh.set_pid(row.pid());
          fresh.set_cgroup(cgroup);
          fresh.set_node(node_name);
      }
    });
    const bool alone = table.by() == v1::DIMENSION_PROCESS && row.pid() != 0;
    out.set_instances(alone ? 1 : out.instances() + std::max(1u, row.instances()));
    if (table.by() == v1::DIMENSION_PROCESS) {
      v1::ProcessRow named = row;
      named.set_instances(out.instances());
      out.set_name(ProcessName(named, exe, comm));
    }
  }
}

}  // namespace telltale::query
