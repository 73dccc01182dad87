#include "agent/epoch/process_rows.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/epoch/sample_folder.h"
#include "agent/vitals/vitals.h"
#include "sketch/round7.h"
#include "sketch/saturating.h"

namespace telltale::agent {
namespace {

constexpr std::string_view kIrqComm = "[irq]";
// A row is worth its bytes if it has this part of a column that ranks.
constexpr uint64_t kWorthOneIn = 1'000;
// A row that ran for this part of one CPU leaves nothing out.
constexpr uint64_t kToldWholeOneIn = 20;
constexpr size_t kStaysOneIn = 4;  // rows

void AddTo(std::vector<uint64_t>& sum, const std::vector<uint64_t>& values) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = sketch::SaturatingAdd(sum[i], values[i]);
}

uint32_t ShareColumn(uint32_t vital, uint32_t sub, bool weight) {
  return v1::PROCESS_COLUMN_FIRST_VITAL + vital * 32 + sub * 2 + (weight ? 1 : 0);
}
bool IsShare(uint32_t column) { return column >= v1::PROCESS_COLUMN_FIRST_VITAL; }
uint8_t VitalOf(uint32_t column) {
  return static_cast<uint8_t>((column - v1::PROCESS_COLUMN_FIRST_VITAL) / 32);
}
uint8_t SubOf(uint32_t column) {
  return static_cast<uint8_t>((column - v1::PROCESS_COLUMN_FIRST_VITAL) % 32 / 2);
}
bool IsWeight(uint32_t column) { return column % 2 == 1; }

// What is watched for slow growth, over hours: memory, open files, threads, and kernel memory taken
// and given back. There a hundredth is what is looked for.
bool Whole(uint32_t column) {
  switch (column) {
    case v1::PROCESS_COLUMN_RSS_BYTES:
    case v1::PROCESS_COLUMN_THREADS:
    case v1::PROCESS_COLUMN_OPEN_FILES:
    case v1::PROCESS_COLUMN_OWN_BYTES:
      return true;
    default:
      return IsShare(column) && VitalOf(column) == TELLTALE_KERNEL_PAGE;
  }
}

// As much of a value as travels with its row; `all`: also what is little of the column's total.
uint64_t Travels(uint32_t column, uint64_t value, uint64_t total, bool all) {
  if (Whole(column)) return value;
  if (!all && value < total / kWorthOneIn) return 0;
  return sketch::Floor7(value);
}

uint64_t Bytes(uint64_t pages, uint64_t page_size) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  return pages > most / page_size ? most : pages * page_size;
}

bool Ranks(uint32_t column) {
  if (!IsShare(column)) {
    return column == v1::PROCESS_COLUMN_RUN_NS || column == v1::PROCESS_COLUMN_RSS_BYTES ||
           column == v1::PROCESS_COLUMN_OPEN_FILES;
  }
  if (!IsWeight(column)) return false;
  const sketch::Vital* vital = FindVital(VitalOf(column));
  return vital != nullptr && SubOf(column) < vital->subs.size() && !vital->subs[SubOf(column)].idle;
}

uint64_t Account(const RawProcess& p, uint32_t column, uint64_t page_size) {
  switch (column) {
    case v1::PROCESS_COLUMN_RUN_NS:
      return p.run_ns;
    case v1::PROCESS_COLUMN_USER_NS:
      return p.user_ns;
    case v1::PROCESS_COLUMN_SYSTEM_NS:
      return p.system_ns;
    case v1::PROCESS_COLUMN_QUEUE_NS:
      return p.queue_ns;
    case v1::PROCESS_COLUMN_BLOCKED_NS:
      return p.blocked_ns;
    case v1::PROCESS_COLUMN_TASK_NS:
      return p.task_ns;
    case v1::PROCESS_COLUMN_SWITCHES_VOLUNTARY:
      return p.switches_voluntary;
    case v1::PROCESS_COLUMN_SWITCHES_INVOLUNTARY:
      return p.switches_involuntary;
    case v1::PROCESS_COLUMN_FAULTS_MINOR:
      return p.faults_minor;
    case v1::PROCESS_COLUMN_FAULTS_MAJOR:
      return p.faults_major;
    case v1::PROCESS_COLUMN_RSS_BYTES:
      return Bytes(p.rss_pages, page_size);
    case v1::PROCESS_COLUMN_READ_BYTES:
      return p.read_bytes;
    case v1::PROCESS_COLUMN_WRITE_BYTES:
      return p.write_bytes;
    case v1::PROCESS_COLUMN_THREADS:
      return p.threads;
    case v1::PROCESS_COLUMN_OPEN_FILES:
      return p.open_files;
    case v1::PROCESS_COLUMN_OWN_BYTES:
      return Bytes(p.own_pages, page_size);
    default:
      return 0;
  }
}

