// What the catalog knows of a node's past, cut to what stored data can still refer to: numbers
// whose days have expired from `raw` are settled (one "before" for all of them), ledgers of
// incarnations long gone are added up, days that no tier holds leave the coverage. Sums stay as
// they were; what still comes for a settled number is too late.
//
// Called by the thread that owns the node.

#ifndef TELLTALE_STORAGE_NODE_PRUNING_H_
#define TELLTALE_STORAGE_NODE_PRUNING_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "storage/node_book.h"
#include "storage/summary_store.h"

namespace telltale::storage {

// Ledgers without unexpired data that a node keeps: its agent may have been off for longer than raw
// lasts and comes back with the numbers it had.
inline constexpr size_t kIdleLedgers = 64;

struct PruneFloors {
  uint16_t raw_day = 0;       // days before it have expired from `raw`
  uint16_t coverage_day = 0;  // and before this one from every tier
  uint16_t today = 0;
};

// Days a schema is kept for that no stored epoch uses: its epochs follow it at once.
inline constexpr uint16_t kUnusedSchemaDays = 1;

// Prunes and commits; `book` is changed even when the commit fails, so hand in a copy.
absl::Status PruneNode(const SummaryStoreOptions& options, uint32_t node, PruneFloors floors,
                       NodeBook* book);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_NODE_PRUNING_H_
