// What a filter host replies, read by the collector: a foreign program had its hands on each byte.
// Sizes and counts are checked, texts cleaned, times held against the epoch shown; what is left can
// be stored.
//
// Plain values and free functions: any thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_HOST_REPLY_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_HOST_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/telltale_filter.h"
#include "telltale/v1/filter_host.pb.h"

namespace telltale::filter {

// What a hosted filter says of itself.
class DeclaredFilter {
 public:
  // Of a checked message. Its functions are null.
  explicit DeclaredFilter(const v1::HostDeclared& declared);
  DeclaredFilter(const DeclaredFilter&) = delete;
  DeclaredFilter& operator=(const DeclaredFilter&) = delete;
  const telltale_filter& get() const { return filter_; }
  bool saves() const { return saves_; }

 private:
  const std::string name_, about_;
  std::vector<std::string> vitals_;
  std::vector<const char*> vital_list_;
  const bool saves_;
  telltale_filter filter_ = {};
};

// The first message. FailedPrecondition: the file cannot be used as it is, and why.
absl::StatusOr<v1::HostDeclared> ReadDeclared(const std::string& bytes);

// Of a request, what the reply may speak of.
struct ReplyBounds {
  // Points and marks begin within [from, to] and end by `to`. Anomalies, too, end by then; how
  // early one may begin depends on whether it is known (NodeFeed).
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
};
struct CheckedReply {
  bool wants_hour = false;
  uint64_t hour_ns = 0;
  v1::HostDone done;     // unless it wants an hour
  uint64_t dropped = 0;  // outputs taken out of `done`: their times are out of bounds
};
// Aborted: the filter broke its interface, and how. DataLoss: the host does not keep to it.
absl::StatusOr<CheckedReply> ReadReply(const std::string& bytes, const ReplyBounds& bounds);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_HOST_REPLY_H_
