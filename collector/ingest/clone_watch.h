// Tells a reinstalled agent from two machines with one certificate. One per node, owned by the
// node's shard; shard thread only.
//
// A node has one incarnation of its spool, and one stream. When a stream with another incarnation
// begins while the old one is still open, the old one may be dead without anybody having noticed,
// so the two are *contested*: the new one's summaries wait in its agent. If the old stream closes,
// the agent was reinstalled. If it speaks again, or both are open when keepalive would have ended a
// dead one, two machines use one certificate. The same holds for one incarnation with two machine
// fingerprints (a copied disk). One incarnation on one machine is just a new connection and takes
// the old one's place.

#ifndef TELLTALE_COLLECTOR_INGEST_CLONE_WATCH_H_
#define TELLTALE_COLLECTOR_INGEST_CLONE_WATCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/keys.h"

namespace telltale::ingest {

class CloneWatch {
 public:
  struct Options {
    uint64_t contest_ns = 25'000'000'000;
    uint64_t margin_ns = 5'000'000'000;
  };
  struct Stream {
    uint64_t id = 0;
    storage::Incarnation incarnation = {};
    std::string fingerprint;     // empty: unknown
    uint64_t begun_mono_ns = 0;  // when its Hello was received
  };

  explicit CloneWatch(const Options& options) : options_(options) {}

  // A stream said Hello. Returns the ids of streams whose place it takes: forget and close them.
  std::vector<uint64_t> Add(const Stream& stream);
  void Remove(uint64_t id);

  // Whether another stream that may be another machine was open before this one and still is.
  bool Contested(uint64_t id) const;

  // Incarnations proved to belong to a clone conflict, both sides; empty: nothing proved.
  std::vector<storage::Incarnation> Spoke(uint64_t id, uint64_t received_mono_ns);
  std::vector<storage::Incarnation> Tick(uint64_t mono_ns);

  // After a proof: these streams are known to be apart and are no longer contested.
  void Settle();

  const std::vector<Stream>& streams() const { return streams_; }

 private:
  static bool OneMachine(const Stream& a, const Stream& b);
  std::vector<storage::Incarnation> Proof(const Stream& older, const Stream& newer) const;

  const Options options_;
  std::vector<Stream> streams_;    // in the order they began
  std::vector<uint64_t> settled_;  // ids
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_CLONE_WATCH_H_
