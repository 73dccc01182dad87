#include "storage/rollup/recompute.h"

#include <algorithm>
#include <functional>
#include <map>
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

// Visits the counted epochs whose middle lies in [start, end), ascending by key, with these parts
// of their bodies. Those that cannot be read go to `unreadable`.
absl::Status ForEachEpoch(
    const Reader& reader, uint32_t node, uint64_t start_ns, uint64_t end_ns,
    const proto::BodyParts& parts,
    const std::function<void(const RawRow&, const v1::Schema&, proto::OpenBody)>& take,
    std::vector<UnreadableTime>* unreadable) {
  absl::Status bad;
  const uint64_t from = start_ns > kLongestEpochNs ? start_ns - kLongestEpochNs : 0;
  const auto belongs = [&](uint64_t begin, uint64_t end) {
    const uint64_t middle = begin + (end - begin) / 2;
    return middle >= start_ns && middle < end_ns;
  };
  absl::Status scanned = reader.ForEachRaw(
      node, from, end_ns,
      [&](const RawRow& row) {
        if (!belongs(row.key.start_ns, row.end_ns)) return true;
        absl::StatusOr<std::shared_ptr<const v1::Schema>> schema =
            reader.Schema(row.summary.schema_id());
        if (!schema.ok()) {
          bad = schema.status();
          return false;
        }
        absl::StatusOr<proto::Decoded> decoded = proto::DecodeParts(row.summary, **schema, parts);
        if (!decoded.ok()) {
          reader.CountUnreadable(Family::kRaw);
          unreadable->push_back({row.key.start_ns, row.end_ns, 1});
          return true;
        }
        take(row, **schema, std::move(decoded->body));
        return true;
      },
      [&](const DamagedRow& row) {
        if (row.end_ns - row.start_ns > kLongestEpochNs) {  // many
          const uint64_t begin = std::max(row.start_ns, start_ns);
          const uint64_t end = std::min(row.end_ns, end_ns);
          if (begin < end) unreadable->push_back({begin, end, 1});
        } else if (belongs(row.start_ns, row.end_ns)) {
          unreadable->push_back({row.start_ns, row.end_ns, 1});
        }
      });
  return scanned.ok() ? bad : scanned;
}

// Of the exemplars that the children of a window have of a label only the one with the smallest
// digest is kept, so one that comes after a smaller need not be made: its stack is dear.
class SmallestDigests {
 public:
  // Belong to this.
  ModelParts Parts() {
    ModelParts parts;
    parts.exemplar = [this](uint32_t vital, uint64_t label, uint64_t digest) {
      const auto [known, fresh] = digests_.try_emplace({vital, label}, digest);
      if (!fresh && digest >= known->second) return false;
      known->second = digest;
      return true;
    };
    return parts;
  }

 private:
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> digests_;
};

// What a line block has of a window: of thousands of windows all else would take hundreds of
// megabytes.
v1::RollupWindow OfLines(const v1::RollupWindow& window) {
  v1::RollupWindow kept;
  kept.set_watched_ns(window.watched_ns());
  for (const v1::VitalTotals& vital : window.vitals()) {
    v1::VitalTotals& totals = *kept.add_vitals();
    totals.set_id(vital.id());
    for (const v1::SubTotals& sub : vital.subs()) {
      v1::SubTotals& figures = *totals.add_subs();
      figures.set_events(sub.events());
      figures.set_weight(sub.weight());
      figures.set_second_min(sub.second_min());
      figures.set_second_max(sub.second_max());
    }
  }
  return kept;
}

}  // namespace

absl::StatusOr<std::optional<v1::SeriesBlock>> Recompute::Series(uint32_t node,
                                                                 uint64_t hour_start_ns) const {
  std::vector<SeriesEpoch> epochs;
  std::vector<UnreadableTime> unreadable;
  absl::Status read = ForEachEpoch(
      *reader_, node, hour_start_ns, hour_start_ns + kHourNs,
      {proto::BodyParts::Depth::kAccounts, {}},
      [&](const RawRow&, const v1::Schema&, proto::OpenBody body) {
        const EpochSpan span = PlaceEpoch(body->epoch());
        epochs.push_back({span, std::move(body)});
      },
      &unreadable);
  if (!read.ok()) return read;
  if (epochs.empty() && unreadable.empty()) return std::optional<v1::SeriesBlock>();
  v1::SeriesBlock block = MakeSeriesBlock(hour_start_ns, epochs);
  for (const UnreadableTime& time : unreadable) {
    const int64_t after_ns =
        static_cast<int64_t>(time.start_ns) - static_cast<int64_t>(hour_start_ns);
    block.add_unreadable_ms(static_cast<int32_t>(after_ns / 1'000'000));
  }
  return std::optional<v1::SeriesBlock>(std::move(block));
}

absl::StatusOr<WindowModel> Recompute::ModelOf(
    const v1::RollupWindow& window, std::span<const std::pair<uint8_t, v1::RollupVital>> vitals,
    const ModelParts& parts) const {
  // Of which nothing could be read: nothing is to be described.
  const TableView tables(window.tables());
  if (window.epochs() == 0) return FromRows(window, tables, vitals, v1::Schema(), parts);
  absl::StatusOr<std::shared_ptr<const v1::Schema>> schema = reader_->Schema(window.schema_id());
  if (!schema.ok()) return schema.status();
  return FromRows(window, tables, vitals, **schema, parts);
}

