#include "collector/ingest/session.h"

#include <utility>

namespace telltale::ingest {

Session::Session(uint64_t id, StreamPeer peer, StreamSink* sink)
    : id_(id), peer_(std::move(peer)), sink_(sink) {}

void Session::Send(v1::CollectorMessage message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sink_ == nullptr) return;
  welcomed_ = welcomed_ || message.has_welcome();
  sink_->Send(std::move(message));
}

void Session::Close(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sink_ != nullptr) sink_->Close(status);
}

void Session::ResumeReading() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sink_ != nullptr) sink_->ResumeReading();
}

bool Session::welcomed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return welcomed_;
}

void Session::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  sink_ = nullptr;
  welcomed_ = false;
}

}  // namespace telltale::ingest
