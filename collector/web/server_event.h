// One server-sent event, as bytes of a text/event-stream. Pure; any thread.

#ifndef TELLTALE_COLLECTOR_WEB_SERVER_EVENT_H_
#define TELLTALE_COLLECTOR_WEB_SERVER_EVENT_H_

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace telltale::web {

// Appends `message` as JSON, with the names of its proto. `id`, where a reader resumes after it;
// empty: it cannot. Neither `name` nor `id` has a line break.
absl::Status AppendEvent(std::string_view name, std::string_view id,
                         const google::protobuf::Message& message, std::string& piece);

// A stream's last words: why it ends.
void AppendProblem(const absl::Status& status, std::string& piece);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_SERVER_EVENT_H_
