#include "collector/incident_parts.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "collector/alert/web_address.h"
#include "config/values.h"
#include "spdlog/spdlog.h"

namespace telltale::collector {
namespace {

std::string OwnUrl(const Config& config) {
  if (!config.incidents_url.empty()) return config.incidents_url;
  char name[256] = "localhost";
  (void)gethostname(name, sizeof name - 1);
  const auto listens = config::ParseAddress(config.listen_https);
  return absl::StrCat("https://", name, ":", listens.ok() ? listens->port : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<alert::Alertmanager>> MakeAlertmanager(
    const Config& config, incident::IncidentBook* book, const std::string& store_id,
    std::function<uint64_t()> now_ns) {
  constexpr size_t kShortIdBytes = 4;
  auto targets = alert::ParseWebAddresses(config.incidents_alertmanager);
  if (!targets.ok()) return targets.status();
  alert::AlertmanagerOptions options;
  options.targets = *std::move(targets);
  options.tls = {.ca = config.incidents_alertmanager_ca,
                 .cert = config.incidents_alertmanager_cert,
                 .key = config.incidents_alertmanager_key};
  options.words.store = std::string(absl::BytesToHexString(
      absl::string_view(store_id.data(), std::min(store_id.size(), kShortIdBytes))));
  options.words.url = OwnUrl(config);
  options.repeat = std::chrono::seconds(config.incidents_alertmanager_repeat_s);
  options.incidents = [book](uint64_t since_ns) { return book->Alerts(since_ns); };
  options.wait = [book](std::function<void()> wake) { return book->Wait(std::move(wake)); };
  options.now_ns = std::move(now_ns);
  options.log_line = [](const std::string& line) { spdlog::warn("{}", line); };
  return std::make_unique<alert::Alertmanager>(std::move(options));
}

absl::Status AuditOverHttps(access::AuditLog& audit, const std::string& who,
                            const std::string& address, const std::string& action,
                            const std::string& detail, const absl::Status& refused) {
  if (!refused.ok()) {
    audit.Refused(who, address, action, std::string(refused.message()));
    return refused;
  }
  spdlog::info("audit: {} ({}): {} {}", who, address, action, detail);
  return audit.Done(who, address, action, detail);
}

}  // namespace telltale::collector
