// telltale incidents and telltale silence.

#include <chrono>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collector/cli/commands.h"
#include "collector/cli/session.h"

namespace telltale::cli {
namespace {

using Watch = v1::Watch::Stub;
using Incidents = v1::Incidents::Stub;

// Goes on where it was when the collector restarts; what cannot become better ends it.
int Follow(const Session& session, const std::string& cursor) {
  v1::FollowIncidentsRequest request;
  request.set_cursor(cursor);
  if (!session.json()) Print(ZoneLine(session.view));
  bool heard = false;
  while (true) {
    const absl::Status status = session.client->Follow(request, [&](const v1::IncidentNews& news) {
      request.set_cursor(news.cursor());
      heard = true;
      if (session.json()) return PrintJson(news).ok() && std::cout.good();
      if (news.has_incident()) Print(RenderIncidentNews(news.incident(), session.view));
      return std::cout.good();
    });
    if (status.ok()) return kOk;
    if (!MayPass(status, heard)) return Report(status);
    std::cerr << "telltale: " << status.message() << "; trying again every 5 s\n";
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
}

int Change(const Session& session, const IncidentFlags& asked) {
  v1::ChangeIncidentRequest request;
  request.set_number(asked.number);
  request.set_note(asked.note);
  request.set_action(asked.acknowledge ? v1::INCIDENT_ACTION_ACKNOWLEDGE
                     : asked.resolve   ? v1::INCIDENT_ACTION_RESOLVE
                     : asked.reopen    ? v1::INCIDENT_ACTION_REOPEN
                                       : v1::INCIDENT_ACTION_NOTE);
  return AskAndShow(session, &Watch::ChangeIncident, request,
                    [&](const v1::ChangeIncidentAnswer& answer) {
                      return RenderIncident(answer.incident(), session.view);
                    });
}

// Which filters cannot speak yet. Nobody's answer fails for it.
v1::AnomaliesAnswer LearningOf(const Session& session) {
  v1::AnomaliesRequest request;
  const double now_s = absl::ToDoubleSeconds(session.view.now - absl::UnixEpoch());
  request.mutable_selection()->set_start_s(now_s - 60);
  request.mutable_selection()->set_end_s(now_s);
  request.set_limit(1);
  const auto answer = session.client->Ask(&v1::Query::Stub::ListAnomalies, request);
  return answer.ok() ? *answer : v1::AnomaliesAnswer();
}

absl::StatusOr<double> EndOf(const SilenceFlags& asked, absl::Time now, absl::TimeZone zone) {
  if (asked.length.empty() == asked.until.empty()) {
    return absl::InvalidArgumentError(
        "silence: say how long (--for 2h) or until when (--until 18:00)");
  }
  if (!asked.length.empty()) {
    const auto length = ParseLength(asked.length);
    if (!length.ok()) return length.status();
    return absl::ToDoubleSeconds(now + *length - absl::UnixEpoch());
  }
  const auto until = ParseMoment(asked.until, now, zone, Meant::kAhead);
  if (!until.ok()) return until.status();
  return absl::ToDoubleSeconds(*until - absl::UnixEpoch());
}

}  // namespace

int RunIncidents(const Arguments& arguments) {
  const IncidentFlags& asked = arguments.incident;
  const bool changes = asked.acknowledge || asked.resolve || asked.reopen || !asked.note.empty();
  if (changes && asked.number == 0) {
    return Report(absl::InvalidArgumentError(
        "incidents: say which, telltale incidents NUMBER; telltale incidents lists them"));
  }
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  if (arguments.follow) return Follow(*session, arguments.cursor);
  if (changes) return Change(*session, asked);
  v1::ListIncidentsRequest request;
  request.set_number(asked.number);
  request.set_resolved(asked.all);
  request.set_silenced(asked.all || asked.silenced);
  request.set_limit(arguments.limit);
  return AskAndShow(
      *session, &Watch::ListIncidents, request, [&](const v1::ListIncidentsAnswer& answer) {
        return asked.number != 0
                   ? RenderIncident(answer.incidents(0), session->view)
                   : RenderIncidents(
                         answer, session->view,
                         answer.incidents().empty() ? LearningOf(*session) : v1::AnomaliesAnswer());
      });
}

int RunSilence(const Arguments& arguments) {
  const SilenceFlags& asked = arguments.silence;
  const bool adds = !asked.node.empty() || !asked.rule.empty() || !asked.process.empty() ||
                    asked.incident != 0 || !asked.reason.empty();
  if (adds && !asked.end.empty()) {
    return Report(absl::InvalidArgumentError("silence: makes one or ends one (--end), not both"));
  }
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  const auto shown = [&](const char* done, const v1::Silence& silence) {
    return absl::StrCat(done, "  ", RenderSilence(silence, session->view), "\n",
                        ZoneLine(session->view));
  };
  if (!asked.end.empty()) {
    v1::EndSilenceRequest request;
    request.set_id(asked.end);
    return AskAndShow(
        *session, &Incidents::EndSilence, request,
        [&](const v1::EndSilenceAnswer& answer) { return shown("ended", answer.silence()); });
  }
  if (adds) {
    const auto until_s = EndOf(asked, session->view.now, session->view.zone);
    if (!until_s.ok()) return Report(until_s.status());
    v1::AddSilenceRequest request;
    request.set_node(asked.node);
    request.set_rule(asked.rule);
    request.set_process(asked.process);
    request.set_incident(asked.incident);
    request.set_reason(asked.reason);
    request.set_until_s(*until_s);
    return AskAndShow(
        *session, &Incidents::AddSilence, request,
        [&](const v1::AddSilenceAnswer& answer) { return shown("silenced", answer.silence()); });
  }
  v1::ListSilencesRequest request;
  request.set_ended(asked.all);
  return AskAndShow(
      *session, &Incidents::ListSilences, request,
      [&](const v1::ListSilencesAnswer& answer) { return RenderSilences(answer, session->view); });
}

}  // namespace telltale::cli
