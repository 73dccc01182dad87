// The filters of filters.d: looks at the directory every second, and adds, makes anew or ends a
// UserFilter as files come, change and go. A file counts once two looks found it the same, so that
// half a copy is not loaded; what runs is a copy, so that overwriting the file breaks nothing.
//
// Owned by FilterSide. Start and Stop: one thread; the rest: any.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTERS_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTERS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/host/filter_file.h"
#include "collector/filter/host/hosted_filter.h"
#include "collector/filter/host/user_filter.h"

namespace telltale::filter {

struct UserFiltersOptions {
  std::string directory;        // empty: no user filters
  HostOptions host;             // an empty program: the one beside this program
  FilterRunnerOptions runner;   // see UserFilterOptions
  std::set<std::string> taken;  // names of built-in filters
  // A line at each change, for log and audit; any thread.
  std::function<void(const std::string& filter, const std::string& what)> changed;
  std::chrono::milliseconds look{1'000};
  std::chrono::milliseconds retry_first{60'000};
  std::chrono::milliseconds retry_most{3'600'000};
};

class UserFilters {
 public:
  explicit UserFilters(UserFiltersOptions options);
  ~UserFilters();  // Stop()
  UserFilters(const UserFilters&) = delete;
  UserFilters& operator=(const UserFilters&) = delete;

  void Start();
  void Stop();  // twice is safe

  std::vector<v1::FilterInfo> List() const;
  std::vector<v1::FilterLearning> Learning() const;
  // As FilterRunner::IsOpen, of the filter that has the name now; any thread.
  bool IsOpen(const std::string& filter, const NodeNames& nodes,
              const std::function<bool(const OpenAnomaly&)>& fits) const;
  // All that ran since the start, also of files that are gone: what they found is still there.
  std::vector<FilterIdentity> Identities() const;
  // Another process of the one that has this name, for a run over the past. NotFound: none has.
  absl::StatusOr<std::unique_ptr<HostedFilter>> Open(const std::string& name) const;

 private:
  void Look();
  absl::Status Claim(const telltale_filter& filter, const std::string& file);
  void Changed(const std::string& filter, const std::string& what);

  const UserFiltersOptions options_;
  UserFilterOptions each_;
  FilterListing seen_;   // at the last look; the thread's
  std::string trouble_;  // already told; the thread's
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::map<std::string, std::string> names_;  // of a filter -> its file
  std::set<std::pair<std::string, uint32_t>> identities_;
  std::map<std::string, std::pair<FilterStamp, std::unique_ptr<UserFilter>>> filters_;  // by file
  std::thread thread_;
};

// Path of telltale-filter-host: beside this program, or where packages put it.
std::string FilterHostProgram();

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_USER_FILTERS_H_
