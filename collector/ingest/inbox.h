// The bounded queue of one shard: gRPC threads put messages in, the shard thread takes batches out,
// one message of each stream in turn, so that a node with a backlog does not hold up the others. A
// stream over its own bound, or any stream while the shard is over its bound, is not read until
// there is room: memory does not grow with a slow disk, acks just come later. Thread-safe.

#ifndef TELLTALE_COLLECTOR_INGEST_INBOX_H_
#define TELLTALE_COLLECTOR_INGEST_INBOX_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "collector/ingest/ingest_stats.h"
#include "collector/ingest/session.h"

namespace telltale::ingest {

class Inbox {
 public:
  struct Options {
    size_t bytes = 64 << 20;        // of all streams
    size_t stream_bytes = 1 << 20;  // of one; one message more may be in it
    size_t stream_messages = 64;
  };

  Inbox(const Options& options, IngestStats* stats) : options_(options), stats_(stats) {}
  // What still waits is dropped: its messages were never acknowledged, so they come again.
  ~Inbox();

  // True: the transport may read the next message. False: it must wait for ResumeReading.
  bool Push(InboxItem item);

  // The next messages, at most so many and so large together (one always fits); empty if none
  // waits. They count against the bounds until given back with Done, which wakes paused streams.
  std::vector<InboxItem> Pop(size_t max_items, size_t max_bytes);
  void Done(std::vector<InboxItem> items);

  // Waits until something is there, Wake() is called, or the time is over.
  void Wait(uint64_t timeout_ns);
  void Wake();

  bool Empty() const;
  size_t bytes() const;

 private:
  bool Full(const InboxLane& lane) const;

  const Options options_;
  IngestStats* const stats_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::shared_ptr<Session>> round_;    // guarded by mutex_; streams with messages
  std::vector<std::shared_ptr<Session>> paused_;  // guarded by mutex_
  size_t bytes_ = 0;                              // guarded by mutex_
  bool woken_ = false;                            // guarded by mutex_
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_INBOX_H_
