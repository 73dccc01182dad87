#include "collector/ingest/connect_reactor.h"

#include <utility>

namespace telltale::ingest {

ConnectReactor::ConnectReactor(IngestCore* core, const collector::Peer& peer,
                               std::chrono::seconds connection_age,
                               std::shared_ptr<collector::GrpcConnection> connection)
    : core_(core),
      connection_(std::move(connection)),
      renewed_after_(std::chrono::steady_clock::now() + connection_age * 9 / 10) {
  session_ = core_->Open({.node_name = peer.name,
                          .address = peer.address,
                          .certificate_ids = peer.certificate_ids,
                          .certificate_end_s = peer.certificate_end_s},
                         this);
  const std::lock_guard<std::mutex> lock(mutex_);
  ReadLocked();
}

void ConnectReactor::Took(size_t message_bytes) {
  if (connection_ == nullptr) return;
  connection_->Took(message_bytes);
  has_room_ = has_room_ || connection_->TakeRoom();
}

void ConnectReactor::ReadLocked() {
  if (!finished_ && !closing_.has_value()) StartRead(&incoming_);
}

void ConnectReactor::WriteLocked() {
  if (writing_ || writes_.empty() || finished_) return;
  writing_ = true;
  StartWrite(&writes_.front());
}

void ConnectReactor::FinishLocked() {
  if (finished_ || writing_ || !writes_.empty() || !closing_.has_value()) return;
  finished_ = true;
  Finish(*closing_);
}

void ConnectReactor::CutLocked() {
  // A message that gRPC would not read looks like the end of what the agent writes.
  if (closing_.has_value() && !closing_->ok()) return;
  closing_ = grpc::Status::CANCELLED;
  if (std::chrono::steady_clock::now() < renewed_after_) core_->stats().Add(Count::kStreamCut);
}

void ConnectReactor::Send(v1::CollectorMessage message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_ || closing_.has_value()) return;
  writes_.push_back(std::move(message));
  WriteLocked();
}

void ConnectReactor::Close(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closing_.has_value()) return;
  // absl and gRPC number their codes alike.
  closing_ =
      grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
  FinishLocked();
}

void ConnectReactor::ResumeReading() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!inbox_full_) {
    resumed_early_ = true;
    return;
  }
  inbox_full_ = false;
  if (!writes_full_) ReadLocked();
}

void ConnectReactor::OnReadDone(bool ok) {
  if (!ok) {
    core_->ReadsDone(session_);
    return;
  }
  Took(incoming_.ByteSizeLong());
  const bool may_read = core_->Deliver(session_, std::move(incoming_));
  const std::lock_guard<std::mutex> lock(mutex_);
  incoming_.Clear();
  if (!may_read && !std::exchange(resumed_early_, false)) inbox_full_ = true;
  if (writes_.size() >= kMaxQueuedWrites) writes_full_ = true;
  if (!inbox_full_ && !writes_full_) ReadLocked();
}

void ConnectReactor::OnWriteDone(bool ok) {
  const std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
  writes_.pop_front();
  if (!ok) {
    writes_.clear();  // the peer is gone
    CutLocked();
  }
  if (writes_full_ && writes_.size() < kMaxQueuedWrites / 2) {
    writes_full_ = false;
    if (!inbox_full_) ReadLocked();
  }
  WriteLocked();
  FinishLocked();
}

void ConnectReactor::OnCancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  CutLocked();
  if (writes_.size() > 1) writes_.erase(writes_.begin() + (writing_ ? 1 : 0), writes_.end());
  FinishLocked();
}

void ConnectReactor::OnDone() {
  if (has_room_) connection_->GiveRoomBack();
  core_->Closed(session_);
  delete this;
}

}  // namespace telltale::ingest
