// Requests without a token: they wait for an operator, a bounded number of them and for a bounded
// time. Not thread-safe: the desk that owns it locks. Kept in the catalog (table 14).

#ifndef TELLTALE_COLLECTOR_ENROLL_WAITING_ROOM_H_
#define TELLTALE_COLLECTOR_ENROLL_WAITING_ROOM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/catalog.h"
#include "telltale/v1/enroll.pb.h"

namespace telltale::enroll {

class WaitingRoom {
 public:
  static constexpr size_t kMaxWaiting = 1'000;
  // Nobody fills the room alone; a rack behind one address fits.
  static constexpr size_t kMaxFromOneAddress = 100;
  static constexpr uint64_t kKeptNs = 86400ull * 1'000'000'000;

  explicit WaitingRoom(storage::Catalog* catalog) : catalog_(catalog) {}
  absl::Status Load();

  // The request of this digest; nullptr: it has not come yet, or too long ago.
  const v1::StoredWaiting* Find(const std::string& request_sha256, uint64_t now_ns) const;
  // ResourceExhausted: the room is full, or this address has its share.
  absl::StatusOr<v1::StoredWaiting> Add(v1::StoredWaiting waiting);
  // NotFound; FailedPrecondition: decided otherwise before. Durable when it returns.
  struct Decided {
    v1::StoredWaiting waiting;
    bool changed = false;
  };
  absl::StatusOr<Decided> Decide(const std::string& id, bool approve, const std::string& by,
                                 uint64_t now_ns);
  // After its certificate was signed and its entry deleted.
  void Forget(const std::string& id) { waiting_.erase(id); }
  // By when they asked; old ones left out.
  std::vector<v1::StoredWaiting> List(uint64_t now_ns) const;
  size_t Undecided(uint64_t now_ns) const;

 private:
  storage::Catalog* const catalog_;
  std::map<std::string, v1::StoredWaiting> waiting_;  // by id
};

}  // namespace telltale::enroll

#endif  // TELLTALE_COLLECTOR_ENROLL_WAITING_ROOM_H_
