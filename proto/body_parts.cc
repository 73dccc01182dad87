#include "proto/body_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/wire_field.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::proto {
namespace {

using v1::FoldedSample;
using v1::SummaryBody;
using v1::Tables;
using v1::Vital;

void PutMessage(int number, std::string_view content, std::string& out) {
  PutVarint(static_cast<uint64_t>(number) << 3 | 2, out);
  PutVarint(content.size(), out);
  out.append(content);
}

// Of a sample how many it stands for.
bool PutSampleCount(std::string_view sample, std::string& out) {
  std::string kept;
  WireField field;
  while (!sample.empty()) {
    if (!NextField(sample, field)) return false;
    if (field.number == FoldedSample::kSamplesFieldNumber) kept.append(field.whole);
  }
  PutMessage(Vital::kSamplesFieldNumber, kept, out);
  return true;
}

bool PutVital(const WireField& vital, const BodyParts& parts, std::string& out) {
  std::string_view bytes = vital.inside;
  WireField field;
  uint64_t id = 0;
  while (!bytes.empty()) {
    if (!NextField(bytes, field)) return false;
    if (field.number != Vital::kIdFieldNumber) continue;
    id = field.value;
    break;  // canonical bytes have it once, in front
  }
  if (!NeedsVital(parts, id)) return true;
  if (parts.depth == BodyParts::Depth::kLabels) {
    out.append(vital.whole);
    return true;
  }
  std::string kept;
  bytes = vital.inside;
  while (!bytes.empty()) {
    if (!NextField(bytes, field)) return false;
    if (field.number != Vital::kSamplesFieldNumber) {
      kept.append(field.whole);
    } else if (parts.depth == BodyParts::Depth::kAccounts) {
      continue;
    } else if (!PutSampleCount(field.inside, kept)) {
      return false;
    }
  }
  PutMessage(SummaryBody::kVitalsFieldNumber, kept, out);
  return true;
}

// Accounts refer to nothing else of them.
bool PutStrings(std::string_view tables, std::string& out) {
  std::string kept;
  WireField field;
  while (!tables.empty()) {
    if (!NextField(tables, field)) return false;
    if (field.number == Tables::kStringsFieldNumber) kept.append(field.whole);
  }
  PutMessage(SummaryBody::kTablesFieldNumber, kept, out);
  return true;
}

}  // namespace

bool NeedsVital(const BodyParts& parts, uint64_t id) {
  return parts.vitals.empty() ||
         std::find(parts.vitals.begin(), parts.vitals.end(), id) != parts.vitals.end();
}

bool NeedsField(const BodyParts& parts, const std::vector<int>& path) {
  using Depth = BodyParts::Depth;
  if (parts.depth == Depth::kWhole) return true;
  const bool accounts = parts.depth == Depth::kAccounts, totals = parts.depth == Depth::kTotals;
  const auto inside = [&](size_t depth, int field) {
    return path.size() > depth && path[depth] == field;
  };
  switch (path.front()) {
    case SummaryBody::kHistogramsFieldNumber:
    case SummaryBody::kEventsFieldNumber:
      return false;
    case SummaryBody::kGaugesFieldNumber:
      return accounts;
    case SummaryBody::kProcessesFieldNumber:
    case SummaryBody::kHostNamesFieldNumber:  // they are strings of the tables
      return !totals;
    case SummaryBody::kTablesFieldNumber:
      if (accounts && path.size() > 1) return inside(1, Tables::kStringsFieldNumber);
      return !totals;
    case SummaryBody::kVitalsFieldNumber:
      if (!inside(1, Vital::kSamplesFieldNumber)) return true;
      if (totals && path.size() > 2) return inside(2, FoldedSample::kSamplesFieldNumber);
      return !accounts;
    default:
      return true;
  }
}

absl::StatusOr<std::string> KeepParts(std::string_view body, const BodyParts& parts) {
  std::string kept;
  if (parts.depth == BodyParts::Depth::kLabels) kept.reserve(body.size());
  const bool totals = parts.depth == BodyParts::Depth::kTotals;
  const bool accounts = parts.depth == BodyParts::Depth::kAccounts;
  std::string_view rest = body;
  WireField field;
  bool good = true;
  while (good && !rest.empty()) {
    good = NextField(rest, field);
    if (!good) break;
    switch (field.number) {
      case SummaryBody::kVitalsFieldNumber:
        good = PutVital(field, parts, kept);
        break;
      case SummaryBody::kTablesFieldNumber:
        if (accounts) {
          good = PutStrings(field.inside, kept);
          break;
        }
        [[fallthrough]];
      case SummaryBody::kProcessesFieldNumber:
      case SummaryBody::kHostNamesFieldNumber:
        if (!totals) kept.append(field.whole);
        break;
      case SummaryBody::kGaugesFieldNumber:
        if (accounts) kept.append(field.whole);
        break;
      case SummaryBody::kHistogramsFieldNumber:
      case SummaryBody::kEventsFieldNumber:
        break;
      default:
        kept.append(field.whole);
    }
  }
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat("summary: body of ", body.size(), " bytes is no well-formed message"));
  }
  return kept;
}

}  // namespace telltale::proto
