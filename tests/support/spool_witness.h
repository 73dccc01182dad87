// Who looks into the spool of an agent that is killed again and again, and in the end holds what
// stood there against what the collector's store has of the node: every sequence number is received
// or declared lost with a reason, nothing counts twice, and what a crash cut short says so. One
// thread.

#ifndef TELLTALE_TESTS_SUPPORT_SPOOL_WITNESS_H_
#define TELLTALE_TESTS_SUPPORT_SPOOL_WITNESS_H_

#include <cstdint>
#include <map>
#include <string>

#include "agent/spool/record.h"
#include "storage/store.h"
#include "tests/support/agent_process.h"

namespace telltale::testing {

class SpoolWitness {
 public:
  explicit SpoolWitness(const AgentProcess* agent) : agent_(agent) {}  // outlives this

  void Look();
  // Every record that stood in the spool when somebody looked, by sequence.
  const std::map<uint64_t, agent::Record>& seen() const { return seen_; }

  struct Stored {
    std::string wrong;  // empty: nothing; else a line each
    uint64_t epochs = 0;
    uint64_t cut = 0;      // sequence numbers the agent gave away
    uint64_t found = 0;    // of those seen in its spool
    uint64_t counted = 0;  // epochs, by the node's counters
    uint64_t lost = 0;     // declared
    uint64_t partial = 0;  // of the epochs
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    uint64_t longest_gap_ns = 0;  // between the end of one epoch and the start of the next
  };
  // When the agent has ended, with nothing left to send.
  Stored HoldAgainst(storage::Store& store) const;

 private:
  const AgentProcess* const agent_;
  std::map<uint64_t, agent::Record> seen_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_SPOOL_WITNESS_H_
