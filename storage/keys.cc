#include "storage/keys.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::storage {
namespace {

// Appends big-endian integers.
class Writer {
 public:
  explicit Writer(CatalogTable table) { U8(static_cast<uint8_t>(table)); }
  Writer() = default;

  Writer& U8(uint8_t v) { return Put(v, 1); }
  Writer& U16(uint16_t v) { return Put(v, 2); }
  Writer& U32(uint32_t v) { return Put(v, 4); }
  Writer& U64(uint64_t v) { return Put(v, 8); }
  Writer& Bytes(std::string_view v) {
    out_.append(v);
    return *this;
  }
  Writer& Id(const Incarnation& v) {
    out_.append(reinterpret_cast<const char*>(v.data()), v.size());
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  Writer& Put(uint64_t v, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      out_.push_back(static_cast<char>(v >> shift));
    }
    return *this;
  }
  std::string out_;
};

// Reads what Writer wrote; the caller checked the length.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Get(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Get(2)); }
  uint32_t U32() { return static_cast<uint32_t>(Get(4)); }
  uint64_t U64() { return Get(8); }
  Incarnation Id() {
    Incarnation id;
    std::copy_n(bytes_.begin() + at_, id.size(), reinterpret_cast<char*>(id.data()));
    at_ += id.size();
    return id;
  }
  bool empty() const { return at_ == bytes_.size(); }

 private:
  uint64_t Get(size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i) v = v << 8 | static_cast<uint8_t>(bytes_[at_ + i]);
    at_ += n;
    return v;
  }
  std::string_view bytes_;
  size_t at_ = 0;
};

// The beginning of a span counted since 1970; not every number has one that a time can hold.
absl::StatusOr<uint64_t> TimeOf(uint64_t number, uint64_t span_ns) {
  if (number > UINT64_MAX / span_ns) {
    return absl::DataLossError(
        absl::StrCat("decode key: span ", number, " of ", span_ns, " ns is beyond all times"));
  }
  return number * span_ns;
}

absl::Status BadLength(const char* what, size_t got, const char* want) {
  return absl::DataLossError(absl::StrCat("decode ", what, " key: ", got, " bytes, want ", want));
}

absl::StatusOr<Tier> CheckTier(uint8_t tier, Tier lowest, const char* what) {
  if (tier < static_cast<uint8_t>(lowest) || tier > static_cast<uint8_t>(Tier::k1Day)) {
    return absl::DataLossError(absl::StrCat("decode ", what, " key: unknown tier ", tier));
  }
  return static_cast<Tier>(tier);
}

uint8_t HourOfDay(uint64_t time_ns) { return static_cast<uint8_t>(time_ns % kDayNs / kHourNs); }

// Window length of a dirty mark: the series block of an hour for tier raw.
uint64_t MarkNs(Tier tier) { return tier == Tier::kRaw ? kHourNs : WindowNs(tier); }

constexpr uint8_t kNames = 4;  // first byte of name keys in `dict`; 1 to 3 were of format 1

}  // namespace

uint64_t WindowNs(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
      return 0;
    case Tier::k5Min:
      return 300 * kSecondNs;
    case Tier::k1Hour:
      return kHourNs;
    case Tier::k1Day:
      return kDayNs;
  }
  return 0;
}

uint64_t RollupBucketNs(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
    case Tier::k5Min:
      return kDayNs;
    case Tier::k1Hour:
      return 10 * kDayNs;
    case Tier::k1Day:
      return 100 * kDayNs;
  }
  return kDayNs;
}

uint64_t LineBucketNs(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
    case Tier::k5Min:
      return kHourNs;
    case Tier::k1Hour:
      return kDayNs;
    case Tier::k1Day:
      return 30 * kDayNs;
  }
  return kHourNs;
}

uint16_t DayOf(uint64_t time_ns) {
  return static_cast<uint16_t>(std::min<uint64_t>(time_ns / kDayNs, UINT16_MAX));
}

std::string EncodeRawKey(const RawKey& key) {
  Writer w;
  w.U16(key.day).U32(key.node).U64(key.start_ns).Id(key.incarnation).U64(key.sequence);
  if (key.apart) w.U64(key.apart_digest);
  return w.Take();
}