bool IsIrq(const RawProcess& p) {
  return p.tgid == 0 && p.exe.inode == 0 &&
         std::string_view(p.comm.data(), strnlen(p.comm.data(), p.comm.size())) == kIrqComm;
}

}  // namespace

ProcessRows::ProcessRows(const RawEpoch& raw, const Options& options, Resolver& resolver,
                         const AskTerms& terms, FoldTables& tables)
    : options_(options),
      whole_from_run_ns_(
          std::max<uint64_t>((raw.end_mono_ns - raw.start_mono_ns) / kToldWholeOneIn, 1)) {
  ChooseColumns(raw);
  Group(raw);
  Total(raw);
  Rank();
  Name(resolver, terms, tables);
}

void ProcessRows::ChooseColumns(const RawEpoch& raw) {
  std::set<uint32_t> used;
  auto look = [&](const RawProcess& p) {
    for (uint32_t c = v1::PROCESS_COLUMN_RUN_NS; c <= v1::PROCESS_COLUMN_OWN_BYTES; ++c) {
      if (Account(p, c, options_.page_size) != 0) used.insert(c);
    }
    for (const RawProcess::Share& s : p.shares) {
      if (s.vital > TELLTALE_MAX_VITAL || s.sub >= 16) continue;
      if (s.events != 0) used.insert(ShareColumn(s.vital, s.sub, false));
      if (s.weight != 0) used.insert(ShareColumn(s.vital, s.sub, true));
    }
  };
  for (const RawProcess& p : raw.processes) look(p);
  look(raw.other);
  for (const RawVital& vital : raw.vitals) {
    for (size_t sub = 0; sub < vital.subs.size() && sub < 16; ++sub) {
      const auto s = static_cast<uint32_t>(sub);
      if (vital.subs[sub].events != 0) used.insert(ShareColumn(vital.id, s, false));
      if (vital.subs[sub].weight != 0) used.insert(ShareColumn(vital.id, s, true));
    }
  }
  columns_.assign(used.begin(), used.end());
}

std::vector<uint64_t> ProcessRows::ValuesOf(const RawProcess& process) const {
  std::vector<uint64_t> values(columns_.size(), 0);
  for (size_t i = 0; i < columns_.size() && !IsShare(columns_[i]); ++i) {
    values[i] = Account(process, columns_[i], options_.page_size);
  }
  for (const RawProcess::Share& s : process.shares) {
    if (s.vital > TELLTALE_MAX_VITAL || s.sub >= 16) continue;
    for (const bool weight : {false, true}) {
      const auto it = std::ranges::lower_bound(columns_, ShareColumn(s.vital, s.sub, weight));
      if (it == columns_.end() || *it != ShareColumn(s.vital, s.sub, weight)) continue;
      uint64_t& value = values[it - columns_.begin()];
      value = sketch::SaturatingAdd(value, weight ? s.weight : s.events);
    }
  }
  return values;
}

