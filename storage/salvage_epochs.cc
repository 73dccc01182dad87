#include "storage/salvage_epochs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "storage/raw_value.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

// A node's epochs follow each other; where the next one is further away than that there was silence
// between, and the lost ones follow the one before them.
constexpr double kMostStretch = 1.5;
// How far a told loss may stand from its epoch to be taken for it.
constexpr uint64_t kNearNs = 600 * kSecondNs;

std::string NodeDayPrefix(uint16_t day, uint32_t node) {
  return RawKeyFrom(day, node, 0).substr(0, sizeof(day) + sizeof(node));
}

// When an epoch began, by those that stand next to it; nothing: there are none.
std::optional<uint64_t> StartBeside(const LostEpochs::Standing& standing,
                                    const Incarnation& incarnation, uint64_t sequence,
                                    uint64_t length_ns) {
  const auto next = standing.upper_bound({incarnation, sequence});
  const bool has_next = next != standing.end() && next->first.first == incarnation;
  const bool has_before = next != standing.begin() && std::prev(next)->first.first == incarnation;
  if (has_before) {
    const auto& [before, time] = *std::prev(next);
    uint64_t step_ns = length_ns;
    if (has_next && next->second.start_ns > time.end_ns) {
      const uint64_t between = next->first.second - before.second - 1;
      const uint64_t even_ns = (next->second.start_ns - time.end_ns) / between;
      if (static_cast<double>(even_ns) < kMostStretch * static_cast<double>(length_ns)) {
        step_ns = even_ns;
      }
    }
    return time.end_ns + (sequence - before.second - 1) * step_ns;
  }
  if (!has_next) return std::nullopt;
  const uint64_t back_ns = (next->first.second - sequence) * length_ns;
  return next->second.start_ns - std::min(next->second.start_ns, back_ns);
}

// Of the nth of a day, by what was watched of it.
uint64_t StartOfNth(const CoverageDay& coverage, uint64_t nth, uint64_t length_ns) {
  uint64_t start_ns = 0;
  for (const CoveragePiece& piece : coverage.pieces()) {
    start_ns = piece.start_ns + nth * length_ns;
    if (nth < piece.epochs) break;
    nth -= piece.epochs;
  }
  return start_ns;
}

}  // namespace

absl::Status LostEpochs::ReadDay(uint32_t node, uint16_t day, uint64_t length_ns,
                                 Standing* standing) const {
  const std::string prefix = NodeDayPrefix(day, node);
  return history_->Scan(
      Family::kRaw, prefix, PrefixEnd(prefix), [&](std::string_view bytes, std::string_view value) {
        const absl::StatusOr<RawKey> key = DecodeRawKey(bytes);
        if (!key.ok() || key->apart) return true;
        const absl::StatusOr<RawHeader> header = DecodeRawHeader(value);
        const uint64_t length = header.ok() ? header->length_ns : length_ns;
        (*standing)[{key->incarnation, key->sequence}] = {key->start_ns, key->start_ns + length};
        return true;
      });
}

absl::StatusOr<std::vector<Row>> LostEpochs::RowsOf(const NodeRecord& node, uint16_t day,
                                                    const CoverageDay& coverage,
                                                    std::string_view why) {
  const uint64_t length_s = node.info().epoch_length_s();
  const uint64_t length_ns = (length_s == 0 ? 60 : length_s) * kSecondNs;
  Standing standing;
  // A number may lie in the day beside the one its neighbours lie in.
  for (int beside = -1; beside <= 1; ++beside) {
    absl::Status read =
        ReadDay(node.number(), static_cast<uint16_t>(day + beside), length_ns, &standing);
    if (!read.ok()) return read;
  }
  std::vector<Row> rows;
  for (const auto& [incarnation, ledger] : reader_->Ledgers(node.number())) {
    const v1::LedgerRecord listed = ledger.ToRecord();
    for (int i = 0; i < listed.day_size(); ++i) {
      if (listed.day(i) != day) continue;
      for (const auto& [first, last] : ledger.received()) {
        const uint64_t end = std::min(last, listed.day_last(i));
        for (uint64_t sequence = std::max(first, listed.day_first(i)); sequence <= end;
             ++sequence) {
          if (standing.contains({incarnation, sequence})) continue;
          const uint64_t start_ns =
              StartBeside(standing, incarnation, sequence, length_ns)
                  .value_or(StartOfNth(coverage, sequence - listed.day_first(i), length_ns));
          const RawKey key{
              .day = day,
              .node = node.number(),
              .start_ns = std::clamp(start_ns, day * kDayNs, (day + 1) * kDayNs - length_ns),
              .incarnation = incarnation,
              .sequence = sequence};
          rows.push_back({Family::kRaw, EncodeRawKey(key), LostValue(why), 0});
        }
      }
    }
  }
  return rows;
}

absl::StatusOr<bool> IsToldLost(const History& history, const RawKey& key) {
  bool told = false;
  const uint64_t from_ns = key.start_ns - std::min(key.start_ns, kNearNs);
  const absl::Status scanned = history.Scan(
      Family::kRaw, RawKeyFrom(key.day, key.node, from_ns),
      RawKeyFrom(key.day, key.node, key.start_ns + kNearNs),
      [&](std::string_view bytes, std::string_view value) {
        const absl::StatusOr<RawKey> there = DecodeRawKey(bytes);
        told = there.ok() && IsLostValue(value) && there->incarnation == key.incarnation &&
               there->sequence == key.sequence;
        return !told;
      });
  if (!scanned.ok() && !absl::IsDataLoss(scanned)) return scanned;
  return told;
}

}  // namespace telltale::storage
