// Whether a store's books agree with its rows: what every crash test asks afterwards.

#ifndef TELLTALE_TESTS_SUPPORT_STORE_CHECK_H_
#define TELLTALE_TESTS_SUPPORT_STORE_CHECK_H_

#include <cstdint>
#include <set>
#include <string>

#include "storage/store.h"

namespace telltale::testing {

// Empty when, for this node, the ledger lists exactly the summaries that can be read, the
// cumulative counters equal their sum, and everything in `acked` is among them; else what is wrong.
std::string CheckBooks(storage::Store& store, uint32_t node, const std::set<uint64_t>& acked);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_STORE_CHECK_H_
