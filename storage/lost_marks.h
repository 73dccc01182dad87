// Marks of windows and graph blocks to compute that cannot be read: everything they may have stood
// for is marked, so that no row that is behind what it sums up passes for current. Called while the
// store is opened.

#ifndef TELLTALE_STORAGE_LOST_MARKS_H_
#define TELLTALE_STORAGE_LOST_MARKS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "storage/catalog_damage.h"
#include "storage/dirty_lines.h"
#include "storage/dirty_windows.h"
#include "storage/history.h"
#include "storage/node_registry.h"

namespace telltale::storage {

// Of each node they may be of, all days from the raw floor on: what lies before it is sealed.
// Coarser windows and graphs follow from these.
void MarkLostWindows(const LostRows& lost, const NodeRegistry& registry, uint16_t raw_floor,
                     uint64_t ingest_number, DirtyWindows* dirty);

// All blocks between the rows around what is lost, from the first stored window of their tier on.
// Errors as of History.
absl::Status MarkLostLines(const LostRows& lost, const NodeRegistry& registry,
                           const History& history, uint64_t now_ns, DirtyLines* lines);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_LOST_MARKS_H_
