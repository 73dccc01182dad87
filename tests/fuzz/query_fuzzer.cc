// Feeds arbitrary parameters and bodies to the REST interface: target and body as they would come,
// through the router to every kind of question. First byte: which question (Router below), or 'p' a
// path of any kind. Then query and body (rest_call.h). What a question was understood as is its
// answer here; answer_fuzzer.cc has real ones.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collector/web/router.h"
#include "telltale/v1/query.pb.h"
#include "telltale/v1/watch.pb.h"
#include "tests/fuzz/rest_call.h"

namespace {

using namespace telltale;

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'p') {
    const auto path = web::PercentDecode(rest.substr(0, rest.find('\n')), false);
    if (!path.ok()) return 0;
    auto call = fuzz::RestCall(*path, "");
    fuzz::CheckAnswer(Router()(*call));
    return 0;
  }
  const auto call = fuzz::RestCall(std::string("/api/v1/") + static_cast<char>(data[0]), rest);
  fuzz::CheckAnswer(call.ok() ? Router()(*call) : web::ErrorResponse(call.status()));
  return 0;
}
