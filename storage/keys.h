// Ordered byte keys of every family and of the catalog (grammar: FORMAT.md). All integers are
// big-endian, so that the order of the bytes is the order of the numbers; decoding checks length
// and ranges and never reads past the end. Times are nanoseconds since 1970 on the collector's
// clock (see placement.h).
//
// Free functions and plain values: any thread.

#ifndef TELLTALE_STORAGE_KEYS_H_
#define TELLTALE_STORAGE_KEYS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace telltale::storage {

inline constexpr uint64_t kSecondNs = 1'000'000'000;
inline constexpr uint64_t kHourNs = 3600 * kSecondNs;
inline constexpr uint64_t kDayNs = 24 * kHourNs;

// 16 random bytes an agent made with its spool directory.
using Incarnation = std::array<uint8_t, 16>;

// Resolutions. Numbers equal telltale.v1.Tier and are on disk: frozen.
enum class Tier : uint8_t { kRaw = 1, k5Min = 2, k1Hour = 3, k1Day = 4 };

uint64_t WindowNs(Tier tier);  // length of one window; raw: 0
uint64_t RollupBucketNs(
    Tier tier);  // time span of a droppable partition of `rollup`: 1 d, 10 d, 100 d
uint64_t LineBucketNs(Tier tier);  // time span of one block of `line`: 1 h, 1 d, 30 d

// Days since 1970 of a time, at most 65,535.
uint16_t DayOf(uint64_t time_ns);

// A summary. Rows that are kept apart (another body of a known identity, or a clone's) carry their
// digest behind the key; rows that may count do not.
struct RawKey {
  uint16_t day = 0;  // of the epoch's middle: partitions hold whole windows
  uint32_t node = 0;
  uint64_t start_ns = 0;
  Incarnation incarnation = {};
  uint64_t sequence = 0;
  bool apart = false;
  uint64_t apart_digest = 0;  // 0 unless apart

  bool operator==(const RawKey&) const = default;
};
std::string EncodeRawKey(const RawKey& key);  // raw and cells
absl::StatusOr<RawKey> DecodeRawKey(std::string_view bytes);
// First key of a node's day at or after an epoch start; and of a whole day (a partition).
std::string RawKeyFrom(uint16_t day, uint32_t node, uint64_t start_ns);
std::string DayPrefix(uint16_t day);

struct SeriesKey {
  uint32_t node = 0;
  uint64_t hour_start_ns = 0;
  bool operator==(const SeriesKey&) const = default;
};
std::string EncodeSeriesKey(const SeriesKey& key);
absl::StatusOr<SeriesKey> DecodeSeriesKey(std::string_view bytes);

inline constexpr uint32_t kLineGroupNodes = 256;
struct LineKey {
  Tier tier = Tier::k5Min;
  uint8_t vital = 0;
  uint64_t bucket_start_ns = 0;
  uint32_t group = 0;  // node number / 256
  bool operator==(const LineKey&) const = default;
};
std::string EncodeLineKey(const LineKey& key);
absl::StatusOr<LineKey> DecodeLineKey(std::string_view bytes);

// Vital 0 is the window's own row (totals of all vitals and the tables the other rows point into).
struct RollupKey {
  Tier tier = Tier::k5Min;
  uint32_t node = 0;
  uint64_t window_start_ns = 0;
  uint8_t vital = 0;
  bool operator==(const RollupKey&) const = default;
};
std::string EncodeRollupKey(const RollupKey& key);
absl::StatusOr<RollupKey> DecodeRollupKey(std::string_view bytes);
// First key of a partition: all nodes, all windows of one bucket.
std::string RollupBucketPrefix(Tier tier, uint64_t bucket_start_ns);

struct DerivedKey {
  uint32_t filter = 0;  // number given by the catalog to (filter name, version)
  uint32_t node = 0;
  uint64_t hour_start_ns = 0;
  bool operator==(const DerivedKey&) const = default;
};
std::string EncodeDerivedKey(const DerivedKey& key);
absl::StatusOr<DerivedKey> DecodeDerivedKey(std::string_view bytes);

