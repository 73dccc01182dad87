// The raw rows that are stored apart of one incarnation, read a few at a time, for the step that
// counts them once an operator has decided for it (SummaryStore::AdoptDue). Values and free
// functions; any thread.

#ifndef TELLTALE_STORAGE_APART_ROWS_H_
#define TELLTALE_STORAGE_APART_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/history.h"
#include "storage/keys.h"
#include "storage/node_registry.h"
#include "storage/raw_value.h"

namespace telltale::storage {

struct ApartRow {
  RawKey key;
  RawHeader header;
  v1::Summary summary;  // with its cells, if they have not expired
};

struct ApartRows {
  std::vector<ApartRow> rows;
  std::string next_key;  // where to go on; empty: these were the last
};

struct ApartQuestion {
  uint32_t node = 0;
  const v1::KnownIncarnation* known = nullptr;  // of whom, and in what time
  uint16_t raw_floor = 0;                       // days before it have expired
  uint64_t now_ns = 0;
  std::string from_key;  // empty: from the first
  size_t limit = 0;
};

absl::StatusOr<ApartRows> ReadApartRows(const History& history, const ApartQuestion& question);

// The first incarnation of the record whose rows apart are to be counted; null: none.
const v1::KnownIncarnation* FirstAdopting(const NodeRecord& record);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_APART_ROWS_H_
