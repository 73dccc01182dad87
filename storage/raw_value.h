// The value of a `raw` row: version byte, digest of the envelope as it came, length of the epoch,
// then the envelope without its cells. Any thread.

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

std::string EncodeRawValue(const RawHeader& header, const v1::Summary& summary);
// Only the header; does not look at the envelope.
absl::StatusOr<RawHeader> DecodeRawHeader(std::string_view value);
absl::StatusOr<v1::Summary> DecodeRawSummary(std::string_view value);

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_RAW_VALUE_H_
