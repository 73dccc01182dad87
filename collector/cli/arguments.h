// What was typed, as values: filled by the parser in telltale.cc, read by the commands.

#ifndef TELLTALE_COLLECTOR_CLI_ARGUMENTS_H_
#define TELLTALE_COLLECTOR_CLI_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/cli/pki_command.h"
#include "collector/cli/settings.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {

// Exit codes: documented in --help, relied upon by scripts.
enum Exit : int {
  kOk = 0,
  kFailed = 1,       // anything else
  kUsage = 2,        // a flag or value that makes no sense
  kNoCollector = 3,  // not reached, or not the collector it should be
  kRefused = 4,      // our certificate or role was refused
  kUnknownName = 5,  // node, vital, histogram ...
  kNoData = 6,       // the question was fine, there is no data for it
};

// The kinds of events that are ever answered, as people type them.
inline constexpr const char* kEventTypes = "exec, exit, oom, clock_step, agent_start";

struct TokenFlags {
  std::string name, role = "viewer", expires = "90d", id;
};

struct EnrollFlags {
  std::string node, lifetime = "1h", id;
  uint32_t uses = 1;
};

struct IncidentFlags {
  uint64_t number = 0;
  bool all = false, silenced = false, acknowledge = false, resolve = false, reopen = false;
  std::string note;
};

struct SilenceFlags {
  std::string node, rule, process, length, until, reason;
  uint64_t incident = 0;  // instead of patterns
  std::string end;        // the id of one to end
  bool all = false;
};

struct Arguments {
  std::vector<std::string> words;  // as typed, the program first
  Settings connection;
  std::string output = "table";  // table | json | csv | folded | svg | pprof
  int timeout_s = 60;

  std::vector<std::string> nodes, labels;
  std::string keep;          // nodes: the agent an operator decides for
  std::string note, remove;  // note: its text; the id of one to take back
  RangeFlags range;
  std::string tier;
  // diff, flame: the other side
  std::string against, against_to;
  std::vector<std::string> against_nodes, against_labels;

  std::vector<std::string> vitals;
  std::string by, process, page, filter, series, name;
  std::vector<std::string> event_types;
  uint32_t limit = 0, points = 0;
  double min_severity = 0;
  bool idle = false, per_node = false, per_second = false, backlog = false, folded = false,
       follow = false, hide_self = false;
  std::string cursor;
  uint32_t every_s = 2;  // live: between two questions

  std::string file;  // dump: input; bundle: output
  std::string kind;  // dump: of a stored value
  std::vector<std::string> logs;
  PkiFlags pki;
  TokenFlags token;
  EnrollFlags enroll;
  IncidentFlags incident;
  SilenceFlags silence;
};

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_ARGUMENTS_H_