absl::StatusOr<RawKey> DecodeRawKey(std::string_view bytes) {
  if (bytes.size() != 38 && bytes.size() != 46) return BadLength("raw", bytes.size(), "38 or 46");
  Cursor c(bytes);
  RawKey key;
  key.day = c.U16();
  key.node = c.U32();
  key.start_ns = c.U64();
  key.incarnation = c.Id();
  key.sequence = c.U64();
  key.apart = !c.empty();
  if (key.apart) key.apart_digest = c.U64();
  return key;
}

std::string RawKeyFrom(uint16_t day, uint32_t node, uint64_t start_ns) {
  return Writer().U16(day).U32(node).U64(start_ns).Take();
}

std::string DayPrefix(uint16_t day) { return Writer().U16(day).Take(); }

std::string EncodeSeriesKey(const SeriesKey& key) {
  return Writer()
      .U16(DayOf(key.hour_start_ns))
      .U32(key.node)
      .U8(HourOfDay(key.hour_start_ns))
      .Take();
}

absl::StatusOr<SeriesKey> DecodeSeriesKey(std::string_view bytes) {
  if (bytes.size() != 7) return BadLength("series", bytes.size(), "7");
  Cursor c(bytes);
  const uint64_t day = c.U16();
  SeriesKey key;
  key.node = c.U32();
  const uint8_t hour = c.U8();
  if (hour > 23) return absl::DataLossError(absl::StrCat("decode series key: hour ", hour));
  key.hour_start_ns = day * kDayNs + hour * kHourNs;
  return key;
}

std::string EncodeLineKey(const LineKey& key) {
  return Writer()
      .U8(static_cast<uint8_t>(key.tier))
      .U8(key.vital)
      .U32(static_cast<uint32_t>(key.bucket_start_ns / LineBucketNs(key.tier)))
      .U32(key.group)
      .Take();
}

absl::StatusOr<LineKey> DecodeLineKey(std::string_view bytes) {
  if (bytes.size() != 10) return BadLength("line", bytes.size(), "10");
  Cursor c(bytes);
  LineKey key;
  absl::StatusOr<Tier> tier = CheckTier(c.U8(), Tier::k5Min, "line");
  if (!tier.ok()) return tier.status();
  key.tier = *tier;
  key.vital = c.U8();
  absl::StatusOr<uint64_t> start_ns = TimeOf(c.U32(), LineBucketNs(key.tier));
  if (!start_ns.ok()) return start_ns.status();
  key.bucket_start_ns = *start_ns;
  key.group = c.U32();
  return key;
}

std::string EncodeRollupKey(const RollupKey& key) {
  return Writer()
      .Bytes(RollupBucketPrefix(key.tier, key.window_start_ns))
      .U32(key.node)
      .U32(static_cast<uint32_t>(key.window_start_ns / WindowNs(key.tier)))
      .U8(key.vital)
      .Take();
}

absl::StatusOr<RollupKey> DecodeRollupKey(std::string_view bytes) {
  if (bytes.size() != 12) return BadLength("rollup", bytes.size(), "12");
  Cursor c(bytes);
  RollupKey key;
  absl::StatusOr<Tier> tier = CheckTier(c.U8(), Tier::k5Min, "rollup");
  if (!tier.ok()) return tier.status();
  key.tier = *tier;
  const uint64_t bucket = c.U16();
  key.node = c.U32();
  absl::StatusOr<uint64_t> start_ns = TimeOf(c.U32(), WindowNs(key.tier));
  if (!start_ns.ok()) return start_ns.status();
  key.window_start_ns = *start_ns;
  if (key.window_start_ns / RollupBucketNs(key.tier) != bucket) {
    return absl::DataLossError(absl::StrCat("decode rollup key: window ", key.window_start_ns,
                                            " ns is not in bucket ", bucket));
  }
  key.vital = c.U8();
  return key;
}

std::string RollupBucketPrefix(Tier tier, uint64_t bucket_start_ns) {
  return Writer()
      .U8(static_cast<uint8_t>(tier))
      .U16(static_cast<uint16_t>(bucket_start_ns / RollupBucketNs(tier)))
      .Take();
}

std::string EncodeDerivedKey(const DerivedKey& key) {
  return Writer()
      .U32(key.filter)
      .U16(DayOf(key.hour_start_ns))
      .U32(key.node)
      .U8(HourOfDay(key.hour_start_ns))
      .Take();
}

