#include "collector/cli/commands.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/question.h"
#include "collector/cli/retyped.h"
#include "collector/formats/export.h"
#include "collector/query/nearest.h"

namespace telltale::cli {
namespace {

using QueryStub = v1::Query::Stub;

constexpr uint32_t kMaxStacks = 10'000;

// A flame graph or a profile is to hold what there is.
bool WholeProfile(const Session& session) {
  return session.format == "folded" || session.format == "pprof";
}

// Nodes narrowed to those named; NotFound with the nearest.
absl::Status KeepNamed(const std::vector<std::string>& wanted, v1::NodesAnswer* answer) {
  if (wanted.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const v1::Node& node : answer->nodes()) names.push_back(node.name());
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::NotFoundError(
          absl::StrCat("node \"", name, "\" is unknown", query::NearestHint(name, names)));
    }
  }
  auto* nodes = answer->mutable_nodes();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [&](const v1::Node& node) {
                                return std::find(wanted.begin(), wanted.end(), node.name()) ==
                                       wanted.end();
                              }),
               nodes->end());
  return absl::OkStatus();
}

absl::StatusOr<v1::NodesAnswer> AskNodes(const Arguments& arguments, const Session& session) {
  v1::NodesRequest request;
  for (const std::string& label : arguments.labels) request.add_label_matches(label);
  absl::StatusOr<v1::NodesAnswer> answer = session.client->Ask(&QueryStub::ListNodes, request);
  if (!answer.ok()) return answer;
  if (absl::Status status = KeepNamed(arguments.nodes, &*answer); !status.ok()) return status;
  return answer;
}

// As Deliver, for an answer that comes in pages: behind it stands the command that asks for the
// next one, `page`, and how much follows ("3 rows"; empty: nobody counted). JSON has the page in
// it; beside files it goes to stderr.
int DeliverPage(const Session& session, const google::protobuf::Message& answer,
                const v1::Coverage& coverage, const v1::Selection& asked, bool empty,
                const std::string& page, const std::string& more,
                const std::function<std::string()>& render) {
  const std::string next =
      page.empty() ? ""
                   : absl::StrCat(more, more.empty() ? "" : " more; ", "next page: ",
                                  NextPage(session.words, asked, page, session.view.zone), "\n");
  const int code = Deliver(session, answer, coverage, asked, empty,
                           [&] { return absl::StrCat(render(), next); });
  if (code == kOk && !session.json() && !session.table()) std::cerr << next;
  return code;
}

// What chooses among anomalies that are over does nothing where each is told as it is found.
absl::Status CheckFollowed(const Arguments& arguments) {
  const RangeFlags& range = arguments.range;
  for (const auto& [flag, given] : {std::pair("--from", !range.from.empty()),
                                    {"--to", !range.to.empty()},
                                    {"--at", !range.at.empty()},
                                    {"--for", !range.length.empty()},
                                    {"--limit", arguments.limit > 0},
                                    {"--page", !arguments.page.empty()}}) {
    if (!given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "anomalies: ", flag, " does nothing with --follow, which prints each from now or from ",
        "--cursor on; leave one of the two out"));
  }
  if (arguments.output == "table" || arguments.output == "json") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("anomalies: -o \"", arguments.output,
                                                 "\": with --follow it must be table or json"));
}

// Of a selection with labels, the nodes that have them now: a follower is chosen by name.
absl::StatusOr<std::vector<std::string>> NamesOf(const v1::Selection& selection,
                                                 const Session& session) {
  v1::NodesRequest request;
  *request.mutable_label_matches() = selection.label_matches();
  const auto labelled = session.client->Ask(&QueryStub::ListNodes, request);
  if (!labelled.ok()) return labelled.status();
  std::vector<std::string> names;
  for (const v1::Node& node : labelled->nodes()) {
    const bool chosen =
        selection.nodes().empty() || std::ranges::count(selection.nodes(), node.name()) > 0;
    if (chosen) names.push_back(node.name());
  }
  if (!names.empty()) return names;
  return absl::NotFoundError(absl::StrCat("anomalies: --follow: no node that is asked for has ",
                                          absl::StrJoin(selection.label_matches(), " and "),
                                          "; `telltale nodes` shows labels"));
}

