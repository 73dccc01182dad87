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
  std::string format = "table";  // json, csv, folded, svg, pprof
  bool table() const { return format == "table"; }
  bool json() const { return format == "json"; }
};

absl::StatusOr<Session> OpenSession(const Arguments& arguments);

// Nodes, labels, tier and time range; `usual`: the length without --from, --to, --at, --for.
absl::StatusOr<v1::Selection> SelectionOf(const Arguments& arguments, const Session& session,
                                          absl::Duration usual);

// Protobuf JSON with every field, one object; PrintJson: on stdout.
absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message);
absl::Status PrintJson(const google::protobuf::Message& message);

void Print(const std::string& text);

// Prints an answer that rests on no data in the session's format, as a table by `render`.
int Show(const Session& session, const google::protobuf::Message& answer,
         const std::function<std::string()>& render);

// InvalidArgument: an answer of this type does not come in the session's format. Asked before what
// an order changes, whose answer may be all there is of a secret.
absl::Status CheckFormat(const Session& session, const google::protobuf::Message& answer);

// Asks and shows; asks nothing where the answer could not be shown.
template <typename Stub, typename Question, typename Answer, typename Render>
int AskAndShow(const Session& session,
               grpc::Status (Stub::*method)(grpc::ClientContext*, const Question&, Answer*),
               const Question& question, Render render) {
  const absl::Status format = CheckFormat(session, Answer::default_instance());
  if (!format.ok()) return Report(format);
  const absl::StatusOr<Answer> answer = session.client->Ask(method, question);
  if (!answer.ok()) return Report(answer.status());
  return Show(session, *answer, [&] { return render(*answer); });
}

// Prints an answer in the session's format, as a table by `render`; where the format cannot say
// what the answer rests on, that goes to stderr. An answer without content becomes kNoData and a
// line saying where data is. `json`: what is printed instead of the answer's own; empty: that is.
enum class Side { kAsked, kAgainst };  // which one `coverage` and `asked` are of, in a comparison
int Deliver(const Session& session, const google::protobuf::Message& answer,
            const v1::Coverage& coverage, const v1::Selection& asked, bool empty,
            const std::function<std::string()>& render, Side side = Side::kAsked,
            const std::function<absl::StatusOr<std::string>()>& json = {});

// Whether who follows tries again. `heard`: this collector has told us something before, so it
// takes our certificate; one that goes down closes connections in the midst of a handshake as one
// does that refuses it.
bool MayPass(const absl::Status& status, bool heard);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_SESSION_H_
