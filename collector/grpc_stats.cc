#include "collector/grpc_stats.h"

#include <grpc/support/log.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <charconv>

#include "spdlog/spdlog.h"

namespace telltale::collector {
namespace {

constexpr std::string_view kFailed = "Handshake failed";
constexpr std::string_view kGivenUp = "Handshaking failed";
constexpr std::string_view kTimedOut = "Handshake timed out";
constexpr std::string_view kError = "error:";

// gRPC's log function has no argument of its own.
std::atomic<GrpcStats*>& Counted() {
  static std::atomic<GrpcStats*> stats{nullptr};
  return stats;
}

// What gRPC calls an error is often a peer's fault and nothing to act on.
void ForwardLog(gpr_log_func_args* args) {
  spdlog::debug("grpc: {} ({}:{})", args->message, args->file, args->line);
  GrpcStats* stats = Counted().load();
  if (stats == nullptr) return;
  if (const auto refusal = HandshakeRefusal(args->message)) stats->Refuse(*refusal);
}

}  // namespace

const char* GrpcRefusalName(GrpcRefusal refusal) {
  switch (refusal) {
    case GrpcRefusal::kFiles:
      return "files";
    case GrpcRefusal::kRate:
      return "rate";
    case GrpcRefusal::kAccept:
      return "accept";
    case GrpcRefusal::kNoCertificate:
      return "no_certificate";
    case GrpcRefusal::kCertificate:
      return "certificate";
    case GrpcRefusal::kOldTls:
      return "old_tls";
    case GrpcRefusal::kNotTls:
      return "not_tls";
    case GrpcRefusal::kHandshake:
      return "handshake";
    case GrpcRefusal::kHandshakeTimeout:
      return "handshake_timeout";
    case GrpcRefusal::kFlood:
      return "flood";
    case GrpcRefusal::kDenied:
      return "denied";
    case GrpcRefusal::kBusy:
      return "busy";
    case GrpcRefusal::kParameter:
      return "parameter";
    case GrpcRefusal::kTooLarge:
      return "too_large";
    case GrpcRefusal::kNoRoom:
      return "no_room";
    case GrpcRefusal::kFollowers:
      return "followers";
    case GrpcRefusal::kStalled:
      return "stalled";
    case GrpcRefusal::kEnd:
      break;
  }
  return "";
}

std::optional<GrpcRefusal> HandshakeRefusal(std::string_view log_line) {
  if (log_line.starts_with(kGivenUp) && log_line.find(kTimedOut) != std::string_view::npos) {
    return GrpcRefusal::kHandshakeTimeout;
  }
  if (!log_line.starts_with(kFailed)) return std::nullopt;
  const size_t at = log_line.find(kError);
  if (at == std::string_view::npos) return GrpcRefusal::kHandshake;
  const std::string_view digits = log_line.substr(at + kError.size());
  unsigned long code = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return GrpcRefusal::kHandshake;
  switch (ERR_GET_REASON(code)) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return GrpcRefusal::kNoCertificate;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return GrpcRefusal::kCertificate;
    case SSL_R_NO_SHARED_CIPHER:  // RequireTls13 leaves older versions none
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
      return GrpcRefusal::kOldTls;
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return GrpcRefusal::kNotTls;
    default:
      return GrpcRefusal::kHandshake;
  }
}

void CountHandshakes(GrpcStats* stats) {
  Counted().store(stats);
  gpr_set_log_function(ForwardLog);
  // Handshakes that time out are to gRPC something for developers. A call that goes well writes no
  // line of that kind either.
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG);
}

}  // namespace telltale::collector
