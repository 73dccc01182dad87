// Which path is answered by whom, and who may ask. Without a client certificate or token: /healthz,
// /readyz, the files of the user interface and, if it is public, /metrics. With a viewer's or an
// operator's: all of it. A node's certificate opens nothing more than none: nodes write, they do
// not read about each other.
//
// Constant after construction: any thread.

#ifndef TELLTALE_COLLECTOR_WEB_ROUTER_H_
#define TELLTALE_COLLECTOR_WEB_ROUTER_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "collector/web/api.h"
#include "collector/web/http_types.h"

namespace telltale::web {

struct RouterOptions {
  // Ok: answers are to be had; else the reason why not yet or no more. May be empty: always ready.
  std::function<absl::Status()> ready;
  bool metrics_public = false;  // http.metrics_public
  // Absent ones answer 404.
  Handler metrics;           // /metrics
  Handler follow_anomalies;  // /api/v1/anomalies/follow, an event stream
  Handler follow_incidents;  // /api/v1/incidents/follow, another
  Handler live;              // /api/v1/live, another
  Handler landing;           // /plain
  // The user interface and its files, open to all: nothing where the path is none of them.
  std::function<std::optional<Response>(const std::string& path)> ui;
  ApiTable api;  // /api/v1/<name>
};

Handler MakeRouter(RouterOptions options);

// That the server lives, to whoever asks for /healthz; nothing for anything else. Takes no time.
std::optional<Response> HealthAnswer(const std::string& method, const std::string& path);
// Whether a path is answered without a question to what is stored that may take long: everything
// but /plain and the answers below /api/v1/ that are no streams.
bool AnsweredQuickly(std::string_view path);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_ROUTER_H_
