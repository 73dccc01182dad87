// The bounded store of summaries the collector has not acknowledged: one file each, durable before
// it is visible, dropped oldest first when the bound is reached, and every drop declared until the
// collector has recorded it. Layout of the directory: FORMAT.md.
//
// What it promises across a kill at any moment: a sequence number never names two bodies, a record
// that was appended is found again, one that was settled is at worst offered once more.
// Owned and called by the disk thread (disk_writer.h) only; files are read by others through
// SpoolReader.

#ifndef TELLTALE_AGENT_SPOOL_SPOOL_H_
#define TELLTALE_AGENT_SPOOL_SPOOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/spool/file_system.h"
#include "agent/spool/record.h"
#include "agent/spool/spool_state.h"

namespace telltale::agent {

class Spool {
 public:
  struct Options {
    std::string directory;
    uint64_t max_bytes = 64 << 20;  // of all records; at least kMaxRecordBytes
    size_t keep_refused = 16;
    std::function<std::string(size_t)> random_bytes;  // asked for 16 when the directory is made
  };
  struct Item {
    uint64_t bytes = 0;
    TimeRange time;
  };
  struct Counts {
    uint64_t dropped_full = 0, dropped_corrupt = 0, refused = 0, settled = 0;
  };

  // Makes the directory or recovers what is there. `files` outlives the spool.
  // FailedPrecondition: the directory lost its state or identity; the message says what to do.
  static absl::StatusOr<std::unique_ptr<Spool>> Open(const Options& options, FileSystem& files);

  const std::string& directory() const { return options_.directory; }
  const std::string& incarnation() const { return incarnation_; }  // 16 bytes
  uint64_t next_sequence() const { return state_.next; }           // for the next Append or Hold
  const std::map<uint64_t, Item>& records() const { return records_; }
  const std::vector<v1::Lost>& lost() const { return state_.lost; }
  uint64_t bytes() const { return bytes_; }
  const Counts& counts() const { return counts_; }

  // Makes a record durable. Its sequence is next_sequence() or one that is held. Drops the oldest
  // records as the bound demands. On an error the sequence still belongs to this record: try again
  // with the same, or Hold it.
  absl::Status Append(const Record& record);

  // Puts another body under the newest sequence, which was appended and of which nobody was told.
  // On an error the one or the other is there, whole.
  absl::Status Replace(const Record& record);

  // Persists that `sequence` (== next_sequence()) is used although its record could not be written.
  // ResourceExhausted: 64 are held already.
  absl::Status Hold(uint64_t sequence, TimeRange time);

  // Uses up `count` sequences for summaries that are gone and declares them lost.
  absl::Status DeclareLost(uint64_t count, v1::Lost::Reason reason, const std::string& detail,
                           TimeRange time);

  // Gives up a held sequence.
  absl::Status DropHeld(uint64_t sequence, v1::Lost::Reason reason, const std::string& detail);

  // The collector has it. Fine if there is no such record.
  absl::Status Settle(uint64_t sequence);

  // The collector will never take it: keeps the file among the refused, declares it lost.
  absl::Status SetAside(uint64_t sequence, const std::string& reason);

  // Somebody could not read this record: checks it and declares it lost if it is damaged or gone.
  absl::Status Check(uint64_t sequence);

  // The collector has recorded this range as lost.
  absl::Status LostRecorded(uint64_t first, uint64_t last);

 private:
  Spool(const Options& options, FileSystem& files) : options_(options), files_(files) {}
  std::string Path(const std::string& name) const { return options_.directory + "/" + name; }
  absl::Status Create();
  absl::Status LoadIdentity(bool has_records);
  absl::Status LoadRecords(const std::vector<FileSystem::Entry>& entries);
  absl::Status FinishHalfDone();
  absl::Status SaveState();
  absl::Status MakeRoom(uint64_t bytes);
  absl::Status DropRecord(uint64_t sequence, v1::Lost::Reason reason, const std::string& detail);
  absl::Status MoveToRefused(uint64_t sequence);
  void Forget(uint64_t sequence);

  const Options options_;
  FileSystem& files_;
  std::string incarnation_;
  SpoolState state_;
  uint64_t persisted_next_ = 0;
  std::map<uint64_t, Item> records_;
  uint64_t bytes_ = 0;
  Counts counts_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_SPOOL_H_
