#include "storage/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/blob_rows.h"
#include "storage/catalog_damage.h"
#include "storage/placement.h"
#include "storage/raw_value.h"
#include "storage/rollup/recompute.h"
#include "storage/stored_value.h"
#include "storage/verify_blobs.h"
#include "storage/verify_books.h"
#include "storage/verify_damage.h"
#include "storage/verify_names.h"

namespace telltale::storage {
namespace {

constexpr uint64_t kWatchEvery = 256;  // rows

// Where a row is whose key says nothing else.
std::string Unreadable(std::string_view family, std::string_view key) {
  return absl::StrCat(std::string(family), " row ", absl::BytesToHexString(std::string(key)));
}

const char* TierName(Tier tier) {
  switch (tier) {
    case Tier::k5Min:
      return "5 min";
    case Tier::k1Hour:
      return "1 h";
    default:
      return "1 d";
  }
}

class Verifier {
 public:
  Verifier(Store& store, const VerifyOptions& options)
      : store_(store),
        options_(options),
        recompute_(&store.history(), &store.reader()),
        names_(&store.history()) {
    for (size_t i = 0; i < kFamilies; ++i) {
      const absl::StatusOr<FamilySize> size = store.history().Size(static_cast<Family>(i));
      if (size.ok()) total_ += size->rows;
    }
    raw_floor_ = static_cast<uint16_t>(store.reader().RawFloorNs() / kDayNs);
  }

  absl::StatusOr<VerifyReport> Run() {
    Step("files");
    const absl::Status files = store_.CheckFiles(
        [this](const std::string& name, const std::string& family, const absl::Status& fault) {
          Fault("files", BadFileText(name, family, fault));
        },
        [this](uint64_t checked, uint64_t all) {
          Watch(checked, all);
          return !stopped_;
        });
    if (stopped_) return Stopped();
    if (!files.ok()) Fault("files", files);
    ReadCatalog();
    raw_whole_ = ReadFamily(Family::kRaw, [this](auto key, auto value) { ReadRaw(key, value); });
    ReadFamily(Family::kCells, [this](auto key, auto value) { ReadCells(key, value); });
    CompareBooks();
    rollup_first_.resize(static_cast<size_t>(Tier::k1Day) + 1, UINT64_MAX);
    ReadFamily(Family::kRollup, [this](auto key, auto value) { ReadRollup(key, value); });
    FlushExpected();
    ReadFamily(Family::kSeries, [this](auto key, auto value) { ReadSeries(key, value); });
    ReadFamily(Family::kLine, [this](auto key, auto value) { ReadLine(key, value); });
    ReadFamily(Family::kDerived, [this](auto key, auto value) { ReadDerived(key, value); });
    ReadFamily(Family::kDict, [this](auto key, auto value) { ReadName(key, value); });
    if (stopped_) return Stopped();
    report_.names = names_.found();
    return std::move(report_);
  }

 private:
  void Fault(std::string place, std::string what) {
    ++report_.fault_count;
    if (described_++ < options_.max_faults) {
      report_.faults.push_back({std::move(place), std::move(what)});
    }
  }
  void Fault(std::string place, const absl::Status& status) {
    Fault(std::move(place), std::string(status.message()));
  }
  void Step(std::string_view step) {
    step_ = step;
    described_ = 0;
    Watch();
  }
  void Watch() { Watch(done_, total_); }
  void Watch(uint64_t done, uint64_t total) {
    if (options_.watch && !stopped_) stopped_ = !options_.watch(step_, done, total);
  }
  static absl::Status Stopped() { return absl::CancelledError("verify store: stopped"); }
  std::string NodeName(uint32_t node) const {
    const std::optional<NodeRecord> record = store_.reader().Node(node);
    return record.has_value() ? record->name() : absl::StrCat("number ", node);
  }
  std::string Place(std::string_view what, uint32_t node, uint64_t start_ns) const {
    return absl::StrCat(std::string(what), " of node ", NodeName(node), " at ", Moment(start_ns));
  }

