// The files that say who this node is: tls.ca, tls.cert, tls.key. A new identity takes their place
// so that a crash at any moment leaves one that works:
//
//   KEY.next      the key that is being certified, made before anybody is asked, mode 0600
//   KEY.request   the signing request for it; while it is there a repeated enrolment asks for the
//                 same, and gets the same certificate
//   CERT.next     its certificate, whole and on disk before the key changes
//
// and then KEY.next becomes KEY, CERT.next becomes CERT. Between these two renames key and
// certificate do not fit; FinishIdentity ends it.
//
// Free functions; one process at a time.

#ifndef TELLTALE_AGENT_ENROLL_IDENTITY_FILES_H_
#define TELLTALE_AGENT_ENROLL_IDENTITY_FILES_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/enroll/node_key.h"
#include "agent/uplink/tls.h"

namespace telltale::agent {

// Whose the files are: of the process that talks to the network; none: of who writes them.
struct FileOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// A key with its request, made and on disk; the one there is if its request is.
absl::StatusOr<NodeKey> StageKey(const TlsFiles& files, const std::optional<FileOwner>& owner);
// Forgets it: the next StageKey makes another.
void DropStagedKey(const TlsFiles& files);

// The three files from now on. `key` was staged or is new; it is checked against the certificate.
absl::Status InstallIdentity(const TlsFiles& files, const std::string& key,
                             const std::string& certificate_pem, const std::string& authorities_pem,
                             const std::optional<FileOwner>& owner);

// After a crash between the renames: makes the second one. Does nothing if key and certificate fit.
void FinishIdentity(const TlsFiles& files);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_ENROLL_IDENTITY_FILES_H_
