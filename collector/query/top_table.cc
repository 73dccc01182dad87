#include "collector/query/top_table.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "collector/query/base_unit.h"
#include "collector/query/own_process.h"

namespace telltale::query {

TopTable::TopTable(VitalChoice choice, v1::Dimension by)
    : choice_(std::move(choice)), by_(by), factor_(BaseFactor(choice_.vital.unit())) {}

v1::TopRow& TopTable::Add(const std::string& key, double value, double low, double high,
                          const std::function<void(v1::TopRow&)>& fill) {
  auto [it, added] = rows_.try_emplace(key);
  v1::TopRow& row = it->second.row;
  if (added) fill(row);
  row.set_value(row.value() + value);
  row.set_low(row.low() + low);
  row.set_high(row.high() + high);
  row_sum_ += value;
  return row;
}

void TopTable::Bound(const std::string& key, double low, double high) {
  v1::TopRow& row = rows_[key].row;
  row.set_low(low);
  row.set_high(high);
  row.set_value(std::clamp(row.value(), low, high));
}

void TopTable::Fit(const ExeLimits& limits) {
  std::vector<RowWeight> weights;
  for (const auto& [key, entry] : rows_) {
    weights.push_back({entry.row.exe(), entry.row.low(), entry.row.value(), entry.row.high()});
  }
  FitRows(total_, limits, weights);
  auto weight = weights.begin();
  for (auto& [key, entry] : rows_) {
    entry.row.set_low(weight->low);
    entry.row.set_value(weight->value);
    entry.row.set_high(weight->high);
    ++weight;
  }
}

bool TopTable::Heaviest(const std::string& key, double value) {
  Entry& entry = rows_[key];
  if (value <= entry.heaviest) return false;
  entry.heaviest = value;
  return true;
}

void TopTable::FillIfHeaviest(const std::string& key, double value,
                              std::function<void(v1::TopRow&)> fill) {
  if (Heaviest(key, value)) rows_[key].fill = std::move(fill);
}

void TopTable::SetState(v1::VitalState state) {
  if (state == v1::VITAL_STATE_UNSPECIFIED) return;
  if (state_ == v1::VITAL_STATE_UNSPECIFIED || state < state_) state_ = state;
}

TopTable::Together TopTable::Sum() const {
  Together sum;
  for (const auto& [key, entry] : rows_) {
    ++sum.rows;
    sum.value += entry.row.value() * factor_;
    sum.low += entry.row.low() * factor_;
    sum.high += (entry.row.high() + slack_) * factor_;
  }
  sum.unlisted = std::max(unlisted_, slack_) * factor_;
  sum.total = std::max(total_ * factor_, sum.value);
  return sum;
}

v1::TopTable TopTable::Finish(uint32_t first, uint32_t limit, bool exact) const {
  v1::TopTable table;
  table.set_vital(choice_.vital.name());
  table.set_sub(choice_.SubName());
  table.set_unit(std::string(BaseUnitName(choice_.vital.unit())));
  table.set_by(by_);
  table.set_events(events_);
  table.set_exact(exact);
  table.set_estimated(estimated_);
  table.set_state(state_);
  for (const std::string& name : choice_.LeftOut()) table.add_left_out(name);

  std::vector<const std::pair<const std::string, Entry>*> order;
  double hidden = 0;
  const auto hide = [this](const Entry& entry) {
    return hide_self_ && OwnProcess(entry.row.exe());
  };
  for (const auto& entry : rows_) {
    if (hide(entry.second)) {
      hidden += entry.second.row.value();
    } else if (entry.second.row.value() > 0) {
      order.push_back(&entry);
    }
  }
  const size_t begin = std::min<size_t>(first, order.size());
  const size_t kept = begin + std::min<size_t>(limit, order.size() - begin);
  std::partial_sort(order.begin(), order.begin() + static_cast<long>(kept), order.end(),
                    [](const auto* a, const auto* b) {
                      if (a->second.row.value() != b->second.row.value()) {
                        return a->second.row.value() > b->second.row.value();
                      }
                      return a->first < b->first;
                    });
  double before = 0, shown = 0, lows = 0;  // shown: here and on pages before
  for (size_t i = 0; i < kept; ++i) {
    if (i < begin) before += order[i]->second.row.value();
    shown += order[i]->second.row.value();
    lows += order[i]->second.row.low();
  }
  // The kernel's accounts may hold a little more than the vital counted: then they are the better
  // total.
  const double total = std::max(total_ - hidden, shown);
  table.set_total(total * factor_);
  table.set_hidden(hidden * factor_);
  table.set_before(before * factor_);
  table.set_rows_before(static_cast<uint32_t>(begin));
  table.set_rows_after(static_cast<uint32_t>(order.size() - kept));
  for (size_t i = begin; i < kept; ++i) {
    v1::TopRow& row = *table.add_rows();
    row = order[i]->second.row;
    if (order[i]->second.fill) order[i]->second.fill(row);
    row.set_share(total > 0 ? row.value() / total : 0);
    row.set_value(row.value() * factor_);
    row.set_low(row.low() * factor_);
    row.set_high((row.high() + slack_) * factor_);
  }
  table.set_other((total - shown) * factor_);
  double unlisted = std::max(unlisted_, slack_);
  const std::set<const void*> listed(order.begin(), order.begin() + static_cast<long>(kept));
  for (const auto& entry : rows_) {
    if (!listed.contains(&entry) && !hide(entry.second))
      unlisted = std::max(unlisted, entry.second.row.high() + slack_);
  }
  table.set_unlisted_most(std::min(unlisted, total - lows) * factor_);
  table.set_kept_labels(kept_labels_);
  return table;
}

}  // namespace telltale::query
