#include "collector/ingest/command_desk.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::ingest {

absl::StatusOr<uint64_t> CommandDesk::Register(const std::string& node, uint64_t deadline_mono_ns,
                                               Done done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pending_.size() >= kMaxPending) {
    return absl::ResourceExhaustedError(
        absl::StrCat("command: ", kMaxPending, " are waiting for agents already; try again later"));
  }
  const uint64_t id = next_id_++;
  pending_.emplace(id, Pending{node, deadline_mono_ns, std::move(done)});
  return id;
}

bool CommandDesk::Finish(const std::string& node, const v1::Result& result) {
  Done done;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = pending_.find(result.id());
    if (found == pending_.end() || found->second.node != node) return false;
    done = std::move(found->second.done);
    pending_.erase(found);
  }
  done(result);
  return true;
}

void CommandDesk::Expire(uint64_t mono_ns) {
  std::vector<Pending> expired;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (mono_ns > it->second.deadline_mono_ns) {
        expired.push_back(std::move(it->second));
        it = pending_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const Pending& pending : expired) {
    pending.done(absl::DeadlineExceededError(
        absl::StrCat("command: node ", pending.node, " did not answer in time")));
  }
}

}  // namespace telltale::ingest
