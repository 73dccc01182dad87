// Feeds arbitrary parameters and bodies to the REST interface: target and body as they would come,
// through the router to every kind of question. First byte: which question (Router below), or 'p' a
// path of any kind. Then the query up to the first newline, then the body; a query that begins with
// 'x' posts protobuf, one with 'j' JSON, else it is a GET. An answer is JSON or protobuf that can
// be read, an error is one line of JSON with its reason, and nothing takes a second walk through a
// question.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "collector/web/router.h"
#include "telltale/v1/query.pb.h"
#include "telltale/v1/watch.pb.h"

namespace {

using namespace telltale;

void Require(bool fact) {
  if (!fact) std::abort();
}

// Answers with the question: what was understood comes out.
template <typename Question>
absl::StatusOr<Question> Echo(const Question& question, const web::CallContext&) {
  return question;
}
template <typename Question>
void AddEcho(web::ApiTable& api, const std::string& name) {
  api.Add<Question, Question>(name, Echo<Question>);
}

const web::Handler& Router() {
  static const web::Handler router = [] {
    google::protobuf::SetLogHandler(nullptr);
    web::RouterOptions options;
    AddEcho<v1::TopRequest>(options.api, "0");
    AddEcho<v1::SeriesRequest>(options.api, "1");
    AddEcho<v1::SamplesRequest>(options.api, "2");
    AddEcho<v1::StacksRequest>(options.api, "3");
    AddEcho<v1::HistogramRequest>(options.api, "4");
    AddEcho<v1::CoverageRequest>(options.api, "5");
    AddEcho<v1::EventsRequest>(options.api, "6");
    AddEcho<v1::NodesRequest>(options.api, "7");
    AddEcho<v1::AnomaliesRequest>(options.api, "8");
    AddEcho<v1::VitalsRequest>(options.api, "9");
    AddEcho<v1::FlameRequest>(options.api, "f");
    AddEcho<v1::DiffRequest>(options.api, "d");
    AddEcho<v1::HostLevelsRequest>(options.api, "h");
    AddEcho<v1::MarksRequest>(options.api, "m");
    AddEcho<v1::InvestigateRequest>(options.api, "i");
    AddEcho<v1::FilterSeriesRequest>(options.api, "s");
    AddEcho<v1::ListIncidentsRequest>(options.api, "l");
    options.api.AddOrder<v1::ChangeIncidentRequest, v1::ChangeIncidentRequest>(
        "c", Echo<v1::ChangeIncidentRequest>);
    return web::MakeRouter(std::move(options));
  }();
  return router;
}

void CheckAnswer(const web::Response& response) {
  Require(response.status >= 200 && response.status < 600);
  if (response.content_type != "application/json") return;
  Require(absl::EndsWith(response.body, "\n"));
  if (response.status == 200) {
    google::protobuf::Struct json;
    Require(google::protobuf::util::JsonStringToMessage(response.body, &json).ok());
    return;
  }
  // By hand, because protobuf's reader of JSON takes most of the time.
  std::string_view body = response.body;
  Require(body.starts_with(R"({"error": ")") && body.ends_with("\"}\n"));
  Require(web::ValidUtf8(body));
  body = body.substr(11, body.size() - 14);
  for (size_t i = 0; i < body.size(); ++i) {
    Require(static_cast<unsigned char>(body[i]) >= 0x20 && body[i] != '"');
    if (body[i] == '\\') Require(++i < body.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t newline = std::min(rest.find('\n'), rest.size());
  const std::string_view target = rest.substr(0, newline);
  web::Request request;
  request.method = "GET";
  request.peer = collector::Identity{collector::Role::kViewer, "fuzz"};
  if (data[0] == 'p') {
    const auto path = web::PercentDecode(target, false);
    if (!path.ok()) return 0;
    request.path = *path;
  } else {
    request.path = std::string("/api/v1/") + static_cast<char>(data[0]);
    if (target.starts_with('x') || target.starts_with('j')) {
      request.method = "POST";
      request.content_type = target.front() == 'x' ? "application/x-protobuf" : "application/json";
      request.body = std::string(rest.substr(std::min(newline + 1, rest.size())));
    }
    auto query = web::ParseQuery(request.method == "POST" ? target.substr(1) : target);
    if (!query.ok()) {
      CheckAnswer(web::ErrorResponse(query.status()));
      return 0;
    }
    request.query = *std::move(query);
  }
  if (!target.starts_with('j')) request.accept = "application/x-protobuf";
  CheckAnswer(Router()(request));
  return 0;
}
