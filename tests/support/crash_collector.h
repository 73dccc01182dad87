// A real collector that crashes: several agents over mutual TLS, and trial after trial in which the
// process is killed -9 at a random moment while they stream, while windows are computed or while a
// backup is made. Then it starts again, the agents send what has no verdict yet, and when it has
// stopped its store is read and checked. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_
#define TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_

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

  // `moment`: any number; when it is killed follows from it. Empty: all is well.
  std::string Run(uint64_t moment, bool while_backing_up);

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
  uint64_t acked() const;
  uint64_t between() const;
  uint64_t backups() const { return backups_; }  // whole ones, which were checked, too

 private:
  void Stream(Agent& agent, bool only_unsettled);
  std::string Check(const std::string& data, bool exactly) const;

  TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const std::string data_ = scratch_.path() + "/data";
  CollectorProcess collector_{data_, pki_, pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1")};
  std::vector<Agent> agents_;
  uint64_t backups_ = 0;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_CRASH_COLLECTOR_H_
