// Shows stored messages to people, as text, and to programs, as JSON: `telltale dump`. Nothing that
// comes out can move a terminal: strings are sanitized (codec.h) in text, and escaped by protobuf's
// JSON writer in JSON. Works on refused messages too. Free functions, no state: any thread.

#ifndef TELLTALE_PROTO_DUMP_H_
#define TELLTALE_PROTO_DUMP_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"
#include "proto/body_text.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// What the envelope says without being opened.
std::string DumpEnvelope(const v1::Summary& summary);

// The whole body: epoch, vitals with totals and samples, histograms, processes, events, gauges,
// losses. Units and names are the schema's; a vital it does not have is shown by its number.
std::string DumpBody(const v1::SummaryBody& body, const v1::Schema& schema,
                     const SymbolSource& symbols = nullptr);

std::string DumpCells(const v1::SketchCells& cells, const v1::Schema& schema);
std::string DumpSchema(const v1::Schema& schema);
std::string DumpNames(const v1::Names& names);

// Protobuf's JSON of any message, fields at their default included, indented, 64-bit integers as
// strings.
absl::StatusOr<std::string> DumpJson(const google::protobuf::Message& message);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_DUMP_H_
