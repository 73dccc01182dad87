// What a filter emits while it is shown one epoch, taken down in the host for the reply: cut to
// their lengths, counted against the limits of host_limits.h.
//
// One thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_OUTPUTS_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_OUTPUTS_H_

#include "collector/filter/telltale_filter.h"
#include "telltale/v1/filter_host.pb.h"

namespace telltale::filter {

class Outputs {
 public:
  void Take(const telltale_filter_point& point);
  void Take(const telltale_filter_mark& mark);
  void Take(const telltale_filter_anomaly& anomaly);
  // Whether one more hour of the past may be asked for.
  bool TakeHour();

  // Moves what was taken into `done`; what was too much is its `failed`.
  void MoveTo(v1::HostDone& done);

 private:
  bool RoomFor(int have, int most, const char* what);

  v1::HostDone taken_;
  int hours_ = 0;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_OUTPUTS_H_
