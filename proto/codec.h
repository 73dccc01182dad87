// The codec of summaries: the only code that turns a body into the bytes that are spooled, sent and
// stored, and the only gate through which bytes of another machine become a body. What Decode
// returns may be indexed, rendered and stored without further checks; everything else is untrusted.
//
// Free functions, no state: any thread.

#ifndef TELLTALE_PROTO_CODEC_H_
#define TELLTALE_PROTO_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/body_parts.h"
#include "proto/open_body.h"
#include "telltale/v1/ingest.pb.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::proto {

// Hard limits of one summary. A collector may be configured lower, never higher.
struct Limits {
  size_t body_bytes = 256 * 1024;       // compressed
  size_t cells_bytes = 256 * 1024;      // compressed
  size_t body_raw_bytes = 1024 * 1024;  // decompressed; checked before memory is reserved
  size_t cells_raw_bytes = 1024 * 1024;
  size_t string_bytes = 1024;
  size_t strings = 16 * 1024;
  size_t frames = 64 * 1024;
  size_t stacks = 8 * 1024;
  size_t frames_per_stack = 256;
  size_t samples_per_vital = 4 * 1024;
  size_t process_rows = 4 * 1024;
  size_t events = 8 * 1024;
  size_t histograms = 1024;
  size_t objects =
      64 * 1024;  // messages, strings and unknown fields of a body; counted before parsing
  uint32_t max_epoch_s = 120;  // longest epoch believed
};

// Formats of the body (Summary.format). This build reads both; agents send the first, and what is
// stored for long has the second.
inline constexpr uint32_t kBodyFormat = 1;
inline constexpr uint32_t kColumnsFormat = 2;  // compressed are its columns (columns.h)

struct Decoded {
  OpenBody body = OpenBody::Make();
};

// Canonical bytes of any stored message: fields in number order, deterministic, the same on every
// machine.
std::string Canonical(const google::protobuf::MessageLite& message);

// Makes the envelope. The body must be valid (checked, labels and details only under the built-in
// schema's id; InvalidArgument here is a bug of the caller). ResourceExhausted: over a limit in
// bytes, fold more away.
absl::StatusOr<v1::Summary> EncodeSummary(const v1::Identity& identity, uint64_t schema_id,
                                          const v1::SummaryBody& body, const v1::SketchCells& cells,
                                          const Limits& limits = {});

// A summary with the columns of its body, which `body` is, instead of what it came with: a good
// part fewer bytes of another digest. Nothing: columns would lose something (fields of a later
// build), or gain nothing.
std::optional<v1::Summary> WithColumns(const v1::Summary& summary, const v1::SummaryBody& body);

// Opens and checks an envelope. InvalidArgument names field, value and limit. `schema` describes
// the vitals of the body (its id must equal the envelope's); label and detail values are checked
// against it.
absl::StatusOr<Decoded> DecodeSummary(const v1::Summary& summary, const v1::Schema& schema,
                                      const Limits& limits = {});

// Opens some or all of an envelope that was opened whole when it was taken in: objects are not
// counted again, and what is left out is not checked.
absl::StatusOr<Decoded> DecodeParts(const v1::Summary& summary, const v1::Schema& schema,
                                    const BodyParts& parts, const Limits& limits = {});

// The same for the cells. An empty field gives an empty message.
absl::StatusOr<v1::SketchCells> DecodeCells(const v1::Summary& summary, const Limits& limits = {});

// 64-bit digest over everything in the envelope: two envelopes of one identity are repeats iff it
// is equal.
uint64_t Digest(const v1::Summary& summary);

// Checks of the stream's other messages. InvalidArgument names field, value and limit.
absl::Status CheckHello(const v1::Hello& hello);
absl::Status CheckNodeInfo(const v1::NodeInfo& info);
absl::Status CheckNames(const v1::Names& names);
absl::Status CheckSchema(const v1::Schema& schema);  // also that its id is the hash of its content

// A name is sent again with a summary that refers to it when this long has passed since it was sent
// last: so a store may forget names of that age once the summaries of their time have expired.
// Between readings of the node's wall clock, in either direction.
inline constexpr uint64_t kNamesTravelAgainNs = uint64_t{7} * 24 * 3600 * 1'000'000'000;

// The built-in vitals as a Schema, from sketch/vitals.h; id filled in.
v1::Schema BuiltinSchema();

// A node, label or file name fit for keys and screens: 1..128 bytes of [a-zA-Z0-9._-], no leading
// '-' or '.'.
bool ValidNodeName(const std::string& name);

// Makes any bytes valid, printable UTF-8 of at most `limit` bytes: what is not becomes \xNN.
std::string SanitizeText(std::string_view raw, size_t limit);

}  // namespace telltale::proto

#endif  // TELLTALE_PROTO_CODEC_H_
