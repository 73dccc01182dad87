// telltale rules and telltale filter: what watches, and one of them over the past again.

#include "collector/cli/commands.h"
#include "collector/cli/question.h"
#include "collector/cli/session.h"

namespace telltale::cli {
namespace {

using WatchStub = v1::Watch::Stub;

int List(const Arguments& arguments,
         std::string (*render)(const v1::ListFiltersAnswer&, const View&)) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  return AskAndShow(
      *session, &WatchStub::ListFilters, v1::ListFiltersRequest(),
      [&](const v1::ListFiltersAnswer& answer) { return render(answer, session->view); });
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
  return AskAndShow(
      *session, &WatchStub::RunFilter, request,
      [&](const v1::RunFilterAnswer& answer) { return RenderFilterRun(answer, session->view); });
}

int RunFilterSeries(const Arguments& arguments) {
  const absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  const auto selection = SelectionOf(arguments, *session, absl::Hours(1));
  if (!selection.ok()) return Report(selection.status());
  const absl::StatusOr<std::string> vital = OneVital(arguments, "filter series", false);
  if (!vital.ok()) return Report(vital.status());
  v1::FilterSeriesRequest request;
  request.set_filter(arguments.filter);
  request.set_series(arguments.series);
  request.set_vital(*vital);
  request.set_limit(arguments.limit);
  *request.mutable_selection() = *selection;
  return AskAndShow(*session, &v1::Query::Stub::GetFilterSeries, request,
                    [&](const v1::FilterSeriesAnswer& answer) {
                      return RenderFilterSeries(answer, session->view);
                    });
}

}  // namespace telltale::cli
