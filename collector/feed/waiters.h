// Those who wait for something new in a log: each is called when it is there.
//
// Thread-safe. Owned by what it tells of; outlives its waiters.

#ifndef TELLTALE_COLLECTOR_FEED_WAITERS_H_
#define TELLTALE_COLLECTOR_FEED_WAITERS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace telltale::feed {

// A place among them, until it is destroyed.
class Waiter {
 public:
  virtual ~Waiter() = default;
};

class Waiters {
 public:
  // `of`: what is followed, in the error of one too many.
  Waiters(std::string of, size_t most) : of_(std::move(of)), most_(most) {}

  // Calls `wake` at each WakeAll, from its thread; it must not block or call what it waits for.
  // ResourceExhausted at the most there may be.
  absl::StatusOr<std::unique_ptr<Waiter>> Add(std::function<void()> wake);
  void WakeAll();

 private:
  class Place;
  const std::string of_;
  const size_t most_;
  std::mutex mutex_;
  std::set<Place*> places_;  // guarded by mutex_
};

}  // namespace telltale::feed

#endif  // TELLTALE_COLLECTOR_FEED_WAITERS_H_