  // Whether all of it could be read.
  template <typename Read>
  bool ReadFamily(Family family, const Read& read) {
    const std::string name(FamilyName(family));
    Step(name);
    const bool whole = Steps(
        name,
        [&](const RowVisitor& visit, const DamageVisitor& damaged) {
          return store_.history().ScanOver(family, "", "", visit, damaged);
        },
        read);
    return whole && !stopped_;
  }

  void ReadCatalog() {
    Step(kCatalogName);
    const auto read = [this](std::string_view from, std::string_view to) {
      Steps(
          std::string(kCatalogName),
          [&](const RowVisitor& visit, const DamageVisitor& damaged) {
            return store_.ScanCatalogOver(from, to, visit, damaged);
          },
          [this](std::string_view key, std::string_view value) {
            if (ToldLost(kCatalogName, value)) return;
            const absl::Status row = CheckCatalogRow(key, value);
            if (!row.ok()) Fault(Unreadable(kCatalogName, key), row);
          });
    };
    // Pieces of blobs are read one by one: a damaged one does not hide what stands behind it.
    const std::string pieces = TablePrefix(CatalogTable::kBlobPieces);
    read("", pieces);
    read(PrefixEnd(pieces), "");
    report_.needed_lost = !ReadNeeded(store_.catalog()).ok();
    Step("blobs");
    report_.blobs = VerifyBlobs(
        *store_.catalog().Begin(),
        [this](const std::string& place, const std::string& what) { Fault(place, what); },
        [this] {
          ++report_.rows;
          Watch();
          return !stopped_;
        });
  }
  // Reads all rows that can be; whether that is all of them.
  template <typename Scan, typename Read>
  bool Steps(const std::string& name, const Scan& scan, const Read& read) {
    bool whole = true;
    const absl::Status scanned = scan(
        [&](std::string_view key, std::string_view value) {
          ++report_.rows;
          if (++done_ % kWatchEvery == 0) Watch();
          read(key, value);
          return !stopped_;
        },
        [&](const DamagedRange& range) {
          whole = false;
          report_.losses[name].Add(range);
          Fault(DamagePlace(name, range, [this](uint32_t node) { return NodeName(node); }),
                DamageText(range));
        });
    if (!scanned.ok()) Fault(absl::StrCat(name, "; the rest of it was not read"), scanned);
    return whole && scanned.ok();
  }

  // Whether a row stands in the place of one that was lost and salvaged.
  bool ToldLost(std::string_view family, std::string_view value) {
    if (!IsLostValue(value)) return false;
    ++report_.told[std::string(family)];
    return true;
  }
  bool ToldLostOf(Family family) const {
    return report_.told.contains(std::string(FamilyName(family)));
  }

  void ReadRaw(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<RawKey> key = DecodeRawKey(bytes);
    if (!key.ok()) return Fault(Unreadable("raw", bytes), key.status());
    if (key->day < raw_floor_) return;  // about to go
    if (ToldLost("raw", value)) return books_.AddLost(*key);
    const std::string place =
        absl::StrCat(Place("raw epoch", key->node, key->start_ns), ", sequence ", key->sequence);
    const absl::StatusOr<RawHeader> header = DecodeRawHeader(value);
    absl::StatusOr<v1::Summary> summary = DecodeRawSummary(value);
    if (!header.ok()) return Fault(place, header.status());
    if (!summary.ok()) return Fault(place, summary.status());
    const auto schema = store_.reader().Schema(summary->schema_id());
    if (!schema.ok()) return Fault(place, schema.status());
    const absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(*summary, **schema);
    if (!decoded.ok()) return Fault(place, decoded.status());
    const EpochSpan span = PlaceEpoch(decoded->body->epoch());
    if (span.start_ns != key->start_ns || span.end_ns - span.start_ns != header->length_ns ||
        DayOf(span.middle_ns()) != key->day || summary->identity().sequence() != key->sequence) {
      return Fault(place, "stands under another time or number than its body has");
    }
    const absl::StatusOr<std::string> cells = store_.reader().Cells(*key);
    if (cells.ok()) {
      summary->set_cells(*cells);
      if (proto::Digest(*summary) != header->digest) {
        return Fault(place, "body and cells do not have the digest they came with");
      }
      if (const auto checked = proto::DecodeCells(*summary); !checked.ok()) {
        return Fault(place + ", cells", checked.status());
      }
    } else if (!absl::IsNotFound(cells.status()) && !IsToldLoss(cells.status())) {
      return Fault(place + ", cells", cells.status());
    }
    if (key->apart) {
      ++report_.apart;
      return;
    }
    if (!store_.summaries().Received(key->node, key->incarnation, key->sequence)) {
      ++report_.unlisted;
      return;
    }
    ++report_.epochs;
    if (!books_.Add(*key, *decoded->body)) return Fault(place, "its number stands in raw twice");
    // The finest tiers must have a row for it, unless they are still to be computed.
    NeedWindow(Tier::k5Min, key->node, WindowStart(Tier::k5Min, span));
    NeedSeries(key->node, FloorTo(span.middle_ns(), kHourNs));
  }

