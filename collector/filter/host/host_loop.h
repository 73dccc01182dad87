// The host's end of filter_host.proto: makes instances of one filter, shows them what the collector
// sends, and replies with what they emit. Ends when the collector closes its end, or after a filter
// broke its interface.
//
// The host's only thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_HOST_LOOP_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_HOST_LOOP_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/host/outputs.h"
#include "collector/filter/telltale_filter.h"
#include "telltale/v1/filter_host.pb.h"

namespace telltale::filter {

class HostLoop {
 public:
  // `memory_base`: the address space before the filter was loaded. `filter` was checked.
  HostLoop(int socket, const telltale_filter* filter, uint64_t memory_base);
  ~HostLoop();
  HostLoop(const HostLoop&) = delete;
  HostLoop& operator=(const HostLoop&) = delete;

  // Says what the filter is, then serves. Ok: the collector is done.
  absl::Status Run();

 private:
  struct Served;

  void Declare(v1::HostDeclared& declared) const;
  void Handle(const v1::HostRequest& request, v1::HostDone& done);
  void Create(const v1::HostCreate& request, v1::HostDone& done);
  void Show(const v1::HostEpoch& request, v1::HostDone& done);
  int ShowHour(uint64_t start_ns, void (*show)(void*, const telltale_filter_epoch*),
               void* argument);
  absl::Status Send(const v1::HostReply& reply);

  const int socket_;
  const telltale_filter* const filter_;
  LocalFilter code_;
  const uint64_t memory_base_;
  Outputs outputs_;
  std::map<uint32_t, std::unique_ptr<Served>> served_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_HOST_LOOP_H_
