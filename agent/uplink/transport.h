// The stream to the collector as the uplink's logic sees it. Implementations: GrpcTransport
// (grpc_transport.h) and the tests' own. Called on the uplink's main thread only, which also hands
// what happens to UplinkLogic::OnMessage and OnClosed.

#ifndef TELLTALE_AGENT_UPLINK_TRANSPORT_H_
#define TELLTALE_AGENT_UPLINK_TRANSPORT_H_

#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

class Transport {
 public:
  virtual ~Transport() = default;
  // Begins a stream; messages may be sent at once. Its end, also a failed begin, comes as OnClosed.
  virtual void Open() = 0;
  // Queues a message; the logic bounds how much is under way.
  virtual void Send(v1::AgentMessage message) = 0;
  // Says that nothing more will be sent; the collector ends the stream.
  virtual void Finish() = 0;
  // Ends the stream now.
  virtual void Abort() = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_TRANSPORT_H_
