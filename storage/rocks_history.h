// The history on the local RocksDB: one column family each. Thread-safe.

#ifndef TELLTALE_STORAGE_ROCKS_HISTORY_H_
#define TELLTALE_STORAGE_ROCKS_HISTORY_H_

#include "storage/history.h"
#include "storage/rocks_database.h"

namespace telltale::storage {

class RocksHistory : public History {
 public:
  explicit RocksHistory(RocksDatabase* database) : database_(database) {}

  const RocksDatabase* database() const { return database_; }

  absl::Status Append(std::span<const Row> rows) override;
  absl::Status Sync() override;
  uint64_t Beginnings() const override { return database_->beginnings(); }
  absl::StatusOr<std::string> Get(Family family, std::string_view key) const override;
  absl::Status Scan(Family family, std::string_view from, std::string_view to,
                    const RowVisitor& visit) const override;
  absl::Status ScanOver(Family family, std::string_view from, std::string_view to,
                        const RowVisitor& visit, const DamageVisitor& damaged) const override;
  absl::Status DropRange(Family family, std::string_view from, std::string_view to) override;
  absl::StatusOr<FamilySize> Size(Family family) const override;
  absl::StatusOr<uint64_t> RangeBytes(Family family, std::string_view from,
                                      std::string_view to) const override;

 private:
  RocksDatabase* const database_;  // outlives this
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_ROCKS_HISTORY_H_
