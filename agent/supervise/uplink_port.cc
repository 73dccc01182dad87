#include "agent/supervise/uplink_port.h"

#include <utility>

#include "spdlog/spdlog.h"

namespace telltale::agent {
namespace {

const char* StateName(uint64_t state) {
  constexpr const char* kNames[] = {"waiting", "connecting", "connected", "finished"};
  return state < 4 ? kNames[state] : "unknown";
}

LinkMessage RecordMessage(LinkKind kind, uint64_t sequence, uint64_t bytes, TimeRange time,
                          v1::EpochKind epoch) {
  return {kind,
          {sequence, bytes, time.start_unix_ns, time.end_unix_ns, static_cast<uint64_t>(epoch)}};
}

}  // namespace

void UplinkPort::OnSpooled(uint64_t sequence, TimeRange time, uint64_t bytes, v1::EpochKind kind) {
  LinkMessage message = RecordMessage(LinkKind::kRecord, sequence, bytes, time, kind);
  // What was there before is backlog.
  if (kind != v1::EPOCH_KIND_UNSPECIFIED) message.flags |= LinkMessage::kFresh;
  Post({message, {}});
}

void UplinkPort::OnHeld(uint64_t sequence, TimeRange time, std::string record, v1::EpochKind kind) {
  auto file = MakeMemoryFile(record);
  if (!file.ok()) {
    spdlog::error("{}", std::string(file.status().message()));
    return;
  }
  LinkMessage message = RecordMessage(LinkKind::kHeld, sequence, record.size(), time, kind);
  message.flags |= LinkMessage::kFresh;
  Post({message, *std::move(file)});
}

void UplinkPort::OnLost(const v1::Lost& lost) {
  Post(
      {LinkMessage(LinkKind::kLost,
                   {lost.first_sequence(), lost.last_sequence(),
                    static_cast<uint64_t>(lost.reason()), lost.start_unix_ns(), lost.end_unix_ns()},
                   lost.detail()),
       {}});
}

void UplinkPort::OnAnnounced() { Post({LinkMessage(LinkKind::kReady, {}), {}}); }

void UplinkPort::PostStop() { Post({LinkMessage(LinkKind::kStop, {}), {}}); }

void UplinkPort::PostSecond(const v1::Live& second) {
  auto file = MakeMemoryFile(second.SerializeAsString());
  if (!file.ok()) {
    spdlog::error("{}", std::string(file.status().message()));
    return;
  }
  Post({LinkMessage(LinkKind::kSecond, {}), *std::move(file)});
}

void UplinkPort::Post(LinkParcel parcel) {
  if (!news_.Post(std::move(parcel))) {
    spdlog::error(
        "agent: {} messages wait for the uplink, limit reached; an epoch is sent only after a "
        "restart",
        kMaxNews);
  }
}

void UplinkPort::Open(OwnedFd link) {
  if (link_) Close(absl::UnavailableError("replaced"));
  link_.emplace(std::move(link));
  ended_.clear();
}

void UplinkPort::Close(const absl::Status& why) {
  const Status now = status();
  before_.stored = now.stored;
  before_.too_late = now.too_late;
  before_.refused = now.refused;
  before_.apart = now.apart;
  before_.names_left_out = now.names_left_out;
  told_ = {};
  ended_ = std::string(why.message());
  link_.reset();
}

void UplinkPort::Send(const LinkMessage& message, OwnedFd fd) {
  if (link_) link_->Send(message, std::move(fd));
}

std::vector<LinkMessage> UplinkPort::Exchange() {
  for (LinkParcel& parcel : news_.Take()) Send(parcel.message, std::move(parcel.fd));
  std::vector<LinkMessage> said;
  if (!link_) return said;
  // What it said before it ended still counts.
  auto parcels = link_->Receive();
  if (parcels.ok()) {
    for (const LinkParcel& parcel : *parcels) {
      if (parcel.message.Kind() == LinkKind::kUplinkStatus) {
        told_ = parcel.message;
      } else {
        said.push_back(parcel.message);
      }
    }
  }
  const absl::Status status = parcels.ok() ? link_->Flush() : parcels.status();
  if (!status.ok()) Close(status);
  return said;
}

pollfd UplinkPort::link_poll() const {
  if (!link_) return {-1, 0, 0};
  return {link_->fd(), static_cast<short>(POLLIN | (link_->wants_write() ? POLLOUT : 0)), 0};
}

UplinkPort::Status UplinkPort::status() const {
  Status status = before_;
  status.error = ended_;
  if (!ended_.empty()) status.state = "restarting";
  if (told_.kind == 0) return status;
  status.state = StateName(told_.value[0]);
  status.pending = told_.value[1];
  status.in_flight = told_.value[2];
  status.stored += told_.value[3];
  status.too_late += told_.value[4];
  status.refused += told_.value[5];
  status.apart += told_.value[6];
  status.next_attempt_ns = told_.value[7];
  status.names_left_out += told_.value[8];
  status.error = told_.Text();
  return status;
}

}  // namespace telltale::agent
