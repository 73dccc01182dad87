// Feeds arbitrary bytes to everything that opens what other machines send. The first byte chooses
// the door:
// - b: a body, wrapped in an envelope that fits it, so that what lies behind zstd's checksum is
//   reached
// - c: sketch cells, wrapped the same way
// - e: an envelope
// - h: a Hello
// - k: columns, as bodies are kept
// - n: Names
// - s: a schema
// What is let in must be writable again as the same bytes and must be shown without control
// characters.
//
// Built as a libFuzzer target when the compiler is clang; its corpus is replayed by
// corpus_test.cc with any compiler.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "proto/dump.h"
#include "proto/text.h"

namespace {

using namespace telltale;

void Require(bool fact) {
  if (!fact) std::abort();
}

void RequireHarmless(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  Require(proto::Printable(text));
}

// Without a word of protobuf on each message that is none.
const v1::Schema& Schema() {
  static const v1::Schema schema = [] {
    google::protobuf::SetLogHandler(nullptr);
    return proto::BuiltinSchema();
  }();
  return schema;
}

// What has columns is what they give back.
void RequireSameByColumns(const std::string& message) {
  constexpr size_t kLimit = 1 << 20;
  const auto columns = proto::ToColumns(message, *v1::SummaryBody::descriptor());
  if (!columns) return;
  const absl::StatusOr<std::string> again = proto::FromColumns(*columns, kLimit);
  Require(message.size() > kLimit || (again.ok() && *again == message));
}

void OpenSummary(const v1::Summary& summary) {
  RequireHarmless(proto::DumpEnvelope(summary));
  const absl::StatusOr<proto::Decoded> decoded = proto::DecodeSummary(summary, Schema());
  if (!decoded.ok()) {
    Require(decoded.status().code() == absl::StatusCode::kInvalidArgument);
    RequireHarmless(std::string(decoded.status().message()));
  } else {
    const std::string canonical = proto::Canonical(*decoded->body);
    v1::SummaryBody again;
    Require(again.ParseFromString(canonical) && proto::Canonical(again) == canonical);
    RequireSameByColumns(canonical);
    RequireHarmless(proto::DumpBody(*decoded->body, Schema()));
    Require(proto::EncodeSummary(summary.identity(), Schema().id(), *decoded->body, {}).ok());
  }
  const absl::StatusOr<v1::SketchCells> cells = proto::DecodeCells(summary);
  if (cells.ok()) RequireHarmless(proto::DumpCells(*cells, Schema()));
}

v1::Summary Envelope() {
  v1::Summary summary;
  summary.mutable_identity()->set_node("n");
  summary.mutable_identity()->set_incarnation("0123456789abcdef");
  summary.mutable_identity()->set_sequence(1);
  summary.set_format(proto::kBodyFormat);
  summary.set_schema_id(Schema().id());
  return summary;
}

void OpenBody(const std::string& raw) {
  v1::Summary summary = Envelope();
  v1::SummaryBody body;
  if (body.ParseFromString(raw)) {
    summary.set_start_unix_ns(body.epoch().start_unix_ns());
    summary.set_end_unix_ns(body.epoch().end_unix_ns());
    RequireHarmless(proto::DumpBody(body, Schema()));  // refused bodies are shown too
  }
  summary.set_body_bytes(static_cast<uint32_t>(raw.size()));
  summary.set_body(*proto::Compress(raw));
  OpenSummary(summary);
}

void OpenCells(const std::string& raw) {
  v1::Summary summary = Envelope();
  summary.set_cells_bytes(static_cast<uint32_t>(raw.size()));
  summary.set_cells(*proto::Compress(raw));
  OpenSummary(summary);
}

void OpenColumns(const std::string& columns) {
  constexpr size_t kLimit = 1 << 18;
  const absl::StatusOr<std::string> message = proto::FromColumns(columns, kLimit);
  if (!message.ok()) {
    Require(message.status().code() == absl::StatusCode::kInvalidArgument);
    return;
  }
  Require(message->size() <= kLimit);
  RequireSameByColumns(*message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'b':
      OpenBody(rest);
      break;
    case 'c':
      OpenCells(rest);
      break;
    case 'e':
      if (v1::Summary summary; summary.ParseFromString(rest)) OpenSummary(summary);
      break;
    case 's':
      if (v1::Schema schema; schema.ParseFromString(rest)) {
        RequireHarmless(std::string(proto::CheckSchema(schema).message()));
        RequireHarmless(proto::DumpSchema(schema));
      }
      break;
    case 'h':
      if (v1::Hello hello; hello.ParseFromString(rest)) {
        RequireHarmless(std::string(proto::CheckHello(hello).message()));
      }
      break;
    case 'n':
      if (v1::Names names; names.ParseFromString(rest)) {
        RequireHarmless(std::string(proto::CheckNames(names).message()));
        RequireHarmless(proto::DumpNames(names));
      }
      break;
    case 'k':
      OpenColumns(rest);
      break;
    default:
      break;
  }
  return 0;
}
