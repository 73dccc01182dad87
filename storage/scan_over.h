// A scan of one RocksDB column family that goes on behind blocks whose checksum is wrong. What a
// block held cannot be told, so what it covered is: the keys around it, and the file.

#ifndef TELLTALE_STORAGE_SCAN_OVER_H_
#define TELLTALE_STORAGE_SCAN_OVER_H_

#include <string_view>

#include "absl/status/status.h"
#include "rocksdb/db.h"
#include "storage/history.h"

namespace telltale::storage {

// As History::ScanOver, of the state of the snapshot (nullptr: of now). Rows of other files that
// lie between the same keys are stepped over with the block: one iterator cannot tell what is
// theirs. Any thread.
absl::Status ScanOver(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string_view from,
                      std::string_view to, const RowVisitor& visit, const DamageVisitor& damaged,
                      const rocksdb::Snapshot* snapshot = nullptr);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SCAN_OVER_H_
