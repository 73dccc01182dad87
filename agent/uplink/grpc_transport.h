// The stream to the collector over gRPC with mutual TLS. Events are gathered on gRPC's threads and
// fetched by the uplink's main thread, which `wake` (any thread) tells to look. Each Open makes a
// connection of its own, so that only the uplink's logic decides when to try again.

#ifndef TELLTALE_AGENT_UPLINK_GRPC_TRANSPORT_H_
#define TELLTALE_AGENT_UPLINK_GRPC_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/uplink/channel_keeper.h"
#include "agent/uplink/tls.h"
#include "agent/uplink/transport.h"

namespace telltale::agent {

class GrpcTransport : public Transport {
 public:
  struct Options {
    std::string collector;   // host:port
    std::string name_check;  // expected in the collector's certificate; empty: the host
    TlsFiles tls;
    std::string node;  // whose certificate it must be
  };
  struct Event {
    std::optional<v1::CollectorMessage> message;  // else the stream has ended:
    absl::Status closed;
  };

  GrpcTransport(Options options, std::function<void()> wake);
  ~GrpcTransport() override;

  void Open() override;
  void Send(v1::AgentMessage message) override;
  void Finish() override;
  void Abort() override;

  // What happened since the last call, in order, of the present stream only.
  std::vector<Event> TakeEvents();

 private:
  class Stream;

  const Options options_;
  const std::function<void()> wake_;
  ChannelKeeper channels_;
  std::shared_ptr<Stream> stream_;
  std::optional<absl::Status> failed_;  // to begin the stream
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_GRPC_TRANSPORT_H_
