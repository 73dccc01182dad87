// telltale heat: one vital of many nodes over time.

#include "collector/cli/commands.h"
#include "collector/cli/heat_map.h"
#include "collector/cli/question.h"

namespace telltale::cli {

int RunHeat(const Arguments& arguments) {
  return WithSelection(
      arguments, kHour, [&](const Session& session, const v1::Selection& selection) {
        constexpr size_t kUsualRows = 30;
        absl::StatusOr<std::string> vital = OneVital(arguments, "heat", true);
        if (!vital.ok()) return Report(vital.status());
        v1::SeriesRequest request;
        *request.mutable_selection() = selection;
        request.add_vitals(*vital);
        request.set_per_node(true);
        const auto answer = session.client->Ask(&v1::Query::Stub::GetSeries, request);
        if (!answer.ok()) return Report(answer.status());
        const size_t rows = arguments.limit > 0 ? arguments.limit : kUsualRows;
        return Deliver(session, *answer, answer->coverage(), selection, answer->series().empty(),
                       [&] { return RenderHeat(*answer, selection, rows, session.view); });
      });
}

}  // namespace telltale::cli
