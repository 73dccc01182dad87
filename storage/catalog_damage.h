// What is opened on the catalog meets damaged blocks in one of two ways. Books without which an
// epoch could be counted twice or a number be given twice are read whole or not at all: then
// nothing starts, and the error says what cannot be read and what to do. Of the rest what can be
// read is used; what cannot is counted, told and gone (FORMAT.md says which is which).
//
// Free functions: any thread.

#ifndef TELLTALE_STORAGE_CATALOG_DAMAGE_H_
#define TELLTALE_STORAGE_CATALOG_DAMAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"

namespace telltale::storage {

// Takes one row. Not OK: it does not decode.
using CatalogReader = std::function<absl::Status(std::string_view key, std::string_view value)>;

// All rows whose keys begin with the prefix. DataLoss: some of them cannot be read, with family,
// table, keys and file; `why` nothing goes on without them ("an epoch could be counted twice").
// Other errors as of the catalog and of `read`.
absl::Status ReadWhole(Catalog& catalog, std::string_view prefix, std::string_view why,
                       const CatalogReader& read);

// The error of ReadWhole for one row that was asked for by its key; other errors, and OK, as they
// are.
absl::Status NeededWhole(absl::Status status, std::string_view key, std::string_view why);

struct LostRows {
  std::vector<DamagedRange> ranges;
  std::vector<std::string> keys;  // of rows that do not decode
  uint64_t rows = 0;              // in all; an estimate

  bool any() const { return rows != 0; }
};

// Those of them that can be read. The others are counted (Catalog::CountUnreadable), and noted
// (Catalog::NoteLoss) as so many `what` ("notes"), with what follows from it: `then`. Errors as of
// the catalog, and of `read` but for DataLoss.
absl::StatusOr<LostRows> ReadReadable(Catalog& catalog, std::string_view prefix,
                                      std::string_view what, std::string_view then,
                                      const CatalogReader& read);

// Notes so many that cannot be read; `fault`: how the first of them is damaged.
void NoteLostRows(Catalog& catalog, uint64_t rows, std::string_view what, std::string_view then,
                  std::string_view fault);

// Whether a collector starts on a store that opens: not where its parts need whole what cannot be
// read. Then DataLoss, as of ReadWhole.
absl::Status ReadNeeded(Catalog& catalog);

const char* CatalogTableName(std::string_view key);  // of its first byte

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_CATALOG_DAMAGE_H_
