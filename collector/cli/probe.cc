#include "collector/cli/probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collector/cli/terminal_text.h"

namespace telltale::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Target {
  std::string host, port;
};

Target Split(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, "7410"};
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

bool WaitFor(int fd, short events, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd poll_fd{fd, events, 0};
    const int ready = poll(&poll_fd, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

// A connected, non-blocking socket, or why there is none. `fd` is the caller's to close.
absl::Status Connect(const Target& target, Clock::time_point deadline, int* fd) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("collector ", target.host, ":", target.port,
                                               ": host name: ", gai_strerror(error),
                                               "; check --collector or TELLTALE_COLLECTOR"));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &freeaddrinfo);
  int last = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    *fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0) continue;
    last = connect(*fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (last == EINPROGRESS) {
      last = ETIMEDOUT;
      if (WaitFor(*fd, POLLOUT, deadline)) {
        socklen_t size = sizeof last;
        getsockopt(*fd, SOL_SOCKET, SO_ERROR, &last, &size);
      }
    }
    if (last == 0) return absl::OkStatus();
    close(*fd);
    *fd = -1;
  }
  return absl::UnavailableError(absl::StrCat(
      "collector ", target.host, ":", target.port, ": no TCP connection: ", strerror(last),
      last == ECONNREFUSED ? "; nothing listens there: is the collector running, is the port right?"
                           : "; check the network and --collector"));
}

// `saw_ours`: the server had our certificate when it gave up.
absl::Status HandshakeError(SSL* ssl, const Settings& settings, bool saw_ours) {
  const long verify = SSL_get_verify_result(ssl);
  if (verify == X509_V_ERR_HOSTNAME_MISMATCH || verify == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return absl::FailedPreconditionError(
        absl::StrCat("collector ", settings.collector,
                     ": its certificate is for other names than this one; use one of "
                     "them with --collector, or issue it again with --dns or --ip"));
  }
  if (verify != X509_V_OK) {
    return absl::FailedPreconditionError(absl::StrCat(
        "collector ", settings.collector, ": its certificate is not accepted with ", settings.ca,
        ": ", X509_verify_cert_error_string(verify), "; give its authority with --ca"));
  }
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  char text[256] = "connection closed";
  if (error != 0) ERR_error_string_n(error, text, sizeof text);
  // Reasons from 1000 up are alerts the peer sent: it judged our certificate.
  if (reason >= SSL_AD_REASON_OFFSET && reason != SSL_R_TLSV1_ALERT_PROTOCOL_VERSION) {
    return absl::UnauthenticatedError(
        absl::StrCat("collector ", settings.collector, ": it refuses our certificate ",
                     settings.cert, " (", ERR_reason_error_string(error),
                     "); use one of its authority: telltale pki show ", settings.cert));
  }
  // Some servers close without an alert when they refuse a certificate.
  if (saw_ours) {
    return absl::UnauthenticatedError(absl::StrCat(
        "collector ", settings.collector, ": it closed the connection when it saw our certificate ",
        settings.cert, "; use one of its authority: telltale pki show ", settings.cert));
  }
  return absl::UnavailableError(absl::StrCat("collector ", settings.collector,
                                             ": no TLS handshake (", text,
                                             "); is this the collector's gRPC port?"));
}

// Drives one OpenSSL step to its end. 1: done; 0 or less: failed.
int Drive(SSL* ssl, int fd, Clock::time_point deadline, int (*step)(SSL*)) {
  while (true) {
    ERR_clear_error();
    const int result = step(ssl);
    if (result == 1) return 1;
    const int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_WANT_READ && WaitFor(fd, POLLIN, deadline)) continue;
    if (error == SSL_ERROR_WANT_WRITE && WaitFor(fd, POLLOUT, deadline)) continue;
    return error == SSL_ERROR_WANT_READ ? 0 : -1;
  }
}

// Under TLS 1.3 a server judges our certificate after our side of the handshake is done: its alert
// is read here.
int ReadOne(SSL* ssl) {
  char byte = 0;
  return SSL_read(ssl, &byte, 1) > 0 ? 1 : -1;
}

absl::Status Shake(const Settings& settings, const Target& target, int fd,
                   Clock::time_point deadline) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             &SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_locations(context.get(), settings.ca.c_str(), nullptr) != 1 ||
      SSL_CTX_use_certificate_chain_file(context.get(), settings.cert.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), settings.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return absl::OkStatus();  // the caller checked these files; nothing to add
  }
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), &SSL_free);
  const unsigned char protocols[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), protocols, sizeof protocols);
  in6_addr ignored{};
  const bool is_ip = inet_pton(AF_INET, target.host.c_str(), &ignored) == 1 ||
                     inet_pton(AF_INET6, target.host.c_str(), &ignored) == 1;
  if (is_ip) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), target.host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl.get(), target.host.c_str());
    SSL_set1_host(ssl.get(), target.host.c_str());
  }
  SSL_set_fd(ssl.get(), fd);
  const int shaken = Drive(ssl.get(), fd, deadline, &SSL_connect);
  if (shaken == 0) {
    return absl::UnavailableError(
        absl::StrCat("collector ", settings.collector,
                     ": connected, but it does not answer the TLS handshake; is this its "
                     "gRPC port, is it overloaded?"));
  }
  if (shaken < 0)
    return HandshakeError(ssl.get(), settings, SSL_get0_peer_certificate(ssl.get()) != nullptr);
  const Clock::time_point soon = std::min(deadline, Clock::now() + std::chrono::milliseconds(500));
  // Silence or data: the server is content. Only an alert is an answer.
  if (Drive(ssl.get(), fd, soon, &ReadOne) < 0 && ERR_peek_last_error() != 0)
    return HandshakeError(ssl.get(), settings, true);
  return absl::OkStatus();
}

}  // namespace

absl::Status ProbeCollector(const Settings& settings, std::chrono::seconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const Target target = Split(settings.collector);
  int fd = -1;
  if (absl::Status status = Connect(target, deadline, &fd); !status.ok()) return status;
  absl::Status status = Shake(settings, target, fd, deadline);
  close(fd);
  ERR_clear_error();
  return status;
}

}  // namespace telltale::cli