void ProcessRows::Group(const RawEpoch& raw) {
  using GroupKey = std::tuple<uint64_t, uint64_t, uint32_t, uint32_t, uint64_t>;
  std::map<GroupKey, size_t> short_lived;
  for (const RawProcess& p : raw.processes) {
    Row row{.tgid = p.tgid,
            .uid = p.uid,
            .exe_id = p.exe,
            .cgroup_id = p.cgroup_id,
            .start_ns = p.start_ns,
            .instances = p.instances,
            .irq = IsIrq(p),
            .comm = p.comm,
            .values = ValuesOf(p),
            .exited = p.exited,
            .stays = p.start_ns < raw.start_mono_ns && p.exe.inode != 0};
    if (p.instances > 1) row.tgid = 0;
    if (p.exited && p.start_ns >= raw.start_mono_ns && p.exe.inode != 0) {
      const GroupKey key{p.exe.device, p.exe.inode, p.exe.generation, p.uid, p.cgroup_id};
      const auto [it, added] = short_lived.try_emplace(key, rows_.size());
      if (!added) {
        Row& group = rows_[it->second];
        AddTo(group.values, row.values);
        group.instances += row.instances;
        group.tgid = 0;
        group.start_ns = std::min(group.start_ns, p.start_ns);
        continue;
      }
    }
    rows_.push_back(std::move(row));
  }
}

// Totals are what the vitals counted. Where processes were given more than that, their sum is the
// total and the column is an estimate.
void ProcessRows::Total(const RawEpoch& raw) {
  rest_ = ValuesOf(raw.other);
  totals_ = rest_;
  for (const Row& row : rows_) AddTo(totals_, row.values);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!IsShare(columns_[i])) continue;
    const uint8_t vital = VitalOf(columns_[i]), sub = SubOf(columns_[i]);
    bool estimated = false;
    const auto it = std::ranges::find(raw.vitals, vital, &RawVital::id);
    if (it != raw.vitals.end() && sub < it->subs.size()) {
      estimated = it->estimated;
      const uint64_t counted = IsWeight(columns_[i]) ? it->subs[sub].weight : it->subs[sub].events;
      if (counted >= totals_[i]) {
        rest_[i] += counted - totals_[i];
        totals_[i] = counted;
      } else {
        estimated = true;
      }
    }
    if (estimated) estimated_.push_back(columns_[i]);
  }
}

