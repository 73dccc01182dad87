#include "storage/rollup/portable.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace telltale::storage {
namespace {

// What a digest is of. Every label that is read is digested, so what most need lies on the stack.
class DigestBytes {
 public:
  void Byte(int value) {
    const char byte = static_cast<char>(value);
    Append(&byte, 1);
  }
  void U64(uint64_t value) {  // big endian
    char bytes[sizeof(value)];
    for (size_t i = 0; i < sizeof(value); ++i) {
      bytes[i] = static_cast<char>(value >> (8 * (sizeof(value) - 1 - i)));
    }
    Append(bytes, sizeof(bytes));
  }
  void Text(std::string_view text) {
    U64(text.size());
    Append(text.data(), text.size());
  }
  void Value(const ValueView& value) {
    Byte(static_cast<int>(value.index()));
    if (const uint64_t* number = std::get_if<uint64_t>(&value)) {
      U64(*number);
    } else if (const LocationView* location = std::get_if<LocationView>(&value)) {
      Byte(location->kind);
      Text(location->build_id);
      // A file without a build id is told apart by its path.
      if (location->build_id.empty()) Text(location->path);
      U64(location->offset);
    } else if (const std::string_view* text = std::get_if<std::string_view>(&value)) {
      Text(*text);
    }
  }
  std::string_view bytes() const {
    return many_.empty() ? std::string_view(few_.data(), used_) : many_;
  }

 private:
  void Append(const char* bytes, size_t size) {
    if (many_.empty() && size <= few_.size() - used_) {
      std::copy_n(bytes, size, few_.data() + used_);
      used_ += size;
      return;
    }
    if (many_.empty()) many_.assign(few_.data(), used_);
    many_.append(bytes, size);
  }

