// telltale enroll: how nodes come to certificates, as an operator sees and decides it.

#include "absl/strings/str_cat.h"
#include "collector/cli/commands.h"
#include "collector/cli/session.h"
#include "collector/cli/terminal_text.h"
#include "collector/cli/time_text.h"
#include "config/values.h"

namespace telltale::cli {
namespace {

using EnrolmentStub = v1::Enrolment::Stub;

constexpr uint64_t kShortestTokenS = 60;
constexpr uint64_t kLongestTokenS = 30ull * 86400;
constexpr uint32_t kUsualPort = 7430;
constexpr size_t kShownSerial = 12;

std::string TokenState(const v1::EnrollToken& token, const View& view) {
  if (!token.revoked_by().empty()) return absl::StrCat("revoked by ", Escaped(token.revoked_by()));
  if (token.used() >= token.uses()) return "used up";
  const std::string when = ClockText(token.expires_s(), view.now, view.zone);
  const bool ended = absl::FromUnixSeconds(static_cast<int64_t>(token.expires_s())) <= view.now;
  return absl::StrCat(ended ? "ended " : "good until ", when);
}

std::string WaitingText(const v1::ListEnrolmentsAnswer& answer, const View& view) {
  Table table({{"request"}, {"node"}, {"from"}, {"asked"}, {"key (SHA-256)"}, {"state"}});
  for (const v1::WaitingEnrolment& waiting : answer.waiting()) {
    std::string state = Escaped(waiting.state());
    if (!waiting.decided_by().empty()) {
      absl::StrAppend(&state, " by ", Escaped(waiting.decided_by()));
    } else if (waiting.known()) {
      state += ": A NODE OF THIS NAME HAS A CERTIFICATE";
    } else if (!waiting.revoked_by().empty()) {
      absl::StrAppend(&state, ": THIS NODE WAS REVOKED BY ", Escaped(waiting.revoked_by()));
    }
    table.Add({Escaped(waiting.id()), Escaped(waiting.node()), Escaped(waiting.address()),
               ClockText(waiting.asked_s(), view.now, view.zone), Escaped(waiting.key_sha256()),
               state});
  }
  return table.Render(view.style);
}

std::string Until(const v1::NodeCertificate& certificate, const View& view) {
  if (certificate.revoked_by().empty()) {
    return ClockText(certificate.expires_s(), view.now, view.zone);
  }
  return absl::StrCat("REVOKED by ", Escaped(certificate.revoked_by()), " ",
                      ClockText(certificate.revoked_s(), view.now, view.zone));
}

std::string ListText(const v1::ListEnrolmentsAnswer& answer, const View& view) {
  std::string text;
  const auto part = [&](const std::string& more) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", more);
  };
  if (!answer.waiting().empty()) part(WaitingText(answer, view));
  if (!answer.tokens().empty()) {
    Table table({{"token"}, {"for"}, {"used"}, {"made by"}, {"state"}});
    for (const v1::EnrollToken& token : answer.tokens()) {
      table.Add({Escaped(token.id()), Escaped(token.pattern()),
                 absl::StrCat(token.used(), " of ", token.uses()), Escaped(token.created_by()),
                 TokenState(token, view)});
    }
    part(table.Render(view.style));
  }
  if (!answer.certificates().empty()) {
    Table table({{"node"}, {"until"}, {"issued"}, {"by"}, {"from"}, {"serial"}});
    for (const v1::NodeCertificate& certificate : answer.certificates()) {
      const bool here = !certificate.serial().empty();
      table.Add({Escaped(certificate.node()), Until(certificate, view),
                 here ? ClockText(certificate.issued_s(), view.now, view.zone) : "elsewhere",
                 Escaped(certificate.by()), Escaped(certificate.address()),
                 Escaped(certificate.serial().substr(0, kShownSerial))});
    }
    part(table.Render(view.style));
  }
  return text.empty() ? "nobody has enrolled yet; telltale enroll token --node NAME begins it\n"
                      : text + ZoneLine(view);
}

std::string CommandText(const v1::CreateEnrollTokenAnswer& answer, const std::string& collector) {
  const std::string host = collector.substr(0, collector.rfind(':'));
  std::string text = absl::StrCat("  telltale-agent enroll --collector ", Escaped(collector));
  if (answer.port() != kUsualPort) {
    absl::StrAppend(&text, " --enroll-collector ", Escaped(host), ":", answer.port());
  }
  return absl::StrCat(text, " \\\n    --ca-hash sha256:", Escaped(answer.authority_sha256()),
                      " \\\n    --token ", Escaped(answer.secret()), "\n");
}

int Decide(const Arguments& arguments, bool approve) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  v1::DecideEnrolmentRequest request;
  request.set_id(arguments.enroll.id);
  request.set_approve(approve);
  return AskAndShow(
      *session, &EnrolmentStub::DecideEnrolment, request,
      [&](const v1::DecideEnrolmentAnswer& answer) {
        const v1::WaitingEnrolment& decided = answer.request();
        return absl::StrCat(
            Escaped(decided.node()), " from ", Escaped(decided.address()),
            answer.changed() ? " is " : " was before ", Escaped(decided.state()),
            approve && answer.changed() ? "; it fetches its certificate within seconds" : "", "\n");
      });
}

