// The value of a `raw` row: version byte, digest of the envelope as it came, length of the epoch,
// then the envelope without its cells, with the columns of its body where that keeps everything.
// Any thread.

#ifndef TELLTALE_STORAGE_RAW_VALUE_H_
#define TELLTALE_STORAGE_RAW_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

struct RawHeader {
  uint64_t digest = 0;
  uint64_t length_ns = 0;
};

// `body` is the summary's. What came with cells stays as it came, so that body and cells can be
// held against the digest together.
std::string EncodeRawValue(const RawHeader& header, const v1::Summary& summary,
                           const v1::SummaryBody& body);
// As it came: rows apart, which an operator may yet have counted under the digest of these bytes.
std::string EncodeRawValueAsItCame(const RawHeader& header, const v1::Summary& summary);
// Only the header; does not look at the envelope.
absl::StatusOr<RawHeader> DecodeRawHeader(std::string_view value);
absl::StatusOr<v1::Summary> DecodeRawSummary(std::string_view value);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_RAW_VALUE_H_