  std::array<char, 256> few_;
  size_t used_ = 0;
  std::string many_;  // all of them, where there are more
};

uint64_t Digest(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

ValueView ViewOf(const PortableValue& value) {
  if (const uint64_t* number = std::get_if<uint64_t>(&value)) return *number;
  if (const Location* of = std::get_if<Location>(&value)) {
    return LocationView{of->kind, of->build_id, of->path, of->offset};
  }
  if (const std::string* text = std::get_if<std::string>(&value)) return std::string_view(*text);
  return std::monostate();
}

Location Owned(const LocationView& place) {
  return {place.kind, std::string(place.build_id), std::string(place.path), place.offset};
}

PortableValue Owned(const ValueView& value) {
  if (const uint64_t* number = std::get_if<uint64_t>(&value)) return *number;
  if (const LocationView* place = std::get_if<LocationView>(&value)) return Owned(*place);
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  return std::monostate();
}

PortableStack MadeStack(const v1::Stack& known, const TableView& tables) {
  PortableStack stack;
  for (uint32_t frame : known.kernel()) stack.kernel.push_back(tables.Frame(frame));
  for (uint32_t frame : known.user()) stack.user.push_back(tables.Frame(frame));
  stack.kernel_end = known.kernel_end();
  stack.user_end = known.user_end();
  return stack;
}

// Kinds whose values change from run to run of the same program.
bool Fleeting(v1::FieldKind kind) {
  return kind == v1::FIELD_KIND_PID || kind == v1::FIELD_KIND_STACK_POINTER ||
         kind == v1::FIELD_KIND_HEX || kind == v1::FIELD_KIND_ADDRESS;
}

}  // namespace

PortableLabel Owned(const LabelView& label) {
  PortableLabel owned;
  owned.exe = label.exe;
  owned.uid = label.uid;
  owned.irq = label.irq;
  for (const ValueView& value : label.values) owned.values.push_back(Owned(value));
  return owned;
}

std::string_view TableView::Text(uint64_t index_plus_1) const {
  if (index_plus_1 == 0) return "";
  if (stored_ != nullptr) return stored_->String(index_plus_1 - 1);
  if (index_plus_1 > static_cast<uint64_t>(message_->strings_size())) return "";
  return message_->strings(static_cast<int>(index_plus_1 - 1));
}

LocationView TableView::Place(uint64_t index) const {
  LocationView place;
  if (stored_ != nullptr) {
    if (index >= stored_->frames()) return place;
    place.offset = stored_->FrameOffset(index);
    const uint64_t mapping = stored_->FrameMappingPlus1(index);
    if (mapping == 0 || mapping > stored_->mappings()) return place;
    const StoredTables::Mapping known = stored_->MappingOf(mapping - 1);
    place.kind = static_cast<v1::MappingKind>(known.kind);
    place.build_id = known.build_id;
    place.path = Text(known.path_plus_1);
    return place;
  }
  if (index >= static_cast<uint64_t>(message_->frame_mapping_size()) ||
      index >= static_cast<uint64_t>(message_->frame_offset_size())) {
    return place;
  }
  place.offset = message_->frame_offset(static_cast<int>(index));
  const uint32_t mapping = message_->frame_mapping(static_cast<int>(index));
  if (mapping == 0 || mapping > static_cast<uint32_t>(message_->mappings_size())) return place;
  const v1::Mapping& known = message_->mappings(static_cast<int>(mapping - 1));
  place.kind = known.kind();
  place.build_id = known.build_id();
  place.path = Text(known.path());
  return place;
}

Location TableView::Frame(uint32_t index) const { return Owned(Place(index)); }

PortableStack TableView::Stack(uint64_t index_plus_1) const {
  if (index_plus_1 == 0) return {};
  if (stored_ != nullptr) {
    v1::Stack stack;
    const std::string_view bytes = stored_->Stack(index_plus_1 - 1);
    if (!stack.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
    return MadeStack(stack, *this);
  }
  if (index_plus_1 > static_cast<uint64_t>(message_->stacks_size())) return {};
  return MadeStack(message_->stacks(static_cast<int>(index_plus_1 - 1)), *this);
}

ValueView TableView::View(const v1::FieldDescriptor& field, uint64_t value) const {
  switch (field.kind()) {
    case v1::FIELD_KIND_IP:
      if (value == 0) return std::monostate();
      return Place(static_cast<uint32_t>(value - 1));
    case v1::FIELD_KIND_STRING:
    case v1::FIELD_KIND_ADDRESS:
      if (value == 0) return std::monostate();
      return Text(value);
    default:
      return value;
  }
}

PortableValue TableView::Value(const v1::FieldDescriptor& field, uint64_t value) const {
  return Owned(View(field, value));
}

PortableLabel LabelOf(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                      const TableView& tables) {
  return Owned(LabelViewOf(sample, descriptor, tables));
}

LabelView LabelViewOf(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                      const TableView& tables) {
  LabelView label{tables.Text(sample.exe()), sample.uid(), sample.irq(), {}};
  const int described = descriptor == nullptr ? 0 : descriptor->label_size();
  label.values.reserve(static_cast<size_t>(sample.label_size()));
  for (int i = 0; i < std::min(described, sample.label_size()); ++i) {
    label.values.push_back(tables.View(descriptor->label(i), sample.label(i)));
  }
  return label;
}

LabelView LabelViewOf(const v1::RollupLabel& row, const v1::VitalDescriptor* descriptor,
                      const TableView& tables) {
  LabelView label{tables.Text(row.exe()), row.uid(), row.irq(), {}};
  label.values.reserve(static_cast<size_t>(row.label_size()));
  for (int i = 0; i < row.label_size(); ++i) {
    const bool described = descriptor != nullptr && i < descriptor->label_size();
    label.values.push_back(described ? tables.View(descriptor->label(i), row.label(i))
                                     : ValueView(uint64_t{row.label(i)}));
  }
  return label;
}

uint64_t ExactId(const PortableLabel& label) {
  LabelView view{label.exe, label.uid, label.irq, {}};
  for (const PortableValue& value : label.values) view.values.push_back(ViewOf(value));
  return ExactId(view);
}

uint64_t ExactId(const LabelView& label) {
  DigestBytes bytes;
  bytes.Text(label.exe);
  bytes.U64(label.uid);
  bytes.Byte(label.irq ? 1 : 0);
  for (const ValueView& value : label.values) bytes.Value(value);
  return Digest(bytes.bytes());
}

uint64_t StableId(const PortableLabel& label, const v1::VitalDescriptor* descriptor) {
  DigestBytes bytes;
  bytes.Text(label.exe);
  bytes.Byte(label.irq ? 1 : 0);
  for (size_t i = 0; i < label.values.size(); ++i) {
    const bool described =
        descriptor != nullptr && i < static_cast<size_t>(descriptor->label_size());
    if (described && Fleeting(descriptor->label(static_cast<int>(i)).kind())) continue;
    if (const Location* location = std::get_if<Location>(&label.values[i])) {
      bytes.Text(location->path);
    } else {
      bytes.Value(ViewOf(label.values[i]));
    }
  }
  return Digest(bytes.bytes());
}

uint64_t ExemplarDigest(uint64_t exact_id, uint64_t epoch_start_ns, uint64_t sequence,
                        const v1::Sample& sample) {
  DigestBytes bytes;
  for (const uint64_t value : {epoch_start_ns, sequence, uint64_t{sample.time_ns()},
                               uint64_t{sample.tid()}, uint64_t{sample.cpu()}, sample.weight()}) {
    bytes.U64(value);
  }
  return XXH3_64bits_withSeed(bytes.bytes().data(), bytes.bytes().size(), exact_id);
}

uint64_t DigestText(std::string_view text) { return Digest(text); }

const v1::VitalDescriptor* DescriptorOf(const v1::Schema& schema, uint32_t vital) {
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    if (descriptor.id() == vital) return &descriptor;
  }
  return nullptr;
}

}  // namespace telltale::storage
