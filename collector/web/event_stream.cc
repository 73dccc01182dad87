#include "collector/web/event_stream.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "collector/web/server_event.h"

namespace telltale::web {
namespace {

constexpr size_t kBatch = 64;

class EventStream : public BodyStream {
 public:
  EventStream(std::shared_ptr<const EventSource> source, std::string cursor,
              std::set<std::string> nodes)
      : source_(std::move(source)), cursor_(std::move(cursor)), nodes_(std::move(nodes)) {}

  // A place among the waiters is taken before the answer begins, so that "too many" can still be
  // said.
  absl::Status Begin() {
    auto waiter = source_->wait([this] { Wake(); });
    if (!waiter.ok()) return waiter.status();
    waiter_ = *std::move(waiter);
    return absl::OkStatus();
  }

  void SetWake(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

  absl::StatusOr<Step> Next(std::string& piece) override {
    const auto fresh = source_->after(cursor_, kBatch);
    if (!fresh.ok()) {
      // Outrun by the log, or damaged: said in the stream, which then ends.
      AppendProblem(fresh.status(), piece);
      return Step::kEnd;
    }
    for (const StreamEvent& event : *fresh) {
      cursor_ = event.cursor;
      if (!Wanted(event)) continue;
      if (auto status = AppendEvent(source_->name, cursor_, *event.data, piece); !status.ok()) {
        return status;
      }
    }
    // The first answer tells where "now" is, so that whoever is cut before the first event loses
    // none.
    if (!greeted_ && fresh->empty())
      absl::StrAppend(&piece, "id: ", cursor_, "\nevent: begin\ndata: {}\n\n");
    greeted_ = true;
    // A source may give less than was asked for although it has more.
    return fresh->empty() ? Step::kWait : Step::kMore;
  }

  std::string_view Heartbeat() const override { return ": waiting\n\n"; }

 private:
  bool Wanted(const StreamEvent& event) const {
    return nodes_.empty() || std::ranges::any_of(event.nodes, [&](const std::string& node) {
             return nodes_.contains(node);
           });
  }
  void Wake() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

  const std::shared_ptr<const EventSource> source_;
  std::string cursor_;
  const std::set<std::string> nodes_;
  bool greeted_ = false;
  std::mutex mutex_;
  std::function<void()> wake_;            // guarded by mutex_
  std::unique_ptr<feed::Waiter> waiter_;  // keep last: it calls into the rest
};

}  // namespace

Handler FollowEvents(EventSource of) {
  const auto source = std::make_shared<const EventSource>(std::move(of));
  return [source](const Request& request) {
    std::string cursor = request.last_event_id;
    std::set<std::string> nodes;
    for (const auto& [name, value] : request.query) {
      if (name == "cursor") {
        // A browser that reconnects repeats the address it began with: its last event is newer.
        if (request.last_event_id.empty()) cursor = value;
      } else if (name == "node") {
        nodes.insert(value);
      } else {
        return ErrorResponse(400, absl::StrCat("parameter ", name.substr(0, 64),
                                               ": no such parameter; there are: cursor, node"));
      }
    }
    if (cursor.empty()) cursor = source->now();
    // A cursor that cannot work is an error now, not an event in a stream nobody reads.
    if (const auto check = source->after(cursor, 1); !check.ok()) {
      return ErrorResponse(check.status());
    }
    auto stream = std::make_unique<EventStream>(source, std::move(cursor), std::move(nodes));
    if (const auto begun = stream->Begin(); !begun.ok()) {
      return ErrorResponse(begun, Refusal::kFollowers);
    }
    Response response;
    response.content_type = "text/event-stream";
    response.stream = std::move(stream);
    return response;
  };
}

}  // namespace telltale::web
