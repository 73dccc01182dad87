// Threads that take parts of answers while they have nothing else to do, so that a question about
// many nodes does not wait for one core while the others rest. Who asks does his share himself: he
// waits for nobody who is busy with another's question.
//
// Thread-safe. The destructor joins; nobody may be in Run then.

#ifndef TELLTALE_COLLECTOR_QUERY_HELPERS_H_
#define TELLTALE_COLLECTOR_QUERY_HELPERS_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace telltale::query {

class Helpers {
 public:
  explicit Helpers(size_t threads);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Calls part(0) ... part(parts - 1), each once, several at a time; returns when all have
  // returned.
  void Run(size_t parts, const std::function<void(size_t)>& part);

 private:
  struct Job {
    const std::function<void(size_t)>* part = nullptr;
    size_t parts = 0, next = 0;  // next: not begun
    size_t running = 0;
  };
  void Help();
  // Does the next part of the job; mutex_ is held, but not meanwhile.
  void DoOne(Job& job, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::list<Job*> jobs_;  // guarded by mutex_, as what they point at; of those with parts not begun
  bool ending_ = false;   // guarded by mutex_
  std::vector<std::thread> threads_;  // keep last
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_HELPERS_H_