  void ReadCells(std::string_view bytes, std::string_view value) {
    if (ToldLost("cells", value)) return;
    const absl::StatusOr<RawKey> key = DecodeRawKey(bytes);
    const absl::Status content = ValueContent(value, "cells").status();
    if (!key.ok() || !content.ok()) {
      Fault(Unreadable("cells", bytes), key.ok() ? content : key.status());
    }
  }

  void CompareBooks() {
    for (const NodeRecord& node : store_.reader().Nodes()) {
      ++report_.nodes;
      for (const auto& [incarnation, ledger] : store_.reader().Ledgers(node.number())) {
        report_.lost += ledger.lost_count();
        report_.missing += ledger.missing_count();
      }
      if (!raw_whole_) {  // what was not read is not missing
        report_.losses[std::string(FamilyName(Family::kRaw))].epochs +=
            books_.Unread(store_.reader(), node, raw_floor_);
        continue;
      }
      books_.Compare(
          store_.reader(), store_.catalog(), node, raw_floor_,
          [this](const std::string& place, const std::string& what) { Fault(place, what); });
    }
  }

  // Whether a row is not what it will be: it or what it rests on is marked.
  bool Pending(uint32_t node, uint64_t start_ns, uint64_t length_ns, Tier tier) const {
    for (const DirtyKey& mark : store_.reader().Dirty(node, start_ns, start_ns + length_ns)) {
      if (tier == Tier::kRaw ? mark.tier == Tier::kRaw
                             : mark.tier != Tier::kRaw && mark.tier <= tier) {
        return true;
      }
    }
    return false;
  }
  bool Sealed(uint64_t start_ns) const { return DayOf(start_ns) < raw_floor_; }

  void NeedWindow(Tier tier, uint32_t node, uint64_t start_ns) {
    const RollupKey key{tier, node, start_ns, 0};
    if (std::exchange(needed_window_, key) == key || Sealed(start_ns) ||
        Pending(node, start_ns, WindowNs(tier), tier)) {
      return;
    }
    const auto there = store_.history().Get(Family::kRollup, EncodeRollupKey(key));
    if (absl::IsNotFound(there.status())) {
      Fault(Place(absl::StrCat(TierName(tier), " window"), node, start_ns),
            "what it is made of stands, it neither does nor is marked to be computed");
    }
  }
  void NeedSeries(uint32_t node, uint64_t hour_ns) {
    const SeriesKey key{node, hour_ns};
    if (std::exchange(needed_series_, key) == key || Sealed(hour_ns) ||
        Pending(node, hour_ns, kHourNs, Tier::kRaw)) {
      return;
    }
    if (absl::IsNotFound(store_.history().Get(Family::kSeries, EncodeSeriesKey(key)).status())) {
      Fault(Place("series", node, hour_ns),
            "its epochs stand, it neither does nor is marked to be computed");
    }
  }

