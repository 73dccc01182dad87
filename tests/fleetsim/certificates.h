// Certificates of a fleet: one per node, made with what is behind `telltale pki issue` and kept in
// a directory between runs. Main thread.

#ifndef TELLTALE_TESTS_FLEETSIM_CERTIFICATES_H_
#define TELLTALE_TESTS_FLEETSIM_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/uplink/tls.h"

namespace telltale::fleetsim {

// DIRECTORY is what `telltale pki init` made: its ca.crt and ca.key sign. Nodes' certificates stand
// in DIRECTORY/nodes; those that are missing, or were signed by another authority, are made.
absl::StatusOr<std::vector<agent::TlsTexts>> NodeCertificates(
    const std::string& directory, const std::vector<std::string>& nodes);

// Files of a viewer's certificate, for questions; made if missing.
struct ViewerFiles {
  std::string ca, cert, key;
};
absl::StatusOr<ViewerFiles> ViewerCertificate(const std::string& directory);

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_CERTIFICATES_H_
