// The disk thread: everything that may wait for the disk happens here, so that cutting and sending
// never do. Takes finished epochs, gives them their sequence number, makes them durable, tells the
// observer; keeps the crash journal; carries out what the uplink learned from the collector.
//
// Bounds: 64 epochs wait for a hung disk, and 64 are kept in memory ("held") on a full one; beyond
// that the oldest is lost, counted, and declared lost once the disk takes it. A held epoch may be
// sent although no record exists, because its sequence was persisted first. One that waits for a
// hung disk is not: after a kill its sequence would name another body. Either is marked unspooled
// for ever, a waiting one if it waited longer than a disk takes that merely has much to do.
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
#include "agent/clock_ns.h"
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
    // The disk hangs when one step takes longer, and an epoch that waited longer is marked.
    uint64_t hung_after_ms = 10'000;
    std::function<uint64_t()> mono_ns = [] { return ClockNs(CLOCK_MONOTONIC); };
  };
  struct Stats {
    uint64_t next_sequence = 1, oldest_sequence = 0;  // 0: nothing in the spool
    uint64_t records = 0, bytes = 0, held = 0, waiting = 0, lost_ranges = 0;
    uint64_t lost_in_memory = 0;  // epochs dropped because disk and memory were full
    uint64_t names_left_out = 0;  // names without which their epochs were kept: over the limits
    uint64_t hung_s = 0;          // the step under way has taken so long; 0: the disk does not hang
    Spool::Counts counts;
    std::string problem;  // the disk hangs, or the last failed step; empty while all is well
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
  struct Waiting {
    std::shared_ptr<const FinishedEpoch> epoch;
    uint64_t since_ns = 0;  // CLOCK_MONOTONIC
  };

  void Run();
  void Post(Request request);
  void RecoverJournal();
  bool Store(const Waiting& waiting);                        // false: not now
  bool Keep(const FinishedEpoch& epoch, uint64_t sequence);  // false: not even that
  void CountMemoryLoss(TimeRange time);                      // mutex_ held
  void DeclareMemoryLoss();
  void Recovered();
  void RetryHeld();
  void AnnounceAll();
  void AnnounceLost();
  void Report(const absl::Status& status);
  void Publish();
  // Around whatever may wait for the disk.
  absl::Status OnDisk(const Request& step);
  bool TooLong(uint64_t ns) const { return ns > options_.hung_after_ms * 1'000'000; }
  uint64_t HungS() const;        // mutex_ held
  std::string HangText() const;  // mutex_ held, while it hangs
  void SayHang();

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
  std::deque<Waiting> waiting_;
  bool in_hand_ = false;        // an epoch taken from waiting_ is being written
  uint64_t step_since_ns_ = 0;  // the disk step under way; 0: none is
  bool hang_said_ = false;      // of the step under way
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
