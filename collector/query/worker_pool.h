// Threads that answer questions, so that gRPC's own threads never wait for the disk. A bounded
// queue: when it is full, asking again later is the answer.
//
// Thread-safe. The destructor runs what is queued and joins.

#ifndef TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_
#define TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace telltale::query {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t max_queued);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: the queue is full or the pool is ending; `work` was not taken.
  bool Submit(std::function<void()> work);

 private:
  void Run();

  const size_t max_queued_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool ending_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;         // keep last
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_WORKER_POOL_H_
