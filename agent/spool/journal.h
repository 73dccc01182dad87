// The crash journal: what the running epoch has seen so far, appended every few seconds without
// fsync. After a crash the last entry becomes a partial epoch, exactly once: it is spooled under
// the sequence the epoch would have had, and a journal whose sequence is used already is a
// leftover. Owned and called by the disk thread.

#ifndef TELLTALE_AGENT_SPOOL_JOURNAL_H_
#define TELLTALE_AGENT_SPOOL_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/file_system.h"
#include "agent/spool/record.h"
#include "agent/spool/spool.h"

namespace telltale::agent {

class Journal {
 public:
  Journal(std::string directory, FileSystem& files)
      : path_(std::move(directory) + "/journal"), files_(files) {}

  // `sequence`: which the running epoch gets. The first append of an epoch replaces the file.
  absl::Status Append(const v1::Schema& schema, uint64_t sequence, const v1::SummaryBody& body);

  // The epoch with this sequence has been spooled.
  absl::Status Remove();

  // What a crash left behind; nothing if there is none or it is damaged from the start.
  std::optional<JournalEntry> Load();

 private:
  const std::string path_;
  FileSystem& files_;
  uint64_t sequence_ = 0;  // of the file as it is, 0: no file of this run
};

// Makes the running epoch's body into that of a partial epoch that nobody cut.
void MarkPartial(v1::SummaryBody* body);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_JOURNAL_H_
