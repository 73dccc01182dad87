#include "storage/format_upgrade.h"

#include <string>
#include <string_view>
#include <vector>

#include "storage/keys.h"

namespace telltale::storage {
namespace {

constexpr size_t kRowsAtOnce = 10'000;
constexpr std::string_view kOldNames = "\x01";

}  // namespace

absl::Status UpgradeFrom1(History* history, uint64_t now_ns) {
  const std::string end = PrefixEnd(kOldNames);
  std::vector<Row> rows;
  absl::Status wrote;
  const auto flush = [&] {
    wrote = history->Append(rows);
    rows.clear();
    return wrote.ok();
  };
  absl::Status scanned = history->Scan(
      Family::kDict, kOldNames, end, [&](std::string_view key, std::string_view value) {
        for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
          // The old key behind its first byte was what now stands behind the partition.
          rows.push_back({Family::kDict,
                          NamePartitionPrefix(NamePartitionOf(tier, now_ns)) +
                              std::string(key.substr(kOldNames.size())),
                          std::string(value), 0});
        }
        return rows.size() < kRowsAtOnce || flush();
      });
  if (!scanned.ok()) return scanned;
  if (!wrote.ok() || !flush()) return wrote;
  absl::Status synced = history->Sync();
  if (!synced.ok()) return synced;
  return history->DropRange(Family::kDict, kOldNames, end);
}

}  // namespace telltale::storage
