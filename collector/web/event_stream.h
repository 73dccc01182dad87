// A log as server-sent events: each event carries its cursor as its id, so a browser
// (Last-Event-ID) or a script (?cursor=) goes on where it stopped, without loss or repeat; without
// a cursor it begins now, or with ?cursor=0 at the oldest that is kept. Of a reader one batch is
// held; the server cuts one who takes nothing (HttpServerOptions::write_timeout), and he goes on
// with the last id he has.
//
// Thread-safe.

#ifndef TELLTALE_COLLECTOR_WEB_EVENT_STREAM_H_
#define TELLTALE_COLLECTOR_WEB_EVENT_STREAM_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/feed/waiters.h"
#include "collector/web/http_types.h"

namespace telltale::web {

struct StreamEvent {
  std::string cursor;
  std::vector<std::string> nodes;                         // it is about, for ?node=
  std::shared_ptr<const google::protobuf::Message> data;  // sent as JSON
};

struct EventSource {
  std::string name;                  // of its events
  std::function<std::string()> now;  // the cursor behind all there is
  // Oldest first, at most `limit` behind the cursor.
  std::function<absl::StatusOr<std::vector<StreamEvent>>(const std::string& cursor, size_t limit)>
      after;
  std::function<absl::StatusOr<std::unique_ptr<feed::Waiter>>(std::function<void()> wake)> wait;
};

// What the source's functions use outlives the server. Parameters: cursor, node (repeatable: only
// these).
Handler FollowEvents(EventSource source);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_EVENT_STREAM_H_
