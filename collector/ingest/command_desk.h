// Commands on their way to agents: gives each an id, matches results, ends those whose time is
// over. Bounded. Thread-safe; `done` runs without a lock held.

#ifndef TELLTALE_COLLECTOR_INGEST_COMMAND_DESK_H_
#define TELLTALE_COLLECTOR_INGEST_COMMAND_DESK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::ingest {

class CommandDesk {
 public:
  using Done = std::function<void(const absl::StatusOr<v1::Result>&)>;
  static constexpr size_t kMaxPending = 1024;

  // Id for the command, or ResourceExhausted; `done` will be called exactly once if an id was
  // given.
  absl::StatusOr<uint64_t> Register(const std::string& node, uint64_t deadline_mono_ns, Done done);
  // A node's result. One that nobody waits for, or of another node's command, is ignored.
  // False: then it changed nothing.
  bool Finish(const std::string& node, const v1::Result& result);
  void Expire(uint64_t mono_ns);

 private:
  struct Pending {
    std::string node;
    uint64_t deadline_mono_ns;
    Done done;
  };
  std::mutex mutex_;
  uint64_t next_id_ = 1;                 // guarded by mutex_
  std::map<uint64_t, Pending> pending_;  // guarded by mutex_
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_COMMAND_DESK_H_
