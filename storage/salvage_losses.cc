#include "storage/salvage_losses.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/coverage_rows.h"
#include "storage/dictionary.h"
#include "storage/placement.h"
#include "storage/salvage_epochs.h"
#include "storage/stored_value.h"
#include "storage/verify_damage.h"

namespace telltale::storage {
namespace {

constexpr size_t kRowsAtOnce = 10'000;
constexpr Tier kWindowTiers[] = {Tier::k5Min, Tier::k1Hour, Tier::k1Day};
constexpr uint32_t kVitals = 128;
// Tables of the collector's own whose entries are numbered (FORMAT.md).
constexpr uint32_t kLoggedAnomalies = 65'536, kStoredIncidents = 4'096;
constexpr char kAudit = 0x0e;
// More than are written in the life of a store.
constexpr uint64_t kBeyondAllAudit = uint64_t{1} << 32;

// The number of so many bytes at a place of a key; what lies behind its end counts as 0.
uint64_t NumberAt(std::string_view key, size_t at, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = at; i < at + bytes; ++i) {
    number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return number;
}

class Teller {
 public:
  Teller(Store& store, const std::vector<LostPart>& lost)
      : store_(store),
        lost_(lost),
        nodes_(store.reader().Nodes()),
        state_(store.catalog().Begin()),
        changes_(store.catalog().Begin()),
        floor_ns_(store.reader().RawFloorNs()) {
    for (const NodeRecord& node : nodes_) {
      if (node.last_epoch_ns() == 0) continue;
      first_ns_ = std::min(first_ns_, node.first_epoch_ns());
      last_ns_ = std::max(last_ns_, node.last_epoch_ns());
    }
  }

  absl::StatusOr<ToldLosses> Tell() {
    for (const LostPart& part : lost_) {
      if (absl::Status told = TellPart(part); !told.ok()) return told;
    }
    absl::Status done = AppendRows();
    if (done.ok()) done = store_.history().Sync();
    if (done.ok()) done = changes_->Commit(Durability::kDurable);
    if (!done.ok()) return done;
    return told_;
  }

