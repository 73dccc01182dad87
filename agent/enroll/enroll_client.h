// The agent's questions to whoever issues certificates, over gRPC. Each call makes a connection of
// its own and ends within `kCallS`. Any thread; blocking.

#ifndef TELLTALE_AGENT_ENROLL_ENROLL_CLIENT_H_
#define TELLTALE_AGENT_ENROLL_ENROLL_CLIENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/uplink/tls.h"
#include "telltale/v1/enroll.pb.h"

namespace telltale::agent {

struct EnrollServer {
  std::string address;     // host:port
  std::string name_check;  // expected in its certificate; empty: the host
};

inline constexpr int kEnrollCallS = 15;

// The authority (PEM) with this SHA-256 (hexadecimal), as whoever answers gives it. Nothing is told
// to it: who it is turns out with the next call. NotFound: it gives others.
absl::StatusOr<std::string> FetchAuthority(const EnrollServer& server, const std::string& sha256);

// To a collector that `authority_pem` signed. Codes as of enroll.proto.
absl::StatusOr<v1::EnrollAnswer> AskToEnroll(const EnrollServer& server,
                                             const std::string& authority_pem,
                                             const v1::EnrollRequest& request);

// With the node's own certificate. FailedPrecondition, Unimplemented: that collector issues none.
absl::StatusOr<v1::IssuedCertificate> AskToRenew(const EnrollServer& server, const TlsTexts& own,
                                                 const std::string& signing_request);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_ENROLL_ENROLL_CLIENT_H_
