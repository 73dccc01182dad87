#include "collector/cli/investigation_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "collector/cli/session.h"

namespace telltale::cli {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Parse(const google::protobuf::Message& message, Json& into) {
  const absl::StatusOr<std::string> text = JsonText(message);
  if (text.ok()) into = Json::parse(*text);
  return text.status();
}

}  // namespace

absl::StatusOr<std::string> InvestigationJson(const v1::InvestigateAnswer& answer,
                                              const InvestigationFrame& frame) {
  Json page;
  if (absl::Status status = Parse(answer, page); !status.ok()) return status;
  Json incidents = Json::array();
  for (const v1::Incident& incident : frame.incidents) {
    Json one;
    if (absl::Status status = Parse(incident, one); !status.ok()) return status;
    incidents.push_back(std::move(one));
  }
  page["incidents"] = std::move(incidents);
  page["incidentsFromS"] = frame.incidents_from_s;
  if (!frame.incidents_problem.empty()) page["incidentsProblem"] = frame.incidents_problem;
  return page.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace telltale::cli
