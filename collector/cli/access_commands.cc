// telltale token and telltale audit: what only an operator may do and see.

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cli/commands.h"
#include "collector/cli/session.h"
#include "collector/cli/terminal_text.h"
#include "collector/cli/time_text.h"
#include "config/values.h"

namespace telltale::cli {
namespace {

using AccessStub = v1::Access::Stub;

constexpr uint64_t kShortestS = 60;
constexpr uint64_t kLongestS = 400ull * 86400;
constexpr uint32_t kUsualAudit = 100;
constexpr uint32_t kAuditPage = 1'000;  // the most that one question is answered with

std::string StateOf(const v1::Token& token, const View& view) {
  if (token.revoked_s() > 0) {
    return absl::StrCat("revoked by ", Escaped(token.revoked_by()), " at ",
                        ClockText(token.revoked_s(), view.now, view.zone));
  }
  const std::string when = ClockText(token.expires_s(), view.now, view.zone);
  const bool ended = absl::FromUnixSeconds(static_cast<int64_t>(token.expires_s())) <= view.now;
  return absl::StrCat(ended ? "ended " : "good until ", when);
}

std::string TokensText(const v1::ListTokensAnswer& answer, const View& view) {
  if (answer.tokens().empty()) return "no tokens; telltale token create makes one\n";
  Table table({{"id"}, {"name"}, {"role"}, {"made by"}, {"last used"}, {"state"}});
  for (const v1::Token& token : answer.tokens()) {
    table.Add({Escaped(token.id()), Escaped(token.name()), Escaped(token.role()),
               Escaped(token.created_by()),
               token.uses() == 0 ? "not since the collector's start"
                                 : ClockText(token.last_used_s(), view.now, view.zone),
               StateOf(token, view)});
  }
  return absl::StrCat(table.Render(view.style), ZoneLine(view));
}

std::string CutText(const v1::ListAuditAnswer& answer) {
  if (answer.left_out() == 0) return "";
  return absl::StrCat("the newest ", answer.entries_size(), "; ", answer.left_out(),
                      " older ones of this time are left out: --limit ",
                      answer.entries_size() + answer.left_out(),
                      " shows all, --to begins earlier\n");
}

std::string AuditText(const v1::ListAuditAnswer& answer, const View& view) {
  if (answer.entries().empty()) return "nothing was done or refused in this time\n";
  Table table({{"when"}, {"who"}, {"from"}, {"what"}});
  for (const v1::AuditEntry& entry : answer.entries()) {
    std::string what = absl::StrCat(entry.refused() ? "REFUSED " : "", Escaped(entry.action()),
                                    ": ", Escaped(entry.detail()));
    if (entry.unlisted() > 0) {
      absl::StrAppend(&what, " (", entry.unlisted(), " more before it came too fast to be listed)");
    }
    if (entry.count() > 0) {
      what = absl::StrCat("asked for ", what);
      if (entry.count() > 1) absl::StrAppend(&what, ", ", entry.count(), " times in the hour");
    }
    table.Add({MomentText(entry.time_s(), view.zone),
               entry.who().empty() ? "-" : Escaped(entry.who()), Escaped(entry.address()), what});
  }
  return absl::StrCat(table.Render(view.style), ZoneLine(view), CutText(answer));
}

// What of it was typed: nothing is all of it.
absl::StatusOr<v1::ListAuditRequest> AuditQuestion(const Arguments& arguments, const View& view) {
  v1::ListAuditRequest request;
  const RangeFlags& typed = arguments.range;
  if (typed.from.empty() && typed.to.empty() && typed.at.empty() && typed.length.empty()) {
    return request;
  }
  // --to alone: all before it.
  const absl::StatusOr<Range> range =
      ResolveRange(typed, view.now, view.zone, view.now - absl::UnixEpoch());
  if (!range.ok()) return range.status();
  request.set_start_s(std::max(absl::ToDoubleSeconds(range->start - absl::UnixEpoch()), 0.0));
  // Up to now is up to the collector's now.
  if (range->end != view.now)
    request.set_end_s(absl::ToDoubleSeconds(range->end - absl::UnixEpoch()));
  return request;
}

// The newest so many, page by page.
absl::StatusOr<v1::ListAuditAnswer> AskAudit(const Session& session, v1::ListAuditRequest request,
                                             uint32_t limit) {
  v1::ListAuditAnswer all;
  while (true) {
    const uint32_t missing = limit - static_cast<uint32_t>(all.entries_size());
    request.set_limit(std::min(missing, kAuditPage));
    auto answer = session.client->Ask(&AccessStub::ListAudit, request);
    if (!answer.ok()) return answer;
    for (v1::AuditEntry& entry : *answer->mutable_entries()) {
      *all.add_entries() = std::move(entry);
    }
    all.set_next_page(answer->next_page());
    all.set_left_out(answer->left_out());
    const bool done = answer->entries().empty() || answer->next_page().empty();
    if (done || static_cast<uint32_t>(all.entries_size()) >= limit) return all;
    request.set_page(answer->next_page());
  }
}

// The id of the token people mean: an id as it is, a name if one token in force has it.
absl::StatusOr<std::string> TokenOf(const Session& session, const std::string& said) {
  const auto answer = session.client->Ask(&AccessStub::ListTokens, v1::ListTokensRequest());
  if (!answer.ok()) return answer.status();
  std::vector<std::string> of_name;
  for (const v1::Token& token : answer->tokens()) {
    if (token.id() == said) return said;
    if (token.name() == said && token.revoked_s() == 0) of_name.push_back(token.id());
  }
  if (of_name.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("token revoke: ", of_name.size(), " tokens are called \"", said,
                     "\": ", absl::StrJoin(of_name, ", "), "; say which"));
  }
  return of_name.empty() ? said : of_name.front();
}

}  // namespace

