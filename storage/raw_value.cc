#include "storage/raw_value.h"

#include "absl/strings/str_cat.h"
#include "storage/keys.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr size_t kHeaderBytes = 16;  // behind the version byte

absl::StatusOr<std::string_view> Content(std::string_view value) {
  absl::StatusOr<std::string_view> content = ValueContent(value, "raw row");
  if (content.ok() && content->size() < kHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("read raw row: ", content->size(), " bytes, want >= ", kHeaderBytes));
  }
  return content;
}

}  // namespace

std::string EncodeRawValue(const RawHeader& header, const v1::Summary& summary,
                           const v1::SummaryBody& body) {
  if (!summary.cells().empty()) return EncodeRawValueAsItCame(header, summary);
  const std::optional<v1::Summary> columns = proto::WithColumns(summary, body);
  return EncodeRawValueAsItCame(header, columns ? *columns : summary);
}

std::string EncodeRawValueAsItCame(const RawHeader& header, const v1::Summary& summary) {
  std::string value = VersionedValue(EncodeU64(header.digest));
  value += EncodeU64(header.length_ns);
  if (summary.cells().empty()) {
    value += proto::Canonical(summary);
  } else {
    v1::Summary without_cells = summary;
    without_cells.clear_cells();
    value += proto::Canonical(without_cells);
  }
  return value;
}

absl::StatusOr<RawHeader> DecodeRawHeader(std::string_view value) {
  absl::StatusOr<std::string_view> content = Content(value);
  if (!content.ok()) return content.status();
  return RawHeader{*DecodeU64(content->substr(0, 8)), *DecodeU64(content->substr(8, 8))};
}

absl::StatusOr<v1::Summary> DecodeRawSummary(std::string_view value) {
  absl::StatusOr<std::string_view> content = Content(value);
  if (!content.ok()) return content.status();
  const std::string_view envelope = content->substr(kHeaderBytes);
  v1::Summary summary;
  if (!summary.ParseFromArray(envelope.data(), static_cast<int>(envelope.size()))) {
    return absl::DataLossError(
        absl::StrCat("read raw row: ", envelope.size(), " bytes are not a summary"));
  }
  return summary;
}

}  // namespace telltale::storage
