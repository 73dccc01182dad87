#include "collector/ingest/live_service.h"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <utility>

#include "collector/grpc_status.h"
#include "telltale/v1/live.grpc.pb.h"

namespace telltale::ingest {
namespace {

// One message is under way at a time; what comes meanwhile waits in the follower's bounded queue.
// Lives until OnDone, kept by `self_`; whoever brings news knows it weakly.
class Reactor final : public grpc::ServerWriteReactor<v1::LiveNews> {
 public:
  void Begin(std::shared_ptr<Reactor> self, feed::Asker asker, LiveHub* hub,
             collector::GrpcStats* stats, const v1::SubscribeRequest& request) {
    self_ = std::move(self);
    asker_ = std::move(asker);
    auto follower = Subscribe(*hub, request, [weak = std::weak_ptr<Reactor>(self_)] {
      if (const auto reactor = weak.lock()) reactor->Advance();
    });
    if (absl::IsResourceExhausted(follower.status())) {
      stats->Refuse(collector::GrpcRefusal::kFollowers);
    }
    if (!follower.ok()) return End(ToGrpc(follower.status()));
    const std::lock_guard lock(mutex_);
    follower_ = *std::move(follower);
    writing_ = true;
    StartWrite(&news_);  // empty: the stream is there
  }
  void Refuse(std::shared_ptr<Reactor> self, const absl::Status& status) {
    self_ = std::move(self);
    End(ToGrpc(status));
  }

  void Advance() {
    const std::lock_guard lock(mutex_);
    WriteNext();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return End(grpc::Status::CANCELLED);
    const std::lock_guard lock(mutex_);
    writing_ = false;
    WriteNext();
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override { const std::shared_ptr<Reactor> self = std::move(self_); }

 private:
  void End(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    EndNow(status);
  }
  void EndNow(const grpc::Status& status) {  // mutex_ held
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }
  void WriteNext() {  // mutex_ held
    if (finished_ || writing_ || follower_ == nullptr) return;
    if (auto next = follower_->Next()) {
      if (const absl::Status may = asker_.MayStill(); !may.ok()) return EndNow(ToGrpc(may));
      news_ = *std::move(next);
      writing_ = true;
      StartWrite(&news_);
    } else if (follower_->closed()) {
      EndNow({grpc::StatusCode::UNAVAILABLE, "the collector is stopping"});
    }
  }

  std::shared_ptr<Reactor> self_;
  feed::Asker asker_;  // constant once it began
  std::mutex mutex_;
  std::shared_ptr<LiveFollower> follower_;  // guarded by mutex_, as all below
  v1::LiveNews news_;                       // being written
  bool writing_ = false;
  bool finished_ = false;
};

class LiveService final : public v1::LiveFeed::CallbackService {
 public:
  using Authorize = std::function<absl::StatusOr<feed::Asker>(const grpc::ServerContextBase&)>;
  LiveService(LiveHub* hub, collector::GrpcStats* stats, Authorize authorize)
      : hub_(hub), stats_(stats), authorize_(std::move(authorize)) {}

  grpc::ServerWriteReactor<v1::LiveNews>* Subscribe(grpc::CallbackServerContext* context,
                                                    const v1::SubscribeRequest* request) override {
    const auto reactor = std::make_shared<Reactor>();
    auto asker = authorize_(*context);
    if (asker.ok()) {
      reactor->Begin(reactor, *std::move(asker), hub_, stats_, *request);
    } else {
      reactor->Refuse(reactor, asker.status());
    }
    return reactor.get();
  }

 private:
  LiveHub* const hub_;
  collector::GrpcStats* const stats_;
  const Authorize authorize_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLiveService(
    LiveHub* hub, collector::GrpcStats* stats,
    std::function<absl::StatusOr<feed::Asker>(const grpc::ServerContextBase&)> authorize) {
  return std::make_unique<LiveService>(hub, stats, std::move(authorize));
}

}  // namespace telltale::ingest
