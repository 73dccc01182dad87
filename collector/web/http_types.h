// What a handler sees and returns: requests and responses without a socket. The server
// (http_server.h) turns them into HTTP; tests call handlers directly.
//
// Handlers run on the server's worker threads, several at a time. A Request belongs to the handler
// for the call; a Response's stream is pulled by one thread at a time.

#ifndef TELLTALE_COLLECTOR_WEB_HTTP_TYPES_H_
#define TELLTALE_COLLECTOR_WEB_HTTP_TYPES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/identity.h"
#include "collector/web/http_stats.h"

namespace telltale::web {

struct Request {
  std::string method;                                      // "GET", "HEAD", "POST"
  std::string path;                                        // percent-decoded, without the query
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in order
  std::string content_type;
  std::string accept;
  std::string last_event_id;   // header Last-Event-ID: where an event stream resumes
  std::string sec_fetch_site;  // what a browser says about who asks
  std::string origin;          // the same, of older browsers and of posts
  std::string host;
  std::string body;
  std::string address;                      // of who asks, as "10.0.0.7"
  std::optional<collector::Identity> peer;  // absent: neither client certificate nor token
  std::string peer_problem;                 // why a certificate or token that was shown gives none
  std::shared_ptr<const std::atomic<bool>>
      cancelled;  // set when the answer is of no use any more; may be null
};

// A body made piece by piece while it is sent, so that its size in memory is one piece.
class BodyStream {
 public:
  enum class Step {
    kMore,  // call again
    kEnd,   // body complete
    kWait,  // nothing now; call again after a wake or the heartbeat (live streams only)
  };
  virtual ~BodyStream() = default;
  // Appends to `piece` (empty at the call), about 64 KiB at most. An error cuts the connection, so
  // that the reader sees a truncated body and not a short but complete one.
  virtual absl::StatusOr<Step> Next(std::string& piece) = 0;
  // Called once, before the first Next. A live stream keeps `wake` and calls it, from any thread,
  // when there is something new; it must not call it after its destructor returned.
  virtual void SetWake(std::function<void()> wake) { (void)wake; }
  // What keeps an idle connection open; sent after each silent heartbeat period.
  virtual std::string_view Heartbeat() const { return {}; }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;                                          // used if stream is null
  std::unique_ptr<BodyStream> stream;                        // sent in chunks
  std::vector<std::pair<std::string, std::string>> headers;  // besides the server's own
  std::optional<Refusal> refusal;  // what it counts as, where its status does not tell
};

using Handler = std::function<Response(const Request&)>;

// {"error": "<message>"} on one line with the HTTP status that fits the code.
Response ErrorResponse(const absl::Status& status);
// The same; ResourceExhausted counts as `too_much`.
Response ErrorResponse(const absl::Status& status, Refusal too_much);
Response ErrorResponse(int http_status, std::string_view message);
int HttpStatus(absl::StatusCode code);

// `text` as the inside of a JSON string: quotes, backslashes and control bytes escaped, invalid
// UTF-8 replaced.
std::string JsonEscape(std::string_view text);

bool ValidUtf8(std::string_view text);

// %41 -> A and, in queries, + -> space. InvalidArgument on a broken escape or a zero byte.
absl::StatusOr<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// "a=1&b=%20" -> pairs; at most 256 of them.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_HTTP_TYPES_H_
