// What the collector makes of its configuration for incidents. Called by collector.cc alone.

#ifndef TELLTALE_COLLECTOR_INCIDENT_PARTS_H_
#define TELLTALE_COLLECTOR_INCIDENT_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collector/access/audit_log.h"
#include "collector/alert/alertmanager.h"
#include "collector/config.h"
#include "collector/incident/incident_book.h"

namespace telltale::collector {

// Not started. `book` outlives it.
absl::StatusOr<std::unique_ptr<alert::Alertmanager>> MakeAlertmanager(
    const Config& config, incident::IncidentBook* book, const std::string& store_id,
    std::function<uint64_t()> now_ns);

// Writes down what somebody did over HTTPS, or was refused; gives `refused` back then.
absl::Status AuditOverHttps(access::AuditLog& audit, const std::string& who,
                            const std::string& address, const std::string& action,
                            const std::string& detail, const absl::Status& refused);

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_INCIDENT_PARTS_H_
