#include "collector/grpc_server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
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
  const std::string host = address.host.empty() ? "[::]"
                           : address.host.find(':') != std::string::npos
                               ? absl::StrCat("[", address.host, "]")
                               : address.host;
  return absl::StrCat(host, ":", address.port);
}

}  // namespace

void BoundReadPieces() { setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0); }

GrpcServer::GrpcServer(std::unique_ptr<GrpcConnections> own, std::unique_ptr<grpc::Server> server,
                       std::unique_ptr<GrpcListener> listener, bool counts)
    : own_(std::move(own)),
      server_(std::move(server)),
      listener_(std::move(listener)),
      counts_(counts) {}

GrpcServer::~GrpcServer() {
  Stop(0);
  if (counts_) CountHandshakes(nullptr);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const GrpcServerOptions& options, const std::vector<grpc::Service*>& services) {
  const bool counts = options.stats != nullptr && options.counts_handshakes;
  if (counts) CountHandshakes(options.stats);
  const auto cannot = [&options](absl::string_view why) {
    return absl::UnavailableError(absl::StrCat("listen: gRPC address ", Joined(options.listen),
                                               ": ", why, "; choose another with ",
                                               options.option));
  };
  std::unique_ptr<GrpcConnections> own;
  if (options.connections == nullptr) own = std::make_unique<GrpcConnections>(options.stats);
  auto listener = GrpcListener::Bind(options.listen, options.pace, options.stats,
                                     own != nullptr ? own.get() : options.connections);
  if (!listener.ok()) return cannot(listener.status().message());
  grpc::ServerBuilder builder;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      options.ask_certificates ? MakeServerCredentials(options.tls)
                               : MakeOpenServerCredentials(options.tls));
  if (options.max_threads > 0) {
    builder.SetResourceQuota(grpc::ResourceQuota().SetMaxThreads(options.max_threads));
  }
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
  if (server == nullptr) return cannot("gRPC does not start, its log says why");
  (*listener)->Start(std::move(acceptor));
  return std::unique_ptr<GrpcServer>(
      new GrpcServer(std::move(own), std::move(server), *std::move(listener), counts));
}

uint16_t GrpcServer::port() const { return listener_->port(); }

void GrpcServer::Stop(uint32_t grace_ms) {
  if (server_ == nullptr) return;
  listener_->Stop();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
  server_->Wait();
  server_.reset();
}

}  // namespace telltale::collector
