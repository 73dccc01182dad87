// One file of filters.d at work: a thread that loads it into a host process, runs it over all nodes
// with a runner of its own, and, when it breaks, notes why and tries again later.
//
// Nobody waits for it. It takes its epochs from the store when it is ready for them, so that a slow
// one is late (its lag is told), not a burden; what it emits is bounded per epoch (host_limits.h)
// and per hour (FeedOptions), and what is beyond is counted. One that emits more in an hour, of all
// nodes together, than FloodLimits has floods, and is not tried again as it is.
//
// When it crashes, hangs, floods or eats its memory it is disabled, and tried again after
// retry_first, then after twice as long each time, at most retry_most; once it ran for retry_most
// it is trusted anew. A file that cannot be used as it is (no filter, another interface version, a
// built-in's name, writable by others, a flood on all nodes) is tried again when it changes.
//
// Owned by UserFilters; destroyed, it kills its process and waits for its thread. Figures: any
// thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTER_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "collector/filter/filter_runner.h"
#include "collector/filter/host/host_process.h"
#include "collector/filter/host/hosted_filter.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::filter {

struct UserFilterOptions {
  HostOptions host;
  FilterRunnerOptions runner;  // what it reads and writes; its filters and codes are not used
  // Takes the filter's name for this file, or says who has it; gives it back.
  std::function<absl::Status(const telltale_filter& filter, const std::string& file)> claim;
  std::function<void(const std::string& file)> release;
  // "running, version 2", "disabled: crashed ...; tried again in 60 s": at each change.
  std::function<void(const std::string& filter, const std::string& what)> changed;
  std::chrono::milliseconds retry_first{60'000};
  std::chrono::milliseconds retry_most{3'600'000};
};

class UserFilter {
 public:
  // `options` outlives it.
  UserFilter(const UserFilterOptions* options, std::string file);
  ~UserFilter();
  UserFilter(const UserFilter&) = delete;
  UserFilter& operator=(const UserFilter&) = delete;

  // As answers show it. Until it was loaded once, its name is the file's without ".so".
  v1::FilterInfo Info() const;
  std::vector<v1::FilterLearning> Learning() const;
  // As FilterRunner::IsOpen, by its last look; nothing while it does not run.
  bool IsOpen(const NodeNames& nodes, const std::function<bool(const OpenAnomaly&)>& fits) const;
  const std::string& file() const { return file_; }

 private:
  void Run();
  HostedFigures Figures() const;  // with mutex_
  absl::Status RunOnce();         // until it breaks; Cancelled: was told to stop
  absl::Status Watch(HostedFilter& filter, FilterRunner& runner);
  absl::Status Begin(HostedFilter& filter, std::unique_ptr<FilterRunner>* runner);
  void Disable(const absl::Status& why);
  bool Pause(std::chrono::milliseconds length);  // false: was told to stop

  const UserFilterOptions& options_;
  const std::string file_;
  mutable std::mutex mutex_;
  // Guarded by mutex_ from here.
  std::condition_variable wake_;
  bool stop_ = false;
  HostProcess* process_ = nullptr;  // that of this moment
  HostedFilter* filter_ = nullptr;
  HostedFigures past_;  // of processes that are gone
  uint64_t past_no_room_ = 0;
  v1::FilterInfo info_;
  FilterReport report_;
  std::vector<v1::FilterLearning> learning_;
  OpenByNode open_;                  // at its last look
  std::chrono::milliseconds retry_;  // its thread's
  std::thread thread_;               // keep last
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTER_H_
