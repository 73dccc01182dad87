#include "collector/query/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

constexpr double kUsualSeconds = 3600;  // as Resolve of selection.h
constexpr double kRounding = 1e-9;      // of sums of doubles that were added in another order

// What makes rows of two answers the same. Processes: of one node, by number, or, where several
// are one row, by what makes them one.
std::string KeyOf(v1::Dimension by, const v1::TopRow& row) {
  switch (by) {
    case v1::DIMENSION_PROCESS:
      if (row.pid() != 0) return absl::StrCat(row.node(), "\n", row.pid(), "\n", row.exe());
      return absl::StrCat(row.node(), "\n\n", row.exe(), "\n", row.user(), "\n", row.cgroup());
    case v1::DIMENSION_SITE:
      return absl::StrCat(row.name(), "\n", row.exe());
    case v1::DIMENSION_STACK: {
      std::string key = absl::StrCat(row.exe(), "\n", row.stack().empty() ? row.name() : "");
      for (const v1::Frame& frame : row.stack()) absl::StrAppend(&key, "\n", frame.name());
      return key;
    }
    default:
      return row.name();
  }
}

// Adds a row that is the same to people (stacks of equal names).
void Merge(const v1::TopRow& more, v1::TopRow* row) {
  row->set_value(row->value() + more.value());
  row->set_low(row->low() + more.low());
  row->set_high(row->high() + more.high());
  row->set_share(row->share() + more.share());
  row->set_samples(row->samples() + more.samples());
  row->set_open(row->open() || more.open());
}

std::map<std::string, v1::TopRow> RowsOf(const v1::TopTable& table, double scale) {
  std::map<std::string, v1::TopRow> rows;
  for (const v1::TopRow& row : table.rows()) {
    const auto [it, fresh] = rows.try_emplace(KeyOf(table.by(), row), row);
    if (!fresh) Merge(row, &it->second);
  }
  for (auto& [key, row] : rows) {
    row.set_high(std::min(row.high(), std::max(row.value(), table.total())) * scale);
    row.set_value(row.value() * scale);
    row.set_low(row.low() * scale);
  }
  return rows;
}

Weighed WeightOf(const v1::TopRow& row) { return {row.value(), row.low(), row.high()}; }

class TableComparison {
 public:
  TableComparison(const v1::TopTable& selected, const v1::TopTable& against, double scale)
      : selected_(selected), against_(against), scale_(scale) {}

  void Write(uint32_t limit, v1::DiffTable* out) {
    std::map<std::string, v1::TopRow> rows = RowsOf(selected_, 1),
                                      others = RowsOf(against_, scale_);
    std::map<std::string, v1::DiffRow> pairs;
    for (auto& [key, row] : rows) *pairs[key].mutable_row() = std::move(row);
    for (auto& [key, row] : others) *pairs[key].mutable_against() = std::move(row);
    std::vector<v1::DiffRow*> order;
    for (auto& [key, pair] : pairs) {
      Finish(&pair);
      order.push_back(&pair);
    }
    std::stable_sort(order.begin(), order.end(), [](const v1::DiffRow* a, const v1::DiffRow* b) {
      if (a->certain() != b->certain()) return a->certain();
      return std::abs(a->difference()) > std::abs(b->difference());
    });
    double unlisted = std::max(selected_.unlisted_most(), against_.unlisted_most() * scale_);
    for (size_t i = 0; i < order.size(); ++i) {
      const v1::DiffRow& row = *order[i];
      if (i < limit && row.difference() != 0) {
        *out->add_rows() = row;
      } else {
        unlisted = std::max({unlisted, row.difference_high(), -row.difference_low()});
      }
    }
    out->set_unlisted_most(unlisted);
  }

 private:
  // Without a row it weighs what anything without a row may.
  static void Absent(const v1::TopRow& like, const v1::TopTable& table, double scale,
                     v1::TopRow* row) {
    *row = like;
    row->clear_stack();
    row->clear_samples();
    row->clear_instances();
    row->clear_open();
    row->set_value(0);
    row->set_low(0);
    row->set_share(0);
    row->set_high(table.unlisted_most() * scale);
  }

