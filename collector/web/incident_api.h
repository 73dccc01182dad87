// Incidents and silences as answers below /api/v1/: incidents, silences, and, for operators alone
// and by POST, incidents/change, silences/add, silences/end.

#ifndef TELLTALE_COLLECTOR_WEB_INCIDENT_API_H_
#define TELLTALE_COLLECTOR_WEB_INCIDENT_API_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collector/incident/incident_answer.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/silence_book.h"
#include "collector/web/api.h"

namespace telltale::web {

// What the pointers point to outlives the server.
struct IncidentApi {
  incident::IncidentBook* book = nullptr;
  incident::SilenceBook* silences = nullptr;
  std::function<std::vector<v1::AlertTarget>()> alertmanagers;  // may be empty
  incident::PeerLook peers;                                     // may be empty
  std::function<uint64_t()> now_ns;
  // Writes down what an operator did ("operator/alice") from where, or, where `refused` is an
  // error, what somebody was refused.
  std::function<absl::Status(const std::string& who, const std::string& address,
                             const std::string& action, const std::string& detail,
                             const absl::Status& refused)>
      audit;
};

void AddIncidents(const IncidentApi& api, ApiTable& table);

}  // namespace telltale::web

#endif  // TELLTALE_COLLECTOR_WEB_INCIDENT_API_H_
