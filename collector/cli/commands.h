// The commands that ask a collector. Each prints its answer to stdout and returns an exit code; an
// error is one line on stderr, "telltale: ...".
//
// The main thread.

#ifndef TELLTALE_COLLECTOR_CLI_COMMANDS_H_
#define TELLTALE_COLLECTOR_CLI_COMMANDS_H_

#include "absl/status/status.h"
#include "collector/cli/arguments.h"

namespace telltale::cli {

int RunNodes(const Arguments& arguments);
int RunVitals(const Arguments& arguments);
int RunSeries(const Arguments& arguments);
int RunTop(const Arguments& arguments);
int RunSamples(const Arguments& arguments);
int RunStacks(const Arguments& arguments);
int RunFlame(const Arguments& arguments);
int RunDiff(const Arguments& arguments);
int RunHistogram(const Arguments& arguments);
int RunHost(const Arguments& arguments);
int RunEvents(const Arguments& arguments);
int RunCoverage(const Arguments& arguments);
int RunAnomalies(const Arguments& arguments);
int RunIncidents(const Arguments& arguments);
int RunSilence(const Arguments& arguments);
int RunRules(const Arguments& arguments);
int RunFilterList(const Arguments& arguments);
int RunFilterRun(const Arguments& arguments);
int RunFilterSeries(const Arguments& arguments);
int RunStatus(const Arguments& arguments);
int RunBundle(const Arguments& arguments);
int RunDump(const Arguments& arguments);
int RunTokenCreate(const Arguments& arguments);
int RunTokenList(const Arguments& arguments);
int RunTokenRevoke(const Arguments& arguments);
int RunEnrollToken(const Arguments& arguments);
int RunEnrollList(const Arguments& arguments);
int RunEnrollApprove(const Arguments& arguments);
int RunEnrollDeny(const Arguments& arguments);
int RunEnrollRevoke(const Arguments& arguments);
int RunAudit(const Arguments& arguments);
int RunInvestigate(const Arguments& arguments);
int RunLive(const Arguments& arguments);
int RunHeat(const Arguments& arguments);
int RunNote(const Arguments& arguments);
int RunPkiInit(const Arguments& arguments);
int RunPkiIssue(const Arguments& arguments);
int RunPkiIssuing(const Arguments& arguments);
int RunPkiRevoke(const Arguments& arguments);
int RunPkiShow(const Arguments& arguments);

// Prints the line and maps the error to an exit code.
int Report(const absl::Status& status);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_COMMANDS_H_
