// Holds connections until nobody uses them any more, and lets go of them on its owner's thread.
//
// Why: gRPC's callback API runs on a completion queue of the process that the last channel takes
// down with it, waiting for the queue's own threads (CallbackAlternativeCQ, gRPC 1.51). A stream
// that was given up ends on such a thread; with it as the channel's last owner that thread waits
// for itself, gets an error that gRPC does not look at, and goes on in freed memory.
//
// Owned and called by one thread. The streams of its channels must have been ended or cancelled
// before it goes.

#ifndef TELLTALE_AGENT_UPLINK_CHANNEL_KEEPER_H_
#define TELLTALE_AGENT_UPLINK_CHANNEL_KEEPER_H_

#include <grpcpp/channel.h>

#include <memory>
#include <vector>

namespace telltale::agent {

class ChannelKeeper {
 public:
  ChannelKeeper() = default;
  ~ChannelKeeper();  // waits until the streams have let go of them, which takes milliseconds
  ChannelKeeper(const ChannelKeeper&) = delete;
  ChannelKeeper& operator=(const ChannelKeeper&) = delete;

  void Keep(std::shared_ptr<grpc::Channel> channel);
  // Closes those that nobody else holds any more: to be called again and again, for a stream that
  // was given up ends later, and until then its connection is the collector's second one with us.
  void LetGo();

 private:
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UPLINK_CHANNEL_KEEPER_H_
