// Real agents that crash while a real collector does, too: kill after kill of an agent, or of its
// sensor or uplink process alone, at random moments of their epochs, the collector now and then in
// between. In the end all are left in peace, end by themselves, and every epoch an agent cut is
// stored once or declared lost with a reason. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_CRASH_AGENTS_H_
#define TELLTALE_TESTS_SUPPORT_CRASH_AGENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"
#include "tests/support/spool_witness.h"

namespace telltale::testing {

class CrashAgents {
 public:
  static constexpr int kAgents = 6;

  CrashAgents();

  // `moment`: any number; what is killed and when follows from it. Empty: all is well.
  std::string Kill(uint64_t moment, bool collector_too);
  // Once, at the end. Empty: all is well.
  std::string Finish();

  // What it came to, so far.
  struct Tally {
    uint64_t agents = 0, sensors = 0, uplinks = 0, collectors = 0;  // killed
    uint64_t epochs = 0, partial = 0, lost = 0;                     // known when finished
    uint64_t cut = 0, counted = 0;  // sequence numbers given away, epochs by the nodes' counters
    uint64_t seen = 0, found = 0;   // epochs that stood in a spool when somebody looked, and of
                                    // them those stored

    void Add(const Tally& other);
  };
  const Tally& tally() const { return tally_; }

 private:
  struct Victim {
    std::unique_ptr<AgentProcess> agent;
    std::unique_ptr<SpoolWitness> witness;
  };
  bool Start();
  void Live(uint64_t ms);
  bool KillChild(const Victim& victim, const std::string& name);

  const TempDir scratch_;
  const std::string data_ = scratch_.path() + "/data";
  Pki pki_{scratch_.path(), "ca"};
  CollectorProcess collector_;
  std::vector<Victim> victims_;
  bool started_ = false;
  Tally tally_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_AGENTS_H_
