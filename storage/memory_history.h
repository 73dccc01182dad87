// The history as a sorted map in memory: the model the conformance suite holds every implementation
// against, and a store for tests that need no disk. Thread-safe.

#ifndef TELLTALE_STORAGE_MEMORY_HISTORY_H_
#define TELLTALE_STORAGE_MEMORY_HISTORY_H_

#include <array>
#include <map>
#include <mutex>

#include "storage/history.h"

namespace telltale::storage {

class MemoryHistory : public History {
 public:
  absl::Status Append(std::span<const Row> rows) override;
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::StatusOr<std::string> Get(Family family, std::string_view key) const override;
  absl::Status Scan(Family family, std::string_view from, std::string_view to,
                    const RowVisitor& visit) const override;
  absl::Status DropRange(Family family, std::string_view from, std::string_view to) override;
  absl::StatusOr<FamilySize> Size(Family family) const override;
  absl::StatusOr<uint64_t> RangeBytes(Family family, std::string_view from,
                                      std::string_view to) const override;

 private:
  struct Versioned {
    uint64_t version = 0;
    std::string value;
  };
  using Rows = std::map<std::string, Versioned, std::less<>>;
  const Rows& rows(Family family) const { return families_[static_cast<size_t>(family)]; }

  mutable std::mutex mutex_;
  std::array<Rows, kFamilies> families_;  // guarded by mutex_
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_MEMORY_HISTORY_H_
