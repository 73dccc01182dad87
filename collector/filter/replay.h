// A filter over the past of one node again, apart from what runs live: nothing it emits is kept. It
// goes on from the state that the live run saved, passes over the epochs that came too late for
// that one, and so says the same byte for byte as long as the stored data is the same.
//
// Much is told later than it happened: that something is over, or a leak after half an hour. So it
// is shown what comes behind `to`, until it says of the time before what the live run says, but a
// day of it at most; for points and marks alone, an hour.
//
// Thread-safe: each call has its own instance; reads the store only.

#ifndef TELLTALE_COLLECTOR_FILTER_REPLAY_H_
#define TELLTALE_COLLECTOR_FILTER_REPLAY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/filter/epoch_source.h"
#include "collector/filter/filter_code.h"
#include "storage/derived.h"
#include "telltale/v1/query.pb.h"

namespace telltale::filter {

struct ReplayOptions {
  FilterCode* code = nullptr;
  FilterOptions filter_options;  // as the live run has them
  const EpochSource* source = nullptr;
  storage::DerivedStore* store = nullptr;  // with the outputs of the live run; is only read
  NodeHead node;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint64_t max_bytes = 256 << 20;  // of what it says, which is held in memory
};

struct Replayed {
  std::vector<v1::Anomaly> anomalies;  // that overlap [from, to), newest first
  std::vector<v1::Anomaly> live;       // what the live run has there
  std::vector<uint64_t> late_ns;       // starts of epochs passed over: they came too late
  uint64_t unreadable = 0;             // epochs of [from, to) that cannot be opened, none shown
  uint64_t points = 0, marks = 0;      // of [from, to)
  // Of those, what the live run did not say; but points of later than its newest, which may be of
  // epochs that it has not seen yet. And what it said besides.
  uint64_t new_points = 0, new_marks = 0, missing_points = 0, missing_marks = 0;
  uint64_t epochs = 0;    // shown, those before `from` and behind `to` included
  uint64_t shown_ns = 0;  // end of the last of them
  bool resumed = false;   // from a saved state; else it began a day (or more) before
};

// Errors: those of the store, and of a filter that gives up. ResourceExhausted: here or live there
// are more anomalies than are compared, 10,000; or it says more than `max_bytes`. Cancelled when
// `stop` says so.
absl::StatusOr<Replayed> Replay(const ReplayOptions& options, const std::function<bool()>& stop);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_REPLAY_H_