int RunTokenCreate(const Arguments& arguments) {
  const auto lifetime = config::ParseSeconds(arguments.token.expires, kShortestS, kLongestS);
  if (!lifetime.ok()) {
    return Report(absl::InvalidArgumentError(absl::StrCat(
        "--expires ", arguments.token.expires, " ", std::string(lifetime.status().message()))));
  }
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  v1::CreateTokenRequest request;
  request.set_name(arguments.token.name);
  request.set_role(arguments.token.role);
  request.set_lifetime_s(*lifetime);
  return AskAndShow(
      *session, &AccessStub::CreateToken, request, [&](const v1::CreateTokenAnswer& answer) {
        return absl::StrCat(answer.secret(), "\n\ntoken ", answer.token().id(), " for ",
                            Escaped(answer.token().name()), ", ", answer.token().role(), ", ",
                            StateOf(answer.token(), session->view), "; it is not shown again\n");
      });
}

int RunTokenList(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  return AskAndShow(
      *session, &AccessStub::ListTokens, v1::ListTokensRequest(),
      [&](const v1::ListTokensAnswer& answer) { return TokensText(answer, session->view); });
}

int RunTokenRevoke(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  const absl::StatusOr<std::string> id = TokenOf(*session, arguments.token.id);
  if (!id.ok()) return Report(id.status());
  v1::RevokeTokenRequest request;
  request.set_id(*id);
  return AskAndShow(
      *session, &AccessStub::RevokeToken, request, [&](const v1::RevokeTokenAnswer& answer) {
        return absl::StrCat("token ", answer.token().id(), " (", Escaped(answer.token().name()),
                            ") ", answer.changed() ? "is revoked\n" : "was revoked before\n");
      });
}

int RunAudit(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  const absl::Status format = CheckFormat(*session, v1::ListAuditAnswer::default_instance());
  if (!format.ok()) return Report(format);
  const auto question = AuditQuestion(arguments, session->view);
  if (!question.ok()) return Report(question.status());
  const auto answer =
      AskAudit(*session, *question, arguments.limit == 0 ? kUsualAudit : arguments.limit);
  if (!answer.ok()) return Report(answer.status());
  const int code = Show(*session, *answer, [&] { return AuditText(*answer, session->view); });
  // JSON has it in it; beside files it goes to stderr.
  if (code == kOk && !session->json() && !session->table()) std::cerr << CutText(*answer);
  return code;
}

}  // namespace telltale::cli
