// What gRPC 1.51 says when a call fails, and what the person who reads it can do about it. Free
// function, any thread.

#ifndef TELLTALE_AGENT_UPLINK_GRPC_TROUBLE_H_
#define TELLTALE_AGENT_UPLINK_GRPC_TROUBLE_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace telltale::agent {

// With the same code.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_GRPC_TROUBLE_H_
