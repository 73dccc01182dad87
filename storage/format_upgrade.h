// Brings what an older program wrote into the present grammar (FORMAT.md, "Formats"). Called by
// Store::Open before anything else reads; a crash in between leaves a directory that is upgraded
// again from the start, to the same rows.

#ifndef TELLTALE_STORAGE_FORMAT_UPGRADE_H_
#define TELLTALE_STORAGE_FORMAT_UPGRADE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "storage/history.h"

namespace telltale::storage {

// From format 1, whose names stood outside of partitions: they go to the present partition of each
// coarser tier, so that they last as long as any window that may refer to them. Errors as of
// History.
absl::Status UpgradeFrom1(History* history, uint64_t now_ns);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_FORMAT_UPGRADE_H_
