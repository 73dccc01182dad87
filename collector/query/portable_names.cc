#include "collector/query/portable_names.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

using storage::Location;

CodePlace PlaceOf(const Location& location) {
  return {location.kind != v1::MAPPING_KIND_UNSPECIFIED, location.kind, location.path,
          location.build_id, location.offset};
}

v1::Frame FrameOf(const Location& location, uint32_t node, SymbolCache& cache) {
  return NamedFrame(PlaceOf(location), node, cache);
}

std::vector<v1::Frame> FramesOf(const std::vector<Location>& locations, uint32_t node,
                                SymbolCache& cache) {
  std::vector<v1::Frame> frames;
  frames.reserve(locations.size());
  for (const Location& location : locations) frames.push_back(FrameOf(location, node, cache));
  return frames;
}

// The address an event of one code address happened at; nullptr: the vital keeps none.
const Location* ExactAddress(const LabelSum& label, const v1::VitalDescriptor& descriptor) {
  if (!ByAddress(descriptor) || !label.facts.exemplar.has_value()) return nullptr;
  const auto& detail = label.facts.exemplar->detail;
  for (int i = 0; i < std::min(descriptor.detail_size(), static_cast<int>(detail.size())); ++i) {
    if (descriptor.detail(i).kind() != v1::FIELD_KIND_IP) continue;
    return std::get_if<Location>(&detail[static_cast<size_t>(i)]);
  }
  return nullptr;
}

}  // namespace

std::vector<v1::Frame> StackOf(const LabelSum& label, SymbolCache& cache) {
  if (!label.facts.exemplar.has_value() || !label.facts.exemplar->has_stack) return {};
  const storage::PortableStack& stack = label.facts.exemplar->stack;
  std::vector<v1::Frame> frames = FramesOf(stack.kernel, label.node, cache);
  for (v1::Frame& frame : FramesOf(stack.user, label.node, cache)) {
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::string StackIdOf(const LabelSum& label) {
  if (!label.facts.exemplar.has_value() || !label.facts.exemplar->has_stack) return "";
  StackIdMaker id;
  const auto add = [&](const std::vector<Location>& locations) {
    for (const Location& location : locations) {
      id.Add(location.kind != v1::MAPPING_KIND_UNSPECIFIED ? &location.build_id : nullptr,
             location.offset);
    }
  };
  add(label.facts.exemplar->stack.kernel);
  id.BeginUser();
  add(label.facts.exemplar->stack.user);
  return id.Finish();
}

v1::Frame SiteOfLabel(const LabelSum& label, const v1::VitalDescriptor& descriptor,
                      SymbolCache& cache) {
  if (const Location* exact = ExactAddress(label, descriptor)) {
    return FrameOf(*exact, label.node, cache);
  }
  if (label.facts.exemplar.has_value() && label.facts.exemplar->has_stack) {
    const storage::PortableStack& stack = label.facts.exemplar->stack;
    if (!stack.user.empty()) {
      const size_t site =
          SiteAmong(stack.user.size(), [&](size_t i) { return BinaryOf(PlaceOf(stack.user[i])); });
      return FrameOf(stack.user[site], label.node, cache);
    }
    if (!stack.kernel.empty()) return FrameOf(stack.kernel.front(), label.node, cache);
  }
  const auto& values = label.facts.label.values;
  for (const storage::PortableValue& value : values) {
    if (const Location* location = std::get_if<Location>(&value)) {
      return FrameOf(*location, label.node, cache);
    }
  }
  for (int i = 0; i < std::min(descriptor.label_size(), static_cast<int>(values.size())); ++i) {
    if (descriptor.label(i).kind() != v1::FIELD_KIND_SYSCALL) continue;
    const uint64_t* number = std::get_if<uint64_t>(&values[static_cast<size_t>(i)]);
    if (number == nullptr) continue;
    if (auto call = CallFrame(cache.Machine(label.node), *number)) return *std::move(call);
  }
  v1::Frame none;
  none.set_name("(no code location)");
  return none;
}

std::string WhoOf(const LabelSum& label) {
  if (label.facts.label.irq) return "[irq]";
  if (!label.facts.label.exe.empty()) return label.facts.label.exe;
  if (!label.facts.exemplar.has_value()) return "[no executable]";
  return absl::StrCat("[", label.facts.exemplar->comm, "]");
}

}  // namespace telltale::query
