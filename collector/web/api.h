// The table of JSON answers: /api/v1/<name> takes one request message of query.proto and gives its
// answer. It knows the encoding, not the meaning; what is handed in calls the one query engine.
//
// Filled by main before the server starts, then constant: any thread.

#ifndef TELLTALE_COLLECTOR_WEB_API_H_
#define TELLTALE_COLLECTOR_WEB_API_H_

#include <google/protobuf/message.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collector/web/http_types.h"
#include "collector/web/json_texts.h"

namespace telltale::web {

struct CallContext {
  collector::Identity peer;
  std::shared_ptr<const std::atomic<bool>> cancelled;  // may be null
  std::string address;
};

class ApiTable {
 public:
  template <typename Question, typename Answer>
  using Call = std::function<absl::StatusOr<Answer>(const Question&, const CallContext&)>;

  // The bytes of an answer that was given before; nullptr: call.
  template <typename Question>
  using Kept = std::function<std::shared_ptr<const std::string>(const Question&)>;

  // Adds /api/v1/<name>. A name is added once. `kept` may be empty.
  template <typename Question, typename Answer>
  void Add(const std::string& name, Call<Question, Answer> call, Kept<Question> kept = {}) {
    calls_[name] =
        Answering<Question, Answer>(std::move(call), std::move(kept), Refusal::kTooLarge);
  }

  // The same for what changes something: by POST with a JSON or binary body alone, which no page of
  // another site can send.
  template <typename Order, typename Answer>
  void AddOrder(const std::string& name, Call<Order, Answer> call) {
    calls_[name] = [answer = Answering<Order, Answer>(std::move(call), {}, Refusal::kNoRoom)](
                       const Request& http, const CallContext& context) -> Response {
      if (http.method == "POST" && !http.body.empty()) return answer(http, context);
      return ErrorResponse(405, "this changes something: POST it with a body");
    };
  }

  // 404 names the answers there are. `http.peer` is set.
  Response Answer(const std::string& name, const Request& http) const;

  std::vector<std::string> Names() const;

 private:
  using Answerer = std::function<Response(const Request&, const CallContext&)>;

  // ResourceExhausted counts as `too_much`.
  template <typename Question, typename Answer>
  Answerer Answering(Call<Question, Answer> call, Kept<Question> kept, Refusal too_much) {
    return [call = std::move(call), kept = std::move(kept), too_much, texts = texts_](
               const Request& http, const CallContext& context) -> Response {
      Question question;
      if (auto status = ParseQuestion(http, &question); !status.ok()) return ErrorResponse(status);
      if (auto status = CheckFormat(http, Answer()); !status.ok()) return ErrorResponse(status);
      if (kept && IsMessage(http)) {
        if (const auto bytes = kept(question)) return RenderBytes(http, Answer(), *bytes, *texts);
      }
      const absl::StatusOr<Answer> answer = call(question, context);
      if (!answer.ok()) return ErrorResponse(answer.status(), too_much);
      return RenderAnswer(http, *answer, *texts);
    };
  }

  // POST: the body is protobuf JSON, or binary with content type application/x-protobuf. GET: each
  // parameter is a field, nested ones by path:
  // ?vital=cpu&selection.nodes=a&selection.nodes=b&selection.tier=TIER_RAW.
  static absl::Status ParseQuestion(const Request& http, google::protobuf::Message* question);
  // Before an answer is computed that could not be shown.
  static absl::Status CheckFormat(const Request& http, const google::protobuf::Message& answer);
  // Protobuf JSON with the names of query.proto; binary if Accept asks for application/x-protobuf;
  // ?format=csv, folded or pprof: a file for other programs (formats/export.h).
  static Response RenderAnswer(const Request& http, const google::protobuf::Message& answer,
                               JsonTexts& texts);

  // Whether the answer comes as JSON or binary, and not as a file.
  static bool IsMessage(const Request& http);
  // Of an answer that is there as bytes, of this type.
  static Response RenderBytes(const Request& http, const google::protobuf::Message& type,
                              const std::string& answer, JsonTexts& texts);

  static constexpr size_t kTextBytes = 32 << 20;
  std::shared_ptr<JsonTexts> texts_ = std::make_shared<JsonTexts>(kTextBytes);
  std::map<std::string, Answerer> calls_;
};

// Sets one field by dotted path from text; repeated fields grow. InvalidArgument names path, value
// and what the field wants.
absl::Status SetField(google::protobuf::Message* message, const std::string& path,
                      const std::string& value);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_API_H_
