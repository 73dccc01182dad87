// Days of coverage as the catalog keeps them, past what cannot be read of it. A day that cannot be
// begins anew: what was watched of it before counts as not watched, which is the safe side, and the
// catalog counts the row as unreadable. Any thread.

#ifndef TELLTALE_STORAGE_COVERAGE_ROWS_H_
#define TELLTALE_STORAGE_COVERAGE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "storage/ledger.h"

namespace telltale::storage {

// Empty: nothing is stored, or it cannot be read. Errors as of the catalog.
absl::StatusOr<CoverageDay> ReadCoverageDay(Catalog& catalog, const Transaction& state,
                                            uint32_t node, uint16_t day);

struct CoverageDays {
  std::vector<CoveragePiece> pieces;  // ascending
  std::vector<PlannedStop> stops;     // ascending
  std::vector<uint16_t> unreadable;   // days

  void Add(const CoverageDay& day);
  void Sort();
};

// Of these days: [first, last].
absl::StatusOr<CoverageDays> ReadCoverageDays(Catalog& catalog, const Transaction& state,
                                              uint32_t node, uint16_t first, uint16_t last);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_COVERAGE_ROWS_H_