// Catalog tables (first byte of a catalog key).
std::string StoreRecordKey();
std::string NodeRecordKey(uint32_t node);
std::string LedgerKey(uint32_t node, const Incarnation& incarnation);
absl::StatusOr<std::pair<uint32_t, Incarnation>> DecodeLedgerKey(std::string_view bytes);
std::string CoverageKey(uint32_t node, uint16_t day);
std::string CountersKey(uint32_t node);
absl::StatusOr<uint32_t> DecodeNodeOf(
    std::string_view catalog_key);  // of tables keyed by node first
struct DirtyKey {
  uint32_t node = 0;
  Tier tier = Tier::kRaw;  // kRaw: the series block of an hour
  uint64_t window_start_ns = 0;
  auto operator<=>(const DirtyKey&) const = default;
};
std::string EncodeDirtyKey(const DirtyKey& key);
absl::StatusOr<DirtyKey> DecodeDirtyKey(std::string_view bytes);
struct DirtyLineKey {
  Tier tier = Tier::k5Min;
  uint64_t bucket_start_ns = 0;
  uint32_t group = 0;
  auto operator<=>(const DirtyLineKey&) const = default;
};
std::string EncodeDirtyLineKey(const DirtyLineKey& key);
absl::StatusOr<DirtyLineKey> DecodeDirtyLineKey(std::string_view bytes);
std::string SchemaKey(uint64_t id);
std::string FilterNumberKey(std::string_view name, uint32_t version);
absl::StatusOr<std::pair<std::string, uint32_t>> DecodeFilterNumberKey(std::string_view bytes);
std::string FilterStateKey(std::string_view name);
enum class CatalogTable : uint8_t {
  kStore = 1,
  kNodes = 2,
  kLedger = 3,
  kCoverage = 4,
  kCounters = 5,
  kDirty = 6,
  kSchemas = 7,
  kFilterNumbers = 8,
  kFilterState = 9,
  kDirtyLines = 10,
  kBlobs = 11,
  kBlobAudit = 12,
  kBlobPieces = 16,
};
std::string TablePrefix(CatalogTable table);
std::string EncodeBlobKey(const std::array<uint8_t, 16>& id);
absl::StatusOr<std::array<uint8_t, 16>> DecodeBlobKey(std::string_view bytes);
std::string EncodeBlobPieceKey(const std::array<uint8_t, 16>& id, uint32_t number);
struct BlobAuditKey {
  uint64_t time_ns = 0;
  uint32_t number = 0;  // entries of one moment are told apart by it
  auto operator<=>(const BlobAuditKey&) const = default;
};
std::string EncodeBlobAuditKey(const BlobAuditKey& key);
absl::StatusOr<BlobAuditKey> DecodeBlobAuditKey(std::string_view bytes);

// Symbol names in `dict`. A partition is a tier and a bucket of time: of tier raw the time at which
// the names came, of the others that of the windows that refer to them. Its buckets hold whole
// buckets of `rollup`.
struct NamePartition {
  Tier tier = Tier::kRaw;
  uint16_t bucket = 0;
  auto operator<=>(const NamePartition&) const = default;
};
uint64_t NameBucketNs(Tier tier);  // 7 d, 10 d, 50 d, 200 d
NamePartition NamePartitionOf(Tier tier, uint64_t time_ns);
uint64_t NamePartitionEndNs(NamePartition partition);  // first nanosecond behind it
std::string NamePartitionPrefix(NamePartition partition);
std::string NameTierPrefix(Tier tier);

// One row per (build id, offset, source). Source: the node that told, or kSharedName: two nodes
// agreed. Build ids longer than 255 bytes have no names.
inline constexpr uint32_t kSharedName = 0;
std::string NamePrefix(NamePartition partition, std::string_view build_id, uint64_t offset);
std::string NameKey(NamePartition partition, std::string_view build_id, uint64_t offset,
                    uint32_t source);
struct NameOrigin {
  NamePartition partition;
  uint32_t source = 0;
};
absl::StatusOr<NameOrigin> DecodeNameKey(std::string_view bytes);

// u64 as 8 big-endian bytes, for values that are one number.
std::string EncodeU64(uint64_t value);
absl::StatusOr<uint64_t> DecodeU64(std::string_view bytes);

// The smallest byte string greater than every string that begins with `prefix`; empty: there is
// none.
std::string PrefixEnd(std::string_view prefix);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_KEYS_H_
