// Helpers around v1.Schema, the description of the vitals that travels with the data. The built-in
// one and checking a foreign one: codec.h. Free functions: any thread.

#ifndef TELLTALE_PROTO_SCHEMA_H_
#define TELLTALE_PROTO_SCHEMA_H_

#include <cstdint>
#include <span>

#include "sketch/vitals.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// xxh3 of the schema's canonical bytes with id = 0: what its id must be.
uint64_t SchemaId(const v1::Schema& schema);

// These vitals, which must be in id order, as a Schema; id filled in.
v1::Schema SchemaOf(std::span<const sketch::Vital> vitals);

// The descriptor of a vital id; nullptr if the schema has none. Points into `schema`.
const v1::VitalDescriptor* FindDescriptor(const v1::Schema& schema, uint32_t vital);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_SCHEMA_H_
