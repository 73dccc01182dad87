#include "collector/web/anomaly_events.h"

#include <google/protobuf/util/json_util.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

constexpr size_t kBatch = 64;

class AnomalyStream : public BodyStream {
 public:
  AnomalyStream(filter::AnomalyLog* log, std::string cursor, std::set<std::string> nodes)
      : log_(log), cursor_(std::move(cursor)), nodes_(std::move(nodes)) {}

  // A place among the waiters is taken before the answer begins, so that "too many" can still be
  // said.
  absl::Status Begin() {
    auto waiter = log_->Wait([this] { Wake(); });
    if (!waiter.ok()) return waiter.status();
    waiter_ = *std::move(waiter);
    return absl::OkStatus();
  }

  void SetWake(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

  absl::StatusOr<Step> Next(std::string& piece) override {
    const auto fresh = log_->After(cursor_, kBatch);
    if (!fresh.ok()) {
      // Outrun by the log, or damaged: said in the stream, which then ends.
      absl::StrAppend(&piece, "event: error\ndata: ", ErrorResponse(fresh.status()).body, "\n");
      return Step::kEnd;
    }
    for (const v1::Anomaly& anomaly : *fresh) {
      cursor_ = anomaly.cursor();
      if (!nodes_.empty() && !nodes_.contains(anomaly.node())) continue;
      google::protobuf::util::JsonPrintOptions options;
      options.always_print_primitive_fields = true;
      options.preserve_proto_field_names = true;
      std::string json;
      const auto printed = google::protobuf::util::MessageToJsonString(anomaly, &json, options);
      if (!printed.ok()) return absl::InternalError("anomaly has no JSON form");
      absl::StrAppend(&piece, "id: ", cursor_, "\nevent: anomaly\ndata: ", json, "\n\n");
    }
    // The first answer tells where "now" is, so that whoever is cut before the first anomaly loses
    // none.
    if (!greeted_ && fresh->empty())
      absl::StrAppend(&piece, "id: ", cursor_, "\nevent: begin\ndata: {}\n\n");
    greeted_ = true;
    return fresh->size() == kBatch ? Step::kMore : Step::kWait;
  }

  std::string_view Heartbeat() const override { return ": waiting\n\n"; }

 private:
  void Wake() {
    const std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

  filter::AnomalyLog* const log_;
  std::string cursor_;
  const std::set<std::string> nodes_;
  bool greeted_ = false;
  std::mutex mutex_;
  std::function<void()> wake_;                          // guarded by mutex_
  std::unique_ptr<filter::AnomalyLog::Waiter> waiter_;  // keep last: it calls into the rest
};

}  // namespace

Handler FollowAnomalies(filter::AnomalyLog* log) {
  return [log](const Request& request) {
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
    if (cursor.empty()) cursor = log->NowCursor();
    // A cursor that cannot work is an error now, not an event in a stream nobody reads.
    if (const auto check = log->After(cursor, 1); !check.ok()) return ErrorResponse(check.status());
    auto stream = std::make_unique<AnomalyStream>(log, std::move(cursor), std::move(nodes));
    if (const auto begun = stream->Begin(); !begun.ok()) return ErrorResponse(begun);
    Response response;
    response.content_type = "text/event-stream";
    response.stream = std::move(stream);
    return response;
  };
}

}  // namespace telltale::web
