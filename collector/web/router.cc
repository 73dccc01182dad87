#include "collector/web/router.h"

#include <memory>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kHealth = "/healthz";
constexpr std::string_view kPlain = "/plain";
constexpr std::string_view kFollowAnomalies = "/api/v1/anomalies/follow",
                           kFollowIncidents = "/api/v1/incidents/follow", kLive = "/api/v1/live";

Response PlainText(int status, std::string text) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  return response;
}

absl::Status CheckReader(const Request& request) {
  if (!request.peer.has_value()) {
    return absl::UnauthenticatedError(
        request.peer_problem.empty()
            ? "neither client certificate nor token; use a viewer's or an operator's (telltale pki "
              "issue, telltale token create)"
            : request.peer_problem);
  }
  if (request.peer->role == collector::Role::kNode) {
    return absl::PermissionDeniedError(
        absl::StrCat("certificate of node ", request.peer->name,
                     " may not read; use a viewer's or an operator's (telltale pki issue)"));
  }
  return absl::OkStatus();
}

// Browsers say so by themselves; what is no browser says nothing.
bool FromAnotherSite(const Request& request) {
  const std::string& site = request.sec_fetch_site;
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  return !request.origin.empty() && request.origin != absl::StrCat("https://", request.host);
}

class Router {
 public:
  explicit Router(RouterOptions options) : options_(std::move(options)) {}

  Response Answer(const Request& request) const {
    const bool post = request.method == "POST";
    if (!post && request.method != "GET" && request.method != "HEAD") {
      Response response =
          ErrorResponse(405, absl::StrCat("method ", request.method, ": use GET, HEAD or POST"));
      response.headers.emplace_back("Allow", "GET, HEAD, POST");
      return response;
    }
    const std::string& path = request.path;
    const bool api = std::string_view(path).starts_with(kApi);
    if (post && !api) return ErrorResponse(405, "only answers below /api/v1/ take POST");
    if (auto health = HealthAnswer(request.method, path)) return *std::move(health);
    if (path == "/readyz") return Ready();
    if (!api && options_.ui) {
      if (auto file = options_.ui(path); file.has_value()) return *std::move(file);
    }
    const bool page = api || path == "/metrics" || path == kPlain;
    if (!page && options_.ui && absl::StrContains(request.accept, "text/html")) {
      // The shell says it in words, with a way on.
      if (auto shell = options_.ui("/"); shell.has_value()) {
        shell->status = 404;
        return *std::move(shell);
      }
    }
    const bool open = path == "/metrics" && options_.metrics_public;
    if (!open) {
      if (const auto allowed = CheckReader(request); !allowed.ok()) return ErrorResponse(allowed);
    }
    // A page of another site must not make a visitor's browser work here under his certificate.
    if (api && FromAnotherSite(request)) {
      return ErrorResponse(403, "requests from pages of other sites are refused");
    }
    if (path == "/metrics") return Call(options_.metrics, request);
    if (path == kFollowAnomalies) return Call(options_.follow_anomalies, request);
    if (path == kFollowIncidents) return Call(options_.follow_incidents, request);
    if (path == kLive) return Call(options_.live, request);
    if (path == kPlain) return Call(options_.landing, request);
    if (api) return options_.api.Answer(path.substr(kApi.size()), request);
    return NotFound(path);
  }

 private:
  static Response NotFound(const std::string& path) {
    return ErrorResponse(
        404, absl::StrCat("nothing at ", path.substr(0, 128),
                          "; there are /, /plain, /metrics, /healthz, /readyz, /api/v1/"));
  }

  static Response Call(const Handler& handler, const Request& request) {
    return handler ? handler(request) : NotFound(request.path);
  }

  Response Ready() const {
    const absl::Status ready = options_.ready ? options_.ready() : absl::OkStatus();
    if (ready.ok()) return PlainText(200, "ready\n");
    return ErrorResponse(503, std::string(ready.message().data(), ready.message().size()));
  }

  const RouterOptions options_;
};

}  // namespace

std::optional<Response> HealthAnswer(const std::string& method, const std::string& path) {
  if (path != kHealth || (method != "GET" && method != "HEAD")) return std::nullopt;
  return PlainText(200, "ok\n");
}

bool AnsweredQuickly(std::string_view path) {
  if (path == kFollowAnomalies || path == kFollowIncidents || path == kLive) return true;
  return path != kPlain && !path.starts_with(kApi);
}

Handler MakeRouter(RouterOptions options) {
  auto router = std::make_shared<const Router>(std::move(options));
  return [router](const Request& request) { return router->Answer(request); };
}

}  // namespace telltale::web
