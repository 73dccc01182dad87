// Keys of the catalog's tables of tokens and of what was done (storage/FORMAT.md, tables 0d and
// 0e).

#ifndef TELLTALE_COLLECTOR_ACCESS_ACCESS_KEYS_H_
#define TELLTALE_COLLECTOR_ACCESS_ACCESS_KEYS_H_

#include <cstdint>
#include <string>

#include "storage/keys.h"

namespace telltale::access {

inline constexpr char kTokenTable = '\x0d';
inline constexpr char kAuditTable = '\x0e';

inline std::string TokenKey(const std::string& id) { return kTokenTable + id; }

// What was done and what was refused are two sequences, so that refusals cannot push out the rest.
inline std::string AuditPrefix(bool refused) {
  return std::string({kAuditTable, static_cast<char>(refused ? 1 : 0)});
}
inline std::string AuditKey(bool refused, uint64_t number) {
  return AuditPrefix(refused) + storage::EncodeU64(number);
}

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_ACCESS_KEYS_H_
