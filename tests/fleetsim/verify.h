// Asks the collector whether what it acknowledged is there exactly once. Main thread.

#ifndef TELLTALE_TESTS_FLEETSIM_VERIFY_H_
#define TELLTALE_TESTS_FLEETSIM_VERIFY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/cli/client.h"
#include "tests/fleetsim/certificates.h"
#include "tests/fleetsim/sim_node.h"

namespace telltale::fleetsim {

struct Verification {
  uint32_t nodes_counted = 0, nodes_summed = 0;
  uint64_t acked = 0, received = 0;  // epochs, of all nodes
  std::vector<std::string> wrong;    // one line each; empty: all is there once
};

class Verifier {
 public:
  // Remembers what the collector has of these nodes from before.
  static absl::StatusOr<Verifier> Open(const std::string& collector, const ViewerFiles& files);

  // Every node's number of epochs: those acked, and at most those without an answer besides; of the
  // first `sums` honest nodes also the CPU time and system calls of all epochs since
  // `start_unix_ns`, which were all acknowledged ones.
  absl::StatusOr<Verification> Check(const std::vector<NodeOutcome>& outcomes, uint32_t sums,
                                     uint64_t start_unix_ns);

 private:
  explicit Verifier(std::unique_ptr<cli::Client> client) : client_(std::move(client)) {}
  absl::StatusOr<std::map<std::string, uint64_t>> Received();
  // Of one vital of one node, base unit.
  absl::StatusOr<double> Total(const std::string& node, const std::string& vital,
                               uint64_t start_unix_ns);

  std::unique_ptr<cli::Client> client_;
  std::map<std::string, uint64_t> before_;
};

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_VERIFY_H_
