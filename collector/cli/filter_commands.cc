// telltale rules and telltale filter: what watches, and one of them over the past again.

#include "collector/cli/commands.h"
#include "collector/cli/session.h"

namespace telltale::cli {
namespace {

using WatchStub = v1::Watch::Stub;

template <typename Answer, typename Render>
int ShownIn(const Session& session, const absl::StatusOr<Answer>& answer, Render render) {
  if (!answer.ok()) return Report(answer.status());
  if (session.json()) {
    const absl::Status status = PrintJson(*answer);
    return status.ok() ? kOk : Report(status);
  }
  Print(render(*answer, session.view));
  return kOk;
}

int List(const Arguments& arguments,
         std::string (*render)(const v1::ListFiltersAnswer&, const View&)) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  return ShownIn(*session, session->client->Ask(&WatchStub::ListFilters, v1::ListFiltersRequest()),
                 render);
}

}  // namespace

int RunRules(const Arguments& arguments) { return List(arguments, RenderRules); }

int RunFilterList(const Arguments& arguments) { return List(arguments, RenderFilters); }

int RunFilterRun(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  const auto selection = SelectionOf(arguments, *session, absl::Hours(24));
  if (!selection.ok()) return Report(selection.status());
  v1::RunFilterRequest request;
  request.set_name(arguments.filter);
  *request.mutable_selection() = *selection;
  return ShownIn(*session, session->client->Ask(&WatchStub::RunFilter, request), RenderFilterRun);
}

}  // namespace telltale::cli
