#include "collector/web/request_head.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace telltale::web {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxLengthDigits = 18;  // fits 64 bits whatever the digits are

absl::Status Bad(std::string_view what) {
  return absl::InvalidArgumentError(absl::string_view(what.data(), what.size()));
}

bool IsTokenByte(unsigned char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(static_cast<char>(c)) != std::string_view::npos;
}
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return IsTokenByte(static_cast<unsigned char>(c));
  });
}
bool IsVisible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}
bool IsFieldText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool Same(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(absl::string_view(a.data(), a.size()),
                                absl::string_view(b.data(), b.size()));
}

absl::Status CheckRequestLine(std::string_view line, bool* http_1_0) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return Bad("its first line is not METHOD TARGET HTTP/1.1");
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return Bad("its version is not HTTP/1.1");
  }
  *http_1_0 = version == "HTTP/1.0";
  if (!IsToken(line.substr(0, first))) return Bad("its method is not a word");
  if (!IsVisible(line.substr(first + 1, last - first - 1))) {
    return Bad("its target holds bytes that must be percent-encoded");
  }
  return absl::OkStatus();
}

// What says where a request ends and whom it is for.
struct Framing {
  int lengths = 0;
  int encodings = 0;
  int hosts = 0;
};

absl::Status CheckField(std::string_view line, Framing* framing) {
  const size_t colon = line.find(':');
  // Also what catches a folded line, and a space before the colon.
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Bad("a header is not NAME: VALUE on one line");
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (!IsFieldText(value)) return Bad("a header holds control characters");
  if (Same(name, "content-length")) {
    const bool digits = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (value.empty() || value.size() > kMaxLengthDigits || !digits) {
      return Bad("its Content-Length is not a number");
    }
    ++framing->lengths;
  } else if (Same(name, "transfer-encoding")) {
    if (!Same(value, "chunked")) return Bad("its Transfer-Encoding is not chunked");
    ++framing->encodings;
  } else if (Same(name, "host")) {
    ++framing->hosts;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FindHead(std::string_view bytes, std::optional<size_t>* head_bytes) {
  head_bytes->reset();
  const size_t end = bytes.find(kHeadEnd);
  const std::string_view seen = end == std::string_view::npos ? bytes : bytes.substr(0, end);
  for (size_t at = seen.find_first_of(kLineEnd); at != std::string_view::npos;
       at = seen.find_first_of(kLineEnd, at)) {
    if (seen[at] == '\n') return Bad("a line does not end with CR LF");
    if (at + 1 == seen.size()) break;  // CR at the end of what came
    if (seen[at + 1] != '\n') return Bad("a line does not end with CR LF");
    at += kLineEnd.size();
  }
  if (end != std::string_view::npos) *head_bytes = end + kHeadEnd.size();
  return absl::OkStatus();
}

absl::Status CheckHead(std::string_view head) {
  bool http_1_0 = false;
  Framing framing;
  size_t fields = 0;
  for (bool first = true; !head.empty(); first = false) {
    const size_t end = head.find(kLineEnd);
    if (end == std::string_view::npos) return Bad("a line does not end with CR LF");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + kLineEnd.size());
    if (first) {
      if (absl::Status status = CheckRequestLine(line, &http_1_0); !status.ok()) return status;
      continue;
    }
    if (line.empty()) break;
    if (++fields > kMaxHeaders) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it has more than ", kMaxHeaders, " headers"));
    }
    if (absl::Status status = CheckField(line, &framing); !status.ok()) return status;
  }
  if (!head.empty()) return Bad("its headers do not end with an empty line");
  if (framing.lengths + framing.encodings > 1) return Bad("its length is told more than once");
  if (framing.encodings > 0 && http_1_0) return Bad("HTTP/1.0 knows no Transfer-Encoding");
  if (framing.hosts != 1 && !(http_1_0 && framing.hosts == 0))
    return Bad("it needs one Host header");
  return absl::OkStatus();
}

}  // namespace telltale::web
