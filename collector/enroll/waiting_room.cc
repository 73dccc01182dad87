#include "collector/enroll/waiting_room.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "collector/enroll/enroll_keys.h"
#include "proto/codec.h"
#include "storage/catalog_damage.h"
#include "storage/keys.h"

namespace telltale::enroll {
namespace {

constexpr size_t kIdBytes = 4;

bool Old(const v1::StoredWaiting& waiting, uint64_t now_ns) {
  return now_ns >= waiting.asked_ns() + WaitingRoom::kKeptNs;
}

}  // namespace

absl::Status WaitingRoom::Load() {
  return storage::ReadReadable(
             *catalog_, Prefix(Kind::kWaiting), "waiting enrolments",
             "their agents ask again by themselves",
             [&](std::string_view key, std::string_view value) {
               v1::StoredWaiting waiting;
               if (!waiting.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
                   Key(Kind::kWaiting, waiting.id()) != key) {
                 return absl::DataLossError("it is no waiting enrolment");
               }
               waiting_[waiting.id()] = std::move(waiting);
               return absl::OkStatus();
             })
      .status();
}

const v1::StoredWaiting* WaitingRoom::Find(const std::string& request_sha256,
                                           uint64_t now_ns) const {
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.request_sha256() == request_sha256 && !Old(waiting, now_ns)) return &waiting;
  }
  return nullptr;
}

absl::StatusOr<v1::StoredWaiting> WaitingRoom::Add(v1::StoredWaiting waiting) {
  auto transaction = catalog_->Begin();
  std::vector<std::string> old;
  size_t of_address = 0;
  for (const auto& [id, other] : waiting_) {
    if (Old(other, waiting.asked_ns())) {
      old.push_back(id);
      transaction->Delete(Key(Kind::kWaiting, id));
    } else if (other.address() == waiting.address()) {
      ++of_address;
    }
  }
  if (waiting_.size() - old.size() >= kMaxWaiting || of_address >= kMaxFromOneAddress) {
    return absl::ResourceExhaustedError(
        absl::StrCat("enrol: too many requests wait for an operator (", kMaxWaiting, " in all, ",
                     kMaxFromOneAddress, " of one address, for a day); enrol with a token"));
  }
  // Part of a digest its sender can choose: on a collision the later one is told to come again
  // with another key.
  const std::string id(absl::BytesToHexString(waiting.request_sha256().substr(0, kIdBytes)));
  if (waiting_.contains(id) && std::ranges::find(old, id) == old.end()) {
    return absl::ResourceExhaustedError("enrol: a request with this id waits; make another key");
  }
  waiting.set_id(id);
  transaction->Put(Key(Kind::kWaiting, id), proto::Canonical(waiting));
  if (absl::Status status = transaction->Commit(storage::Durability::kBuffered); !status.ok()) {
    return status;
  }
  for (const std::string& gone : old) waiting_.erase(gone);
  waiting_[id] = waiting;
  return waiting;
}

absl::StatusOr<WaitingRoom::Decided> WaitingRoom::Decide(const std::string& id, bool approve,
                                                         const std::string& by, uint64_t now_ns) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end() || Old(found->second, now_ns)) {
    return absl::NotFoundError(absl::StrCat("enrol: no request ", proto::SanitizeText(id, 64),
                                            " waits; telltale enroll list shows them"));
  }
  const v1::StoredWaiting& before = found->second;
  if (before.decided_ns() != 0) {
    if (before.approved() == approve) return Decided{before, false};
    return absl::FailedPreconditionError(absl::StrCat(
        "enrol: request ", before.id(), " was ", before.approved() ? "approved" : "denied", " by ",
        before.decided_by(), "; the node asks anew with telltale-agent enroll --again"));
  }
  v1::StoredWaiting decided = before;
  decided.set_decided_ns(now_ns);
  decided.set_approved(approve);
  decided.set_decided_by(by);
  auto transaction = catalog_->Begin();
  transaction->Put(Key(Kind::kWaiting, id), proto::Canonical(decided));
  if (absl::Status status = transaction->Commit(storage::Durability::kDurable); !status.ok()) {
    return status;
  }
  found->second = decided;
  return Decided{decided, true};
}

std::vector<v1::StoredWaiting> WaitingRoom::List(uint64_t now_ns) const {
  std::vector<v1::StoredWaiting> list;
  for (const auto& [id, waiting] : waiting_) {
    if (!Old(waiting, now_ns)) list.push_back(waiting);
  }
  std::ranges::stable_sort(list, {}, &v1::StoredWaiting::asked_ns);
  return list;
}

size_t WaitingRoom::Undecided(uint64_t now_ns) const {
  return static_cast<size_t>(std::ranges::count_if(waiting_, [&](const auto& entry) {
    return entry.second.decided_ns() == 0 && !Old(entry.second, now_ns);
  }));
}

}  // namespace telltale::enroll
