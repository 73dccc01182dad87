// `telltale pki init | issuing | issue | revoke | show`: a PKI in a directory.

#ifndef TELLTALE_COLLECTOR_CLI_PKI_COMMAND_H_
#define TELLTALE_COLLECTOR_CLI_PKI_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace telltale::cli {

struct PkiFlags {
  std::string dir;
  std::string name;  // init: of the authority
  std::string role;  // node | operator | viewer | collector
  std::vector<std::string> dns, ips;
  int days = 0;  // 0: 3,650 for the authority, 825 for what it issues
  bool force = false;
  // revoke
  bool issuing = false;  // of DIR/issuing.*, not of DIR/ca.*
  std::vector<std::string> certificates, serials;
};

// Writes DIR/ca.crt and DIR/ca.key. Returns what to tell the user.
absl::StatusOr<std::string> PkiInit(const PkiFlags& flags, absl::Time now);

// Writes DIR/issuing.crt and DIR/issuing.key: an authority below DIR/ca.* that signs leaves only.
// What the one before it had revoked stays so: it signs its list in DIR/crl.pem anew, if there is
// one. InvalidArgument: there is, and the name is another.
absl::StatusOr<std::string> PkiIssuing(const PkiFlags& flags, absl::Time now);

// Puts certificates on the list DIR/crl.pem, which it makes if there is none.
absl::StatusOr<std::string> PkiRevoke(const PkiFlags& flags, absl::Time now);

// Writes DIR/ROLE-NAME.crt and DIR/ROLE-NAME.key, signed by DIR/ca.*. A collector's certificate
// needs the names its clients use: without --dns and --ip it gets NAME. AlreadyExists without
// --force.
absl::StatusOr<std::string> PkiIssue(const PkiFlags& flags, absl::Time now);

// What a certificate file says, for people.
absl::StatusOr<std::string> PkiShow(const std::string& path, absl::Time now);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_PKI_COMMAND_H_
