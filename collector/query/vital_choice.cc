#include "collector/query/vital_choice.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collector/query/nearest.h"
#include "proto/codec.h"
#include "sketch/saturating.h"

namespace telltale::query {
namespace {

int SubIndex(const v1::VitalDescriptor& vital, const std::string& name) {
  for (int i = 0; i < vital.subs_size(); ++i) {
    if (vital.subs(i).name() == name) return i;
  }
  return -1;
}

// Whether this sub-series counts again what another one of the vital counted at its beginning.
bool FarEnd(const v1::VitalDescriptor& vital, int index) {
  const std::string& name = vital.subs(index).name();
  if (name == "free") return SubIndex(vital, "alloc") >= 0;
  if (name == "delivered") return SubIndex(vital, "generated") >= 0;
  constexpr size_t kDone = sizeof("_done") - 1;
  return absl::EndsWith(name, "_done") &&
         SubIndex(vital, name.substr(0, name.size() - kDone) + "_issued") >= 0;
}

}  // namespace

bool VitalChoice::Counts(int index) const {
  if (sub >= 0) return index == sub;
  if (index >= vital.subs_size()) return true;
  return (idle || !vital.subs(index).idle()) && !FarEnd(vital, index);
}

uint64_t VitalChoice::WeightOf(const v1::Vital& of) const {
  uint64_t weight = 0;
  for (int i = 0; i < of.subs_size(); ++i) {
    if (Counts(i)) weight = sketch::SaturatingAdd(weight, of.subs(i).weight());
  }
  return weight;
}

std::string VitalChoice::SubName() const { return sub < 0 ? "" : vital.subs(sub).name(); }

std::vector<std::string> VitalChoice::LeftOut() const {
  std::vector<std::string> names;
  if (sub >= 0) return names;
  for (int i = 0; i < vital.subs_size(); ++i) {
    if (!Counts(i)) names.push_back(vital.subs(i).name());
  }
  return names;
}

VitalBook::VitalBook(const Selection& selection, const Context& context) {
  const v1::Schema builtin = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : builtin.vitals()) vitals_.emplace(vital.id(), vital);
  uint64_t last = 0;
  for (const storage::NodeRecord& node : selection.nodes) {
    if (node.info().schema_id() == last) continue;
    last = node.info().schema_id();
    const std::shared_ptr<const v1::Schema> schema = context.source->Schema(last);
    if (schema == nullptr) continue;
    for (const v1::VitalDescriptor& vital : schema->vitals()) vitals_.emplace(vital.id(), vital);
  }
}

const v1::VitalDescriptor* VitalBook::Find(uint32_t id) const {
  const auto it = vitals_.find(id);
  return it == vitals_.end() ? nullptr : &it->second;
}

absl::StatusOr<std::vector<VitalChoice>> VitalBook::Choose(const std::string& text,
                                                           bool idle) const {
  std::vector<VitalChoice> choices;
  if (text.empty()) {
    for (const auto& [id, vital] : vitals_) choices.push_back({vital, -1, idle});
    return choices;
  }
  const size_t slash = text.find('/');
  const std::string name = text.substr(0, slash);
  std::vector<std::string> names;
  for (const auto& [id, vital] : vitals_) {
    names.push_back(vital.name());
    if (vital.name() != name) continue;
    VitalChoice choice{vital, -1, idle};
    if (slash != std::string::npos) {
      const std::string sub = text.substr(slash + 1);
      choice.sub = SubIndex(vital, sub);
      if (choice.sub < 0) {
        std::vector<std::string> subs;
        for (const v1::SubDescriptor& known : vital.subs()) subs.push_back(known.name());
        return absl::NotFoundError(absl::StrCat("vital ", name, ": has no sub-series \"",
                                                sub.substr(0, 64), "\"", NearestHint(sub, subs)));
      }
    }
    choices.push_back(std::move(choice));
    return choices;
  }
  return absl::NotFoundError(
      absl::StrCat("vital \"", name.substr(0, 64), "\" is unknown", NearestHint(name, names)));
}

}  // namespace telltale::query
