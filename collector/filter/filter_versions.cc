#include "collector/filter/filter_versions.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace telltale::filter {

absl::StatusOr<std::vector<FilterIdentity>> WithStored(const storage::DerivedStore& store,
                                                       std::vector<FilterIdentity> filters) {
  const auto stored = store.Filters();
  if (!stored.ok()) return stored.status();
  for (const auto& [name, version] : *stored) {
    const bool given = std::ranges::any_of(filters, [&](const FilterIdentity& one) {
      return one.name == name && one.version == version;
    });
    if (!given) filters.push_back({name, version, false});
  }
  std::ranges::stable_sort(filters, [](const FilterIdentity& a, const FilterIdentity& b) {
    return a.runs != b.runs ? a.runs : !a.runs && a.version > b.version;
  });
  return filters;
}

bool HasOutputs(const storage::DerivedStore& store, uint32_t filter, uint64_t from_ns,
                uint64_t to_ns) {
  bool found = false;
  uint64_t unreadable = 0;
  const auto visit = [&](const storage::DerivedKey&, std::string_view) {
    found = true;
    return false;
  };
  const auto read = store.ForEach(filter, from_ns, to_ns, visit, &unreadable);
  return found || unreadable > 0 || !read.ok();
}

bool IsReplaced(const storage::DerivedStore& store, std::span<const uint32_t> preferred,
                const storage::DerivedKey& key, const v1::FilterHour& hour) {
  return std::ranges::any_of(preferred, [&](uint32_t filter) {
    const auto bytes = store.Get({filter, key.node, key.hour_start_ns});
    v1::FilterHour other;
    // Of a damaged one nothing can be listed.
    if (!bytes.ok() || !other.ParseFromString(*bytes)) return false;
    if (other.shown_sequences().empty() || other.learning()) return false;
    // One that was shown none itself only told later what began in the hour.
    return hour.shown_sequences().empty() || other.shown_sequences(0) <= hour.shown_sequences(0);
  });
}

}  // namespace telltale::filter
