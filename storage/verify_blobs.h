// Each blob's content against the digest in its record, and pieces that belong to none. Changes
// nothing. Free function; any thread.

#ifndef TELLTALE_STORAGE_VERIFY_BLOBS_H_
#define TELLTALE_STORAGE_VERIFY_BLOBS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "storage/catalog.h"

namespace telltale::storage {

// Returns how many are whole. `next` is called after each blob; false: stop.
uint64_t VerifyBlobs(
    const Transaction& catalog,
    const std::function<void(const std::string& place, const std::string& what)>& fault,
    const std::function<bool()>& next);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_VERIFY_BLOBS_H_
