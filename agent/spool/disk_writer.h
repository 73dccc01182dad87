// The disk thread: everything that may wait for the disk happens here, so that cutting and sending
// never do. Takes finished epochs, gives them their sequence number, makes them durable, tells the
// observer; keeps the crash journal; carries out what the uplink learned from the collector.
//
// Bounds: 64 epochs wait for a hung disk, and 64 are kept in memory ("held") on a full one; beyond
// that the oldest is lost, counted, and declared lost once the disk takes it. A held epoch may be
// sent although no record exists, because its sequence was persisted first; its body is marked
// unspooled for ever.
//
// Submit and the other requests may be called from any thread and never block on the disk. The
// observer is called on the disk thread.

#ifndef TELLTALE_AGENT_SPOOL_DISK_WRITER_H_
#define TELLTALE_AGENT_SPOOL_DISK_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/spool/journal.h"
#include "agent/spool/spool.h"

namespace telltale::agent {

// One epoch as the cutter made it, before it has a sequence number.
struct FinishedEpoch {
  v1::SummaryBody body;
  v1::SketchCells cells;
  std::vector<v1::Names> names;
};

class SpoolObserver {
 public:
  virtual ~SpoolObserver() = default;
  // A record can be read and sent.
  virtual void OnSpooled(uint64_t sequence, TimeRange time, uint64_t bytes, v1::EpochKind kind) = 0;
  // An epoch can be sent from memory; `record` is what the file would hold.
  virtual void OnHeld(uint64_t sequence, TimeRange time, std::string record,
                      v1::EpochKind kind) = 0;
  // A range to be declared to the collector.
  virtual void OnLost(const v1::Lost& lost) = 0;
  // Everything that was there when Announce was called has been named.
  virtual void OnAnnounced() = 0;
};

class DiskWriter {
 public:
  struct Options {
    std::string node;
    v1::Schema schema;
    size_t max_waiting = 64;
    uint64_t retry_ms = 1'000;  // how soon a failed write is tried again
  };
  struct Stats {
    uint64_t next_sequence = 1, oldest_sequence = 0;  // 0: nothing in the spool
    uint64_t records = 0, bytes = 0, held = 0, waiting = 0, lost_ranges = 0;
    uint64_t lost_in_memory = 0;  // epochs dropped because disk and memory were full
    uint64_t names_left_out = 0;  // names without which their epochs were kept: over the limits
    Spool::Counts counts;
    std::string problem;  // of the last failed step; empty while all is well
  };

  // `observer` outlives the writer.
  DiskWriter(Options options, std::unique_ptr<Spool> spool, Journal journal,
             SpoolObserver& observer);
  ~DiskWriter();

  // Turns a crash's journal into a partial epoch, then starts the thread.
  void Start();
  // Names every record, held epoch and lost range to the observer, of unspecified kind, whether it
  // was named before or not: a new uplink asks what there is.
  void Announce();
  // Writes what waits, then ends the thread. With a hung disk this hangs too.
  void Stop();
  // After Stop, on the stopping thread: carries out what was posted since.
  void RunPosted();

  void Submit(FinishedEpoch epoch);
  void SubmitJournal(v1::SummaryBody body);  // replaces one that still waits

  // What the collector said (see Spool).
  void Settle(uint64_t sequence);
  void SetAside(uint64_t sequence, std::string reason);
  void Check(uint64_t sequence);
  void LostRecorded(uint64_t first, uint64_t last);

  Stats GetStats() const;

 private:
  using Request = std::function<absl::Status()>;

  void Run();
  void Post(Request request);
  void RecoverJournal();
  bool Store(const FinishedEpoch& epoch);                    // false: not now
  bool Keep(const FinishedEpoch& epoch, uint64_t sequence);  // false: not even that
  void CountMemoryLoss(TimeRange time);                      // mutex_ held
  void DeclareMemoryLoss();
  void Recovered();
  void RetryHeld();
  void AnnounceAll();
  void AnnounceLost();
  void Report(const absl::Status& status);
  void Publish();

  const Options options_;
  std::unique_ptr<Spool> spool_;
  Journal journal_;
  SpoolObserver& observer_;

  // Disk thread only.
  std::map<uint64_t, Record> held_;
  std::set<std::pair<uint64_t, uint64_t>> announced_lost_;
  std::string problem_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<const FinishedEpoch>> waiting_;
  std::optional<v1::SummaryBody> journal_body_;
  std::deque<Request> requests_;
  uint64_t memory_lost_ = 0;  // of waiting_, not declared yet
  TimeRange memory_lost_time_;
  bool announce_ = false;
  bool stopping_ = false;
  Stats stats_;
  std::thread thread_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SPOOL_DISK_WRITER_H_
