// A status as gRPC says it: the codes are the same. Free function: any thread.

#ifndef TELLTALE_COLLECTOR_GRPC_STATUS_H_
#define TELLTALE_COLLECTOR_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace telltale {

inline grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

}  // namespace telltale

#endif  // TELLTALE_COLLECTOR_GRPC_STATUS_H_
