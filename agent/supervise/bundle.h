// `telltale-agent bundle`: what a maintainer asks for first about one node, as one .tar.gz, in the
// manner of `telltale bundle` for the collector. Works whether the agent runs or not; reads only.

#ifndef TELLTALE_AGENT_SUPERVISE_BUNDLE_H_
#define TELLTALE_AGENT_SUPERVISE_BUNDLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/config.h"

namespace telltale::agent {

struct BundleOptions {
  Config config;
  std::string config_text;        // the effective configuration; it has paths, no secrets
  std::vector<std::string> logs;  // files whose ends are put in
  std::string path;               // to write; empty: telltale-agent-bundle-TIME.tar.gz
  absl::Time now;
};

// Writes it for the owner's eyes alone; what is said about it. AlreadyExists, PermissionDenied ...:
// the path could not be written.
absl::StatusOr<std::string> WriteBundle(const BundleOptions& options);

// The spool's ledger as text: identity, sequences used, what waits, what was lost, what was
// refused. What cannot be read says why.
std::string SpoolLedger(const std::string& directory);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_BUNDLE_H_
