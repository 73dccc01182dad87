#include "storage/memory_history.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::storage {

absl::Status MemoryHistory::Append(std::span<const Row> rows) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Row& row : rows) {
    families_[static_cast<size_t>(row.family)].insert_or_assign(row.key,
                                                                Versioned{row.version, row.value});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryHistory::Get(Family family, std::string_view key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = rows(family).find(key);
  if (it == rows(family).end()) {
    return absl::NotFoundError(
        absl::StrCat("read ", std::string(FamilyName(family)), ": no such row"));
  }
  return it->second.value;
}

absl::Status MemoryHistory::Scan(Family family, std::string_view from, std::string_view to,
                                 const RowVisitor& visit) const {
  std::vector<std::pair<std::string, std::string>>
      copy;  // a visitor may call back into the history
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = rows(family).lower_bound(from);
         it != rows(family).end() && (to.empty() || it->first < to); ++it) {
      copy.emplace_back(it->first, it->second.value);
    }
  }
  for (const auto& [key, value] : copy) {
    if (!visit(key, value)) break;
  }
  return absl::OkStatus();
}

absl::Status MemoryHistory::DropRange(Family family, std::string_view from, std::string_view to) {
  std::lock_guard<std::mutex> lock(mutex_);
  Rows& rows = families_[static_cast<size_t>(family)];
  if (!to.empty() && to <= from) return absl::OkStatus();
  rows.erase(rows.lower_bound(from), to.empty() ? rows.end() : rows.lower_bound(to));
  return absl::OkStatus();
}

absl::StatusOr<FamilySize> MemoryHistory::Size(Family family) const {
  absl::StatusOr<uint64_t> bytes = RangeBytes(family, "", "");
  std::lock_guard<std::mutex> lock(mutex_);
  return FamilySize{*bytes, rows(family).size()};
}

absl::StatusOr<uint64_t> MemoryHistory::RangeBytes(Family family, std::string_view from,
                                                   std::string_view to) const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (auto it = rows(family).lower_bound(from);
       it != rows(family).end() && (to.empty() || it->first < to); ++it) {
    bytes += it->first.size() + it->second.value.size();
  }
  return bytes;
}

}  // namespace telltale::storage
