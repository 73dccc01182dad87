// Takes connections for gRPC, which gets them as open sockets.
//
// Why not gRPC's own listener: in gRPC 1.51 it never takes a connection again once accept failed
// for want of a file descriptor (tcp_server_posix.cc, on_read), while the kernel goes on greeting
// whoever comes; and it cannot refuse anybody before the handshake.
//
// When a whole fleet comes back at once no more begin than can agree on TLS in time; the others
// wait (WaitingRoom), and behind them in the kernel's queue, unless it is one address that
// crowds. Refuses, before TLS, whoever crowds others out, and everybody while the process has
// few file descriptors left, so that files of the store can still be opened. Belongs to one
// GrpcServer; has a thread of its own from Start to Stop.

#ifndef TELLTALE_COLLECTOR_GRPC_LISTENER_H_
#define TELLTALE_COLLECTOR_GRPC_LISTENER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/access/address_limits.h"
#include "collector/grpc_connections.h"
#include "collector/grpc_stats.h"
#include "collector/waiting_room.h"
#include "config/values.h"

namespace grpc::experimental {
class ExternalConnectionAcceptor;
}

namespace telltale::collector {

// Lets this process have as many files open as it may at most, for a connection is one. Before
// threads are there.
void RaiseFileLimit();

// How fast connections come in, before it is known whose they are.
struct ConnectionPace {
  double per_second, at_once;  // of those that are begun with, a bucket of tokens
  size_t handshakes;           // under way at most
  size_t waiting;              // at most, of all addresses
  // And so many more while an address has many, as many as the kernel would keep outside, where a
  // flood would keep everybody else out; an eighth of the open files at most.
  size_t crowding = 4'096;
  std::chrono::seconds longest_wait{30};
  // Two CPUs that have both ends to do agree on TLS 200 times a second, and less often while others
  // use them; who is begun with beyond that waits so long that agents give up (after 20 s), and was
  // work in vain. So is who waits longer than that.
  static ConnectionPace OfMachine();
};

class GrpcListener {
 public:
  // Sockets on every address the name stands for; what is taken in is one of `connections`, which
  // outlive this. Unavailable, without naming the address: none can be had.
  static absl::StatusOr<std::unique_ptr<GrpcListener>> Bind(const config::Address& listen,
                                                            const ConnectionPace& pace,
                                                            GrpcStats* stats,
                                                            const GrpcConnections* connections);
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  uint16_t port() const { return port_; }
  // From now on connections go to the acceptor, whose server has been started.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  // No connection comes after it. Idempotent.
  void Stop();

  // So many file descriptors of a process that may have `limit` are left to other things than
  // connections.
  static uint64_t Reserve(uint64_t limit);

 private:
  GrpcListener(const ConnectionPace& pace, GrpcStats* stats, const GrpcConnections* connections);
  int BindOne(int family, const void* address, uint32_t length);  // 0, or the error's number
  void Run();
  // Lets in what waits at one socket; false: none can be let in now.
  bool TakeFrom(int listener);
  void LetIn(int connection);
  void BeginWithThoseDue();
  void TurnOutThoseWhoWaitedTooLong();
  void Refuse(GrpcRefusal refusal);
  // Other listeners may count into the same stats.
  void TellWaiting(size_t now);
  void SayFull(uint64_t limit);

  GrpcStats* const stats_;  // null: nothing is counted
  const GrpcConnections* const connections_;
  access::AddressLimits pace_;
  const size_t most_handshakes_;
  const std::chrono::seconds longest_wait_;
  WaitingRoom waiting_;  // of the thread, while there is one
  size_t told_waiting_ = 0;
  std::vector<int> listeners_;
  int wake_ = -1;  // an eventfd
  uint16_t port_ = 0;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::atomic<bool> stopping_ = false;
  std::chrono::steady_clock::time_point said_full_{}, looked_{};
  std::thread thread_;
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_GRPC_LISTENER_H_
