// telltale note: what people should see beside the data.

#include <string>

#include "absl/strings/str_cat.h"
#include "collector/cli/commands.h"
#include "collector/cli/question.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

std::string NodesText(const v1::Mark& mark) {
  return absl::StrCat(
      Escaped(mark.node()),
      mark.more_nodes().empty() ? "" : absl::StrCat(" and ", mark.more_nodes_size(), " more"));
}

std::string MarkText(const v1::Mark& mark, const View& view) {
  return absl::StrCat(mark.id(), "  ", MomentText(mark.time_s(), view.zone), "  ",
                      mark.node().empty() ? "all nodes" : NodesText(mark), "  ",
                      Escaped(mark.text()));
}

std::string MarksText(const v1::MarksAnswer& answer, const View& view) {
  if (answer.marks().empty())
    return "no note in this time; telltale note \"deploy 1.2\" makes one\n";
  Table table({{"id"}, {"time"}, {"node"}, {"note"}, {"by"}});
  for (const v1::Mark& mark : answer.marks()) {
    table.Add({Escaped(mark.id()), MomentText(mark.time_s(), view.zone),
               mark.node().empty() ? "(all)" : NodesText(mark), Escaped(mark.text()),
               Escaped(mark.by())});
  }
  return absl::StrCat(table.Render(view.style), ZoneLine(view),
                      answer.left_out() > 0 ? absl::StrCat(answer.left_out(),
                                                           " older ones are not shown; narrow the "
                                                           "time or raise --limit\n")
                                            : "");
}

int ListMarks(const Arguments& arguments, const Session& session) {
  absl::StatusOr<v1::Selection> selection = SelectionOf(arguments, session, absl::Hours(24 * 7));
  if (!selection.ok()) return Report(selection.status());
  v1::MarksRequest request;
  *request.mutable_selection() = *selection;
  request.set_limit(arguments.limit);
  return AskAndShow(session, &v1::Query::Stub::ListMarks, request,
                    [&](const v1::MarksAnswer& marks) { return MarksText(marks, session.view); });
}

int RemoveMark(const Arguments& arguments, const Session& session) {
  v1::RemoveMarkRequest request;
  request.set_id(arguments.remove);
  return AskAndShow(
      session, &v1::Operate::Stub::RemoveMark, request, [&](const v1::RemoveMarkAnswer& removed) {
        return absl::StrCat("removed  ", MarkText(removed.mark(), session.view), "\n");
      });
}

int AddMark(const Arguments& arguments, const Session& session) {
  if (arguments.nodes.size() > 1) {
    return Report(absl::InvalidArgumentError(
        "note: is about one node or, without --node, about all; note it once for each"));
  }
  v1::AddMarkRequest request;
  request.set_text(arguments.note);
  if (!arguments.nodes.empty()) request.set_node(arguments.nodes.front());
  if (!arguments.range.at.empty()) {
    absl::StatusOr<absl::Time> at =
        ParseMoment(arguments.range.at, session.view.now, session.view.zone);
    if (!at.ok()) return Report(at.status());
    request.set_time_s(static_cast<double>(absl::ToUnixMicros(*at)) * 1e-6);
  }
  return AskAndShow(
      session, &v1::Operate::Stub::AddMark, request, [&](const v1::AddMarkAnswer& added) {
        const v1::Mark& mark = added.mark();
        std::string out = absl::StrCat(
            "noted  ", MarkText(mark, session.view), "  (time is ",
            ZoneText(absl::FromUnixSeconds(static_cast<int64_t>(mark.time_s())), session.view.zone),
            ")\n");
        if (added.has_dropped()) {
          absl::StrAppend(&out, "dropped, since there are too many  ",
                          MarkText(added.dropped(), session.view), "\n");
        }
        return out;
      });
}

}  // namespace

int RunNote(const Arguments& arguments) {
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  if (!arguments.remove.empty()) {
    if (!arguments.note.empty()) {
      return Report(absl::InvalidArgumentError("note: takes a text or --remove, not both"));
    }
    return RemoveMark(arguments, *session);
  }
  if (arguments.note.empty()) return ListMarks(arguments, *session);
  if (!arguments.range.from.empty() || !arguments.range.to.empty() ||
      !arguments.range.length.empty()) {
    return Report(absl::InvalidArgumentError("note: is of one moment; give it with --at"));
  }
  return AddMark(arguments, *session);
}

}  // namespace telltale::cli
