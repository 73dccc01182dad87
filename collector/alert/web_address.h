// "https://alerts.example:9093/prefix" taken apart. A value.

#ifndef TELLTALE_COLLECTOR_ALERT_WEB_ADDRESS_H_
#define TELLTALE_COLLECTOR_ALERT_WEB_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::alert {

struct WebAddress {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // 80 or 443 if not given
  std::string path;  // "" or "/prefix", without a slash at the end
  std::string text;  // as it was given
};

// InvalidArgument says what is wrong: a scheme besides http and https, no host, a user, a query.
absl::StatusOr<WebAddress> ParseWebAddress(const std::string& text);
// Comma-separated, each once, at most 16. Empty: none.
absl::StatusOr<std::vector<WebAddress>> ParseWebAddresses(const std::string& text);

}  // namespace telltale::alert

#endif  // TELLTALE_COLLECTOR_ALERT_WEB_ADDRESS_H_