  void Finish(v1::DiffRow* pair) const {
    if (!pair->has_row()) Absent(pair->against(), selected_, 1, pair->mutable_row());
    if (!pair->has_against()) Absent(pair->row(), against_, scale_, pair->mutable_against());
    const Weighed a = WeightOf(pair->row()), b = WeightOf(pair->against());
    const double difference = a.value - b.value;
    const bool rounding = std::abs(difference) <= kRounding * std::max(a.value, b.value);
    pair->set_difference(rounding ? 0 : difference);
    pair->set_difference_low(a.low - b.high);
    pair->set_difference_high(a.high - b.low);
    pair->set_certain(!selected_.estimated() && !against_.estimated() && DifferForCertain(a, b));
  }

  const v1::TopTable& selected_;
  const v1::TopTable& against_;
  const double scale_;
};

using TableKey = std::tuple<std::string, std::string, v1::Dimension>;

TableKey KeyOf(const v1::TopTable& table) { return {table.vital(), table.sub(), table.by()}; }

bool Watched(const v1::TopTable& table) {
  return table.state() == v1::VITAL_STATE_ACTIVE || table.state() == v1::VITAL_STATE_DEGRADED;
}

std::string NotWatched(const v1::TopTable* table, const char* side) {
  if (table != nullptr && Watched(*table)) return "";
  const std::string why = table == nullptr ? "" : table->reason();
  return absl::StrCat("not watched in ", side, why.empty() ? "" : ": ", why);
}

void CompareTables(const v1::TopTable* selected, const v1::TopTable* against, double scale,
                   uint32_t limit, v1::DiffAnswer* answer) {
  const v1::TopTable& any = selected != nullptr ? *selected : *against;
  v1::DiffTable* out = answer->add_tables();
  out->set_vital(any.vital());
  out->set_sub(any.sub());
  out->set_unit(any.unit());
  out->set_by(any.by());
  *out->mutable_left_out() = any.left_out();
  std::string reason = NotWatched(selected, "the selection");
  if (reason.empty()) reason = NotWatched(against, "what it is compared with");
  out->set_reason(reason);
  if (selected != nullptr) {
    out->set_total(selected->total());
    out->set_hidden(selected->hidden());
  }
  if (against != nullptr) {
    out->set_against_total(against->total() * scale);
    out->set_against_hidden(against->hidden() * scale);
  }
  if (reason.empty()) TableComparison(*selected, *against, scale).Write(limit, out);
}

}  // namespace

v1::Selection AgainstOf(const v1::Selection& selected, v1::Selection against, double now_s) {
  if (against.start_s() != 0 || against.end_s() != 0) return against;
  const double end_s = selected.end_s() == 0 ? now_s : selected.end_s();
  const double start_s = selected.start_s() == 0 ? end_s - kUsualSeconds : selected.start_s();
  against.set_start_s(std::max(0.001, start_s - (end_s - start_s)));
  against.set_end_s(start_s);
  return against;
}

double ScaleOf(const v1::Coverage& selected, const v1::Coverage& against) {
  if (selected.values_watched_s() <= 0 || against.values_watched_s() <= 0) return 0;
  return selected.values_watched_s() / against.values_watched_s();
}

bool DifferForCertain(const Weighed& a, const Weighed& b) {
  const double apart = std::max(a.low - b.high, b.low - a.high);
  return apart > kRounding * std::max(a.value, b.value);
}

v1::DiffAnswer CompareTops(const v1::TopAnswer& selected, const v1::TopAnswer& against,
                           uint32_t limit) {
  v1::DiffAnswer answer;
  answer.set_process(selected.process());
  *answer.mutable_coverage() = selected.coverage();
  *answer.mutable_against_coverage() = against.coverage();
  answer.set_scale(ScaleOf(selected.coverage(), against.coverage()));
  if (answer.scale() == 0) return answer;
  std::map<TableKey, const v1::TopTable*> others;
  for (const v1::TopTable& table : against.tables()) others[KeyOf(table)] = &table;
  for (const v1::TopTable& table : selected.tables()) {
    const auto other = others.find(KeyOf(table));
    CompareTables(&table, other == others.end() ? nullptr : other->second, answer.scale(), limit,
                  &answer);
    if (other != others.end()) others.erase(other);
  }
  for (const auto& [key, table] : others) {
    CompareTables(nullptr, table, answer.scale(), limit, &answer);
  }
  return answer;
}

}  // namespace telltale::query