  void ReadRollup(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<RollupKey> key = DecodeRollupKey(bytes);
    if (!key.ok()) return Fault(Unreadable("rollup", bytes), key.status());
    const uint64_t start_ns = key->window_start_ns;
    const std::string place =
        absl::StrCat(Place(absl::StrCat(TierName(key->tier), " window"), key->node, start_ns),
                     key->vital == 0 ? "" : absl::StrCat(", vital ", key->vital));
    if (key->vital != 0) {
      const auto vital = DecodeValue<v1::RollupVital>(value, "rollup vital");
      if (!vital.ok()) return Fault(place, vital.status());
      // Rows of a vital the window does not list are left over from before and count for nothing.
      const auto expected = expected_.find(*key);
      if (expected != expected_.end() && value != expected->second) {
        Fault(place, "is not what its source adds up to");
      }
      if (expected != expected_.end()) expected_.erase(expected);
      return;
    }
    FlushExpected();
    uint64_t& first = rollup_first_[static_cast<size_t>(key->tier)];
    first = std::min(first, FloorTo(start_ns, RollupBucketNs(key->tier)));
    if (ToldLost("rollup", value)) return;
    const auto window = DecodeValue<v1::RollupWindow>(value, "rollup window");
    if (!window.ok()) return Fault(place, window.status());
    const std::string names = names_.Check(*key, window->tables());
    if (!names.empty()) Fault(place, names);
    if (key->tier != Tier::k1Day) {
      const Tier next = key->tier == Tier::k5Min ? Tier::k1Hour : Tier::k1Day;
      NeedWindow(next, key->node, FloorTo(start_ns, WindowNs(next)));
    }
    if (Sealed(start_ns)) {
      ++report_.sealed;
      return;
    }
    if (Pending(key->node, start_ns, WindowNs(key->tier), key->tier)) {
      ++report_.pending;
      return;
    }
    const auto rows = recompute_.Window(key->tier, key->node, start_ns);
    if (!rows.ok()) return Fault(place, rows.status());
    if (!rows->has_value()) return Fault(place, "stands, but nothing of what it sums up does");
    if ((*rows)->window.unreadable_size() != 0 &&
        (ToldLostOf(Family::kRaw) || ToldLostOf(Family::kRollup))) {
      ++report_.sealed;
      return;
    }
    if ((*rows)->window.unreadable_size() > window->unreadable_size()) {
      return Fault(place, "cannot be made again: some of what it sums up cannot be read");
    }
    if (value != EncodeValue((*rows)->window)) {
      return Fault(place, "is not what its source adds up to");
    }
    ++report_.recomputed;
    for (const auto& [vital, row] : (*rows)->vitals) {
      RollupKey of_vital = *key;
      of_vital.vital = vital;
      expected_.emplace(of_vital, EncodeValue(row));
    }
  }
  // Rows of vitals that a recomputed window needs and that did not follow it.
  void FlushExpected() {
    for (const auto& [key, row] : expected_) {
      Fault(absl::StrCat(
                Place(absl::StrCat(TierName(key.tier), " window"), key.node, key.window_start_ns),
                ", vital ", key.vital),
            "has no row");
    }
    expected_.clear();
  }

  void ReadSeries(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<SeriesKey> key = DecodeSeriesKey(bytes);
    if (!key.ok()) return Fault(Unreadable("series", bytes), key.status());
    const std::string place = Place("series", key->node, key->hour_start_ns);
    if (ToldLost("series", value)) return;
    const auto block = DecodeValue<v1::SeriesBlock>(value, "series block");
    if (!block.ok()) return Fault(place, block.status());
    if (Sealed(key->hour_start_ns)) {
      ++report_.sealed;
    } else if (Pending(key->node, key->hour_start_ns, kHourNs, Tier::kRaw)) {
      ++report_.pending;
    } else {
      const auto again = recompute_.Series(key->node, key->hour_start_ns);
      if (!again.ok()) return Fault(place, again.status());
      if (again->has_value() && (*again)->unreadable_ms_size() != 0 && ToldLostOf(Family::kRaw)) {
        ++report_.sealed;
        return;
      }
      if (!again->has_value() || value != EncodeValue(**again)) {
        return Fault(place, "is not what its epochs add up to");
      }
      ++report_.recomputed;
    }
  }

