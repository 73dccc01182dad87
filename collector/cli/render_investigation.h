// What was odd then, as one page: what was unusual and who and what code did it, what else
// happened, how sure that is, and what to type next.
//
// Pure; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_
#define TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "collector/cli/dig_on.h"
#include "collector/cli/render.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::cli {

inline constexpr size_t kIncidentsOnPage = 5;

struct InvestigationFrame {
  v1::Selection asked;
  std::string who;  // "db-1", "all nodes"; printed as it is
  DigOn commands;
  // Of the nodes asked for, that were open in the time; newest first.
  std::vector<v1::Incident> incidents = {};
  size_t incidents_left_out = 0;       // of the same, older than those
  double incidents_from_s = 0;         // which began before were not looked at; 0: all were
  std::string incidents_problem = {};  // why none were looked at; empty: they were
};

// Whether an incident belongs to a selection: it was open in its time, on one of its nodes.
bool Concerns(const v1::Incident& incident, const v1::Selection& asked);

// Puts those of the newest incidents into the frame that belong to what it asked for, at most so
// many.
void AddIncidents(const v1::ListIncidentsAnswer& newest, InvestigationFrame& frame,
                  size_t most = kIncidentsOnPage);

std::string RenderInvestigation(const v1::InvestigateAnswer& answer,
                                const InvestigationFrame& frame, const View& view);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_RENDER_INVESTIGATION_H_
