#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/schema.h"
#include "proto/validate.h"
#include "sketch/vitals.h"

namespace telltale::proto {
namespace {

constexpr size_t kVitalNameBytes = 64;
constexpr size_t kAboutBytes = 256;
constexpr size_t kMaxValueNames = 256;

// Names become parts of metric names, paths and columns.
bool ValidIdentifier(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kVitalNameBytes && std::ranges::all_of(name, fits);
}

absl::Status CheckName(const FieldPath& at, const std::string& name, std::set<std::string>& seen) {
  if (!ValidIdentifier(name)) return at.RefuseText("name", name, "must be 1 to 64 of [a-z0-9_]");
  if (!seen.insert(name).second) return at.RefuseText("name", name, "stands there twice");
  return absl::OkStatus();
}

template <typename Fields>
absl::Status CheckFields(const FieldPath& parent, const char* name, const Fields& fields) {
  TELLTALE_RETURN_IF_ERROR(parent.AtMost(name, fields.size(), kMaxFields, "limit"));
  std::set<std::string> seen;
  for (int i = 0; i < fields.size(); ++i) {
    const FieldPath at(parent, name, i);
    const v1::FieldDescriptor& field = fields.Get(i);
    TELLTALE_RETURN_IF_ERROR(CheckName(at, field.name(), seen));
    if (field.kind() <= 0) return at.RefuseSigned("kind", field.kind(), "must be stated");
    TELLTALE_RETURN_IF_ERROR(
        at.AtMost("value_names", field.value_names_size(), kMaxValueNames, "limit"));
    for (const std::string& value : field.value_names()) {
      TELLTALE_RETURN_IF_ERROR(at.Text("value_names", value, kVitalNameBytes));
    }
  }
  return absl::OkStatus();
}

// What every reader knows a built-in vital by is frozen; a schema may add to it, not rename it.
absl::Status CheckBuiltin(const FieldPath& at, const v1::VitalDescriptor& vital) {
  const sketch::Vital* builtin = sketch::FindVital(static_cast<uint8_t>(vital.id()));
  if (builtin == nullptr) {
    builtin = sketch::FindVital(vital.name());
    return builtin == nullptr
               ? absl::OkStatus()
               : at.RefuseText("name", vital.name(), absl::StrCat("is vital ", builtin->id));
  }
  if (vital.name() != builtin->name) {
    return at.RefuseText("name", vital.name(),
                         absl::StrCat("vital ", vital.id(), " is ", std::string(builtin->name)));
  }
  if (vital.unit() != static_cast<int>(builtin->unit)) {
    return at.RefuseSigned(
        "unit", vital.unit(),
        absl::StrCat("vital ", vital.id(), " has unit ", static_cast<int>(builtin->unit)));
  }
  for (size_t i = 0; i < builtin->subs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (index >= vital.subs_size() || vital.subs(index).name() != builtin->subs[i].name) {
      return at.Refuse("subs", i, absl::StrCat("must be ", std::string(builtin->subs[i].name)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckVital(const FieldPath& at, const v1::VitalDescriptor& vital) {
  if (vital.unit() <= 0) return at.RefuseSigned("unit", vital.unit(), "must be stated");
  if (vital.quantum() == 0) return at.Refuse("quantum", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(at.AtMost("quantum", vital.quantum(), kMaxTotal, "limit"));
  if (vital.subs_size() == 0) return at.Refuse("subs", 0, "must be at least 1");
  TELLTALE_RETURN_IF_ERROR(at.AtMost("subs", vital.subs_size(), kMaxSubs, "limit"));
  std::set<std::string> subs;
  for (int i = 0; i < vital.subs_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(CheckName(FieldPath(at, "subs", i), vital.subs(i).name(), subs));
  }
  TELLTALE_RETURN_IF_ERROR(CheckFields(at, "label", vital.label()));
  TELLTALE_RETURN_IF_ERROR(CheckFields(at, "detail", vital.detail()));
  TELLTALE_RETURN_IF_ERROR(at.Text("about", vital.about(), kAboutBytes));
  return CheckBuiltin(at, vital);
}

}  // namespace

absl::Status CheckSchema(const v1::Schema& schema) {
  const FieldPath root("schema");
  TELLTALE_RETURN_IF_ERROR(root.AtMost("vitals", schema.vitals_size(), kMaxVital, "limit"));
  std::set<std::string> names;
  uint32_t previous = 0;
  for (int i = 0; i < schema.vitals_size(); ++i) {
    const FieldPath at(root, "vitals", i);
    const v1::VitalDescriptor& vital = schema.vitals(i);
    TELLTALE_RETURN_IF_ERROR(at.AtMost("id", vital.id(), kMaxVital, "highest id"));
    if (vital.id() <= previous) {
      return at.Refuse("id", vital.id(), absl::StrCat("must be above the one before, ", previous));
    }
    previous = vital.id();
    TELLTALE_RETURN_IF_ERROR(CheckName(at, vital.name(), names));
    TELLTALE_RETURN_IF_ERROR(CheckVital(at, vital));
  }
  if (const uint64_t id = SchemaId(schema); schema.id() != id) {
    return root.Refuse("id", schema.id(), absl::StrCat("its content hashes to ", id));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
