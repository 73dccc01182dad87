// telltale-agent enroll: makes this node's key, has it certified, puts both where the agent looks.
// Main thread.

#ifndef TELLTALE_AGENT_ENROLL_ENROLL_COMMAND_H_
#define TELLTALE_AGENT_ENROLL_ENROLL_COMMAND_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/config.h"
#include "agent/enroll/identity_files.h"

namespace telltale::agent {

struct EnrollFlags {
  std::string token, token_file;  // at most one; neither: an operator decides by hand
  std::string ca_hash;            // "sha256:" and 64 hexadecimal digits
  std::string node;               // empty: the host's name
  std::string wait = "10min";     // for a collector that does not answer, and for an operator
  bool again = false;             // even if this node has a good certificate
};

// Where it asks: enroll.collector, or the host of `collector` with port 7430.
std::string EnrollAddress(const Config& config);

// Ends when there is a certificate, or with the reason why there is none. `tell` gets lines for
// people while it waits. Repeating it after a crash goes on where it stopped. Returns what to say:
// the name and until when. InvalidArgument: a flag makes no sense; DeadlineExceeded: waited in
// vain.
absl::StatusOr<std::string> EnrollNode(const Config& config, const EnrollFlags& flags,
                                       const std::optional<FileOwner>& owner,
                                       const std::function<void(const std::string&)>& tell);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_ENROLL_ENROLL_COMMAND_H_
