#include "collector/query/fitted_rows.h"

#include <algorithm>
#include <limits>

#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool WithoutExe(const std::string& name) { return name.starts_with('[') && name != "[irq]"; }

void Fit(double most, bool scale_lows, const std::vector<RowWeight*>& rows) {
  double lows = 0, values = 0;
  for (const RowWeight* row : rows) lows += row->low;
  const double scale = scale_lows && lows > most ? most / lows : 1;
  lows *= scale;
  for (RowWeight* row : rows) {
    row->low *= scale;
    row->high = std::max(row->low, std::min(row->high, most - (lows - row->low)));
    row->value = std::clamp(row->value, row->low, row->high);
    values += row->value;
  }
  if (values <= most) return;
  const double part = values > lows ? std::max(0.0, (most - lows) / (values - lows)) : 0;
  for (RowWeight* row : rows) row->value = row->low + part * (row->value - row->low);
}

}  // namespace

ExeLimits::ExeLimits(GroupSum& accounts) : other_measure_(accounts.other_measure) {
  if (accounts.estimated) return;
  const sketch::LabelList& list = accounts.weights.Sum();
  known_ = !list.labels.empty();
  without_exe_ = static_cast<double>(list.total);
  for (const sketch::LabelWeight& group : list.labels) {
    most_[group.id] = static_cast<double>(group.high);
    const auto text = accounts.text.find(group.id);
    const bool with_exe = text != accounts.text.end() && !WithoutExe(text->second);
    if (with_exe) without_exe_ -= static_cast<double>(group.low);
  }
}

double ExeLimits::Most(const std::string& exe) const {
  if (!known_) return kNoLimit;
  if (WithoutExe(exe)) return without_exe_;
  // An executable without an account may have been named otherwise when its processes ended.
  const auto most = most_.find(storage::DigestText(exe));
  return most == most_.end() ? kNoLimit : most->second;
}

void FitRows(double total, const ExeLimits& limits, std::vector<RowWeight>& rows) {
  std::map<std::string, std::vector<RowWeight*>> by_exe;
  std::vector<RowWeight*> all;
  for (RowWeight& row : rows) {
    all.push_back(&row);
    by_exe[WithoutExe(row.exe) ? "[]" : row.exe].push_back(&row);
  }
  for (const auto& [exe, of_exe] : by_exe) {
    Fit(std::min(total, limits.Most(exe)), limits.other_measure(), of_exe);
  }
  Fit(total, false, all);
}

}  // namespace telltale::query
