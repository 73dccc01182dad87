// How verify speaks of what cannot be read: where it lies, what is lost with it, how to go on.

#ifndef TELLTALE_STORAGE_VERIFY_DAMAGE_H_
#define TELLTALE_STORAGE_VERIFY_DAMAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "storage/history.h"

namespace telltale::storage {

inline constexpr std::string_view kCatalogName = "catalog";

using NodeNames = std::function<std::string(uint32_t number)>;

// "raw, behind node web-1 at 2026-02-16T00:00:00Z ..., before node web-2 at ...": the rows around
// it. `family`: of FamilyName, or the catalog.
std::string DamagePlace(std::string_view family, const DamagedRange& range,
                        const NodeNames& node_name);

// What an operator loses with rows of this family, and whether a collector goes on without them.
std::string_view LossOf(std::string_view family);

std::string DamageText(const DamagedRange& range);
std::string BadFileText(std::string_view file, std::string_view family, const absl::Status& fault);

// Whether a row of the catalog decodes, by its table.
absl::Status CheckCatalogRow(std::string_view key, std::string_view value);

std::string Moment(uint64_t ns);  // of UTC

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_VERIFY_DAMAGE_H_
