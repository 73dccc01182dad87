// Which acknowledged epochs are gone from raw, by the ledgers, and the rows that say so in their
// place. When they were is told by the epochs around them, or where there are none by the coverage
// of the day: a row mostly stands within some seconds of where the lost one stood.
//
// One thread, on a store nobody else uses.

#ifndef TELLTALE_STORAGE_SALVAGE_EPOCHS_H_
#define TELLTALE_STORAGE_SALVAGE_EPOCHS_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/ledger.h"
#include "storage/node_registry.h"
#include "storage/reader.h"

namespace telltale::storage {

class LostEpochs {
 public:
  // Both outlive this.
  LostEpochs(const History* history, const Reader* reader) : history_(history), reader_(reader) {}

  // Those of a node and a day that were not told before.
  absl::StatusOr<std::vector<Row>> RowsOf(const NodeRecord& node, uint16_t day,
                                          const CoverageDay& coverage, std::string_view why);

  struct Time {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
  };
  using Standing = std::map<std::pair<Incarnation, uint64_t>, Time>;  // by sequence

 private:
  absl::Status ReadDay(uint32_t node, uint16_t day, uint64_t length_ns, Standing* standing) const;
  const History* const history_;
  const Reader* const reader_;
};

// Whether a row that tells the loss of this epoch stands about where the epoch did.
absl::StatusOr<bool> IsToldLost(const History& history, const RawKey& key);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_SALVAGE_EPOCHS_H_
