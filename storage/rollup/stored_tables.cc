#include "storage/rollup/stored_tables.h"

#include "proto/wire_field.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {
namespace {

constexpr int kWithLength = 2;

bool ReadPacked(const proto::WireField& field, std::vector<uint64_t>& numbers) {
  if (field.type != kWithLength) return false;
  std::string_view bytes = field.inside;
  while (!bytes.empty()) {
    if (!proto::TakeVarint(bytes, numbers.emplace_back())) return false;
  }
  return true;
}

}  // namespace

bool StoredTables::ReadMapping(std::string_view bytes) {
  MappingPiece& mapping = mappings_.emplace_back();
  proto::WireField field;
  while (!bytes.empty()) {
    if (!proto::NextField(bytes, field)) return false;
    switch (field.number) {
      case v1::Mapping::kKindFieldNumber:
        mapping.kind = static_cast<int>(field.value);
        break;
      case v1::Mapping::kBuildIdFieldNumber:
        mapping.build_id = PlaceOf(field.inside);
        break;
      case v1::Mapping::kPathFieldNumber:
        mapping.path_plus_1 = field.value;
        break;
      default:
        break;
    }
  }
  return true;
}

bool StoredTables::Read(std::string_view bytes) {
  bytes_.assign(bytes);
  strings_.clear();
  stacks_.clear();
  mappings_.clear();
  frame_mapping_.clear();
  frame_offset_.clear();
  std::string_view rest = bytes_;
  proto::WireField field;
  bool good = true;
  while (good && !rest.empty()) {
    good = proto::NextField(rest, field);
    if (!good) break;
    switch (field.number) {
      case v1::Tables::kStringsFieldNumber:
        strings_.push_back(PlaceOf(field.inside));
        break;
      case v1::Tables::kMappingsFieldNumber:
        good = ReadMapping(field.inside);
        break;
      case v1::Tables::kFrameMappingFieldNumber:
        good = ReadPacked(field, frame_mapping_);
        break;
      case v1::Tables::kFrameOffsetFieldNumber:
        good = ReadPacked(field, frame_offset_);
        break;
      case v1::Tables::kStacksFieldNumber:
        stacks_.push_back(PlaceOf(field.inside));
        break;
      default:
        break;
    }
  }
  return good;
}

}  // namespace telltale::storage