// Nothing ever comes of a name that nobody has: the same question about what is over says what is
// wrong with it.
absl::StatusOr<v1::FollowRequest> FollowOf(const Arguments& arguments, const std::string& vital,
                                           const Session& session) {
  v1::AnomaliesRequest over;
  over.set_filter(arguments.filter);
  over.set_vital(vital);
  over.set_limit(1);
  v1::Selection& selection = *over.mutable_selection();
  selection.mutable_nodes()->Assign(arguments.nodes.begin(), arguments.nodes.end());
  selection.mutable_label_matches()->Assign(arguments.labels.begin(), arguments.labels.end());
  const bool named = !arguments.filter.empty() || !vital.empty() || !arguments.nodes.empty() ||
                     !arguments.labels.empty();
  if (named) {
    const auto checked = session.client->Ask(&QueryStub::ListAnomalies, over);
    if (!checked.ok()) return checked.status();
  }
  v1::FollowRequest request;
  request.set_cursor(arguments.cursor);
  *request.mutable_selection()->mutable_nodes() = selection.nodes();
  if (arguments.labels.empty()) return request;
  const auto names = NamesOf(selection, session);
  if (!names.ok()) return names.status();
  request.mutable_selection()->mutable_nodes()->Assign(names->begin(), names->end());
  return request;
}

bool IsFollowed(const v1::Anomaly& anomaly, const Arguments& arguments, const std::string& vital) {
  if (anomaly.filter().empty()) return false;  // the greeting: only the cursor counts
  if (std::abs(anomaly.severity()) < arguments.min_severity) return false;
  if (!arguments.filter.empty() && anomaly.filter() != arguments.filter) return false;
  return vital.empty() || vital == anomaly.vital() ||
         vital == absl::StrCat(anomaly.vital(), "/", anomaly.sub());
}

// Goes on where it was when the collector restarts; what cannot become better ends it.
int FollowAnomalies(const Arguments& arguments) {
  if (const absl::Status status = CheckFollowed(arguments); !status.ok()) return Report(status);
  const absl::StatusOr<std::string> vital = OneVital(arguments, "anomalies", false);
  if (!vital.ok()) return Report(vital.status());
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  absl::StatusOr<v1::FollowRequest> request = FollowOf(arguments, *vital, *session);
  if (!request.ok()) return Report(request.status());
  if (session->table()) Print(ZoneLine(session->view));
  bool heard = false;
  while (true) {
    const absl::Status status = session->client->Follow(*request, [&](const v1::Anomaly& anomaly) {
      request->set_cursor(anomaly.cursor());
      heard = true;
      if (!IsFollowed(anomaly, arguments, *vital)) return true;
      if (session->json()) return PrintJson(anomaly).ok() && std::cout.good();
      Print(RenderAnomaly(anomaly, session->view));
      return std::cout.good();
    });
    if (status.ok()) return kOk;
    if (!MayPass(status, heard)) return Report(status);
    std::cerr << "telltale: " << status.message() << "; trying again every 5 s\n";
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
}

int Said(const absl::StatusOr<std::string>& done) {
  if (!done.ok()) return Report(done.status());
  Print(*done);
  return kOk;
}

}  // namespace

int RunNodes(const Arguments& arguments) {
  if (!arguments.keep.empty() && arguments.nodes.size() != 1) {
    return Report(absl::InvalidArgumentError(absl::StrCat("nodes: --keep needs one --node, not ",
                                                          arguments.nodes.size(),
                                                          ", e.g. --node web-1 --keep 1a2b3c4d")));
  }
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  std::string decided;
  if (!arguments.keep.empty()) {
    const absl::Status format = CheckFormat(*session, v1::NodesAnswer());
    if (!format.ok()) return Report(format);
    v1::KeepRequest request;
    request.set_node(arguments.nodes.front());
    request.set_agent(arguments.keep);
    absl::StatusOr<v1::KeepAnswer> kept = session->client->Keep(request);
    if (!kept.ok()) return Report(kept.status());
    decided = RenderKept(arguments.nodes.front(), *kept, session->view);
  }
  absl::StatusOr<v1::NodesAnswer> answer = AskNodes(arguments, *session);
  if (!answer.ok()) return Report(answer.status());
  return Show(*session, *answer, [&] {
    return absl::StrCat(decided, RenderNodes(*answer, session->view),
                        RenderAgents(*answer, !arguments.nodes.empty(), session->view));
  });
}

int RunVitals(const Arguments& arguments) {
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  absl::StatusOr<v1::VitalsAnswer> vitals =
      session->client->Ask(&QueryStub::ListVitals, v1::VitalsRequest());
  if (!vitals.ok()) return Report(vitals.status());
  absl::StatusOr<v1::NodesAnswer> nodes = AskNodes(arguments, *session);
  if (!nodes.ok()) return Report(nodes.status());
  return Show(*session, *vitals, [&] { return RenderVitals(*vitals, *nodes, session->view); });
}

