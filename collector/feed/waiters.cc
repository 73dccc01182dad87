#include "collector/feed/waiters.h"

#include "absl/strings/str_cat.h"

namespace telltale::feed {

class Waiters::Place : public Waiter {
 public:
  Place(Waiters* among, std::function<void()> wake) : among_(among), wake_(std::move(wake)) {}
  ~Place() override {
    const std::lock_guard lock(among_->mutex_);
    among_->places_.erase(this);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  void Wake() const { wake_(); }

 private:
  Waiters* const among_;
  const std::function<void()> wake_;
};

absl::StatusOr<std::unique_ptr<Waiter>> Waiters::Add(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (places_.size() == most_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("follow ", of_, ": ", most_, " followers already; try again later"));
  }
  auto place = std::make_unique<Place>(this, std::move(wake));
  places_.insert(place.get());
  return place;
}

void Waiters::WakeAll() {
  const std::lock_guard lock(mutex_);
  for (const Place* place : places_) place->Wake();
}

}  // namespace telltale::feed
