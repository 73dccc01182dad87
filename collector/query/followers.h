// Sends anomalies to those who follow them live: one thread asks the engine for each follower what
// came after its cursor, so a slow reader delays nobody and nothing is lost or repeated.
//
// Thread-safe. Owned by the service.

#ifndef TELLTALE_COLLECTOR_QUERY_FOLLOWERS_H_
#define TELLTALE_COLLECTOR_QUERY_FOLLOWERS_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "collector/query/engine.h"

namespace telltale::query {

class Followers {
 public:
  Followers(const Engine* engine, size_t max_followers);
  ~Followers();

  // The reactor of one FollowAnomalies call. Finishes at once with ResourceExhausted beyond
  // max_followers.
  grpc::ServerWriteReactor<v1::Anomaly>* Begin(const v1::FollowRequest& request);
  void Stop();  // finishes all with Unavailable

 private:
  class Reactor;
  void Run();
  void Remove(Reactor* reactor);

  const Engine* const engine_;
  const size_t max_followers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::shared_ptr<Reactor>> reactors_;  // guarded by mutex_
  bool ending_ = false;                          // guarded by mutex_
  std::thread thread_;                           // keep last
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_FOLLOWERS_H_
