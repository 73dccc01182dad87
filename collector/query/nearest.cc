#include "collector/query/nearest.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace telltale::query {
namespace {

constexpr size_t kMaxLength = 64;

// Optimal string alignment distance: insert, delete, replace, swap neighbours.
size_t Distance(const std::string& a, const std::string& b) {
  std::array<std::array<size_t, kMaxLength + 1>, kMaxLength + 1> cost;
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> Nearest(const std::string& wanted, const std::vector<std::string>& names,
                                 size_t limit) {
  const std::string key = absl::AsciiStrToLower(wanted.substr(0, kMaxLength));
  std::vector<std::pair<size_t, std::string>> close;
  for (const std::string& name : names) {
    const std::string other = absl::AsciiStrToLower(name.substr(0, kMaxLength));
    size_t distance = Distance(key, other);
    if (key.size() >= 2 && other.find(key) != std::string::npos)
      distance = std::min<size_t>(distance, 1);
    if (distance <= std::max<size_t>(2, key.size() / 2)) close.emplace_back(distance, name);
  }
  std::sort(close.begin(), close.end());
  if (close.size() > limit) close.resize(limit);
  std::vector<std::string> result;
  for (auto& [distance, name] : close) result.push_back(std::move(name));
  return result;
}

std::string NearestHint(const std::string& wanted, const std::vector<std::string>& names) {
  const std::vector<std::string> close = Nearest(wanted, names);
  if (!close.empty()) return absl::StrCat("; nearest: ", absl::StrJoin(close, ", "));
  if (!names.empty() && names.size() <= 20) {
    return absl::StrCat("; there are: ", absl::StrJoin(names, ", "));
  }
  return "";
}

}  // namespace telltale::query
