// Threads that answer questions, so that gRPC's own threads never wait for the disk. A bounded
// queue: when it is full, asking again later is the answer. Who asks much waits behind himself: of
// one asker a thread fewer is busy than there are, and half of the queue is the others'.
//
// Thread-safe. The destructor runs what is queued and joins.

#ifndef TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_
#define TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace telltale::query {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t max_queued);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: the queue, or what of it one asker may have, is full, or the pool is ending; `work` was
  // not taken.
  bool Submit(const std::string& asker, std::function<void()> work);

 private:
  struct Item {
    std::string asker;
    std::function<void()> work;
  };
  struct Share {
    size_t queued = 0, running = 0;
  };
  void Run();
  // The first whose asker may have one more running; end() if there is none. mutex_ held.
  std::deque<Item>::iterator Next();

  const size_t most_running_, max_queued_, most_queued_;  // most_: of one asker
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;               // guarded by mutex_
  std::map<std::string, Share> shares_;  // guarded by mutex_; of those who have something here
  bool ending_ = false;                  // guarded by mutex_
  std::vector<std::thread> threads_;     // keep last
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_