absl::Status Recompute::AddDamaged(Tier tier, uint32_t node, uint64_t start_ns, uint64_t end_ns,
                                   const ModelParts& parts,
                                   std::vector<WindowModel>* children) const {
  absl::StatusOr<std::optional<WindowRows>> again = Window(tier, node, start_ns);
  if (!again.ok() && !absl::IsNotFound(again.status())) return again.status();
  if (again.ok() && again->has_value()) {
    absl::StatusOr<WindowModel> model = ModelOf((*again)->window, (*again)->vitals, parts);
    if (!model.ok()) return model.status();
    children->push_back(*std::move(model));
    return absl::OkStatus();
  }
  children->emplace_back().unreadable.push_back({start_ns, end_ns, 1});
  return absl::OkStatus();
}

absl::StatusOr<std::optional<WindowRows>> Recompute::Window(Tier tier, uint32_t node,
                                                            uint64_t start_ns) const {
  std::vector<WindowModel> children;
  SmallestDigests smallest;
  const ModelParts parts = smallest.Parts();
  const uint64_t end_ns = start_ns + WindowNs(tier);
  absl::Status bad;
  absl::Status read;
  if (tier == Tier::k5Min) {
    std::vector<UnreadableTime> unreadable;
    read = ForEachEpoch(
        *reader_, node, start_ns, end_ns, {},
        [&](const RawRow& row, const v1::Schema& schema, const proto::OpenBody& body) {
          children.push_back(
              FromSummary(*body, schema, PlaceEpoch(body->epoch()), row.key.sequence, parts));
        },
        &unreadable);
    if (!unreadable.empty()) children.emplace_back().unreadable = std::move(unreadable);
  } else {
    const Tier finer = tier == Tier::k1Hour ? Tier::k5Min : Tier::k1Hour;
    std::vector<DamagedRow> damaged;
    read = reader_->ForEachRollup(
        finer, node, start_ns, end_ns, {},
        [&](const RollupRow& row) {
          absl::StatusOr<WindowModel> model = ModelOf(row.window, row.vitals, parts);
          if (!model.ok()) {
            bad = model.status();
            return false;
          }
          children.push_back(*std::move(model));
          return true;
        },
        [&](const DamagedRow& row) { damaged.push_back(row); });
    for (const DamagedRow& row : damaged) {
      if (!read.ok() || !bad.ok()) break;
      const uint64_t finer_ns = WindowNs(finer);
      for (uint64_t at = row.start_ns; at < row.end_ns && bad.ok(); at += finer_ns) {
        bad = AddDamaged(finer, node, at, std::min(at + finer_ns, end_ns), parts, &children);
      }
    }
  }
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  if (children.empty()) return std::optional<WindowRows>();
  return std::optional<WindowRows>(ToRows(MergeWindows(children)));
}

absl::StatusOr<std::optional<v1::RollupWindow>> Recompute::StoredTotals(const RollupKey& key,
                                                                        bool* unreadable) const {
  absl::StatusOr<std::string> value = history_->Get(Family::kRollup, EncodeRollupKey(key));
  if (absl::IsNotFound(value.status())) return std::optional<v1::RollupWindow>();
  if (!value.ok() && !absl::IsDataLoss(value.status())) return value.status();
  v1::RollupWindow window;
  const absl::Status decoded =
      value.ok() ? DecodeWindow(*value, RollupParts::Totals({}), &window, nullptr) : value.status();
  if (decoded.ok()) {
    *unreadable = window.unreadable_size() != 0;
    return std::optional<v1::RollupWindow>(OfLines(window));
  }
  if (!IsToldLoss(decoded)) reader_->CountUnreadable(Family::kRollup);
  // While all it was made of stands, it can be made again.
  if (key.window_start_ns >= reader_->RawFloorNs()) {
    absl::StatusOr<std::optional<WindowRows>> again =
        Window(key.tier, key.node, key.window_start_ns);
    if (!again.ok() && !absl::IsNotFound(again.status())) return again.status();
    if (again.ok() && again->has_value()) {
      *unreadable = (*again)->window.unreadable_size() != 0;
      return std::optional<v1::RollupWindow>(OfLines((*again)->window));
    }
  }
  *unreadable = true;
  return std::optional<v1::RollupWindow>();
}

absl::StatusOr<std::map<uint8_t, v1::LineBlock>> Recompute::Lines(const DirtyLineKey& key) const {
  std::vector<LineWindow> windows;
  std::vector<std::pair<uint32_t, uint32_t>> unreadable;  // number within the group, index
  const uint64_t window_ns = WindowNs(key.tier);
  const uint32_t count = static_cast<uint32_t>(LineBucketNs(key.tier) / window_ns);
  for (uint32_t in_group = 0; in_group < kLineGroupNodes; ++in_group) {
    const uint32_t node = key.group * kLineGroupNodes + in_group;
    if (!reader_->Node(node).has_value()) continue;
    for (uint32_t index = 0; index < count; ++index) {
      bool lacks = false;
      absl::StatusOr<std::optional<v1::RollupWindow>> window =
          StoredTotals({key.tier, node, key.bucket_start_ns + index * window_ns, 0}, &lacks);
      if (!window.ok()) return window.status();
      if (lacks) unreadable.emplace_back(in_group, index);
      if (window->has_value()) windows.push_back({node, index, **std::move(window)});
    }
  }
  std::map<uint8_t, v1::LineBlock> blocks = MakeLineBlocks(windows);
  for (auto& [vital, block] : blocks) {
    for (const auto& [node, index] : unreadable) {
      block.add_unreadable_node(node);
      block.add_unreadable_window(index);
    }
  }
  return blocks;
}

}  // namespace telltale::storage