  void ReadLine(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<LineKey> key = DecodeLineKey(bytes);
    if (!key.ok()) return Fault(Unreadable("line", bytes), key.status());
    const std::string place =
        absl::StrCat(TierName(key->tier), " line of vital ", key->vital, ", nodes ",
                     key->group * kLineGroupNodes, " and on, at ", Moment(key->bucket_start_ns));
    const auto block = DecodeValue<v1::LineBlock>(value, "line block");
    if (!block.ok()) return Fault(place, block.status());
    // Windows go by larger pieces than lines do.
    if (key->bucket_start_ns < rollup_first_[static_cast<size_t>(key->tier)]) {
      ++report_.sealed;
      return;
    }
    const DirtyLineKey line{key->tier, key->bucket_start_ns, key->group};
    // A window is written before the mark moves from it to its line.
    const std::vector<DirtyLineKey> marked =
        store_.summaries().lines().Of(line.tier, line.bucket_start_ns, line.bucket_start_ns + 1);
    bool pending = std::ranges::find(marked, line) != marked.end();
    for (uint32_t i = 0; i < kLineGroupNodes && !pending; ++i) {
      pending = Pending(key->group * kLineGroupNodes + i, key->bucket_start_ns,
                        LineBucketNs(key->tier), key->tier);
    }
    if (pending) {
      ++report_.pending;
      return;
    }
    if (!lines_.has_value() || lines_->first != line) {
      auto blocks = recompute_.Lines(line);
      if (!blocks.ok()) return Fault(place, blocks.status());
      lines_.emplace(line, *std::move(blocks));
    }
    const auto again = lines_->second.find(key->vital);
    if (again == lines_->second.end() || value != EncodeValue(again->second)) {
      if (ToldLostOf(Family::kRollup)) {
        ++report_.sealed;
        return;
      }
      return Fault(place, "is not what its windows say");
    }
    ++report_.recomputed;
  }

  void ReadDerived(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<DerivedKey> key = DecodeDerivedKey(bytes);
    if (!key.ok()) return Fault(Unreadable("derived", bytes), key.status());
    if (ToldLost("derived", value)) return;
    const absl::Status content = ValueContent(value, "filter hour").status();
    if (!content.ok()) Fault(Place("derived", key->node, key->hour_start_ns), content);
  }

  void ReadName(std::string_view bytes, std::string_view value) {
    const absl::StatusOr<NameOrigin> origin = DecodeNameKey(bytes);
    const absl::Status content = ValueContent(value, "symbol name").status();
    if (!origin.ok() || !content.ok()) {
      Fault(Unreadable("dict", bytes), origin.ok() ? content : origin.status());
    }
  }

  Store& store_;
  const VerifyOptions& options_;
  const Recompute recompute_;
  VerifyReport report_;
  VerifyBooks books_;
  uint16_t raw_floor_ = 0;
  bool raw_whole_ = false;
  bool stopped_ = false;
  size_t described_ = 0;  // faults of this step
  std::string step_;
  uint64_t done_ = 0, total_ = 0;

  std::optional<RollupKey> needed_window_;  // asked for last
  std::optional<SeriesKey> needed_series_;
  struct ByKey {
    bool operator()(const RollupKey& a, const RollupKey& b) const {
      return EncodeRollupKey(a) < EncodeRollupKey(b);
    }
  };
  std::map<RollupKey, std::string, ByKey> expected_;  // of the window read last, by vital
  std::vector<uint64_t> rollup_first_;                // by tier: start of its first bucket
  VerifyNames names_;
  std::optional<std::pair<DirtyLineKey, std::map<uint8_t, v1::LineBlock>>> lines_;
};

}  // namespace

absl::StatusOr<VerifyReport> Verify(Store& store, const VerifyOptions& options) {
  return Verifier(store, options).Run();
}

}  // namespace telltale::storage
