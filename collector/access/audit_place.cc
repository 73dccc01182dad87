#include "collector/access/audit_place.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/codec.h"

namespace telltale::access {
namespace {

constexpr size_t kMostBytes = 64;

}  // namespace

std::string AuditPlace::Page() const {
  return absl::StrCat(time_ns, ".", static_cast<int>(kind), ".", number);
}

absl::StatusOr<AuditPlace> ParseAuditPlace(const std::string& page) {
  std::vector<std::string> parts;
  if (page.size() <= kMostBytes) parts = absl::StrSplit(page, '.');
  AuditPlace place;
  for (const AuditKind kind : kAuditKinds) {
    if (parts.size() != 3 || parts[1] != absl::StrCat(static_cast<int>(kind))) continue;
    place.kind = kind;
    if (absl::SimpleAtoi(parts[0], &place.time_ns) && absl::SimpleAtoi(parts[2], &place.number)) {
      return place;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("audit: page \"", proto::SanitizeText(page.substr(0, kMostBytes), kMostBytes),
                   "\" is not one this collector gave; start without a page"));
}

}  // namespace telltale::access
