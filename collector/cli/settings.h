// Which collector, with which certificates: from flags, environment, files and defaults, the first
// that says so.
//
// Values; the main thread.

#ifndef TELLTALE_COLLECTOR_CLI_SETTINGS_H_
#define TELLTALE_COLLECTOR_CLI_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace telltale::cli {

struct Settings {
  std::string collector;      // host:port
  std::string ca, cert, key;  // PEM files
};

struct SettingsSources {
  Settings flags;                                              // empty: not given
  std::function<std::string(const std::string&)> environment;  // "" if unset
  std::vector<std::string>
      files;  // in this order, those that exist: ~/.config/telltale.yaml, /etc/telltale/cli.yaml
};

// Environment: TELLTALE_COLLECTOR, TELLTALE_TLS_CA, TELLTALE_TLS_CERT, TELLTALE_TLS_KEY,
// TELLTALE_TLS_DIR (a directory with ca.crt and one operator-*.crt or viewer-*.crt with its key).
// File: `collector:` and `tls: {ca, cert, key}` or `tls: {dir}`. Default: localhost:7410 and
// /etc/telltale/pki. InvalidArgument names file, line and key.
absl::StatusOr<Settings> LoadSettings(const SettingsSources& sources);

// The default files for this user.
std::vector<std::string> SettingsFiles(const std::string& home);

// "host" becomes "host:7410"; "[::1]" and bare IPv6 addresses too.
std::string WithPort(const std::string& address);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_SETTINGS_H_
