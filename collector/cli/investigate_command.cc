// telltale investigate: one question, one page.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/commands.h"
#include "collector/cli/investigation_json.h"
#include "collector/cli/question.h"
#include "collector/cli/render_investigation.h"

namespace telltale::cli {
namespace {

using QueryStub = v1::Query::Stub;

// "https://host:port" of the collector's web pages; empty: it does not say.
std::string WebOf(const Session& session) {
  const auto status = session.client->Ask(&QueryStub::GetStatus, v1::StatusRequest());
  if (!status.ok() || status->https_port() == 0) return "";
  const std::string& address = session.client->collector();
  return absl::StrCat("https://", Escaped(address.substr(0, address.rfind(':'))), ":",
                      status->https_port());
}

// What is known of the time. An answer without it is an answer, too.
void AddKnown(const Session& session, InvestigationFrame& frame, size_t most) {
  v1::ListIncidentsRequest request;
  request.set_resolved(true);
  request.set_limit(kMostIncidents);
  const auto newest = session.client->Ask(&v1::Watch::Stub::ListIncidents, request);
  if (newest.ok()) {
    AddIncidents(*newest, frame, most);
  } else {
    frame.incidents_problem = std::string(newest.status().message());
  }
}

std::string WhoText(const v1::Selection& selection) {
  std::vector<std::string> parts(selection.nodes().begin(), selection.nodes().end());
  for (const std::string& label : selection.label_matches()) {
    parts.push_back(absl::StrCat("nodes with ", label));
  }
  return parts.empty() ? "all nodes" : Escaped(absl::StrJoin(parts, ", "));
}

}  // namespace

int RunInvestigate(const Arguments& typed) {
  Arguments arguments = typed;
  if (!arguments.range.at.empty() && arguments.range.length.empty() &&
      arguments.range.around.empty()) {
    arguments.range.around = "15m";
  }
  return WithSelection(
      arguments, kQuarter, [&](const Session& session, const v1::Selection& selection) {
        v1::InvestigateRequest request;
        *request.mutable_selection() = selection;
        request.set_limit(arguments.limit);
        request.set_hide_self(arguments.hide_self);
        const auto answer = session.client->Ask(&QueryStub::Investigate, request);
        if (!answer.ok()) return Report(answer.status());
        const auto page = [&] {
          InvestigationFrame frame{
              selection, WhoText(selection),
              DigOn(session.words, selection, WebOf(session), session.view.zone)};
          AddKnown(session, frame, kIncidentsOnPage);
          return RenderInvestigation(*answer, frame, session.view);
        };
        const auto json = [&] {
          InvestigationFrame frame{selection, "", DigOn(session.words, selection, "", {})};
          AddKnown(session, frame, kMostIncidents);
          return InvestigationJson(*answer, frame);
        };
        return Deliver(session, *answer, answer->coverage(), selection, true, page, Side::kAsked,
                       json);
      });
}

}  // namespace telltale::cli
