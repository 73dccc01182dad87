#include "agent/uplink/grpc_trouble.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr const char* kClosed =
    "the collector closed the connection; if it says so at once, it does not accept tls.cert "
    "(other authority, expired or revoked)";

constexpr struct {
  const char* said;
  const char* meaning;
} kKnownTroubles[] = {
    {"Hostname Verification Check failed",
     "the collector's certificate is not for this host name; correct collector or set "
     "tls.server_name"},
    {"certificate verify failed",
     "the collector's certificate is not signed by tls.ca, or expired"},
    {"Connection refused", "nobody listens there; is the collector running, is the port right?"},
    {"DNS resolution failed", "the host name is not known; correct collector"},
    {"alert handshake failure",
     "what answers there does not speak TLS 1.3, and nothing older is accepted; is it the "
     "collector, "
     "or an old proxy before it?"},
    {"Socket closed", kClosed},
    {"Connection reset by peer", kClosed},
};

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  std::string text = status.error_message();
  for (const auto& trouble : kKnownTroubles) {
    if (absl::StrContains(text, trouble.said)) {
      text = absl::StrCat(trouble.meaning, " (", trouble.said, ")");
      break;
    }
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
}

}  // namespace telltale::agent
