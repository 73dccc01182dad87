// Feeds arbitrary bytes to what reads a request off a connection: the look at its head, then the
// parser. Where both take it, they must agree on where the request ends, by a count made here that
// shares no code with either; and a head that is taken has no line that another reader would end
// elsewhere.
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "collector/web/http_types.h"
#include "collector/web/request_head.h"

namespace {

namespace http = boost::beast::http;
using namespace telltale;

constexpr size_t kBodyLimit = 1 << 20;

void Require(bool fact) {
  if (!fact) std::abort();
}

// The bytes of all values of a header, by a plain search in lower-case text.
std::string ValueOf(const std::string& head, const std::string& name, int* times) {
  std::string value;
  *times = 0;
  for (size_t at = head.find("\r\n" + name + ":"); at != std::string::npos;
       at = head.find("\r\n" + name + ":", at + 1)) {
    const size_t begin = at + name.size() + 3;
    value = head.substr(begin, head.find("\r\n", begin) - begin);
    ++*times;
  }
  value.erase(0, std::min(value.find_first_not_of(" \t"), value.size()));
  value.erase(value.find_last_not_of(" \t") + 1);
  return value;
}

void CheckTaken(std::string_view bytes, std::string_view head) {
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\n') Require(i > 0 && head[i - 1] == '\r');
    if (head[i] == '\r') Require(i + 1 < head.size() && head[i + 1] == '\n');
    if (head[i] == '\r' && i + 2 < head.size()) Require(head[i + 2] != ' ' && head[i + 2] != '\t');
    Require(head[i] != '\0');
  }
  std::string lower(head);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int lengths = 0, encodings = 0, hosts = 0;
  const std::string length = ValueOf(lower, "content-length", &lengths);
  const std::string encoding = ValueOf(lower, "transfer-encoding", &encodings);
  ValueOf(lower, "host", &hosts);
  Require(lengths + encodings <= 1 && hosts <= 1);

  http::request_parser<http::string_body> parser;
  parser.header_limit(1 << 20);
  parser.body_limit(kBodyLimit);
  boost::system::error_code error;
  const size_t taken = parser.put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error && error != http::error::need_more) return;  // refused by the parser: fine
  Require(taken == head.size() && parser.is_header_done());
  Require(parser.chunked() == (encodings == 1));
  if (lengths == 1) {
    Require(parser.content_length().has_value());
    Require(*parser.content_length() == std::strtoull(length.c_str(), nullptr, 10));
  } else if (encodings == 0) {
    Require(parser.is_done() || parser.content_length_remaining().value_or(0) == 0);
  }
  const std::string target(parser.get().target().data(), parser.get().target().size());
  const size_t question = std::min(target.find('?'), target.size());
  (void)web::PercentDecode(std::string_view(target).substr(0, question), false);
  (void)web::ParseQuery(std::string_view(target).substr(std::min(question + 1, target.size())));

  // The body as far as it came.
  parser.eager(true);
  std::string_view rest = bytes.substr(head.size());
  while (!rest.empty() && !parser.is_done()) {
    const size_t used = parser.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    if (error && error != http::error::need_more) return;
    if (used == 0) break;
    rest.remove_prefix(used);
  }
  Require(parser.get().body().size() <= kBodyLimit);
  if (lengths == 1 && parser.is_done()) {
    Require(parser.get().body().size() == *parser.content_length());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::optional<size_t> head;
  if (!web::FindHead(bytes, &head).ok()) {
    Require(!head.has_value());
    return 0;
  }
  if (!head.has_value()) return 0;
  Require(*head <= size && bytes.substr(*head - 4, 4) == "\r\n\r\n");
  if (web::CheckHead(bytes.substr(0, *head)).ok()) CheckTaken(bytes, bytes.substr(0, *head));
  return 0;
}
