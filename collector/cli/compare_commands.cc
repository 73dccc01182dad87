#include "collector/cli/commands.h"
#include "collector/cli/question.h"

namespace telltale::cli {
namespace {

using QueryStub = v1::Query::Stub;

// An answer about two selections: without data on one side it says which.
template <typename Answer>
int DeliverCompared(const Session& session, const Answer& answer, const v1::Selection& selection,
                    const v1::Selection& against, const std::function<std::string()>& render) {
  const bool other_side = NothingFound(answer.coverage(), selection, session.view).empty();
  return Deliver(session, answer, other_side ? answer.against_coverage() : answer.coverage(),
                 other_side ? against : selection, answer.scale() == 0, render,
                 other_side ? Side::kAgainst : Side::kAsked);
}

}  // namespace

int RunDiff(const Arguments& arguments) {
  return WithSelection(
      arguments, kQuarter, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<std::string> vital = OneVital(arguments, "diff", false);
        if (!vital.ok()) return Report(vital.status());
        absl::StatusOr<v1::Dimension> by = ParseDimension(arguments.by);
        if (!by.ok()) return Report(by.status());
        absl::StatusOr<v1::Selection> against =
            AgainstOf(arguments, selection, session.view.now, session.view.zone);
        if (!against.ok()) return Report(against.status());
        v1::DiffRequest request;
        v1::TopRequest& top = *request.mutable_top();
        *top.mutable_selection() = selection;
        *request.mutable_against() = *against;
        top.set_vital(*vital);
        top.set_by(*by);
        top.set_limit(arguments.limit > 0 || !session.table() || !vital->empty() ? arguments.limit
                                                                                 : 5);
        top.set_idle(arguments.idle);
        top.set_process(arguments.process);
        top.set_hide_self(arguments.hide_self);
        absl::StatusOr<v1::DiffAnswer> answer = session.client->Ask(&QueryStub::GetDiff, request);
        if (!answer.ok()) return Report(answer.status());
        return DeliverCompared(session, *answer, selection, *against,
                               [&] { return RenderDiff(*answer, session.view); });
      });
}

int RunFlame(const Arguments& arguments) {
  return WithSelection(
      arguments, kRecent, [&](const Session& session, const v1::Selection& selection) {
        absl::StatusOr<std::string> vital = OneVital(arguments, "flame", true);
        if (!vital.ok()) return Report(vital.status());
        const bool compared = !arguments.against.empty() || !arguments.against_nodes.empty() ||
                              !arguments.against_labels.empty();
        absl::StatusOr<v1::Selection> against =
            AgainstOf(arguments, selection, session.view.now, session.view.zone);
        if (!against.ok()) return Report(against.status());
        v1::FlameRequest request;
        *request.mutable_stacks()->mutable_selection() = selection;
        request.mutable_stacks()->set_vital(*vital);
        request.mutable_stacks()->set_process(arguments.process);
        request.mutable_stacks()->set_idle(arguments.idle);
        request.mutable_stacks()->set_hide_self(arguments.hide_self);
        if (compared) *request.mutable_against() = *against;
        absl::StatusOr<v1::FlameAnswer> answer = session.client->Ask(&QueryStub::GetFlame, request);
        if (!answer.ok()) return Report(answer.status());
        const size_t lines = arguments.limit > 0 ? arguments.limit : 40;
        const auto render = [&] { return RenderFlame(*answer, lines, session.view); };
        if (compared) return DeliverCompared(session, *answer, selection, *against, render);
        return Deliver(session, *answer, answer->coverage(), selection, answer->nodes_size() < 2,
                       render);
      });
}

}  // namespace telltale::cli
