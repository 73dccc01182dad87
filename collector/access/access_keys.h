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

// Each kind of entry is a sequence of its own, so that none pushes out another.
enum class AuditKind : uint8_t { kDone = 0, kRefused = 1, kAsked = 2 };
inline constexpr AuditKind kAuditKinds[] = {AuditKind::kDone, AuditKind::kRefused,
                                            AuditKind::kAsked};

inline std::string AuditPrefix(AuditKind kind) {
  return std::string({kAuditTable, static_cast<char>(kind)});
}
inline std::string AuditKey(AuditKind kind, uint64_t number) {
  return AuditPrefix(kind) + storage::EncodeU64(number);
}

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_ACCESS_KEYS_H_
