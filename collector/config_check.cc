#include "collector/config_check.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "collector/alert/http_post.h"
#include "collector/enroll_parts.h"
#include "collector/part_options.h"
#include "collector/revocation.h"
#include "collector/tls.h"
#include "storage/retention.h"

namespace telltale::collector {
namespace {

// Whether it is a directory that can be written to, or can be made.
absl::Status CheckDataDirectory(const std::string& data) {
  std::filesystem::path there = std::filesystem::absolute(data);
  std::error_code error;
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("data: ", data, " cannot be made: ", there.string(),
                     " is no directory; choose another with data"));
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("data: ", data, " cannot be written: ", there.string(), ": ",
                     std::strerror(errno), "; choose another with data"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<absl::Status> ConfigFaults(const Config& config, absl::Time now) {
  RevocationList revoked;
  const absl::Status checked[] = {
      CheckTlsFiles(TlsFilesOf(config), absl::ToUnixSeconds(now)),
      revoked.Load(config.tls_crl, config.tls_ca, config.enroll_ca_cert),
      MakeIssuer(config, now).status(),
      storage::CheckRetention(StoreOptionsOf(config).retention),
      CheckDataDirectory(config.data),
      alert::CheckTls({.ca = config.incidents_alertmanager_ca,
                       .cert = config.incidents_alertmanager_cert,
                       .key = config.incidents_alertmanager_key}),
  };
  std::vector<absl::Status> faults;
  for (const absl::Status& status : checked) {
    if (!status.ok()) faults.push_back(status);
  }
  return faults;
}

std::vector<std::string> ConfigWarnings(const Config& config, absl::Time now) {
  RevocationList revoked;
  // What is wrong with the files is a fault.
  (void)revoked.Load(config.tls_crl, config.tls_ca, config.enroll_ca_cert);
  const auto outdated = revoked.Outdated(absl::ToUnixSeconds(now));
  return outdated ? std::vector{*outdated} : std::vector<std::string>();
}

}  // namespace telltale::collector
