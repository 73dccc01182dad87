// A filter of a file, run in a process of its own: the runner's FilterCode whose calls go to a
// telltale-filter-host. What comes back is checked (host_reply.h) before the feed sees it, and an
// epoch's outputs come all or, when the filter breaks its interface, none.
//
// Belongs to one thread, which also calls the instances; Kill and the figures are anybody's.
// Once the process is gone it stays gone: every call fails, and failure() says why.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_HOSTED_FILTER_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_HOSTED_FILTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/host/host_process.h"
#include "collector/filter/host/host_reply.h"
#include "telltale/v1/filter_host.pb.h"

namespace telltale::filter {

struct HostedFigures {
  uint64_t cpu_ns = 0;  // of the process so far
  uint64_t memory_bytes = 0;
  uint64_t dropped = 0;  // outputs with times out of bounds
};

class HostedFilter : public FilterCode {
 public:
  // Loads the file. FailedPrecondition: will not do until the file is another one. Else a reason as
  // failure() has. `on_process`, if any, is told of the process before it is asked anything, and,
  // with null, before it is gone because of an error.
  static absl::StatusOr<std::unique_ptr<HostedFilter>> Open(
      const HostOptions& options, const std::string& path,
      const std::function<void(HostProcess*)>& on_process = nullptr);

  bool saves() const override { return declared_->saves(); }
  const telltale_filter& declared() const override { return declared_->get(); }
  bool ended() const override { return !failure_.ok(); }
  void End(const absl::Status& why) override;
  absl::StatusOr<std::unique_ptr<FilterInstance>> Create(
      const telltale_filter_host& host, const HourReader& hours,
      const std::vector<telltale_filter_option>& options) override;

  // Why there is no process any more; ok: as far as is known it runs.
  absl::Status failure();
  HostedFigures figures() const;
  HostProcess& process() { return *process_; }

 private:
  friend class HostedInstance;
  explicit HostedFilter(std::unique_ptr<HostProcess> process) : process_(std::move(process)) {}
  // One request and its reply; `hours` answers what is asked meanwhile.
  absl::StatusOr<v1::HostDone> Call(const v1::HostRequest& request, const ReplyBounds& bounds,
                                    const HourReader* hours);
  absl::Status Fail(absl::Status why);

  std::unique_ptr<HostProcess> process_;
  std::unique_ptr<DeclaredFilter> declared_;
  absl::Status failure_;
  uint32_t next_instance_ = 1;
  std::atomic<uint64_t> memory_bytes_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_HOSTED_FILTER_H_
