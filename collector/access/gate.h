// Whom gRPC calls are let do what: who calls is read off the certificate, what an operator did and
// what was refused to whom is written down. The one way in for the services people use; what agents
// send is judged by ingest.
//
// Thread-safe. Made by the collector, shared by its services; what it is made with outlives it.

#ifndef TELLTALE_COLLECTOR_ACCESS_GATE_H_
#define TELLTALE_COLLECTOR_ACCESS_GATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/access/audit_log.h"
#include "collector/feed/asker.h"
#include "collector/grpc_connections.h"
#include "collector/grpc_stats.h"
#include "collector/peer.h"
#include "collector/revocation.h"

namespace telltale::access {

// "operator/alice", as notes and the audit log show it.
std::string Who(const collector::Identity& identity);

class Gate {
 public:
  // `stats` counts the calls of those who may not make them, `connections` are told of the others.
  Gate(const collector::RevocationList* revoked, collector::GrpcStats* stats,
       const collector::GrpcConnections* connections, AuditLog* audit)
      : revoked_(revoked), stats_(stats), connections_(connections), audit_(audit) {}

  // Operators and viewers ask; a node writes and does not read about others. PermissionDenied, or
  // as PeerOf. A refusal is counted, also that of an asker who may no longer.
  absl::StatusOr<feed::Asker> Asks(const grpc::ServerContextBase& context) const;
  absl::Status MayAsk(const grpc::ServerContextBase& context) const {
    return Asks(context).status();
  }

  // Who calls, if it is a `role`: PermissionDenied for others, or as PeerOf. A refusal of `action`
  // is counted and written down.
  absl::StatusOr<collector::Peer> Admit(const grpc::ServerContextBase& context,
                                        collector::Role role, const std::string& action) const;
  absl::StatusOr<collector::Peer> Operator(const grpc::ServerContextBase& context,
                                           const std::string& action) const {
    return Admit(context, collector::Role::kOperator, action);
  }

  // Writes down what who was admitted did; as AuditLog::Done.
  absl::Status Done(const collector::Peer& peer, const std::string& action,
                    const std::string& detail) const;

 private:
  void Admitted(const collector::Peer& peer) const;

  const collector::RevocationList* const revoked_;
  collector::GrpcStats* const stats_;
  const collector::GrpcConnections* const connections_;
  AuditLog* const audit_;
};

}  // namespace telltale::access

#endif  // TELLTALE_COLLECTOR_ACCESS_GATE_H_
