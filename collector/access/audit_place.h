// Where an entry of the audit log stands among the others, and the page of a list that goes on
// behind it: text that programs hand back, so reading it checks it.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_ACCESS_AUDIT_PLACE_H_
#define TELLTALE_COLLECTOR_ACCESS_AUDIT_PLACE_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "collector/access/access_keys.h"

namespace telltale::access {

struct AuditPlace {
  uint64_t time_ns = 0;  // since 1970
  AuditKind kind = AuditKind::kDone;
  uint64_t number = 0;  // of its kind

  auto operator<=>(const AuditPlace&) const = default;
  std::string Page() const;
};

// InvalidArgument: not one of ours.
absl::StatusOr<AuditPlace> ParseAuditPlace(const std::string& page);

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_AUDIT_PLACE_H_
