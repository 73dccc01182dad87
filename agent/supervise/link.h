// The local sockets between the agent's processes: messages of one fixed size and a small fixed
// set, some with a file descriptor. What comes from the uplink is not trusted: it may settle,
// refuse, measure and look at seconds, nothing else, and every value is checked.
//
// One thread on each side, in poll(2). Sending never blocks: what the socket does not take waits,
// at most kMaxOutbox messages, then the other side is taken for dead.

#ifndef TELLTALE_AGENT_SUPERVISE_LINK_H_
#define TELLTALE_AGENT_SUPERVISE_LINK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/owned_fd.h"

namespace telltale::agent {

enum class LinkKind : uint32_t {
  // Sensor process to uplink process.
  kNodeInfo = 1,  // fd: a NodeInfo; text: the incarnation in hexadecimal
  kRecord = 2,    // value: sequence, bytes, start, end (unix ns), EpochKind; flag kFresh: just cut
  kHeld = 3,      // the same; fd: the record itself
  kLost = 4,      // value: first, last, reason, start, end; text: detail
  kReady = 5,     // everything that was in the spool at the start has been named
  kStop = 6,      // planned stop: send what is fresh, say goodbye, end
  kLogging = 7,   // text: level and format, as configured now
  kSecond = 8,    // fd: a Live, not kept anywhere

  // Uplink process to sensor process.
  kSettled = 32,       // value: sequence
  kSetAside = 33,      // value: sequence; text: reason
  kUnreadable = 34,    // value: sequence
  kLostRecorded = 35,  // value: first, last
  kClock = 36,         // value: offset (two's complement), error; ns
  kHlc = 37,           // value: stamp
  kNewStore = 38,
  // value: state, pending, in flight, stored, too late, refused, apart, next attempt (monotonic ns,
  // 0: none); text: what is wrong
  kUplinkStatus = 39,
  kWatch = 40,  // value: seconds for which each second is to be told

  // Supervisor to sensor process, and back.
  kUplinkStarted = 64,  // value: pid; fd: the link to it
  kWatching = 65,       // the sensor counts; said again each second in which its loop went round
};

struct LinkMessage {
  static constexpr size_t kValues = 9;
  static constexpr size_t kTextBytes = 320;
  static constexpr uint32_t kFresh = 1;

  uint32_t kind = 0;
  uint32_t flags = 0;
  uint64_t value[kValues] = {};
  char text[kTextBytes] = {};  // ends with a zero byte unless it is full

  LinkMessage() = default;
  LinkMessage(LinkKind k, std::initializer_list<uint64_t> values, std::string_view t = {});
  LinkKind Kind() const { return static_cast<LinkKind>(kind); }
  std::string Text() const;
};

struct LinkParcel {
  LinkMessage message;
  OwnedFd fd;
};

class Link {
 public:
  static constexpr size_t kMaxOutbox = 100'000;

  // Two ends; children inherit nothing they are not given.
  static absl::StatusOr<std::pair<OwnedFd, OwnedFd>> MakePair();

  explicit Link(OwnedFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool wants_write() const { return !outbox_.empty(); }

  void Send(const LinkMessage& message, OwnedFd fd = {});
  // Sends what waits, as far as the socket takes it. Unavailable: the other side is gone.
  absl::Status Flush();
  // All that can be read now. Unavailable: the other side is gone.
  absl::StatusOr<std::vector<LinkParcel>> Receive();

 private:
  OwnedFd fd_;
  std::deque<LinkParcel> outbox_;
};

// An anonymous file with this content, sealed against change; to be handed over the link.
absl::StatusOr<OwnedFd> MakeMemoryFile(std::string_view bytes);
// Its content, at most `max_bytes`.
absl::StatusOr<std::string> ReadMemoryFile(const OwnedFd& fd, size_t max_bytes);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SUPERVISE_LINK_H_
