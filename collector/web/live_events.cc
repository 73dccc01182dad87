#include "collector/web/live_events.h"

#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collector/web/server_event.h"

namespace telltale::web {
namespace {

constexpr size_t kEventPieceBytes = 32 << 10;

// Whoever brings news may do so when the stream is gone.
class Alarm {
 public:
  void Set(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  void Ring() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_;  // guarded by mutex_
};

class LiveStream final : public BodyStream {
 public:
  LiveStream(std::shared_ptr<Alarm> alarm, std::shared_ptr<ingest::LiveFollower> follower)
      : alarm_(std::move(alarm)), follower_(std::move(follower)) {}
  ~LiveStream() override { alarm_->Set({}); }

  void SetWake(std::function<void()> wake) override { alarm_->Set(std::move(wake)); }

  absl::StatusOr<Step> Next(std::string& piece) override {
    if (!std::exchange(begun_, true)) {
      if (auto status = AppendEvent("begin", "", v1::LiveNews(), piece); !status.ok())
        return status;
    }
    while (piece.size() < kEventPieceBytes) {
      const auto news = follower_->Next();
      if (!news.has_value()) return follower_->closed() ? Step::kEnd : Step::kWait;
      if (auto status = AppendEvent(NameOf(*news), "", *news, piece); !status.ok()) return status;
    }
    return Step::kMore;
  }

  std::string_view Heartbeat() const override { return ": waiting\n\n"; }

 private:
  static std::string_view NameOf(const v1::LiveNews& news) {
    if (news.has_second()) return "second";
    return news.has_epoch() ? "epoch" : "trouble";
  }

  const std::shared_ptr<Alarm> alarm_;
  const std::shared_ptr<ingest::LiveFollower> follower_;
  bool begun_ = false;
};

}  // namespace

Handler FollowLive(ingest::LiveHub* hub) {
  return [hub](const Request& request) {
    v1::SubscribeRequest wanted;
    for (const auto& [name, value] : request.query) {
      if (name != "node") {
        return ErrorResponse(400, absl::StrCat("parameter ", name.substr(0, 64),
                                               ": no such parameter; there is: node"));
      }
      wanted.add_nodes(value);
    }
    auto alarm = std::make_shared<Alarm>();
    auto follower = ingest::Subscribe(*hub, wanted, [alarm] { alarm->Ring(); });
    if (!follower.ok()) return ErrorResponse(follower.status(), Refusal::kFollowers);
    Response response;
    response.content_type = "text/event-stream";
    response.stream = std::make_unique<LiveStream>(std::move(alarm), *std::move(follower));
    return response;
  };
}

}  // namespace telltale::web
