#include "storage/coverage_rows.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "storage/keys.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

absl::StatusOr<CoverageDay> Decode(std::string_view value) {
  const auto record = DecodeValue<v1::CoverageRecord>(value, "coverage");
  if (!record.ok()) return record.status();
  return CoverageDay::FromRecord(*record);
}

}  // namespace

absl::StatusOr<CoverageDay> ReadCoverageDay(Catalog& catalog, const Transaction& state,
                                            uint32_t node, uint16_t day) {
  const absl::StatusOr<std::string> value = state.Get(CoverageKey(node, day));
  if (absl::IsNotFound(value.status()) || absl::IsDataLoss(value.status())) return CoverageDay();
  if (!value.ok()) return value.status();
  absl::StatusOr<CoverageDay> decoded = Decode(*value);
  if (!absl::IsDataLoss(decoded.status())) return decoded;
  if (!IsLostValue(*value)) catalog.CountUnreadable(1);
  return CoverageDay();
}

void CoverageDays::Add(const CoverageDay& day) {
  pieces.insert(pieces.end(), day.pieces().begin(), day.pieces().end());
  stops.insert(stops.end(), day.stops().begin(), day.stops().end());
}

void CoverageDays::Sort() {
  std::ranges::sort(pieces, {}, &CoveragePiece::start_ns);
  std::ranges::sort(stops, {}, &PlannedStop::time_ns);
}

absl::StatusOr<CoverageDays> ReadCoverageDays(Catalog& catalog, const Transaction& state,
                                              uint32_t node, uint16_t first, uint16_t last) {
  CoverageDays days;
  const auto take = [&](std::string_view value) -> absl::StatusOr<bool> {
    const absl::StatusOr<CoverageDay> day = Decode(value);
    if (day.ok()) days.Add(*day);
    if (day.ok() || absl::IsDataLoss(day.status())) return day.ok();
    return day.status();
  };
  const auto day_of = [](std::string_view key) {  // the last two bytes
    return static_cast<uint16_t>(static_cast<uint8_t>(key[key.size() - 2]) << 8 |
                                 static_cast<uint8_t>(key[key.size() - 1]));
  };
  std::vector<DamagedRange> damaged;
  absl::Status bad;
  const absl::Status scanned = state.ScanOver(
      CoverageKey(node, first), PrefixEnd(CoverageKey(node, last)),
      [&](std::string_view key, std::string_view value) {
        const absl::StatusOr<bool> taken = take(value);
        if (!taken.ok()) bad = taken.status();
        if (!taken.ok() || *taken) return taken.ok();
        if (!IsLostValue(value)) catalog.CountUnreadable(1);
        days.unreadable.push_back(day_of(key));
        return true;
      },
      [&](const DamagedRange& range) { damaged.push_back(range); });
  if (!scanned.ok()) return scanned;
  if (!bad.ok()) return bad;
  // What was written since lies between the same keys and is found by them.
  for (const DamagedRange& range : damaged) {
    const uint32_t from = range.after.empty() ? first : day_of(range.after) + 1u;
    const uint32_t to = range.before.empty() ? last + 1u : day_of(range.before);
    for (uint32_t day = from; day < to; ++day) {
      const auto value = state.Get(CoverageKey(node, static_cast<uint16_t>(day)));
      if (absl::IsNotFound(value.status())) continue;
      if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
      const absl::StatusOr<bool> taken = value.ok() ? take(*value) : absl::StatusOr<bool>(false);
      if (!taken.ok()) return taken.status();
      if (!*taken) days.unreadable.push_back(static_cast<uint16_t>(day));
    }
  }
  if (!damaged.empty()) days.Sort();
  return days;
}

}  // namespace telltale::storage
