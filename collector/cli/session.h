// What every asking command shares: the connection, the selection that was typed, how to print.

#ifndef TELLTALE_COLLECTOR_CLI_SESSION_H_
#define TELLTALE_COLLECTOR_CLI_SESSION_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collector/cli/arguments.h"
#include "collector/cli/client.h"
#include "collector/cli/commands.h"
#include "collector/cli/render.h"

namespace telltale::cli {

struct Session {
  std::vector<std::string> words;  // the command as it was typed
  std::unique_ptr<Client> client;
  View view;
  std::string format = "table";  // json, csv, folded, pprof
  bool table() const { return format == "table"; }
  bool json() const { return format == "json"; }
};

absl::StatusOr<Session> OpenSession(const Arguments& arguments);

// Nodes, labels, tier and time range; `usual`: the length without --from, --to, --at, --for.
absl::StatusOr<v1::Selection> SelectionOf(const Arguments& arguments, const Session& session,
                                          absl::Duration usual);

// Protobuf JSON with every field, one object on stdout.
absl::Status PrintJson(const google::protobuf::Message& message);

void Print(const std::string& text);

// As JSON or by `render`, for answers that rest on no data.
template <typename Answer, typename Render>
int Shown(const Session& session, const absl::StatusOr<Answer>& answer, Render render) {
  if (!answer.ok()) return Report(answer.status());
  if (session.json()) {
    const absl::Status status = PrintJson(*answer);
    return status.ok() ? kOk : Report(status);
  }
  Print(render(*answer));
  return kOk;
}

// Prints an answer in the session's format, as a table by `render`; where the format cannot say
// what the answer rests on, that goes to stderr. An answer without content becomes kNoData and a
// line saying where data is.
int Deliver(const Session& session, const google::protobuf::Message& answer,
            const v1::Coverage& coverage, const v1::Selection& asked, bool empty,
            const std::function<std::string()>& render);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_SESSION_H_