int RevokeNode(const Session& session, const std::string& node) {
  v1::RevokeNodeRequest request;
  request.set_node(node);
  return AskAndShow(
      session, &EnrolmentStub::RevokeNode, request, [&](const v1::RevokeNodeAnswer& answer) {
        const v1::NodeCertificate& certificate = answer.certificate();
        const std::string name = Escaped(certificate.node());
        if (!answer.changed()) {
          return absl::StrCat(
              name, " was revoked before, by ", Escaped(certificate.revoked_by()), " ",
              ClockText(certificate.revoked_s(), session.view.now, session.view.zone), "\n");
        }
        return absl::StrCat(name,
                            " is revoked: its certificates count no more, its streams are ended; "
                            "telltale enroll token --node ",
                            name, " would let it enrol anew\n");
      });
}

}  // namespace

int RunEnrollToken(const Arguments& arguments) {
  const auto lifetime =
      config::ParseSeconds(arguments.enroll.lifetime, kShortestTokenS, kLongestTokenS);
  if (!lifetime.ok()) {
    return Report(absl::InvalidArgumentError(absl::StrCat(
        "--for ", arguments.enroll.lifetime, " ", std::string(lifetime.status().message()))));
  }
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  v1::CreateEnrollTokenRequest request;
  request.set_pattern(arguments.enroll.node);
  request.set_uses(arguments.enroll.uses);
  request.set_lifetime_s(*lifetime);
  return AskAndShow(*session, &EnrolmentStub::CreateEnrollToken, request,
                    [&](const v1::CreateEnrollTokenAnswer& answer) {
                      const View& view = session->view;
                      return absl::StrCat(answer.secret(), "\n\ntoken ", answer.token().id(), ", ",
                                          Plural(answer.token().uses(), "use"), " by ",
                                          Escaped(answer.token().pattern()), ", ",
                                          TokenState(answer.token(), view),
                                          "; it is not shown again. On the node, as root:\n\n",
                                          CommandText(answer, session->client->collector()));
                    });
}

int RunEnrollList(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  return AskAndShow(
      *session, &EnrolmentStub::ListEnrolments, v1::ListEnrolmentsRequest(),
      [&](const v1::ListEnrolmentsAnswer& answer) { return ListText(answer, session->view); });
}

int RunEnrollApprove(const Arguments& arguments) { return Decide(arguments, true); }
int RunEnrollDeny(const Arguments& arguments) { return Decide(arguments, false); }

int RunEnrollRevoke(const Arguments& arguments) {
  if (arguments.enroll.node.empty() && arguments.enroll.id.empty()) {
    return Report(absl::InvalidArgumentError(
        "enroll revoke: whom? name a node, or a token with --token; telltale enroll list"));
  }
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  if (!arguments.enroll.node.empty()) return RevokeNode(*session, arguments.enroll.node);
  v1::RevokeEnrollTokenRequest request;
  request.set_id(arguments.enroll.id);
  return AskAndShow(*session, &EnrolmentStub::RevokeEnrollToken, request,
                    [&](const v1::RevokeEnrollTokenAnswer& answer) {
                      return absl::StrCat(
                          "token ", answer.token().id(),
                          answer.changed() ? " is revoked\n" : " was revoked before\n");
                    });
}

}  // namespace telltale::cli