int RunSeries(const Arguments& arguments) {
  return WithSelection(
      arguments, kHour, [&](const Session& session, const v1::Selection& selection) {
        constexpr uint32_t kTablePoints = 60;
        v1::SeriesRequest request;
        *request.mutable_selection() = selection;
        for (const std::string& vital : arguments.vitals) request.add_vitals(vital);
        request.set_per_node(arguments.per_node);
        request.set_per_second(arguments.per_second);
        request.set_backlog(arguments.backlog);
        request.set_process(arguments.process);
        request.set_max_points(arguments.points > 0 || !session.table() ? arguments.points
                                                                        : kTablePoints);
        absl::StatusOr<v1::SeriesAnswer> answer =
            session.client->Ask(&QueryStub::GetSeries, request);
        if (!answer.ok()) return Report(answer.status());
        return Deliver(session, *answer, answer->coverage(), selection, answer->series().empty(),
                       [&] { return RenderSeries(*answer, session.view); });
      });
}

int RunTop(const Arguments& arguments) {
  return WithSelection(
      arguments, kRecent, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<v1::Dimension> by = ParseDimension(arguments.by);
        if (!by.ok()) return Report(by.status());
        absl::StatusOr<std::string> vital = OneVital(arguments, "top", false);
        if (!vital.ok()) return Report(vital.status());
        v1::TopRequest request;
        *request.mutable_selection() = selection;
        request.set_vital(*vital);
        request.set_by(*by);
        request.set_limit(
            arguments.limit > 0 || !session.table() || !vital->empty() ? arguments.limit : 5);
        request.set_idle(arguments.idle);
        request.set_process(arguments.process);
        request.set_hide_self(arguments.hide_self);
        request.set_page(arguments.page);
        absl::StatusOr<v1::TopAnswer> answer = session.client->Ask(&QueryStub::GetTop, request);
        if (!answer.ok()) return Report(answer.status());
        double more = 0;
        for (const v1::TopTable& table : answer->tables()) more += table.rows_after();
        return DeliverPage(session, *answer, answer->coverage(), selection, true,
                           answer->next_page(), Plural(more, "row"),
                           [&] { return RenderTop(*answer, session.view); });
      });
}

int RunSamples(const Arguments& arguments) {
  return WithSelection(
      arguments, kQuarter, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<std::string> vital = OneVital(arguments, "samples", false);
        if (!vital.ok()) return Report(vital.status());
        v1::SamplesRequest request;
        *request.mutable_selection() = selection;
        request.set_vital(*vital);
        request.set_process(arguments.process);
        request.set_limit(arguments.limit > 0 || !session.table() ? arguments.limit : 10);
        request.set_page(arguments.page);
        absl::StatusOr<v1::SamplesAnswer> answer =
            session.client->Ask(&QueryStub::ListSamples, request);
        if (!answer.ok()) return Report(answer.status());
        return DeliverPage(
            session, *answer, answer->coverage(), selection, answer->samples().empty(),
            answer->next_page(), "", [&] {
              return (answer->samples().empty() ? "nothing was sampled in this time\n" : "") +
                     RenderSamples(*answer, session.view);
            });
      });
}

int RunStacks(const Arguments& arguments) {
  return WithSelection(
      arguments, kRecent, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<std::string> vital = OneVital(arguments, "stacks", true);
        if (!vital.ok()) return Report(vital.status());
        v1::StacksRequest request;
        *request.mutable_selection() = selection;
        request.set_vital(*vital);
        request.set_process(arguments.process);
        request.set_idle(arguments.idle);
        const uint32_t usual = session.table() ? 10 : WholeProfile(session) ? kMaxStacks : 0;
        request.set_limit(arguments.limit > 0 ? arguments.limit : usual);
        absl::StatusOr<v1::StacksAnswer> answer =
            session.client->Ask(&QueryStub::GetStacks, request);
        if (!answer.ok()) return Report(answer.status());
        return Deliver(session, *answer, answer->coverage(), selection, answer->stacks().empty(),
                       [&] { return RenderStacks(*answer, session.view); });
      });
}

int RunHistogram(const Arguments& arguments) {
  return WithSelection(arguments, kQuarter,
                       [&](const Session& session, const v1::Selection& selection) {
                         v1::HistogramRequest request;
                         *request.mutable_selection() = selection;
                         request.set_name(arguments.name);
                         absl::StatusOr<v1::HistogramAnswer> answer =
                             session.client->Ask(&QueryStub::GetHistogram, request);
                         if (!answer.ok()) return Report(answer.status());
                         return Deliver(session, *answer, answer->coverage(), selection,
                                        answer->histograms().empty(),
                                        [&] { return RenderHistogram(*answer, session.view); });
                       });
}

