#include "collector/query/followers.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::query {
namespace {

constexpr std::chrono::milliseconds kPoll{500};
constexpr size_t kBatch = 64;

bool Selects(const v1::Selection& selection, const v1::Anomaly& anomaly) {
  const auto& nodes = selection.nodes();
  return nodes.empty() || std::find(nodes.begin(), nodes.end(), anomaly.node()) != nodes.end();
}

}  // namespace

// Lives until OnDone, kept by `self_`. Next batch is fetched only when the last one was written.
class Followers::Reactor : public grpc::ServerWriteReactor<v1::Anomaly> {
 public:
  Reactor(Followers* owner, const v1::FollowRequest& request) : owner_(owner), request_(request) {
    cursor_ = request.cursor();
  }
  void Keep(std::shared_ptr<Reactor> self) { self_ = std::move(self); }

  // By the polling thread. False: has nothing to wait for any more.
  void Poll(const Engine& engine) {
    {
      std::lock_guard lock(mutex_);
      if (finished_ || !queue_.empty() || writing_) return;
    }
    if (cursor_.empty()) cursor_ = engine.NewestAnomaly();
    absl::StatusOr<std::vector<v1::Anomaly>> fresh = engine.AnomaliesAfter(cursor_, kBatch);
    if (!fresh.ok()) {
      End(grpc::Status(static_cast<grpc::StatusCode>(fresh.status().code()),
                       std::string(fresh.status().message())));
      return;
    }
    std::lock_guard lock(mutex_);
    for (v1::Anomaly& anomaly : *fresh) {
      cursor_ = anomaly.cursor();
      if (Selects(request_.selection(), anomaly)) queue_.push_back(std::move(anomaly));
    }
    WriteNext();
  }

  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(grpc::Status::CANCELLED);
      return;
    }
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!queue_.empty()) queue_.pop_front();
    WriteNext();
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    const std::shared_ptr<Reactor> self = std::move(self_);
    owner_->Remove(this);
  }

 private:
  void WriteNext() {  // mutex_ held
    if (finished_ || writing_ || queue_.empty()) return;
    writing_ = true;
    StartWrite(&queue_.front());
  }

  Followers* const owner_;
  const v1::FollowRequest request_;
  std::shared_ptr<Reactor> self_;
  std::string cursor_;  // polling thread only
  std::mutex mutex_;
  std::deque<v1::Anomaly> queue_;  // guarded by mutex_; front is being written
  bool writing_ = false;           // guarded by mutex_
  bool finished_ = false;          // guarded by mutex_
};

Followers::Followers(const Engine* engine, size_t max_followers)
    : engine_(engine), max_followers_(max_followers), thread_([this] { Run(); }) {}

Followers::~Followers() {
  Stop();
  thread_.join();
}

grpc::ServerWriteReactor<v1::Anomaly>* Followers::Begin(const v1::FollowRequest& request) {
  auto reactor = std::make_shared<Reactor>(this, request);
  reactor->Keep(reactor);
  bool room = false;
  {
    std::lock_guard lock(mutex_);
    room = !ending_ && reactors_.size() < max_followers_;
    if (room) reactors_.insert(reactor);
  }
  if (!room) {
    reactor->End(grpc::Status(
        grpc::StatusCode::RESOURCE_EXHAUSTED,
        absl::StrCat("anomalies: ", max_followers_, " follow already; try again later")));
  }
  wake_.notify_one();
  return reactor.get();
}

void Followers::Stop() {
  std::set<std::shared_ptr<Reactor>> all;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    all = reactors_;
  }
  wake_.notify_all();
  for (const auto& reactor : all) {
    reactor->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the collector is stopping"));
  }
}

void Followers::Remove(Reactor* reactor) {
  std::lock_guard lock(mutex_);
  std::erase_if(reactors_, [&](const auto& known) { return known.get() == reactor; });
}

void Followers::Run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const std::vector<std::shared_ptr<Reactor>> all(reactors_.begin(), reactors_.end());
    lock.unlock();
    for (const auto& reactor : all) reactor->Poll(*engine_);
    lock.lock();
    if (ending_) return;
    if (reactors_.empty()) {
      wake_.wait(lock, [this] { return ending_ || !reactors_.empty(); });
    } else {
      wake_.wait_for(lock, kPoll);
    }
  }
}

}  // namespace telltale::query
