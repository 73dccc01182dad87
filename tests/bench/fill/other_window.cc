#include "tests/bench/fill/other_window.h"

namespace telltale::bench {
namespace {

void Scale(Factor factor, v1::GroupTable& table) {
  for (v1::GroupRow& row : *table.mutable_rows()) {
    row.set_low(factor.Of(row.low()));
    row.set_high(factor.Of(row.high()));
  }
  table.set_total(factor.Of(table.total()));
  table.set_threshold(factor.Of(table.threshold()));
}

void Scale(Factor factor, v1::SubTotals& sub) {
  sub.set_events(factor.Of(sub.events()));
  sub.set_weight(factor.Of(sub.weight()));
  sub.set_second_min(factor.Of(sub.second_min()));
  sub.set_second_max(factor.Of(sub.second_max()));
}

}  // namespace

v1::RollupWindow OtherTotals(const v1::RollupWindow& window, Factor factor) {
  v1::RollupWindow other;
  other.set_watched_ns(window.watched_ns());
  for (const v1::VitalTotals& vital : window.vitals()) {
    v1::VitalTotals& totals = *other.add_vitals();
    totals.set_id(vital.id());
    for (const v1::SubTotals& sub : vital.subs()) {
      v1::SubTotals& figures = *totals.add_subs();
      figures.set_events(sub.events());
      figures.set_weight(sub.weight());
      figures.set_second_min(sub.second_min());
      figures.set_second_max(sub.second_max());
      Scale(factor, figures);
    }
  }
  return other;
}

storage::WindowRows OtherWindow(const storage::WindowRows& rows, Factor factor) {
  storage::WindowRows other = rows;
  for (v1::VitalTotals& vital : *other.window.mutable_vitals()) {
    for (v1::SubTotals& sub : *vital.mutable_subs()) Scale(factor, sub);
  }
  for (v1::GroupTable& table : *other.window.mutable_run_time()) Scale(factor, table);
  for (auto& [id, vital] : other.vitals) {
    for (v1::RollupLabel& label : *vital.mutable_labels()) {
      label.set_low(factor.Of(label.low()));
      label.set_high(factor.Of(label.high()));
      label.set_estimate(factor.Of(label.estimate()));
    }
    vital.set_total(factor.Of(vital.total()));
    vital.set_threshold(factor.Of(vital.threshold()));
    for (v1::GroupTable& table : *vital.mutable_groups()) Scale(factor, table);
  }
  return other;
}

}  // namespace telltale::bench
