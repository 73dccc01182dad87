#include "tests/support/https_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>

namespace telltale::testing {

HttpsClient::HttpsClient(const Options& options) {
  // OpenSSL writes without MSG_NOSIGNAL, also to a server that has just refused us.
  std::signal(SIGPIPE, SIG_IGN);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A server that never answers fails the test instead of hanging it.
  const timeval limit{30, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_locations(context_, options.ca_file.c_str(), nullptr);
  if (options.max_tls_version != 0) {
    SSL_CTX_set_max_proto_version(context_, options.max_tls_version);
  }
  if (options.client.has_value()) {
    SSL_CTX_use_certificate_chain_file(context_, options.client->cert.c_str());
    SSL_CTX_use_PrivateKey_file(context_, options.client->key.c_str(), SSL_FILETYPE_PEM);
  }
  if (options.http2) {
    constexpr unsigned char kHttp2[] = "\x02h2";
    SSL_CTX_set_alpn_protos(context_, kHttp2, sizeof kHttp2 - 1);
  }
  ssl_ = SSL_new(context_);
  X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), "127.0.0.1");
  SSL_set_fd(ssl_, socket_);
  ok_ = SSL_connect(ssl_) == 1;
}

HttpsClient::~HttpsClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
  close(socket_);
}

long HttpsClient::server_serial() const {
  X509* certificate = SSL_get1_peer_certificate(ssl_);
  const long serial = ASN1_INTEGER_get(X509_get0_serialNumber(certificate));
  X509_free(certificate);
  return serial;
}

void HttpsClient::Send(const std::string& bytes) {
  if (!ok_ || bytes.empty()) return;
  ok_ = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

bool HttpsClient::Fill() {
  char bytes[16384];
  const int got = ssl_ == nullptr ? 0 : SSL_read(ssl_, bytes, sizeof bytes);
  if (got <= 0) return false;
  pending_.append(bytes, static_cast<size_t>(got));
  return true;
}

std::optional<std::string> HttpsClient::Take(size_t bytes) {
  while (pending_.size() < bytes) {
    if (!Fill()) return std::nullopt;
  }
  std::string taken = pending_.substr(0, bytes);
  pending_.erase(0, bytes);
  return taken;
}

std::optional<std::string> HttpsClient::TakeLine() {
  size_t end;
  while ((end = pending_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return std::nullopt;
  }
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 2);
  return line;
}

HttpReply HttpsClient::ReadHeader() {
  HttpReply reply;
  const auto first = TakeLine();
  if (!first.has_value() || first->size() < 12) return reply;
  reply.status = std::atoi(first->c_str() + 9);
  while (true) {
    const auto line = TakeLine();
    if (!line.has_value()) return HttpReply{};
    if (line->empty()) return reply;
    std::string name = line->substr(0, line->find(':'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = line->substr(std::min(line->size(), line->find(':') + 2));
  }
}

std::string HttpsClient::ReadChunk() {
  const auto size = TakeLine();
  if (!size.has_value()) return {};
  const size_t bytes = std::strtoul(size->c_str(), nullptr, 16);
  auto chunk = Take(bytes + 2);
  if (!chunk.has_value()) return {};
  return chunk->substr(0, bytes);
}

HttpReply HttpsClient::Read() {
  HttpReply reply = ReadHeader();
  if (reply.headers.contains("transfer-encoding")) {
    while (true) {
      const auto size = TakeLine();
      if (!size.has_value()) return reply;
      const size_t bytes = std::strtoul(size->c_str(), nullptr, 16);
      const auto chunk = Take(bytes + 2);
      if (!chunk.has_value()) return reply;
      if (bytes == 0) break;
      reply.body += chunk->substr(0, bytes);
    }
    reply.complete = true;
  } else if (reply.headers.contains("content-length")) {
    const auto body = Take(std::strtoul(reply.headers["content-length"].c_str(), nullptr, 10));
    reply.complete = body.has_value();
    reply.body = body.value_or("");
  }
  return reply;
}

bool HttpsClient::Closed() {
  while (Fill()) {
  }
  return true;
}

HttpReply HttpsClient::Get(const std::string& target, const std::string& headers) {
  Send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
  return Read();
}

HttpReply HttpsClient::Post(const std::string& target, const std::string& type,
                            const std::string& body) {
  Send("POST " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " + type +
       "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return Read();
}

}  // namespace telltale::testing
