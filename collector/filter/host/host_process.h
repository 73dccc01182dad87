// One process of telltale-filter-host, as the collector holds it: started, asked, watched while it
// works, ended. What it used of the processor and how long it takes is held against a budget at
// each call; beyond it the process is killed.
//
// Call() is one thread's, the one that started it (it dies with that thread); Kill and the figures
// are anybody's. The process is gone when this is.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_HOST_PROCESS_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_HOST_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/host/frames.h"

namespace telltale::filter {

struct HostOptions {
  std::string program;                  // path of telltale-filter-host
  uint64_t memory_bytes = 256 << 20;    // address space beyond what the host itself takes
  std::chrono::milliseconds cpu{1000};  // of one call: processor time, and in all
  std::chrono::milliseconds wait{30'000};
};

class HostProcess {
 public:
  // `library`: a descriptor of the filter's file; stays the caller's.
  static absl::StatusOr<std::unique_ptr<HostProcess>> Start(const HostOptions& options,
                                                            int library);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  // Begins a call: from here the budgets count. Then any number of writes and reads.
  void Begin();
  absl::Status Write(const std::string& message);
  // An error, also of Write, says how the process ended; there is none any more.
  absl::StatusOr<std::string> Read();

  // Whether it still runs; for when nothing is asked of it. An error as of Read.
  absl::Status Check();
  void Kill();

  uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  HostProcess(HostOptions options, pid_t pid, int socket, int words)
      : options_(std::move(options)), pid_(pid), socket_(socket), words_(words) {}
  absl::Status WithinBudget();
  uint64_t ReadCpu();
  void ReadWords();
  absl::Status Ended(const absl::Status& how);
  bool AwaitEnd();
  std::string Reap();

  const HostOptions options_;
  std::mutex mutex_;
  pid_t pid_;  // guarded by mutex_; -1: reaped
  const int socket_;
  const int words_;  // read end of its standard error
  std::string last_words_;
  absl::Status ended_;
  std::atomic<uint64_t> cpu_ns_ = 0;
  uint64_t begin_cpu_ns_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_HOST_PROCESS_H_
