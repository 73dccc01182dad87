// The thread that looks after the store: retention and fleet-graph blocks, about once a minute.
// Owned by the collector.

#ifndef TELLTALE_COLLECTOR_MAINTENANCE_H_
#define TELLTALE_COLLECTOR_MAINTENANCE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace telltale::collector {

class Maintenance {
 public:
  // Runs `work` at once and then every `period` until destroyed; a failure is logged and tried
  // again.
  Maintenance(std::chrono::seconds period, std::function<absl::Status()> work);
  ~Maintenance();  // waits for work under way

 private:
  void Run();

  const std::chrono::seconds period_;
  const std::function<absl::Status()> work_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: starts when the rest is there
};

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_MAINTENANCE_H_
