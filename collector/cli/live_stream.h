// What the collector tells by itself while `telltale live` is open: that an epoch is there, and
// each second of the nodes asked for. Follows on a thread of its own and connects again after a
// failure; meanwhile nothing comes and `problem` says why.
//
// Any thread. The client outlives it.

#ifndef TELLTALE_COLLECTOR_CLI_LIVE_STREAM_H_
#define TELLTALE_COLLECTOR_CLI_LIVE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "collector/cli/client.h"
#include "telltale/v1/live.pb.h"

namespace telltale::cli {

class LiveStream {
 public:
  struct News {
    bool up = false;       // the stream is there
    uint64_t epochs = 0;   // told since the beginning
    std::string problem;   // why the stream is not there, or why seconds are not
    uint32_t dropped = 0;  // news lost, because they were read too slowly
    std::map<std::string, v1::LiveSecond> seconds;  // the newest of each node
  };

  LiveStream(Client* client, v1::SubscribeRequest request);
  ~LiveStream();  // ends it
  LiveStream(const LiveStream&) = delete;
  LiveStream& operator=(const LiveStream&) = delete;

  News Look() const;

 private:
  void Run();
  void Take(const v1::LiveNews& news);

  Client* const client_;
  const v1::SubscribeRequest request_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  News news_;                                     // guarded by mutex_
  bool ending_ = false;                           // guarded by mutex_
  std::unique_ptr<grpc::ClientContext> context_;  // guarded by mutex_
  std::thread thread_;                            // keep last
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_LIVE_STREAM_H_