int RunHost(const Arguments& arguments) {
  return WithSelection(
      arguments, kQuarter, [&](const Session& session, const v1::Selection& selection) {
        v1::HostLevelsRequest request;
        *request.mutable_selection() = selection;
        request.set_limit(arguments.limit);
        absl::StatusOr<v1::HostLevelsAnswer> answer =
            session.client->Ask(&QueryStub::GetHostLevels, request);
        if (!answer.ok()) return Report(answer.status());
        return Deliver(session, *answer, answer->coverage(), selection, answer->hosts().empty(),
                       [&] { return RenderHost(*answer, session.view); });
      });
}

int RunEvents(const Arguments& arguments) {
  return WithSelection(
      arguments, kHour, [&](const Session& session, const v1::Selection& selection) {
        v1::EventsRequest request;
        *request.mutable_selection() = selection;
        request.set_limit(arguments.limit);
        request.set_page(arguments.page);
        for (const std::string& typed : arguments.event_types) {
          std::string type = typed;
          std::transform(type.begin(), type.end(), type.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
          v1::EventType parsed;
          if (!v1::EventType_Parse("EVENT_TYPE_" + type, &parsed) ||
              parsed == v1::EVENT_TYPE_UNSPECIFIED || parsed > v1::EVENT_TYPE_AGENT_START) {
            return Report(absl::InvalidArgumentError(
                absl::StrCat("--type \"", typed, "\": must be one of ", kEventTypes)));
          }
          request.add_types(parsed);
        }
        absl::StatusOr<v1::EventsAnswer> answer =
            session.client->Ask(&QueryStub::ListEvents, request);
        if (!answer.ok()) return Report(answer.status());
        return DeliverPage(session, *answer, answer->coverage(), selection,
                           answer->events().empty(), answer->next_page(),
                           Plural(answer->left_out(), "older event"),
                           [&] { return RenderEvents(*answer, session.view); });
      });
}

int RunCoverage(const Arguments& arguments) {
  return WithSelection(arguments, kHour,
                       [&](const Session& session, const v1::Selection& selection) {
                         v1::CoverageRequest request;
                         *request.mutable_selection() = selection;
                         absl::StatusOr<v1::CoverageAnswer> answer =
                             session.client->Ask(&QueryStub::GetCoverage, request);
                         if (!answer.ok()) return Report(answer.status());
                         return Deliver(session, *answer, answer->coverage(), selection, true,
                                        [&] { return RenderGaps(*answer, session.view); });
                       });
}

int RunStatus(const Arguments& arguments) {
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  absl::StatusOr<v1::StatusAnswer> answer =
      session->client->Ask(&QueryStub::GetStatus, v1::StatusRequest());
  if (!answer.ok()) return Report(answer.status());
  return Show(*session, *answer, [&] { return RenderStatus(*answer, session->view); });
}

int RunAnomalies(const Arguments& arguments) {
  if (arguments.follow) return FollowAnomalies(arguments);
  return WithSelection(
      arguments, kDay, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<std::string> vital = OneVital(arguments, "anomalies", false);
        if (!vital.ok()) return Report(vital.status());
        v1::AnomaliesRequest request;
        *request.mutable_selection() = selection;
        request.set_vital(*vital);
        request.set_filter(arguments.filter);
        request.set_min_severity(arguments.min_severity);
        request.set_limit(arguments.limit);
        request.set_page(arguments.page);
        absl::StatusOr<v1::AnomaliesAnswer> answer =
            session.client->Ask(&QueryStub::ListAnomalies, request);
        if (!answer.ok()) return Report(answer.status());
        return DeliverPage(session, *answer, answer->coverage(), selection,
                           answer->anomalies().empty(), answer->next_page(), "",
                           [&] { return RenderAnomalies(*answer, session.view); });
      });
}

int RunPkiInit(const Arguments& arguments) { return Said(PkiInit(arguments.pki, absl::Now())); }

int RunPkiIssuing(const Arguments& arguments) {
  return Said(PkiIssuing(arguments.pki, absl::Now()));
}

int RunPkiIssue(const Arguments& arguments) { return Said(PkiIssue(arguments.pki, absl::Now())); }

int RunPkiRevoke(const Arguments& arguments) { return Said(PkiRevoke(arguments.pki, absl::Now())); }

int RunPkiShow(const Arguments& arguments) { return Said(PkiShow(arguments.file, absl::Now())); }

}  // namespace telltale::cli
