// What was refused over gRPC: connections and handshakes by reason, calls of those who may not make
// them, and what services turn away of those who may. Why a handshake failed gRPC 1.51 tells its
// log alone; CountHandshakes reads it there. Counts are written by gRPC's threads without locks and
// read by /metrics at any time.

#ifndef TELLTALE_COLLECTOR_GRPC_STATS_H_
#define TELLTALE_COLLECTOR_GRPC_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace telltale::collector {

enum class GrpcRefusal : uint8_t {
  // Connections, before a handshake.
  kFiles,   // the process has few file descriptors left
  kRate,    // too many from one address
  kAccept,  // accept() failed, most often for want of one; who waits is taken once it goes again
  // Handshakes.
  kNoCertificate,
  kCertificate,  // of another authority, or not valid now
  kOldTls,       // nothing newer than TLS 1.2 was offered
  kNotTls,
  kHandshake,  // anything else that is wrong with it
  kHandshakeTimeout,
  // Open connections.
  kFlood,  // brought far more than the messages of its calls
  // Calls.
  kDenied,     // role, name or revocation of the certificate; those of agents count with ingest
  kBusy,       // a question while too many wait
  kParameter,  // a question or an order that says something impossible
  kTooLarge,   // a question that would read, draw or tell too much
  kNoRoom,     // an order to keep one more silence or note than there may be
  kFollowers,  // one more than may follow
  kStalled,    // a follower who reads nothing
  kEnd,
};
inline constexpr size_t kGrpcRefusals = static_cast<size_t>(GrpcRefusal::kEnd);

// Lower-case name for labels: "no_certificate".
const char* GrpcRefusalName(GrpcRefusal refusal);

struct GrpcStats {
  void Refuse(GrpcRefusal refusal) { ++refused[static_cast<size_t>(refusal)]; }
  // Counts an answer of a service with this code if it refuses what was asked: kParameter, and
  // `too_much` where a limit stands against it.
  void CountAnswer(absl::StatusCode code, GrpcRefusal too_much) {
    if (code == absl::StatusCode::kInvalidArgument) Refuse(GrpcRefusal::kParameter);
    if (code == absl::StatusCode::kResourceExhausted) Refuse(too_much);
  }
  std::array<std::atomic<uint64_t>, kGrpcRefusals> refused{};
  std::atomic<uint64_t> waiting{0};  // connections that wait for their turn, now
};

// What a line of gRPC's log says about a handshake, if it is about one that failed.
std::optional<GrpcRefusal> HandshakeRefusal(std::string_view log_line);

// Sends gRPC's log to ours, and counts failed handshakes in `stats` from now on; null: no more.
// The log is the process's, so there is one such counter at a time.
void CountHandshakes(GrpcStats* stats);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_GRPC_STATS_H_
