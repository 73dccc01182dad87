// What salvage leaves in the place of rows that are lost, so that nothing is lost in silence and
// whatever can be made again is: a row that says so where answers would miss one (epochs, cells,
// windows, blocks of series, what filters found, days of coverage), a mark where what it is made of
// still stands (windows, series, graphs), and the names windows still need.
//
// One thread, on a store nobody else uses and that is opened anew afterwards.

#ifndef TELLTALE_STORAGE_SALVAGE_LOSSES_H_
#define TELLTALE_STORAGE_SALVAGE_LOSSES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/salvage_files.h"
#include "storage/store.h"

namespace telltale::storage {

struct ToldLosses {
  uint64_t epochs = 0;   // acknowledged and lost
  uint64_t windows = 0;  // and series and graphs that are made again
  uint64_t rows = 0;     // that say that there was one
};

absl::StatusOr<ToldLosses> TellLosses(Store& store, const std::vector<LostPart>& lost);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SALVAGE_LOSSES_H_
