#include "storage/scan_over.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rocksdb/table_properties.h"
#include "storage/rocks_database.h"

namespace telltale::storage {
namespace {

constexpr int kFullBytes = 8;

using Iterators = std::function<std::unique_ptr<rocksdb::Iterator>()>;

// Each with an iterator of its own: one that has read a block around the key may seek to it where
// another fails.
bool Reads(const Iterators& make, std::string_view key) {
  const std::unique_ptr<rocksdb::Iterator> it = make();
  it->Seek(ToSlice(key));
  return it->Valid() || it->status().ok();  // nothing behind it is an answer, too
}

// Where a damaged block ends: seeking to `fails` does, to `reads` does not, and no row lies
// between.
struct End {
  std::string fails, reads;
};

// Of the block in which seeking to `lo` fails; none: nothing behind it can be read. Seeking fails
// up to the key that separates the block from the next, which is found byte by byte. First a key
// that reads, from the neighbours of `lo` to keys that share ever less with it, so that a second
// damaged block further on does not hide what lies between the two.
std::optional<End> EndOf(const Iterators& make, const std::string& lo) {
  std::string fails = lo, reads;
  int full = 0;
  const auto is_found = [&](std::string key) {
    const bool found = Reads(make, key);
    (found ? reads : fails) = std::move(key);
    return found;
  };
  const auto byte_of = [](const std::string& key, size_t at) {
    return at < key.size() ? static_cast<int>(static_cast<unsigned char>(key[at])) : -1;
  };
  const auto with_byte = [](const std::string& key, size_t at, int byte) {
    return key.substr(0, at) + static_cast<char>(byte);
  };
  size_t at = lo.size();
  int high = -1;
  while (high < 0) {
    for (int byte = byte_of(lo, at) + 1, step = 1; byte <= UINT8_MAX && high < 0; step *= 2) {
      if (is_found(with_byte(lo, at, byte))) high = byte;
      byte += step;
    }
    if (high < 0 && at-- == 0) return std::nullopt;
  }
  for (;; ++at, high = UINT8_MAX + 1) {
    int low = byte_of(fails, at);
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      (is_found(with_byte(fails, at, middle)) ? high : low) = middle;
    }
    // One byte more reads; or all that begins like it fails, and no key has so many such bytes.
    if (low < 0 || (low == UINT8_MAX && ++full == kFullBytes)) return End{fails, reads};
  }
}

// An estimate, since blocks do not say what they held: by the bytes from `lo` on. The row in front
// of `lo` mostly ends a good block, which is measured with them and taken off again; the last block
// is certain.
uint64_t RowsBetween(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view lo,
                     const std::optional<End>& to) {
  const std::string last(1024, '\xff');  // no key is above it
  const rocksdb::Slice end = to.has_value() ? to->reads : last;
  const rocksdb::Range ranges[] = {{ToSlice(lo), end}, {to.has_value() ? to->fails : last, end}};
  const rocksdb::SizeApproximationOptions in_files;
  uint64_t bytes[2] = {};
  rocksdb::TablePropertiesCollection tables;
  if (!db.GetApproximateSizes(in_files, family, ranges, 2, bytes).ok() ||
      !db.GetPropertiesOfTablesInRange(family, ranges, 1, &tables).ok()) {
    return 1;
  }
  double rows = 0, of_bytes = 0, blocks = 0;
  for (const auto& [file, table] : tables) {
    rows += static_cast<double>(table->num_entries);
    of_bytes += static_cast<double>(table->data_size);
    blocks += static_cast<double>(table->num_data_blocks);
  }
  if (of_bytes <= 0 || blocks <= 0) return 1;
  const double lost =
      std::max(static_cast<double>(bytes[0]) - of_bytes / blocks, static_cast<double>(bytes[1]));
  return static_cast<uint64_t>(std::clamp(std::round(lost * rows / of_bytes), 1.0, rows));
}

}  // namespace

absl::Status ScanOver(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view from,
                      std::string_view to, const RowVisitor& visit, const DamageVisitor& damaged,
                      const rocksdb::Snapshot* snapshot) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  const rocksdb::Slice upper = ToSlice(to);
  if (!to.empty()) options.iterate_upper_bound = &upper;
  const Iterators make = [&] {
    return std::unique_ptr<rocksdb::Iterator>(db.NewIterator(options, family));
  };
  std::unique_ptr<rocksdb::Iterator> it = make();
  std::string last;
  bool any = false;
  it->Seek(ToSlice(from));
  while (true) {
    for (; it->Valid(); it->Next()) {
      last.assign(it->key().data(), it->key().size());
      any = true;
      if (!visit(ToView(it->key()), ToView(it->value()))) return absl::OkStatus();
    }
    if (!it->status().IsCorruption()) return FromRocks(it->status(), "scan", family->GetName());
    DamagedRange range;
    range.why = it->status().ToString();
    if (any) range.after = last;
    const std::string lo = any ? last + '\0' : std::string(from);
    it = make();
    it->Seek(ToSlice(lo));
    if (it->Valid() || it->status().ok()) continue;
    const std::optional<End> end = EndOf(make, lo);
    range.rows = RowsBetween(db, family, lo, end);
    if (!end.has_value()) {
      damaged(range);
      return absl::OkStatus();
    }
    it = make();
    it->Seek(end->reads);
    if (it->Valid()) range.before = it->key().ToString();
    damaged(range);
  }
}

}  // namespace telltale::storage
