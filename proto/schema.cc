#include "proto/schema.h"

#include "proto/codec.h"
#include "xxhash.h"

namespace telltale::proto {
namespace {

std::string Text(std::string_view text) { return std::string(text); }

void Describe(const sketch::Field& field, v1::FieldDescriptor* out) {
  out->set_name(Text(field.name));
  out->set_kind(static_cast<v1::FieldKind>(field.kind));
  for (const std::string_view value : field.values) out->add_value_names(Text(value));
}

void Describe(const sketch::Vital& vital, v1::VitalDescriptor* out) {
  out->set_id(vital.id);
  out->set_name(Text(vital.name));
  out->set_unit(static_cast<v1::Unit>(vital.unit));
  out->set_quantum(vital.quantum);
  for (const sketch::Sub& sub : vital.subs) {
    v1::SubDescriptor* described = out->add_subs();
    described->set_name(Text(sub.name));
    described->set_idle(sub.idle);
  }
  for (const sketch::Field& field : vital.label) Describe(field, out->add_label());
  for (const sketch::Field& field : vital.detail) Describe(field, out->add_detail());
  out->set_has_backlog(vital.has_backlog);
  out->set_about(Text(vital.about));
}

}  // namespace

uint64_t SchemaId(const v1::Schema& schema) {
  v1::Schema content = schema;
  content.clear_id();
  const std::string bytes = Canonical(content);
  return XXH3_64bits(bytes.data(), bytes.size());
}

v1::Schema SchemaOf(std::span<const sketch::Vital> vitals) {
  v1::Schema schema;
  for (const sketch::Vital& vital : vitals) Describe(vital, schema.add_vitals());
  schema.set_id(SchemaId(schema));
  return schema;
}

v1::Schema BuiltinSchema() { return SchemaOf(sketch::Vitals()); }

const v1::VitalDescriptor* FindDescriptor(const v1::Schema& schema, uint32_t vital) {
  for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
    if (descriptor.id() == vital) return &descriptor;
  }
  return nullptr;
}

}  // namespace telltale::proto
