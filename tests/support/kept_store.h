// The small data directory that is kept of each format: what goes into it, when its clock stands,
// and what it answers, in few lines that do not change with how answers are shown. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_KEPT_STORE_H_
#define TELLTALE_TESTS_SUPPORT_KEPT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "storage/store.h"

namespace telltale::testing {

// Two hours after its last epoch; the age of the directory itself does not count.
uint64_t KeptStoreNow();
absl::StatusOr<std::unique_ptr<storage::Store>> OpenKeptStore(const std::string& data);

// Two nodes over a full hour's end: counted epochs, one kept apart, a gap, a declared loss, names,
// all tiers computed but the last epoch's.
absl::Status FillKeptStore(storage::Store& store);

// Totals and the first rows of each tier, stacks with their names, coverage, ledger.
std::string KeptAnswers(storage::Store& store);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_KEPT_STORE_H_
