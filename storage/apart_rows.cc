#include "storage/apart_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "storage/placement.h"
#include "storage/stored_value.h"

namespace telltale::storage {

const v1::KnownIncarnation* FirstAdopting(const NodeRecord& record) {
  for (const v1::KnownIncarnation& known : record.incarnations()) {
    if (known.adopting()) return &known;
  }
  return nullptr;
}

absl::StatusOr<ApartRows> ReadApartRows(const History& history, const ApartQuestion& question) {
  const v1::KnownIncarnation& known = *question.known;
  // Records of older programs do not say when their rows lie.
  const uint64_t from_ns = known.apart_from_ns() != 0
                               ? known.apart_from_ns()
                               : known.first_seen_ns() - std::min(known.first_seen_ns(), kDayNs);
  const uint64_t to_ns = known.apart_to_ns() != 0 ? known.apart_to_ns() : question.now_ns;
  const std::string id = known.id();
  ApartRows found;
  absl::Status bad;
  const uint32_t first_day = std::max<uint32_t>(DayOf(from_ns), question.raw_floor);
  for (uint32_t day = first_day; day <= DayOf(to_ns); ++day) {
    const auto of_day = static_cast<uint16_t>(day);
    const std::string begin = std::max(RawKeyFrom(of_day, question.node, 0), question.from_key);
    const std::string end = RawKeyFrom(of_day, question.node, UINT64_MAX);
    if (begin >= end) continue;
    // What is damaged cannot be counted; it keeps standing where it is.
    const absl::Status scanned = history.ScanOver(
        Family::kRaw, begin, end,
        [&](std::string_view bytes, std::string_view value) {
          absl::StatusOr<RawKey> key = DecodeRawKey(bytes);
          if (!key.ok()) {
            bad = key.status();
            return false;
          }
          if (!key->apart ||
              !std::equal(key->incarnation.begin(), key->incarnation.end(), id.begin(), id.end(),
                          [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); })) {
            return true;
          }
          if (found.rows.size() >= question.limit) {
            found.next_key = std::string(bytes);
            return false;
          }
          absl::StatusOr<RawHeader> header = DecodeRawHeader(value);
          absl::StatusOr<v1::Summary> summary = DecodeRawSummary(value);
          if (!header.ok() || !summary.ok()) return true;
          found.rows.push_back({*key, *header, *std::move(summary)});
          return true;
        },
        [](const DamagedRange&) {});
    if (!scanned.ok()) return scanned;
    if (!bad.ok()) return bad;
    if (!found.next_key.empty()) break;
  }
  for (ApartRow& row : found.rows) {
    const absl::StatusOr<std::string> value = history.Get(Family::kCells, EncodeRawKey(row.key));
    if (absl::IsNotFound(value.status()) || absl::IsDataLoss(value.status())) continue;
    if (!value.ok()) return value.status();
    const absl::StatusOr<std::string_view> cells = ValueContent(*value, "cells");
    if (!cells.ok()) return cells.status();
    row.summary.set_cells(std::string(*cells));
  }
  return found;
}

}  // namespace telltale::storage
