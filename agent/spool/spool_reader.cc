#include "agent/spool/spool_reader.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/spool/file_system.h"

namespace telltale::agent {

absl::StatusOr<Record> ReadRecord(const std::string& directory, uint64_t sequence) {
  PosixFileSystem files;
  const auto bytes =
      files.Read(absl::StrCat(directory, "/", RecordFileName(sequence)), kMaxRecordBytes);
  if (absl::IsOutOfRange(bytes.status())) {
    return absl::DataLossError(std::string(bytes.status().message()));
  }
  if (!bytes.ok()) return bytes.status();
  auto record = DecodeRecord(*bytes);
  if (record.ok() && record->summary.identity().sequence() != sequence) {
    return absl::DataLossError("record of another sequence");
  }
  return record;
}

}  // namespace telltale::agent
