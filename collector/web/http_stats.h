// What the HTTPS server counts: connections, answers, and each thing it refused, by reason. Written
// by the server, read by /metrics at any time; no locks.

#ifndef TELLTALE_COLLECTOR_WEB_HTTP_STATS_H_
#define TELLTALE_COLLECTOR_WEB_HTTP_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace telltale::web {

enum class Refusal : uint8_t {
  // Connections.
  kAccept,   // accept() failed, most often for want of a file descriptor; who waits is taken later
  kFull,     // above a limit of open connections
  kRate,     // an address that knocks too often, or asks too often without saying who it is
  kTls,      // handshakes: not TLS 1.3, a certificate that is not good, too slow ...
  kTimeout,  // request or reader too slow
  kAborted,  // answers cut off in the middle
  // Requests that were not read to their end.
  kBadRequest,   // not HTTP/1.1, or readable in two ways
  kHeaderLimit,  // line and headers
  kBodyLimit,
  // Requests that were read and not answered as asked.
  kParameter,  // target, query or body that makes no question
  kUnauthenticated,
  kToken,  // unknown, expired, revoked
  kForbidden,
  kNotFound,
  kMethod,
  kTooLarge,   // a question that would read or draw too much
  kFollowers,  // one more than may follow
  kNoRoom,     // an order to keep one more than the most there may be
  kEnd,
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kEnd);

// Lower-case name for labels: "header_limit".
const char* RefusalName(Refusal refusal);
// What an answer of this HTTP status refuses, if anything and if its handler did not say.
std::optional<Refusal> RefusalOf(int http_status);

struct HttpStats {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> reloads{0};
  std::atomic<uint64_t> reload_failures{0};
  std::atomic<uint64_t> open{0};                   // connections now
  std::array<std::atomic<uint64_t>, 6> answers{};  // by first digit of the status

  void Refuse(Refusal refusal) { ++refused[static_cast<size_t>(refusal)]; }
  uint64_t Refused(Refusal refusal) const { return refused[static_cast<size_t>(refusal)]; }

  std::array<std::atomic<uint64_t>, kRefusals> refused{};
};

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_STATS_H_
