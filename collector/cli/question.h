// What several commands make of their flags: the dimension, the one vital, and the session with its
// selection.
//
// The main thread.

#ifndef TELLTALE_COLLECTOR_CLI_QUESTION_H_
#define TELLTALE_COLLECTOR_CLI_QUESTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/cli/commands.h"
#include "collector/cli/session.h"

namespace telltale::cli {

inline constexpr absl::Duration kRecent = absl::Minutes(5), kQuarter = absl::Minutes(15),
                                kHour = absl::Hours(1), kDay = absl::Hours(24);

// --by as typed; empty: DIMENSION_UNSPECIFIED.
absl::StatusOr<v1::Dimension> ParseDimension(const std::string& text);

// At most one vital, for questions that take one.
absl::StatusOr<std::string> OneVital(const Arguments& arguments, const char* command, bool needed);

// The other side of a comparison. --against: the start of a time as long as the selection (or up to
// --against-to), or how much earlier it lies ("-1d"; "yesterday" is -1d). Nothing given: just
// before the selection; other nodes given alone: the same time there. Nodes: the same unless given.
absl::StatusOr<v1::Selection> AgainstOf(const Arguments& arguments, const v1::Selection& selection,
                                        absl::Time now, absl::TimeZone zone);

// Session, selection and question in one; `ask` gives the exit code.
template <typename Ask>
int WithSelection(const Arguments& arguments, absl::Duration usual, Ask ask) {
  absl::StatusOr<Session> session = OpenSession(arguments);
  if (!session.ok()) return Report(session.status());
  absl::StatusOr<v1::Selection> selection = SelectionOf(arguments, *session, usual);
  if (!selection.ok()) return Report(selection.status());
  return ask(*session, *selection);
}

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_QUESTION_H_
