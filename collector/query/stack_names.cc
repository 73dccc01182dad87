#include "collector/query/stack_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/query/syscall_names.h"

namespace telltale::query {
namespace {

// The C library and what stands around it: a wait is never "in" them for a person.
bool Plumbing(const std::string& binary) {
  const std::string name = BaseName(binary);
  for (const char* prefix : {"libc.so", "libc-2", "ld-linux", "ld-2", "libpthread", "ld-musl"}) {
    if (absl::StartsWith(name, prefix)) return true;
  }
  return name == "[vdso]";
}

}  // namespace

const std::optional<std::string>& SymbolCache::Name(const std::string& build_id, uint64_t offset,
                                                    uint32_t node) {
  std::string key = build_id;
  key.append(reinterpret_cast<const char*>(&offset), sizeof offset);
  key.append(reinterpret_cast<const char*>(&node), sizeof node);
  const auto it = names_.find(key);
  if (it != names_.end()) return it->second;
  return names_.emplace(std::move(key), source_->SymbolName(build_id, offset, node)).first->second;
}

const std::string& SymbolCache::Machine(uint32_t node) {
  static const std::string kUnknown;
  if (!machines_.has_value()) {
    machines_.emplace();
    for (const storage::NodeRecord& known : source_->Nodes()) {
      machines_->emplace(known.number(), known.info().machine());
    }
  }
  const auto machine = machines_->find(node);
  return machine == machines_->end() ? kUnknown : machine->second;
}

std::string StackNames::String(uint32_t index_plus_1) const {
  if (index_plus_1 == 0 || index_plus_1 > static_cast<uint32_t>(tables_.strings_size())) return "";
  return tables_.strings(static_cast<int>(index_plus_1 - 1));
}

std::string BinaryOf(const CodePlace& place) {
  if (!place.mapped) return "";
  if (place.kind == v1::MAPPING_KIND_VDSO) return "[vdso]";
  if (place.kind == v1::MAPPING_KIND_KERNEL && place.path.empty()) return "[kernel]";
  return place.path;
}

v1::Frame NamedFrame(const CodePlace& place, uint32_t node, SymbolCache& cache) {
  v1::Frame out;
  out.set_offset(static_cast<double>(place.offset));
  if (!place.mapped) {
    out.set_name(absl::StrFormat("0x%x", place.offset));
    return out;
  }
  const bool kernel = place.kind == v1::MAPPING_KIND_KERNEL;
  out.set_kernel(kernel);
  const std::string binary = BinaryOf(place);
  out.set_binary(binary);
  const std::optional<std::string>& name = cache.Name(place.build_id, place.offset, node);
  if (name.has_value()) {
    out.set_name(*name);
  } else if (binary.empty()) {
    out.set_name(absl::StrFormat("0x%x", place.offset));
  } else {
    out.set_name(absl::StrFormat("%s+0x%x", BaseName(binary), place.offset));
  }
  return out;
}

void StackIdMaker::Add(const std::string* build_id, uint64_t offset) {
  if (build_id != nullptr) absl::StrAppend(&bytes_, build_id->size(), ":", *build_id);
  absl::StrAppend(&bytes_, "+", offset, ";");
}

std::string StackIdMaker::Finish() const {
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return std::string(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
}

std::optional<CodePlace> StackNames::Place(uint32_t frame) const {
  const int i = static_cast<int>(frame);
  if (i < 0 || i >= tables_.frame_offset_size() || i >= tables_.frame_mapping_size()) {
    return std::nullopt;
  }
  CodePlace place;
  place.offset = tables_.frame_offset(i);
  const uint32_t mapping_plus_1 = tables_.frame_mapping(i);
  if (mapping_plus_1 > 0 && mapping_plus_1 <= static_cast<uint32_t>(tables_.mappings_size())) {
    const v1::Mapping& mapping = tables_.mappings(static_cast<int>(mapping_plus_1 - 1));
    place.mapped = true;
    place.kind = mapping.kind();
    place.path = String(mapping.path());
    place.build_id = mapping.build_id();
  }
  return place;
}

v1::Frame StackNames::Frame(uint32_t frame) const {
  const std::optional<CodePlace> place = Place(frame);
  return place.has_value() ? NamedFrame(*place, node_, cache_) : v1::Frame();
}

std::string StackNames::Binary(uint32_t frame) const {
  const std::optional<CodePlace> place = Place(frame);
  return place.has_value() ? BinaryOf(*place) : "";
}

const v1::Stack* StackNames::Stack(uint32_t stack_plus_1) const {
  if (stack_plus_1 == 0 || stack_plus_1 > static_cast<uint32_t>(tables_.stacks_size()))
    return nullptr;
  return &tables_.stacks(static_cast<int>(stack_plus_1 - 1));
}

bool StackNames::HasFrames(uint32_t stack_plus_1) const {
  const v1::Stack* stack = Stack(stack_plus_1);
  return stack != nullptr && (!stack->kernel().empty() || !stack->user().empty());
}

std::vector<v1::Frame> StackNames::Kernel(uint32_t stack_plus_1) const {
  std::vector<v1::Frame> frames;
  if (const v1::Stack* stack = Stack(stack_plus_1)) {
    for (const uint32_t frame : stack->kernel()) frames.push_back(Frame(frame));
  }
  return frames;
}

std::vector<v1::Frame> StackNames::User(uint32_t stack_plus_1) const {
  std::vector<v1::Frame> frames;
  if (const v1::Stack* stack = Stack(stack_plus_1)) {
    for (const uint32_t frame : stack->user()) frames.push_back(Frame(frame));
  }
  return frames;
}

std::string StackNames::StackId(uint32_t stack_plus_1) const {
  const v1::Stack* stack = Stack(stack_plus_1);
  if (stack == nullptr) return "";
  StackIdMaker id;
  const auto add = [&](uint32_t frame) {
    const int i = static_cast<int>(frame);
    if (i >= tables_.frame_offset_size() || i >= tables_.frame_mapping_size()) return;
    const uint32_t mapping_plus_1 = tables_.frame_mapping(i);
    const bool mapped =
        mapping_plus_1 > 0 && mapping_plus_1 <= static_cast<uint32_t>(tables_.mappings_size());
    id.Add(mapped ? &tables_.mappings(static_cast<int>(mapping_plus_1 - 1)).build_id() : nullptr,
           tables_.frame_offset(i));
  };
  for (const uint32_t frame : stack->kernel()) add(frame);
  id.BeginUser();
  for (const uint32_t frame : stack->user()) add(frame);
  return id.Finish();
}

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string FrameText(const v1::Frame& frame) {
  const std::string binary = BaseName(frame.binary());
  if (frame.kernel() || binary.empty()) return frame.name();
  if (absl::StartsWith(frame.name(), absl::StrCat(binary, "+0x"))) return frame.name();
  return absl::StrCat(frame.name(), " (", binary, ")");
}

std::optional<v1::Frame> CallFrame(const std::string& machine, uint64_t number_plus_1) {
  if (number_plus_1 == 0) return std::nullopt;
  const std::string_view name = SyscallName(machine, number_plus_1 - 1);
  v1::Frame frame;
  frame.set_name(name.empty() ? absl::StrCat("syscall ", number_plus_1 - 1)
                              : absl::StrCat("syscall ", std::string(name)));
  frame.set_kernel(true);
  return frame;
}

bool ByAddress(const v1::VitalDescriptor& descriptor) {
  return std::any_of(descriptor.label().begin(), descriptor.label().end(),
                     [](const v1::FieldDescriptor& field) { return field.name() == "ip_block"; });
}

size_t SiteAmong(size_t frames, const std::function<std::string(size_t)>& binary) {
  for (size_t i = 0; i < frames; ++i) {
    if (!Plumbing(binary(i))) return i;
  }
  return 0;
}

std::string StackEndText(v1::StackEnd end) {
  switch (end) {
    case v1::STACK_END_NONE:
      return "";
    case v1::STACK_END_COMPLETE:
      return "complete";
    case v1::STACK_END_DEPTH:
      return "frame limit reached";
    case v1::STACK_END_UNREADABLE:
      return "memory could not be read";
    case v1::STACK_END_NO_FRAME_POINTERS:
      return "no frame pointers from here on";
    case v1::STACK_END_OTHER_TASK:
      return "task was not running: only its kernel part can be read";
    case v1::STACK_END_NO_MAPPING:
      return "process gone before its maps were read";
    case v1::STACK_END_WINDOW:
      return "copied part of the stack ends here";
    case v1::STACK_END_NO_TABLE:
      return "code without unwind information or frame pointer";
    case v1::STACK_END_BAD_PLACE:
      return "return address is no code";
    case v1::STACK_END_BAD_FRAME:
      return "unwind information leads nowhere";
    case v1::STACK_END_UNSUPPORTED:
      return "unwind information of an unknown kind";
    case v1::STACK_END_GENERATED:
      return "generated code without frame pointers";
    case v1::STACK_END_FRAME_POINTERS:
      return "followed by frame pointers only: callers may be missing";
    case v1::STACK_END_POSTPONED:
      return "no time now to read the code's unwind information";
    case v1::STACK_END_MAPS_LIMIT:
      return "beyond the executable mappings that are kept of a process";
    default:
      return "unknown";
  }
}

}  // namespace telltale::query