absl::StatusOr<DerivedKey> DecodeDerivedKey(std::string_view bytes) {
  if (bytes.size() != 11) return BadLength("derived", bytes.size(), "11");
  Cursor c(bytes);
  DerivedKey key;
  key.filter = c.U32();
  const uint64_t day = c.U16();
  key.node = c.U32();
  const uint8_t hour = c.U8();
  if (hour > 23) return absl::DataLossError(absl::StrCat("decode derived key: hour ", hour));
  key.hour_start_ns = day * kDayNs + hour * kHourNs;
  return key;
}

std::string StoreRecordKey() { return Writer(CatalogTable::kStore).Take(); }
std::string NodeRecordKey(uint32_t node) { return Writer(CatalogTable::kNodes).U32(node).Take(); }
std::string LedgerKey(uint32_t node, const Incarnation& incarnation) {
  return Writer(CatalogTable::kLedger).U32(node).Id(incarnation).Take();
}

absl::StatusOr<std::pair<uint32_t, Incarnation>> DecodeLedgerKey(std::string_view bytes) {
  if (bytes.size() != 21) return BadLength("ledger", bytes.size(), "21");
  Cursor c(bytes.substr(1));
  const uint32_t node = c.U32();
  return std::make_pair(node, c.Id());
}

std::string CoverageKey(uint32_t node, uint16_t day) {
  return Writer(CatalogTable::kCoverage).U32(node).U16(day).Take();
}
std::string CountersKey(uint32_t node) { return Writer(CatalogTable::kCounters).U32(node).Take(); }

absl::StatusOr<uint32_t> DecodeNodeOf(std::string_view catalog_key) {
  if (catalog_key.size() < 5) return BadLength("catalog", catalog_key.size(), ">= 5");
  return Cursor(catalog_key.substr(1)).U32();
}

std::string EncodeDirtyKey(const DirtyKey& key) {
  return Writer(CatalogTable::kDirty)
      .U32(key.node)
      .U8(static_cast<uint8_t>(key.tier))
      .U32(static_cast<uint32_t>(key.window_start_ns / MarkNs(key.tier)))
      .Take();
}

absl::StatusOr<DirtyKey> DecodeDirtyKey(std::string_view bytes) {
  if (bytes.size() != 10) return BadLength("dirty", bytes.size(), "10");
  Cursor c(bytes.substr(1));
  DirtyKey key;
  key.node = c.U32();
  absl::StatusOr<Tier> tier = CheckTier(c.U8(), Tier::kRaw, "dirty");
  if (!tier.ok()) return tier.status();
  key.tier = *tier;
  absl::StatusOr<uint64_t> start_ns = TimeOf(c.U32(), MarkNs(key.tier));
  if (!start_ns.ok()) return start_ns.status();
  key.window_start_ns = *start_ns;
  return key;
}

std::string EncodeDirtyLineKey(const DirtyLineKey& key) {
  return Writer(CatalogTable::kDirtyLines)
      .U8(static_cast<uint8_t>(key.tier))
      .U32(static_cast<uint32_t>(key.bucket_start_ns / LineBucketNs(key.tier)))
      .U32(key.group)
      .Take();
}

absl::StatusOr<DirtyLineKey> DecodeDirtyLineKey(std::string_view bytes) {
  if (bytes.size() != 10) return BadLength("dirty line", bytes.size(), "10");
  Cursor c(bytes.substr(1));
  DirtyLineKey key;
  absl::StatusOr<Tier> tier = CheckTier(c.U8(), Tier::k5Min, "dirty line");
  if (!tier.ok()) return tier.status();
  key.tier = *tier;
  absl::StatusOr<uint64_t> start_ns = TimeOf(c.U32(), LineBucketNs(key.tier));
  if (!start_ns.ok()) return start_ns.status();
  key.bucket_start_ns = *start_ns;
  key.group = c.U32();
  return key;
}

std::string SchemaKey(uint64_t id) { return Writer(CatalogTable::kSchemas).U64(id).Take(); }
std::string FilterNumberKey(std::string_view name, uint32_t version) {
  return Writer(CatalogTable::kFilterNumbers).U32(version).Bytes(name).Take();
}
absl::StatusOr<std::pair<std::string, uint32_t>> DecodeFilterNumberKey(std::string_view bytes) {
  constexpr size_t kBeforeName = 5;
  if (bytes.size() <= kBeforeName) return BadLength("filter number", bytes.size(), "6 or more");
  Cursor c(bytes.substr(1));
  const uint32_t version = c.U32();
  return std::pair(std::string(bytes.substr(kBeforeName)), version);
}
std::string FilterStateKey(std::string_view name) {
  return Writer(CatalogTable::kFilterState).Bytes(name).Take();
}
std::string TablePrefix(CatalogTable table) { return Writer(table).Take(); }

