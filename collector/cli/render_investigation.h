// What was odd then, as one page: what was unusual and who and what code did it, what else
// happened, how sure that is, and what to type next.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_
#define TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_

#include <string>
#include <vector>

#include "collector/cli/dig_on.h"
#include "collector/cli/render.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::cli {

struct InvestigationFrame {
  v1::Selection asked;
  std::string who;  // "db-1", "all nodes"; printed as it is
  DigOn commands;
  // Of the nodes asked for, that were open in the time; newest first.
  std::vector<v1::Incident> incidents = {};
};

// Whether an incident belongs to a selection: it was open in its time, on one of its nodes.
bool Concerns(const v1::Incident& incident, const v1::Selection& asked);

std::string RenderInvestigation(const v1::InvestigateAnswer& answer,
                                const InvestigationFrame& frame, const View& view);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_