 private:
  absl::Status TellPart(const LostPart& part) {
    if (part.family == kCatalogName) return TellCatalog(part);
    if (!part.keys.empty()) return TellBodies(part);
    for (size_t i = 0; i < kFamilies; ++i) {
      if (FamilyName(static_cast<Family>(i)) != part.family) continue;
      switch (static_cast<Family>(i)) {
        case Family::kRaw:
          return TellEpochs(part);
        case Family::kCells:
          return TellCells(part);
        case Family::kSeries:
          return TellHours(part);
        case Family::kLine:
          return MarkGraphs(part);
        case Family::kRollup:
          return TellWindows(part);
        case Family::kDerived:
          return TellDerived(part);
        case Family::kDict:
          return KeepNames(part);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AppendRows() {
    const absl::Status appended = store_.history().Append(rows_);
    told_.rows += rows_.size();
    rows_.clear();
    return appended;
  }
  absl::Status AddRow(Family family, std::string key, std::string_view why) {
    rows_.push_back({family, std::move(key), LostValue(why), 0});
    return rows_.size() < kRowsAtOnce ? absl::OkStatus() : AppendRows();
  }
  // What is missing where a row may have been is lost.
  absl::Status AddIfMissing(const LostPart& part, Family family, const std::string& key) {
    const absl::Status there = store_.history().Get(family, key).status();
    return absl::IsNotFound(there) ? AddRow(family, key, part.why) : there;
  }
  // What is made of epochs is made again while they stand.
  void Mark(uint32_t node, Tier tier, uint64_t start_ns) {
    if (start_ns < floor_ns_) return;
    ++told_.windows;
    changes_->Put(EncodeDirtyKey({node, tier, start_ns}), EncodeU64(0));
  }

  // Whether the node reported in a time within one day. Of a day whose coverage cannot be read that
  // is not known, and more is told than is lost.
  absl::StatusOr<bool> Watched(uint32_t node, uint64_t start_ns, uint64_t end_ns) {
    if (absl::Status read = ReadCoverage(node, DayOf(start_ns)); !read.ok()) return read;
    return unknown_ || std::ranges::any_of(coverage_.pieces(), [&](const CoveragePiece& piece) {
             return piece.start_ns < end_ns && piece.end_ns > start_ns;
           });
  }

  absl::Status ReadCoverage(uint32_t node, uint16_t of_day) {
    const std::pair<uint32_t, uint16_t> of{node, of_day};
    if (covered_ == of) return absl::OkStatus();
    const std::string key = CoverageKey(node, of_day);
    const auto value = state_->Get(key);
    unknown_ =
        value.ok() ? IsLostValue(*value) : std::ranges::any_of(lost_, [&](const LostPart& part) {
          return part.family == kCatalogName && part.Has(key);
        });
    auto day = ReadCoverageDay(store_.catalog(), *state_, node, of_day);
    if (!day.ok()) return day.status();
    coverage_ = *std::move(day);
    covered_ = of;
    return absl::OkStatus();
  }

  // Each node with each of its days among [first, last].
  template <typename Do>
  absl::Status ForNodeDays(uint64_t first, uint64_t last, const Do& work) {
    for (const NodeRecord& node : nodes_) {
      if (node.last_epoch_ns() == 0) continue;
      const uint64_t from = std::max<uint64_t>(first, DayOf(node.first_epoch_ns()));
      const uint64_t to = std::min<uint64_t>(last, DayOf(node.last_epoch_ns()));
      for (uint64_t day = from; day <= to; ++day) {
        if (absl::Status done = work(node, static_cast<uint16_t>(day)); !done.ok()) return done;
      }
    }
    return absl::OkStatus();
  }

  absl::Status TellEpochs(const LostPart& part) {
    LostEpochs epochs(&store_.history(), &store_.reader());
    const uint64_t first = std::max(NumberAt(part.from, 0, 2), floor_ns_ / kDayNs);
    return ForNodeDays(first, NumberAt(part.to, 0, 2), [&](const NodeRecord& node, uint16_t day) {
      const std::string begin = RawKeyFrom(day, node.number(), 0);
      if (begin >= part.to || RawKeyFrom(day, node.number(), UINT64_MAX) < part.from) {
        return absl::OkStatus();
      }
      if (absl::Status read = ReadCoverage(node.number(), day); !read.ok()) return read;
      absl::StatusOr<std::vector<Row>> rows = epochs.RowsOf(node, day, coverage_, part.why);
      if (!rows.ok()) return rows.status();
      told_.epochs += rows->size();
      told_.rows += rows->size();
      return store_.history().Append(*rows);
    });
  }

  // Each in its own place.
  absl::Status TellBodies(const LostPart& part) {
    for (size_t i = 0; i < kFamilies; ++i) {
      const auto family = static_cast<Family>(i);
      if (FamilyName(family) != part.family) continue;
      for (const std::string& key : part.keys) {
        if (absl::Status told = AddRow(family, key, part.why); !told.ok()) return told;
        const absl::StatusOr<RawKey> raw = DecodeRawKey(key);
        if (family == Family::kRaw && raw.ok() && !raw->apart) ++told_.epochs;
      }
    }
    return absl::OkStatus();
  }

  absl::Status TellCells(const LostPart& part) {
    absl::Status told;
    const absl::Status scanned = store_.history().Scan(
        Family::kRaw, part.from, part.to, [&](std::string_view key, std::string_view) {
          told = AddIfMissing(part, Family::kCells, std::string(key));
          return told.ok();
        });
    return scanned.ok() ? told : scanned;
  }

  absl::Status TellHours(const LostPart& part) {
    return ForNodeDays(NumberAt(part.from, 0, 2), NumberAt(part.to, 0, 2),
                       [&](const NodeRecord& node, uint16_t day) -> absl::Status {
                         for (uint64_t hour_ns = day * kDayNs; hour_ns < (day + 1) * kDayNs;
                              hour_ns += kHourNs) {
                           const std::string key = EncodeSeriesKey({node.number(), hour_ns});
                           if (!part.Has(key)) continue;
                           const auto watched = Watched(node.number(), hour_ns, hour_ns + kHourNs);
                           if (!watched.ok()) return watched.status();
                           if (!*watched) continue;
                           absl::Status told = AddIfMissing(part, Family::kSeries, key);
                           if (!told.ok()) return told;
                           Mark(node.number(), Tier::kRaw, hour_ns);
                         }
                         return absl::OkStatus();
                       });
  }

  absl::Status MarkGraphs(const LostPart& part) {
    const auto groups = static_cast<uint32_t>(nodes_.size() / kLineGroupNodes);
    for (const Tier tier : kWindowTiers) {
      const uint64_t length = LineBucketNs(tier);
      for (uint64_t bucket = FloorTo(first_ns_, length); bucket <= last_ns_; bucket += length) {
        for (uint32_t group = 0; group <= groups; ++group) {
          const auto has = [&](uint32_t vital) {
            return part.Has(EncodeLineKey({tier, static_cast<uint8_t>(vital), bucket, group}));
          };
          bool lost = false;
          for (uint32_t vital = 0; vital < kVitals && !lost; ++vital) lost = has(vital);
          if (!lost) continue;
          ++told_.windows;
          changes_->Put(EncodeDirtyLineKey({tier, bucket, group}), EncodeU64(0));
        }
      }
    }
    return absl::OkStatus();
  }

  // Whether a window, or some of its vitals, may be among what is lost.
  absl::StatusOr<bool> IsLost(const LostPart& part, RollupKey key) const {
    const auto row = store_.history().Get(Family::kRollup, EncodeRollupKey(key));
    if (absl::IsNotFound(row.status())) return part.Has(EncodeRollupKey(key));
    if (!row.ok()) return row.status();
    const auto window = DecodeValue<v1::RollupWindow>(*row, "rollup window");
    if (!window.ok()) return false;  // it says so itself
    for (const v1::VitalTotals& totals : window->vitals()) {
      key.vital = static_cast<uint8_t>(totals.id());
      const std::string of_vital = EncodeRollupKey(key);
      if (!part.Has(of_vital)) continue;
      const absl::Status there = store_.history().Get(Family::kRollup, of_vital).status();
      if (absl::IsNotFound(there)) return true;
      if (!there.ok()) return there;
    }
    return false;
  }

  absl::Status TellWindows(const LostPart& part) {
    for (const Tier tier : kWindowTiers) {
      const std::string begin = std::max(part.from, RollupBucketPrefix(tier, 0));
      const std::string end =
          std::min(part.to, PrefixEnd(RollupBucketPrefix(tier, 0).substr(0, 1)));
      if (begin >= end) continue;
      const uint64_t bucket_ns = RollupBucketNs(tier), window_ns = WindowNs(tier);
      const uint64_t from_ns = NumberAt(begin, 1, 2) * bucket_ns;
      // Of the end of the tier the bucket is 0: there is no other bound than the last epoch.
      const uint64_t last = NumberAt(end, 0, 1) == static_cast<uint64_t>(tier)
                                ? (NumberAt(end, 1, 2) + 1) * bucket_ns - 1
                                : UINT64_MAX;
      for (const NodeRecord& node : nodes_) {
        if (node.last_epoch_ns() == 0) continue;
        uint64_t at = FloorTo(std::max(from_ns, node.first_epoch_ns()), window_ns);
        for (; at <= std::min(last, node.last_epoch_ns()); at += window_ns) {
          const RollupKey key{tier, node.number(), at, 0};
          RollupKey behind = key;
          behind.vital = UINT8_MAX;
          if (EncodeRollupKey(key) >= part.to || EncodeRollupKey(behind) < part.from) continue;
          absl::StatusOr<bool> lost = Watched(node.number(), at, at + window_ns);
          if (lost.ok() && *lost) lost = IsLost(part, key);
          if (!lost.ok()) return lost.status();
          if (!*lost) continue;
          absl::Status told = AddRow(Family::kRollup, EncodeRollupKey(key), part.why);
          if (!told.ok()) return told;
          Mark(node.number(), tier, at);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status TellDerived(const LostPart& part) {
    const uint64_t last_filter = NumberAt(part.to, 0, 4);
    for (uint64_t filter = NumberAt(part.from, 0, 4); filter <= last_filter; ++filter) {
      absl::Status told = ForNodeDays(
          floor_ns_ / kDayNs, UINT16_MAX,
          [&](const NodeRecord& node, uint16_t day) -> absl::Status {
            for (uint64_t at = day * kDayNs; at < (day + 1) * kDayNs; at += kHourNs) {
              const std::string key =
                  EncodeDerivedKey({static_cast<uint32_t>(filter), node.number(), at});
              if (!part.Has(key)) continue;
              const auto watched = Watched(node.number(), at, at + kHourNs);
              if (!watched.ok()) return watched.status();
              if (!*watched) continue;
              if (absl::Status added = AddIfMissing(part, Family::kDerived, key); !added.ok()) {
                return added;
              }
            }
            return absl::OkStatus();
          });
      if (!told.ok()) return told;
    }
    return absl::OkStatus();
  }

  // Names of windows are copied again from where they stand; those that stand nowhere are wanted,
  // and who tells them fills them in.
  absl::Status KeepNames(const LostPart& part) {
    const auto names = Dictionary::Open(&store_.history());
    if (!names.ok()) return names.status();
    for (const Tier tier : kWindowTiers) {
      const std::string prefix = RollupBucketPrefix(tier, 0).substr(0, 1);
      absl::Status kept;
      const absl::Status scanned = store_.history().Scan(
          Family::kRollup, prefix, PrefixEnd(prefix),
          [&](std::string_view bytes, std::string_view value) {
            const absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
            if (!key.ok() || key->vital != 0) return true;
            const std::string of = NamePartitionPrefix(NamePartitionOf(tier, key->window_start_ns));
            if (of >= part.to || PrefixEnd(of) <= part.from) return true;
            const auto window = DecodeValue<v1::RollupWindow>(value, "rollup window");
            if (!window.ok()) return true;
            kept = (*names)->Keep(tier, key->window_start_ns, key->node, window->tables());
            return kept.ok();
          });
      if (!scanned.ok() || !kept.ok()) return scanned.ok() ? kept : scanned;
    }
    return absl::OkStatus();
  }

  absl::Status TellCatalog(const LostPart& part) {
    const auto put_if_missing = [&](const std::string& key, const std::string& value) {
      if (!part.Has(key)) return absl::OkStatus();
      const absl::Status there = state_->Get(key).status();
      if (!absl::IsNotFound(there)) return there;
      changes_->Put(key, value);
      ++told_.rows;
      return absl::OkStatus();
    };
    const std::string lost = LostValue(part.why);
    absl::Status done = ForNodeDays(0, UINT16_MAX, [&](const NodeRecord& node, uint16_t day) {
      return put_if_missing(CoverageKey(node.number(), day), lost);
    });
    for (const NodeRecord& node : nodes_) {
      for (const Tier tier : {Tier::kRaw, Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
        if (node.last_epoch_ns() == 0) continue;
        const uint64_t length = tier == Tier::kRaw ? kHourNs : WindowNs(tier);
        uint64_t at = FloorTo(std::max(floor_ns_, node.first_epoch_ns()), length);
        for (; at <= node.last_epoch_ns() && done.ok(); at += length) {
          done = put_if_missing(EncodeDirtyKey({node.number(), tier, at}), EncodeU64(0));
        }
      }
    }
    const auto groups = static_cast<uint32_t>(nodes_.size() / kLineGroupNodes);
    for (const Tier tier : kWindowTiers) {
      const uint64_t length = LineBucketNs(tier);
      for (uint64_t at = FloorTo(first_ns_, length); at <= last_ns_; at += length) {
        for (uint32_t group = 0; group <= groups && done.ok(); ++group) {
          done = put_if_missing(EncodeDirtyLineKey({tier, at, group}), EncodeU64(0));
        }
      }
    }
    // What is numbered is missed by its number.
    for (uint32_t slot = 0; slot < kLoggedAnomalies && done.ok(); ++slot) {
      done = put_if_missing(FilterStateKey(absl::StrCat("anomaly-log/", slot)), lost);
    }
    for (uint32_t slot = 0; slot < kStoredIncidents && done.ok(); ++slot) {
      done = put_if_missing(FilterStateKey(absl::StrCat("incidents/", slot)), lost);
    }
    if (done.ok()) done = put_if_missing(FilterStateKey("incidents/silences"), lost);
    for (const char kind : {'\x00', '\x01', '\x02'}) {
      if (done.ok()) done = PassLostAudit(part, {kAudit, kind});
    }
    return done;
  }
  // The last entries of the audit may be lost: a row beyond all there can be of them keeps their
  // numbers from being given twice.
  absl::Status PassLostAudit(const LostPart& part, const std::string& prefix) {
    uint64_t next = 0;
    const absl::Status scanned =
        state_->Scan(prefix, PrefixEnd(prefix), [&](std::string_view key, std::string_view) {
          next = NumberAt(key, prefix.size(), sizeof(next)) + 1;
          return true;
        });
    if (scanned.ok() && part.Has(prefix + EncodeU64(next))) {
      changes_->Put(prefix + EncodeU64(next + kBeyondAllAudit), LostValue(part.why));
    }
    return scanned;
  }

  Store& store_;
  const std::vector<LostPart>& lost_;
  const NodeList nodes_;
  const std::unique_ptr<Transaction> state_;
  const std::unique_ptr<Transaction> changes_;
  const uint64_t floor_ns_;
  uint64_t first_ns_ = UINT64_MAX, last_ns_ = 0;  // of all epochs

  std::optional<std::pair<uint32_t, uint16_t>> covered_;  // the node and day asked for last
  CoverageDay coverage_;
  bool unknown_ = false;

  std::vector<Row> rows_;
  ToldLosses told_;
};

}  // namespace

absl::StatusOr<ToldLosses> TellLosses(Store& store, const std::vector<LostPart>& lost) {
  return Teller(store, lost).Tell();
}

}  // namespace telltale::storage
