// The gRPC server: mutual TLS, size limits, keepalive, bounded age of connections, and the
// services it was given. Made, started and stopped by the collector.

#ifndef TELLTALE_COLLECTOR_GRPC_SERVER_H_
#define TELLTALE_COLLECTOR_GRPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/grpc_connections.h"
#include "collector/grpc_listener.h"
#include "collector/grpc_stats.h"
#include "collector/tls.h"
#include "config/values.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace telltale::collector {

struct GrpcServerOptions {
  config::Address listen;
  TlsFiles tls;
  const char* option = "listen.grpc";  // what the address is called, for people
  bool ask_certificates = true;        // false: for those who have none yet
  int max_threads = 0;                 // of all calls together; beyond it they are refused; 0: any
  uint32_t connection_age_s = 3600;
  uint32_t connection_grace_s = 10;  // for streams of a connection whose age is reached
  // Pings an idle connection, and ends it if nothing comes back. Of a fleet that brings an epoch a
  // minute most connections are idle; a host of both, or a network, may stand still for some
  // seconds without that all of them come anew.
  uint32_t keepalive_s = 30;
  uint32_t keepalive_timeout_s = 20;
  uint32_t handshake_s = 30;  // from the connection to the end of TLS and settings
  ConnectionPace pace = ConnectionPace::OfMachine();
  int max_message_bytes = GrpcConnection::kMessage;
  int max_metadata_bytes = 8 << 10;        // headers of a call
  GrpcStats* stats = nullptr;              // outlives the server; null: nothing is counted
  bool counts_handshakes = true;           // failed ones, of the whole process: one server does
  GrpcConnections* connections = nullptr;  // outlives the server; null: of its own, told nobody
};

// Has each connection of this process hold 8 KiB to read into instead of 64: gRPC 1.51 takes a
// piece of the large kind for ever once messages of 12 KiB and more came, whatever its option for
// the size of pieces says, unless this experiment of it is off. An experiment named by the
// environment wins. Before the first use of gRPC.
void BoundReadPieces();

class GrpcServer {
 public:
  // The services outlive the server. Unavailable: the address is taken or not ours.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const GrpcServerOptions& options, const std::vector<grpc::Service*>& services);
  ~GrpcServer();

  uint16_t port() const;
  // Streams get so long to end, then they are cut. Idempotent.
  void Stop(uint32_t grace_ms);

 private:
  GrpcServer(std::unique_ptr<GrpcConnections> own, std::unique_ptr<grpc::Server> server,
             std::unique_ptr<GrpcListener> listener, bool counts);
  const std::unique_ptr<GrpcConnections> own_;  // unless the options brought some
  std::unique_ptr<grpc::Server> server_;
  const std::unique_ptr<GrpcListener> listener_;
  const bool counts_;  // handshakes, into the options' stats
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_GRPC_SERVER_H_
