// Puts arbitrary questions to a real query engine on a real store: two nodes, half an hour, rolled
// up. First byte: which question (kQuestions), then query and body (rest_call.h). Whatever is asked
// for, it is answered or refused with a reason; no question is an error of the collector, and no
// answer is larger than what it was read from allows.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "collector/web/engine_api.h"
#include "tests/fuzz/rest_call.h"
#include "tests/support/query_store.h"

namespace {

using namespace telltale;

constexpr uint64_t kStoredS = 1800;
constexpr size_t kLargestAnswer = 64 << 20;
// By what is left of the first byte.
constexpr const char* kQuestions[] = {
    "series", "top",    "samples", "stacks", "flame",  "diff",   "histogram",   "coverage",
    "host",   "events", "marks",   "nodes",  "vitals", "status", "investigate",
};

struct Site {
  testing::QueryStore store{2, {}, /*cache_bytes=*/0};
  web::Handler router;

  Site() {
    google::protobuf::SetLogHandler(nullptr);
    store.Put(0, kStoredS);
    store.set_now(kStoredS + 600);
    store.RollUp();
    web::RouterOptions options;
    options.api = web::EngineApi(&store.engine());
    router = web::MakeRouter(std::move(options));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Site site;
  if (size == 0) return 0;
  const std::string question = kQuestions[data[0] % std::size(kQuestions)];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto call = fuzz::RestCall("/api/v1/" + question, input);
  const web::Response answer = call.ok() ? site.router(*call) : web::ErrorResponse(call.status());
  fuzz::CheckAnswer(answer);
  fuzz::Require(answer.status < 500);
  fuzz::Require(answer.body.size() < kLargestAnswer);
  return 0;
}
