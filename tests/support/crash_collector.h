// A real collector that crashes: several agents over mutual TLS, and trial after trial in which the
// process is killed -9 at a random moment: soon after they begin to stream, or seconds later, when
// it computes windows of what came, or while a backup is made. What a late kill leaves is read and
// checked; then the collector starts again, the agents send what has no verdict yet, and when it
// has stopped its store is checked whole. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_
#define TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/collector_process.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {

class CrashCollector {
 public:
  static constexpr int kAgents = 3;

  CrashCollector();

  struct Trial {
    uint64_t moment = 0;      // any number; when it is killed follows from it
    bool late = false;        // up to seconds after its start, else within 200 ms
    bool backing_up = false;  // soon after a backup has begun
  };
  // Empty: all is well.
  std::string Run(const Trial& trial);

  struct Agent {
    std::string node;
    IssuedFiles own;
    std::deque<uint64_t> unsettled;  // sent, without a verdict yet
    std::set<uint64_t> acked;
    uint64_t next = 1;
    // Sent again, and they had been stored: a kill came between their write and their verdict.
    uint64_t between = 0;
    std::string wrong;
  };
  // What trials came to, so far.
  struct Tally {
    uint64_t acked = 0;
    uint64_t between = 0;       // as Agent::between
    uint64_t backups = 0;       // whole ones, which were checked, too
    uint64_t torn_backups = 0;  // killed in the middle of one
    uint64_t computed = 0;      // windows and blocks, in lives that a late kill ended
    uint64_t torn_rollups = 0;  // late kills after some windows of what came, before the others
    uint64_t longest_ms = 0;    // from the beginning of the streams to the kill
    // By the last check of a directory, of all that was ever stored in it.
    uint64_t found = 0;    // of acked
    uint64_t counted = 0;  // epochs, by the nodes' counters

    void Add(const Tally& other);
  };
  Tally tally() const;

 private:
  void Stream(Agent& agent, bool only_unsettled, uint64_t most);
  struct Found {
    std::string wrong;  // empty: nothing
    uint64_t recomputed = 0;
    uint64_t pending = 0;
    uint64_t acked = 0;    // of those that had been acknowledged
    uint64_t counted = 0;  // epochs
  };
  using Sequences = std::vector<std::set<uint64_t>>;  // of each agent
  Sequences Acked() const;
  // All of it, and if `exactly` nothing else.
  Found Check(const std::string& data, const Sequences& acked, bool exactly) const;

  TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const std::string data_ = scratch_.path() + "/data";
  CollectorProcess collector_{data_, pki_, pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
  std::vector<Agent> agents_;
  Tally tally_;              // without what the agents know
  uint64_t recomputed_ = 0;  // by the check of the last trial
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_
