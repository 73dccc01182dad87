// The bytes of one spool record and of the journal (FORMAT.md). Decoding takes whatever a disk gave
// back: lengths are checked before anything is copied. Free functions; any thread.

#ifndef TELLTALE_AGENT_SPOOL_RECORD_H_
#define TELLTALE_AGENT_SPOOL_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

inline constexpr size_t kMaxRecordBytes = 8 << 20;
inline constexpr size_t kMaxChunkBytes = 4 << 20;
inline constexpr size_t kMaxNamesBytes = 6 << 20;  // of a record: schema and summary fit beside

// A summary with what is needed to read and to name it.
struct Record {
  v1::Schema schema;
  std::vector<v1::Names> names;  // learned in this epoch; sent before the summary
  v1::Summary summary;
};

// The running epoch as last appended to the journal.
struct JournalEntry {
  v1::Schema schema;
  uint64_t sequence = 0;  // the one this epoch gets when it is cut
  v1::SummaryBody body;
};

// Takes out messages that no record may hold, because of a chunk or all together they are over the
// limit: a record is worth more than its names. How many names that were.
uint64_t LeaveOutOversizeNames(std::vector<v1::Names>* names);

std::string EncodeRecord(const Record& record);

// DataLoss: where and how the bytes are damaged.
absl::StatusOr<Record> DecodeRecord(std::string_view bytes);

// A journal is its head (schema), then entries, appended one by one.
std::string EncodeJournalHead(const v1::Schema& schema);
std::string EncodeJournalEntry(uint64_t sequence, const v1::SummaryBody& body);

// The last whole entry; damage after it is ignored. NotFound: there is none.
absl::StatusOr<JournalEntry> DecodeJournal(std::string_view bytes);

// "00000000000000000042.rec" and back; 0 if `name` is no record's.
std::string RecordFileName(uint64_t sequence);
uint64_t SequenceOfFileName(std::string_view name);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_RECORD_H_
