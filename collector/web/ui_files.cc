#include "collector/web/ui_files.h"

#include <algorithm>
#include <string>

namespace telltale::web {
namespace {

// As in ui/src/route.ts.
constexpr std::string_view kViews[] = {"/",     "/anomalies", "/incidents", "/filters",
                                       "/node", "/selection", "/compare"};

// Only files of this server, no inline script or style, no text turned into markup by a script.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string ContentType(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

}  // namespace

std::optional<Response> UiResponse(std::string_view path) {
  const bool view = std::find(std::begin(kViews), std::end(kViews), path) != std::end(kViews);
  const std::string_view file = view ? "/index.html" : path;
  const std::string_view bytes = FindUiFile(file);
  if (bytes.empty()) return std::nullopt;
  Response response;
  response.content_type = ContentType(file);
  response.body = std::string(bytes);
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  // Names below /assets/ change with their content.
  if (file.starts_with("/assets/")) {
    response.headers.emplace_back("Cache-Control", "private, max-age=31536000, immutable");
  }
  return response;
}

}  // namespace telltale::web
