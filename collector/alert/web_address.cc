#include "collector/alert/web_address.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace telltale::alert {
namespace {

constexpr size_t kMaxAddresses = 16, kMaxBytes = 512;

}  // namespace

absl::StatusOr<WebAddress> ParseWebAddress(const std::string& text) {
  const auto wrong = [&](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("address \"", text.substr(0, 128), "\" ", what,
                                                   "; it is like https://alerts.example:9093"));
  };
  const bool plain =
      text.size() <= kMaxBytes && std::ranges::all_of(text, [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '"' && c != '\\';
      });
  if (!plain) return wrong("is too long or has characters that addresses do not");
  WebAddress address;
  address.text = text;
  std::string rest;
  if (text.starts_with("https://")) {
    address.tls = true;
    rest = text.substr(8);
  } else if (text.starts_with("http://")) {
    rest = text.substr(7);
  } else {
    return wrong("does not begin with http:// or https://");
  }
  if (rest.find_first_of("?#@") != std::string::npos) {
    return wrong("has a user, a query or a fragment");
  }
  const size_t slash = rest.find('/');
  std::string host = rest.substr(0, slash);
  if (slash != std::string::npos) address.path = rest.substr(slash);
  while (address.path.ends_with('/')) address.path.pop_back();
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    uint32_t port = 0;
    address.port = host.substr(colon + 1);
    if (!absl::SimpleAtoi(address.port, &port) || port == 0 || port > 65535) {
      return wrong("has a port that is none");
    }
    host.resize(colon);
  }
  if (address.port.empty()) address.port = address.tls ? "443" : "80";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong("has no host");
  address.host = host;
  return address;
}

absl::StatusOr<std::vector<WebAddress>> ParseWebAddresses(const std::string& text) {
  std::vector<WebAddress> addresses;
  for (const absl::string_view piece : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const absl::string_view one = absl::StripAsciiWhitespace(piece);
    auto address = ParseWebAddress(std::string(one.data(), one.size()));
    if (!address.ok()) return address.status();
    if (std::ranges::count(addresses, address->text, &WebAddress::text) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("address \"", address->text, "\" is given twice"));
    }
    addresses.push_back(*std::move(address));
  }
  if (addresses.size() > kMaxAddresses) {
    return absl::InvalidArgumentError(
        absl::StrCat(addresses.size(), " addresses, limit ", kMaxAddresses));
  }
  return addresses;
}

}  // namespace telltale::alert
