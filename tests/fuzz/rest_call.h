// What the fuzzers of the REST interface share: a request as it would come, made of their input,
// and what must hold of every answer.

#ifndef TELLTALE_TESTS_FUZZ_REST_CALL_H_
#define TELLTALE_TESTS_FUZZ_REST_CALL_H_

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "collector/web/router.h"

namespace telltale::fuzz {

inline void Require(bool fact) {
  if (!fact) std::abort();
}

// `input`: the query up to the first newline, then the body. A query that begins with 'x' posts
// protobuf, one with 'j' JSON, else it is a GET. All but 'j' want protobuf back.
inline absl::StatusOr<web::Request> RestCall(std::string path, std::string_view input) {
  const size_t newline = std::min(input.find('\n'), input.size());
  std::string_view query = input.substr(0, newline);
  web::Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.peer = collector::Identity{collector::Role::kViewer, "fuzz"};
  if (!query.starts_with('j')) request.accept = "application/x-protobuf";
  if (query.starts_with('x') || query.starts_with('j')) {
    request.method = "POST";
    request.content_type = query.front() == 'x' ? "application/x-protobuf" : "application/json";
    request.body = std::string(input.substr(std::min(newline + 1, input.size())));
    query.remove_prefix(1);
  }
  auto parsed = web::ParseQuery(query);
  if (!parsed.ok()) return parsed.status();
  request.query = *std::move(parsed);
  return request;
}

// JSON or protobuf that can be read; an error is one line of JSON with its reason.
inline void CheckAnswer(const web::Response& response) {
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

}  // namespace telltale::fuzz

#endif  // TELLTALE_TESTS_FUZZ_REST_CALL_H_
