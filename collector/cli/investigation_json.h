// An investigation for programs: the answer's own fields, and beside them what its page shows of
// what is known of the time. Pure.

#ifndef TELLTALE_COLLECTOR_CLI_INVESTIGATION_JSON_H_
#define TELLTALE_COLLECTOR_CLI_INVESTIGATION_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "collector/cli/render_investigation.h"

namespace telltale::cli {

// One object: `incidents`, newest first, as `telltale incidents -o json` has them;
// `incidentsFromS`, since when they are complete, 0: always; `incidentsProblem`, why they are not
// known, only then. Diagnoses are those of `anomalies` that have a rule.
absl::StatusOr<std::string> InvestigationJson(const v1::InvestigateAnswer& answer,
                                              const InvestigationFrame& frame);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_INVESTIGATION_JSON_H_
