#include "storage/rollup/recompute.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "storage/placement.h"
#include "storage/rollup/line_block.h"
#include "storage/rollup/series_block.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr uint64_t kLongestEpochNs = 120 * kSecondNs;  // the codec's limit

// Visits the counted epochs whose middle lies in [start, end), ascending by key.
absl::Status ForEachEpoch(
    const Reader& reader, uint32_t node, uint64_t start_ns, uint64_t end_ns,
    const std::function<void(const RawRow&, const v1::Schema&, v1::SummaryBody)>& take) {
  absl::Status bad;
  const uint64_t from = start_ns > kLongestEpochNs ? start_ns - kLongestEpochNs : 0;
  absl::Status scanned = reader.ForEachRaw(node, from, end_ns, [&](const RawRow& row) {
    const uint64_t middle = row.key.start_ns + (row.end_ns - row.key.start_ns) / 2;
    if (middle < start_ns || middle >= end_ns) return true;
    absl::StatusOr<std::shared_ptr<const v1::Schema>> schema =
        reader.Schema(row.summary.schema_id());
    if (!schema.ok()) {
      bad = schema.status();
      return false;
    }
    absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(row.summary, **schema);
    if (!decoded.ok()) {
      bad = decoded.status();
      return false;
    }
    take(row, **schema, std::move(decoded->body));
    return true;
  });
  return scanned.ok() ? bad : scanned;
}

}  // namespace

absl::StatusOr<std::optional<v1::SeriesBlock>> Recompute::Series(uint32_t node,
                                                                 uint64_t hour_start_ns) const {
  std::vector<SeriesEpoch> epochs;
  absl::Status read = ForEachEpoch(*reader_, node, hour_start_ns, hour_start_ns + kHourNs,
                                   [&](const RawRow&, const v1::Schema&, v1::SummaryBody body) {
                                     const EpochSpan span = PlaceEpoch(body.epoch());
                                     epochs.push_back({span, std::move(body)});
                                   });
  if (!read.ok()) return read;
  if (epochs.empty()) return std::optional<v1::SeriesBlock>();
  return std::optional<v1::SeriesBlock>(MakeSeriesBlock(hour_start_ns, epochs));
}

absl::StatusOr<std::optional<WindowRows>> Recompute::Window(Tier tier, uint32_t node,
                                                            uint64_t start_ns) const {
  std::vector<WindowModel> children;
  const uint64_t end_ns = start_ns + WindowNs(tier);
  absl::Status bad;
  absl::Status read;
  if (tier == Tier::k5Min) {
    read = ForEachEpoch(
        *reader_, node, start_ns, end_ns,
        [&](const RawRow& row, const v1::Schema& schema, const v1::SummaryBody& body) {
          children.push_back(FromSummary(body, schema, PlaceEpoch(body.epoch()), row.key.sequence));
        });
  } else {
    const Tier finer = tier == Tier::k1Hour ? Tier::k5Min : Tier::k1Hour;
    read = reader_->ForEachRollup(finer, node, start_ns, end_ns, {}, [&](const RollupRow& row) {
      absl::StatusOr<std::shared_ptr<const v1::Schema>> schema =
          reader_->Schema(row.window.schema_id());
      if (!schema.ok()) {
        bad = schema.status();
        return false;
      }
      children.push_back(FromRows(row.window, row.vitals, **schema));
      return true;
    });
  }
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  if (children.empty()) return std::optional<WindowRows>();
  return std::optional<WindowRows>(ToRows(MergeWindows(children)));
}

absl::StatusOr<std::map<uint8_t, v1::LineBlock>> Recompute::Lines(const DirtyLineKey& key) const {
  std::vector<LineWindow> windows;
  const uint64_t window_ns = WindowNs(key.tier);
  const uint32_t count = static_cast<uint32_t>(LineBucketNs(key.tier) / window_ns);
  for (uint32_t in_group = 0; in_group < kLineGroupNodes; ++in_group) {
    const uint32_t node = key.group * kLineGroupNodes + in_group;
    if (!reader_->Node(node).has_value()) continue;
    for (uint32_t index = 0; index < count; ++index) {
      const RollupKey row_key{key.tier, node, key.bucket_start_ns + index * window_ns, 0};
      absl::StatusOr<std::string> value = history_->Get(Family::kRollup, EncodeRollupKey(row_key));
      if (absl::IsNotFound(value.status())) continue;
      if (!value.ok()) return value.status();
      absl::StatusOr<v1::RollupWindow> window =
          DecodeValue<v1::RollupWindow>(*value, "rollup window");
      if (!window.ok()) return window.status();
      windows.push_back({node, index, *std::move(window)});
    }
  }
  return MakeLineBlocks(windows);
}

}  // namespace telltale::storage
