// One simulated agent's stream: gRPC with mutual TLS on a connection of its own, as the agent's
// (agent/uplink/grpc_transport.h), with what a measurement needs besides: the moment each answer
// arrived, bytes, and a reader that can be told to stop reading.
//
// Called by the loop that owns the node; gRPC's threads only gather events and call `wake`.

#ifndef TELLTALE_TESTS_FLEETSIM_NODE_STREAM_H_
#define TELLTALE_TESTS_FLEETSIM_NODE_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/uplink/channel_keeper.h"
#include "agent/uplink/tls.h"
#include "agent/uplink/transport.h"

namespace telltale::fleetsim {

class NodeStream final : public agent::Transport {
 public:
  struct Event {
    std::optional<v1::CollectorMessage> message;  // else the stream has ended:
    absl::Status closed;
    uint64_t mono_ns = 0;  // when it came
  };

  // `wake` may run on any thread, also after this is gone.
  NodeStream(std::string collector, const agent::TlsTexts* tls, std::function<void()> wake);
  ~NodeStream() override;

  void Open() override;
  void Send(v1::AgentMessage message) override;
  void Finish() override;
  void Abort() override;

  // What happened since the last call, in order, of the present stream only.
  std::vector<Event> TakeEvents();
  // Answers stay where they are, in the connection's buffers, until told otherwise.
  void SetReading(bool reading);

 private:
  class Call;

  const std::string collector_;
  const agent::TlsTexts* const tls_;
  const std::function<void()> wake_;
  agent::ChannelKeeper channels_;
  std::shared_ptr<Call> call_;
};

uint64_t MonoNowNs();
uint64_t WallNowNs();

}  // namespace telltale::fleetsim

#endif  // TELLTALE_TESTS_FLEETSIM_NODE_STREAM_H_
