#include "storage/rollup/portable.h"

#include <xxhash.h>

#include <algorithm>
#include <type_traits>

#include "storage/keys.h"

namespace telltale::storage {
namespace {

void AppendText(std::string* out, std::string_view text) {
  *out += EncodeU64(text.size());
  out->append(text);
}

void AppendValue(std::string* out, const PortableValue& value) {
  out->push_back(static_cast<char>(value.index()));
  if (const uint64_t* number = std::get_if<uint64_t>(&value)) {
    *out += EncodeU64(*number);
  } else if (const Location* location = std::get_if<Location>(&value)) {
    out->push_back(static_cast<char>(location->kind));
    AppendText(out, location->build_id);
    // A file without a build id is told apart by its path.
    if (location->build_id.empty()) AppendText(out, location->path);
    *out += EncodeU64(location->offset);
  } else if (const std::string* text = std::get_if<std::string>(&value)) {
    AppendText(out, *text);
  }
}

// Kinds whose values change from run to run of the same program.
bool Fleeting(v1::FieldKind kind) {
  return kind == v1::FIELD_KIND_PID || kind == v1::FIELD_KIND_STACK_POINTER ||
         kind == v1::FIELD_KIND_HEX || kind == v1::FIELD_KIND_ADDRESS;
}

uint64_t Digest(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace

std::string TableView::String(uint64_t index_plus_1) const {
  if (index_plus_1 == 0 || index_plus_1 > static_cast<uint64_t>(tables_.strings_size())) return "";
  return tables_.strings(static_cast<int>(index_plus_1 - 1));
}

Location TableView::Frame(uint32_t index) const {
  Location location;
  if (index >= static_cast<uint32_t>(tables_.frame_mapping_size()) ||
      index >= static_cast<uint32_t>(tables_.frame_offset_size())) {
    return location;
  }
  location.offset = tables_.frame_offset(static_cast<int>(index));
  const uint32_t mapping = tables_.frame_mapping(static_cast<int>(index));
  if (mapping == 0 || mapping > static_cast<uint32_t>(tables_.mappings_size())) return location;
  const v1::Mapping& known = tables_.mappings(static_cast<int>(mapping - 1));
  location.kind = known.kind();
  location.build_id = known.build_id();
  location.path = String(known.path());
  return location;
}

PortableStack TableView::Stack(uint64_t index_plus_1) const {
  PortableStack stack;
  if (index_plus_1 == 0 || index_plus_1 > static_cast<uint64_t>(tables_.stacks_size())) {
    return stack;
  }
  const v1::Stack& known = tables_.stacks(static_cast<int>(index_plus_1 - 1));
  for (uint32_t frame : known.kernel()) stack.kernel.push_back(Frame(frame));
  for (uint32_t frame : known.user()) stack.user.push_back(Frame(frame));
  stack.kernel_end = known.kernel_end();
  stack.user_end = known.user_end();
  return stack;
}

PortableValue TableView::Value(const v1::FieldDescriptor& field, uint64_t value) const {
  switch (field.kind()) {
    case v1::FIELD_KIND_IP:
      if (value == 0) return std::monostate();
      return Frame(static_cast<uint32_t>(value - 1));
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      if (value == 0) return std::monostate();
      return String(value);
    default:
      return value;
  }
}

PortableLabel LabelOf(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                      const TableView& tables) {
  PortableLabel label;
  label.exe = tables.String(sample.exe());
  label.uid = sample.uid();
  label.irq = sample.irq();
  const int described = descriptor == nullptr ? 0 : descriptor->label_size();
  for (int i = 0; i < std::min(described, sample.label_size()); ++i) {
    label.values.push_back(tables.Value(descriptor->label(i), sample.label(i)));
  }
  return label;
}

uint64_t ExactId(const PortableLabel& label) {
  std::string bytes;
  AppendText(&bytes, label.exe);
  bytes += EncodeU64(label.uid);
  bytes.push_back(label.irq ? 1 : 0);
  for (const PortableValue& value : label.values) AppendValue(&bytes, value);
  return Digest(bytes);
}

uint64_t StableId(const PortableLabel& label, const v1::VitalDescriptor* descriptor) {
  std::string bytes;
  AppendText(&bytes, label.exe);
  bytes.push_back(label.irq ? 1 : 0);
  for (size_t i = 0; i < label.values.size(); ++i) {
    const bool described =
        descriptor != nullptr && i < static_cast<size_t>(descriptor->label_size());
    if (described && Fleeting(descriptor->label(static_cast<int>(i)).kind())) continue;
    if (const Location* location = std::get_if<Location>(&label.values[i])) {
      AppendText(&bytes, location->path);
    } else {
      AppendValue(&bytes, label.values[i]);
    }
  }
  return Digest(bytes);
}

uint64_t ExemplarDigest(uint64_t exact_id, uint64_t epoch_start_ns, uint64_t sequence,
                        const v1::Sample& sample) {
  const std::string bytes = EncodeU64(epoch_start_ns) + EncodeU64(sequence) +
                            EncodeU64(sample.time_ns()) + EncodeU64(sample.tid()) +
                            EncodeU64(sample.cpu()) + EncodeU64(sample.weight());
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), exact_id);
}

uint64_t DigestText(std::string_view text) { return Digest(text); }

const v1::VitalDescriptor* DescriptorOf(const v1::Schema& schema, uint32_t vital) {
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    if (descriptor.id() == vital) return &descriptor;
  }
  return nullptr;
}

}  // namespace telltale::storage
