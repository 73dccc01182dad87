#include "collector/grpc_server.h"

#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::collector {
namespace {

constexpr int kMsPerS = 1000;
// What each connection holds for as long as it is open, also while nothing comes: room for the next
// piece of what is read (see BoundReadPieces), and for a TLS record of what is written, which gRPC
// would let have 16 KiB; a fleet has a connection a node, which brings an epoch a minute and is
// told little.
constexpr int kReadBytes = 8 << 10;
constexpr int kRecordBytes = 4 << 10;

std::string Joined(const config::Address& address) {
  // gRPC's and everybody's way to say "every interface, both families".
  const std::string host = address.host.empty() ? "[::]"
                           : address.host.find(':') != std::string::npos
                               ? absl::StrCat("[", address.host, "]")
                               : address.host;
  return absl::StrCat(host, ":", address.port);
}

// Why an address cannot be listened on: gRPC only says that it cannot.
std::string WhyNot(const config::Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(address.host.empty() ? "::" : address.host.c_str(),
                               std::to_string(address.port).c_str(), &hints, &found);
  if (code != 0) return gai_strerror(code);
  std::string reason = "no reason given";
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0) {
    reason = std::strerror(errno);
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return reason;
}

}  // namespace

void BoundReadPieces() { setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0); }

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, uint16_t port, bool counts)
    : server_(std::move(server)), port_(port), counts_(counts) {}

GrpcServer::~GrpcServer() {
  Stop(0);
  if (counts_) CountHandshakes(nullptr);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const GrpcServerOptions& options, const std::vector<grpc::Service*>& services) {
  if (options.stats != nullptr) CountHandshakes(options.stats);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(Joined(options.listen),
                           options.ask_certificates ? MakeServerCredentials(options.tls)
                                                    : MakeOpenServerCredentials(options.tls),
                           &port);
  if (options.max_threads > 0) {
    builder.SetResourceQuota(grpc::ResourceQuota().SetMaxThreads(options.max_threads));
  }
  // Without this two collectors on one port would share it in silence.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                             static_cast<int>(options.connection_age_s) * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             static_cast<int>(options.connection_grace_s) * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(options.keepalive_s) * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(options.keepalive_timeout_s) * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5 * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_s) * kMsPerS);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, options.max_metadata_bytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kRecordBytes);
  // With it each epoch would cost a ping there and back, and each connection a timer, to find out
  // how much may be on its way at once; 64 KiB, several epochs, are enough for an agent.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  // Summaries are compressed already, and gRPC would unpack a message before it looks at its size.
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("listen: gRPC address ", Joined(options.listen),
                                               ": ", WhyNot(options.listen),
                                               "; choose another with ", options.option));
  }
  return std::unique_ptr<GrpcServer>(
      new GrpcServer(std::move(server), static_cast<uint16_t>(port), options.stats != nullptr));
}

void GrpcServer::Stop(uint32_t grace_ms) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
  server_->Wait();
  server_.reset();
}

}  // namespace telltale::collector