std::string EncodeBlobKey(const std::array<uint8_t, 16>& id) {
  return Writer(CatalogTable::kBlobs).Id(id).Take();
}
std::string EncodeBlobPieceKey(const std::array<uint8_t, 16>& id, uint32_t number) {
  return Writer(CatalogTable::kBlobPieces).Id(id).U32(number).Take();
}

absl::StatusOr<std::array<uint8_t, 16>> DecodeBlobKey(std::string_view bytes) {
  if (bytes.size() != 17) return BadLength("blob", bytes.size(), "17");
  return Cursor(bytes.substr(1)).Id();
}

std::string EncodeBlobAuditKey(const BlobAuditKey& key) {
  return Writer(CatalogTable::kBlobAudit).U64(key.time_ns).U32(key.number).Take();
}

absl::StatusOr<BlobAuditKey> DecodeBlobAuditKey(std::string_view bytes) {
  if (bytes.size() != 13) return BadLength("blob audit", bytes.size(), "13");
  Cursor c(bytes.substr(1));
  BlobAuditKey key;
  key.time_ns = c.U64();
  key.number = c.U32();
  return key;
}

uint64_t NameBucketNs(Tier tier) {
  switch (tier) {
    case Tier::kRaw:
      return 7 * kDayNs;
    case Tier::k5Min:
      return 10 * kDayNs;
    case Tier::k1Hour:
      return 50 * kDayNs;
    case Tier::k1Day:
      return 200 * kDayNs;
  }
  return 7 * kDayNs;
}

NamePartition NamePartitionOf(Tier tier, uint64_t time_ns) {
  return {tier,
          static_cast<uint16_t>(std::min<uint64_t>(time_ns / NameBucketNs(tier), UINT16_MAX))};
}

uint64_t NamePartitionEndNs(NamePartition partition) {
  return (uint64_t{partition.bucket} + 1) * NameBucketNs(partition.tier);
}

std::string NameTierPrefix(Tier tier) {
  return Writer().U8(kNames).U8(static_cast<uint8_t>(tier)).Take();
}

std::string NamePartitionPrefix(NamePartition partition) {
  return Writer().Bytes(NameTierPrefix(partition.tier)).U16(partition.bucket).Take();
}

std::string NamePrefix(NamePartition partition, std::string_view build_id, uint64_t offset) {
  const std::string_view id = build_id.substr(0, UINT8_MAX);
  return Writer()
      .Bytes(NamePartitionPrefix(partition))
      .U8(static_cast<uint8_t>(id.size()))
      .Bytes(id)
      .U64(offset)
      .Take();
}

std::string NameKey(NamePartition partition, std::string_view build_id, uint64_t offset,
                    uint32_t source) {
  return Writer().Bytes(NamePrefix(partition, build_id, offset)).U32(source).Take();
}

absl::StatusOr<NameOrigin> DecodeNameKey(std::string_view bytes) {
  constexpr size_t kAround = 4 + 1 + 8 + 4;  // of the build id
  if (bytes.size() < kAround) return BadLength("name", bytes.size(), ">= 17");
  Cursor c(bytes);
  const uint8_t table = c.U8();
  if (table != kNames) {
    return absl::DataLossError(absl::StrCat("decode name key: table ", table, ", want ", kNames));
  }
  absl::StatusOr<Tier> tier = CheckTier(c.U8(), Tier::kRaw, "name");
  if (!tier.ok()) return tier.status();
  NameOrigin origin;
  origin.partition = {*tier, c.U16()};
  const size_t id_bytes = c.U8();
  if (bytes.size() != kAround + id_bytes) {
    return BadLength("name", bytes.size(), "17 and the build id");
  }
  origin.source = Cursor(bytes.substr(bytes.size() - 4)).U32();
  return origin;
}

std::string EncodeU64(uint64_t value) { return Writer().U64(value).Take(); }
absl::StatusOr<uint64_t> DecodeU64(std::string_view bytes) {
  if (bytes.size() != 8) return BadLength("u64", bytes.size(), "8");
  return Cursor(bytes).U64();
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace telltale::storage
