#include "collector/ingest/inbox.h"

#include <chrono>
#include <utility>

namespace telltale::ingest {

// A waiting item owns its stream and the stream owns the item: clearing the lanes ends the circle.
Inbox::~Inbox() {
  for (const std::shared_ptr<Session>& session : round_) session->lane.items.clear();
}

bool Inbox::Full(const InboxLane& lane) const {
  return lane.bytes >= options_.stream_bytes || lane.messages >= options_.stream_messages ||
         bytes_ >= options_.bytes;
}

bool Inbox::Push(InboxItem item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Session> session = item.session;
  InboxLane& lane = session->lane;
  const bool message = item.kind == InboxItem::Kind::kMessage;
  lane.bytes += item.bytes;
  lane.messages += message ? 1 : 0;
  bytes_ += item.bytes;
  stats_->AddQueuedBytes(static_cast<int64_t>(item.bytes));
  lane.items.push_back(std::move(item));
  if (!lane.listed) {
    lane.listed = true;
    round_.push_back(session);
    ready_.notify_one();
  }
  if (!message || !Full(lane)) return true;
  if (!lane.paused) {
    lane.paused = true;
    paused_.push_back(session);
  }
  return false;
}

std::vector<InboxItem> Inbox::Pop(size_t max_items, size_t max_bytes) {
  std::vector<InboxItem> batch;
  size_t batch_bytes = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!round_.empty() && batch.size() < max_items) {
    InboxLane& lane = round_.front()->lane;
    if (!batch.empty() && batch_bytes + lane.items.front().bytes > max_bytes) break;
    batch_bytes += lane.items.front().bytes;
    batch.push_back(std::move(lane.items.front()));
    lane.items.pop_front();
    if (!lane.items.empty()) {
      round_.push_back(round_.front());
    } else {
      lane.listed = false;
    }
    round_.pop_front();
  }
  return batch;
}

void Inbox::Done(std::vector<InboxItem> items) {
  std::vector<std::shared_ptr<Session>> resumed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const InboxItem& item : items) {
      item.session->lane.bytes -= item.bytes;
      item.session->lane.messages -= item.kind == InboxItem::Kind::kMessage ? 1 : 0;
      bytes_ -= item.bytes;
      stats_->AddQueuedBytes(-static_cast<int64_t>(item.bytes));
    }
    std::vector<std::shared_ptr<Session>> still;
    for (auto& session : paused_) {
      if (Full(session->lane)) {
        still.push_back(std::move(session));
      } else {
        session->lane.paused = false;
        resumed.push_back(std::move(session));
      }
    }
    paused_ = std::move(still);
  }
  for (const auto& session : resumed) session->ResumeReading();
}

void Inbox::Wait(uint64_t timeout_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  ready_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                  [this] { return woken_ || !round_.empty(); });
  woken_ = false;
}

void Inbox::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  woken_ = true;
  ready_.notify_one();
}

bool Inbox::Empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return round_.empty();
}

size_t Inbox::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace telltale::ingest