void ProcessRows::Rank() {
  for (Row& row : rows_) row.rank = rows_.size();
  std::vector<size_t> order(rows_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!Ranks(columns_[c])) continue;
    std::iota(order.begin(), order.end(), size_t{0});
    // Who stays may have run for less than very many others; those whose part is worth a row are
    // no more than its inverse.
    const size_t most = columns_[c] == v1::PROCESS_COLUMN_RUN_NS ? kWorthOneIn : options_.max_rows;
    const size_t best = std::min(order.size(), most);
    auto value = [&](size_t i) { return rows_[i].values[c]; };
    std::ranges::partial_sort(order, order.begin() + best, [&](size_t a, size_t b) {
      return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
    for (size_t place = 0; place < best; ++place) {
      const uint64_t v = value(order[place]);
      if (v == 0 || v < totals_[c] / kWorthOneIn) break;
      rows_[order[place]].rank = std::min(rows_[order[place]].rank, place);
    }
  }
  std::ranges::stable_sort(rows_, {}, &Row::rank);
  const auto unranked = std::ranges::find(rows_, rows_.size(), &Row::rank);
  LetInWhoStays(static_cast<size_t>(unranked - rows_.begin()));
  const auto first_left_out = unranked - rows_.begin() > static_cast<ptrdiff_t>(options_.max_rows)
                                  ? rows_.begin() + static_cast<ptrdiff_t>(options_.max_rows)
                                  : unranked;
  for (auto it = first_left_out; it != rows_.end(); ++it) {
    AddTo(rest_, it->values);
    unranked_processes_ += it->instances;
  }
  rows_.erase(first_left_out, rows_.end());
}

void ProcessRows::LetInWhoStays(size_t ranked) {
  std::vector<size_t> staying;
  for (size_t i = 0; i < ranked; ++i) {
    if (rows_[i].stays) staying.push_back(i);
  }
  std::ranges::stable_sort(staying, std::greater(), [&](size_t i) { return Ran(rows_[i]); });
  std::vector<Row> in_order;
  std::vector<bool> taken(ranked);
  auto stays = staying.begin();
  size_t best = 0;
  while (in_order.size() < ranked) {
    while (stays != staying.end() && taken[*stays]) ++stays;
    while (taken[best]) ++best;
    const bool let_in = in_order.size() % kStaysOneIn == kStaysOneIn - 1 && stays != staying.end();
    const size_t next = let_in ? *stays : best;
    taken[next] = true;
    in_order.push_back(std::move(rows_[next]));
  }
  std::ranges::move(in_order, rows_.begin());
}

uint64_t ProcessRows::Ran(const Row& row) const {
  const bool has_run = !columns_.empty() && columns_.front() == v1::PROCESS_COLUMN_RUN_NS;
  return has_run ? row.values.front() : 0;
}

void ProcessRows::Name(Resolver& resolver, const AskTerms& terms, FoldTables& tables) {
  for (Row& row : rows_) {
    const ProcessRef process{row.tgid, row.start_ns, row.exe_id, row.cgroup_id};
    if (row.exe_id.inode != 0) {
      const std::string path = resolver.ExePath(process);
      row.exe_string = tables.String(path.empty() ? UnknownExeName(row.exe_id) : path);
    }
    row.comm_string = tables.String({row.comm.data(), strnlen(row.comm.data(), row.comm.size())});
    row.cgroup_string = tables.String(resolver.CgroupPath(process));
    // Threads of the kernel have no limits.
    if (!terms || row.tgid == 0 || row.exited || row.exe_id.inode == 0) continue;
    row.terms = terms(row.tgid);
    row.throttled_string = tables.String(row.terms.cgroup);
  }
}

absl::Status ProcessRows::Write(size_t limit, BodyTables& tables, v1::ProcessTable* to) const {
  to->mutable_columns()->Assign(columns_.begin(), columns_.end());
  to->mutable_estimated()->Assign(estimated_.begin(), estimated_.end());
  to->set_whole_from_run_ns(whole_from_run_ns_);
  const size_t kept = std::min(limit, rows_.size());
  std::vector<uint64_t> other = rest_;
  uint64_t other_processes = unranked_processes_;
  for (size_t i = kept; i < rows_.size(); ++i) {
    AddTo(other, rows_[i].values);
    other_processes += rows_[i].instances;
  }
  std::vector<const Row*> rows;
  for (size_t i = 0; i < kept; ++i) rows.push_back(&rows_[i]);
  std::ranges::stable_sort(rows, [&](const Row* a, const Row* b) {
    if (Ran(*a) != Ran(*b)) return Ran(*a) > Ran(*b);
    return std::tie(a->exe_string, a->comm_string, a->uid, a->cgroup_string, a->tgid, a->start_ns) <
           std::tie(b->exe_string, b->comm_string, b->uid, b->cgroup_string, b->tgid, b->start_ns);
  });
  std::vector<uint64_t> sum(columns_.size());
  for (const Row* row : rows) {
    std::vector<uint64_t> values = row->values;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = Travels(columns_[i], row->values[i], totals_[i], Ran(*row) >= whole_from_run_ns_);
      other[i] = sketch::SaturatingAdd(other[i], row->values[i] - values[i]);
    }
    AddTo(sum, values);
    v1::ProcessRow& wire = *to->add_rows();
    wire.set_exe(tables.String(row->exe_string));
    wire.set_comm(tables.String(row->comm_string));
    wire.set_uid(row->uid);
    wire.set_cgroup(tables.String(row->cgroup_string));
    wire.set_pid(row->tgid);
    wire.set_start_mono_ns(row->start_ns);
    wire.set_instances(row->instances);
    wire.set_irq(row->irq);
    wire.mutable_values()->Assign(values.begin(), values.end());
    wire.set_policy(row->terms.policy);
    wire.set_real_time_priority(row->terms.real_time_priority);
    if (row->throttled_string == 0) continue;
    wire.set_throttled_cgroup(tables.String(row->throttled_string));
    wire.set_throttled_periods(row->terms.throttled.periods);
    wire.set_throttled_ns(row->terms.throttled.ns);
  }
  AddTo(sum, other);
  to->mutable_other()->mutable_values()->Assign(other.begin(), other.end());
  to->set_other_processes(other_processes);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (sum[i] == totals_[i]) continue;
    return absl::InternalError(absl::StrCat("process table: column ", columns_[i],
                                            ": rows + other = ", sum[i], ", total = ", totals_[i]));
  }
  return absl::OkStatus();
}

}  // namespace telltale::agent
