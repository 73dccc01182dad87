// Says on stderr that an answer is awaited, from the second second on, and takes it back when it is
// there. Only where stderr is a terminal: nothing of it reaches a file or a pipe.
//
// Made and destroyed by one thread; a thread of its own writes.

#ifndef TELLTALE_COLLECTOR_CLI_WAITING_H_
#define TELLTALE_COLLECTOR_CLI_WAITING_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace telltale::cli {

class Waiting {
 public:
  // `whom`: "collector host:port". `shown`: false where the whole screen is somebody's.
  Waiting(std::string whom, bool shown);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void Run();

  const std::string whom_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;   // guarded by mutex_
  std::thread thread_;  // keep last: it uses the rest
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_WAITING_H_
