// The command line: parses what was typed, then runs one command.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include "collector/cli/arguments.h"
#include "collector/cli/authority_groups.h"
#include "collector/cli/command_options.h"
#include "collector/cli/commands.h"
#include "collector/cli/documents.h"
#include "collector/cli/incident_table.h"
#include "collector/cli/terminal_text.h"
#include "collector/query/nearest.h"
#include "telltale_version.h"

namespace telltale::cli {
namespace {

constexpr char kFooter[] = R"(
Times:  now, -2h, 17:00, "yesterday 5pm", "last wednesday 17:00", "2026-11-18 17:00" (local),
        2026-11-18T17:00:00Z, @1763485200
        answers count whole epochs (60 s or what the agent cuts): one belongs to the range its middle lies in;
        a range shorter than an epoch shows the one that its own middle lies in
Connection: those flags, before or after the command, else TELLTALE_COLLECTOR, TELLTALE_TLS_CA, TELLTALE_TLS_CERT,
  TELLTALE_TLS_KEY or TELLTALE_TLS_DIR, else ~/.config/telltale.yaml, else /etc/telltale/cli.yaml
Exit codes: 0 answered; 1 failed; 2 a flag or value makes no sense; 3 collector not reached or not ours;
  4 our certificate or role refused; 5 unknown node, vital, histogram or file; 6 no data for what was asked

  telltale COMMAND --help    has examples
)";

const Command kCommands[] = {
    {"nodes", "the nodes, whether they report, since when; ends a clone conflict",
     "  telltale nodes\n  telltale nodes --label role=db -o json\n"
     "  telltale nodes --node web-1                    with the agents that spoke as it\n"
     "  telltale nodes --node web-1 --keep 1a2b3c4d    this one is web-1, the others are refused",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       c->add_option("--keep", a.keep,
                     "where two machines use one certificate: the agent that is the node, by the "
                     "first digits of its id; needs --node and an operator's certificate");
     },
     RunNodes},
    {"vitals", "what each node can watch: active, degraded or unavailable, and why",
     "  telltale vitals --node db-1", [](CLI::App* c, Arguments& a) { AddNodes(c, a); }, RunVitals},
    {"top", "who did most: processes and code, with stacks",
     "  telltale top                                   every vital, the last 5 minutes\n"
     "  telltale top --vital blocking --by stack       who waits, for what, from which line\n"
     "  telltale top --vital disk_io/write_issued --by exe --at 17:00 --for 10m\n"
     "  telltale top --vital cpu --process nginx --by site",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "5 minutes");
       AddTier(c, a);
       AddVital(c, a, "e.g. cpu or blocking/disk; all if not given");
       c->add_option(
           "--by", a.by,
           "process, exe, user, cgroup, site, stack or node; process and site if not given");
       AddLimit(c, a, 1000, "rows a table (10; 5 when every vital is shown); at most 1,000");
       AddProcess(c, a);
       AddPage(c, a);
       c->add_flag("--idle", a.idle, "count waits by choice (poll, timer) in");
       AddHideSelf(c, a);
     },
     RunTop},
    {"diff", "what became more and what less: one time or node set against another",
     "  telltale diff                                  the last 15 minutes against the 15 before\n"
     "  telltale diff --vital cpu --at 17:00 --for 10m --against yesterday\n"
     "  telltale diff --vital blocking --from -1h --against -7d --by stack\n"
     "  telltale diff --vital syscall --node web-1 --against-node web-2 --from -1h\n"
     "  telltale diff --vital cpu --from 09:00 --to 10:00 --against 07:00 --against-to 09:00 -o "
     "csv\n"
     "Figures of the other side are brought to the same watched node time. Rows whose bounds do "
     "not\n"
     "meet changed for certain and come first; the rest may be chance of what was sampled.",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "15 minutes");
       AddTier(c, a);
       AddAgainst(c, a);
       AddVital(c, a, "e.g. cpu or blocking/disk; all if not given");
       c->add_option("--by", a.by,
                     "process, exe, user, cgroup, site, stack or node; exe and site if not given");
       AddLimit(c, a, 1000, "rows a table (10; 5 when every vital is shown); at most 1,000");
       AddProcess(c, a);
       c->add_flag("--idle", a.idle, "count waits by choice (poll, timer) in");
       AddHideSelf(c, a);
     },
     RunDiff},
    {"series", "how much over time",
     "  telltale series --vital cpu --from -10m\n"
     "  telltale series --vital blocking/disk --node db-1 --at 17:00 --per-second\n"
     "  telltale series --vital cpu --process postgres --from -1d\n"
     "  telltale series --from -3d --vital syscall --per-node -o json",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "hour");
       AddTier(c, a);
       AddVital(c, a, "e.g. cpu or cpu/user; may be repeated; all totals if not given");
       c->add_flag("--per-node", a.per_node, "a line per node instead of their sum");
       c->add_flag("--per-second", a.per_second, "the seconds inside epochs");
       c->add_flag("--backlog", a.backlog, "begun and not ended, where the vital keeps it");
       AddProcess(c, a);
       c->add_option("--points", a.points,
                     "at most so many points a line, keeping extremes; 60 in tables, else 2,000, "
                     "which is the most")
           ->check(From1To(2000));
     },
     RunSeries},
    {"samples", "single events kept whole, with their stacks, newest first",
     "  telltale samples --vital disk_io\n  telltale samples --vital blocking/lock --process "
     "mysqld --limit 3",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "15 minutes");
       AddVital(c, a, "e.g. disk_io; all if not given");
       AddProcess(c, a);
       AddLimit(c, a, 1000,
                "so many in all, the newest of all vitals together; 10 in tables, else 50; at most "
                "1,000");
       AddPage(c, a);
     },
     RunSamples},
    {"stacks", "all stacks of a vital with their weight",
     "  telltale stacks --vital cpu\n"
     "  telltale stacks --vital cpu -o pprof > cpu.pb.gz           for `go tool pprof`\n"
     "  telltale stacks --vital cpu -o folded > cpu.folded         for a flame graph program\n"
     "  telltale stacks --vital blocking/disk --from -1d -o csv > waits.csv",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "5 minutes");
       AddTier(c, a);
       AddVital(c, a, "e.g. cpu or blocking/disk");
       AddProcess(c, a);
       AddLimit(c, a, 10'000, "so many; 10 in tables, else 1,000; at most 10,000");
       c->add_flag("--folded", a.folded, "the same as -o folded: root;...;leaf weight");
       c->add_flag("--idle", a.idle, "count waits by choice (poll, timer) in");
     },
     RunStacks},
    {"flame", "the stacks of a vital as a tree, alone or against another time",
     "  telltale flame --vital cpu\n"
     "  telltale flame --vital cpu --at 17:00 --for 10m --against yesterday\n"
     "  telltale flame --vital cpu -o svg > cpu.svg                     a picture for a ticket\n"
     "  telltale flame --vital cpu --against -1h -o folded > cpu.diff   two weights: against, now",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "5 minutes");
       AddTier(c, a);
       AddAgainst(c, a);
       AddVital(c, a, "e.g. cpu or blocking/disk");
       AddProcess(c, a);
       AddLimit(c, a, 10'000, "lines of the tree (40); at most 10,000");
       c->add_flag("--idle", a.idle, "count waits by choice (poll, timer) in");
       AddHideSelf(c, a);
     },
     RunFlame},
    {"histogram", "how long things took: disk, run queue, waits, locks",
     "  telltale histogram\n  telltale histogram --name disk/read --from -1h",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "15 minutes");
       AddTier(c, a);
       c->add_option("--name", a.name, "e.g. disk/read, runqueue/wait; all if not given");
     },
     RunHistogram},
    {"host", "levels of whole hosts: memory and swap, pressure, load, processors",
     "  telltale host --node web-1 --at 17:00 --for 10m\n"
     "  telltale host --label role=db --from -1h       which of them came closest to no memory\n"
     "  telltale host --node web-1 --from -1d -o csv",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "15 minutes");
       AddLimit(c, a, 1000, "hosts, tightest memory first (20); at most 1,000");
     },
     RunHost},
    {"events", "programs started and ended, out of memory, clock steps, agent starts",
     "  telltale events --type oom --from -1d\n  telltale events --node db-1 --at 17:00",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "hour");
       c->add_option("--type", a.event_types, std::string(kEventTypes) + "; may be repeated")
           ->allow_extra_args(false);
       AddLimit(c, a, 10'000, "the newest so many (200); at most 10,000");
       AddPage(c, a);
     },
     RunEvents},
    {"coverage", "what answers rest on: gaps, losses",
     "  telltale coverage --from -1d\n  telltale coverage --node db-1 --at 17:00 --for 1h",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "hour");
     },
     RunCoverage},
    {"anomalies", "what behaved unusually",
     "  telltale anomalies --from -1d\n  telltale anomalies --follow",
     [](CLI::App* c, Arguments& a) {
       AddNodes(c, a);
       AddRange(c, a, "day");
       AddVital(c, a, "only of this vital");
       c->add_option("--filter", a.filter, "only found by this filter");
       c->add_option("--min-severity", a.min_severity, "in deviations, 0 or more")
           ->check(CLI::NonNegativeNumber);
       AddLimit(c, a, 10'000, "at most so many (100); at most 10,000");
       AddPage(c, a);
       c->add_flag("--follow", a.follow,
                   "stay and print new ones as they are found; --label: of nodes that have it "
                   "now");
       c->add_option("--cursor", a.cursor, "with --follow: begin after this one");
     },
     RunAnomalies},
    {"incidents", "anomalies and diagnoses that belong together, and what people know of them",
     "  telltale incidents\n  telltale incidents 12\n  telltale incidents 12 --acknowledge --note "
     "\"disk on order\"\n  telltale incidents --all\n"
     "  telltale incidents --follow                    each that changes, as it changes\n"
     "What a diagnosis explains stands under it. Those under silences (telltale silence) are "
     "counted and left out.",
     [](CLI::App* c, Arguments& a) {
       c->add_option("NUMBER", a.incident.number, "this one, with all that is known of it");
       c->add_flag("--all", a.incident.all, "resolved ones and those under silences too");
       c->add_flag("--silenced", a.incident.silenced, "those under silences too");
       c->add_flag("--follow", a.follow, "go on with each that changes");
       c->add_option("--cursor", a.cursor, "with --follow: begin after this change; 0: with all");
       auto* acknowledge = c->add_flag("--acknowledge", a.incident.acknowledge,
                                       "somebody looks at it; an operator's");
       auto* resolve = c->add_flag("--resolve", a.incident.resolve, "it is over; an operator's");
       auto* reopen = c->add_flag("--reopen", a.incident.reopen, "it is not over; an operator's");
       acknowledge->excludes(resolve)->excludes(reopen);
       resolve->excludes(reopen);
       c->add_option("--note", a.incident.note,
                     "what is known, with these or alone; an operator's");
       AddLimit(c, a, 1'000, "the newest so many (50); at most 1,000");
     },
     RunIncidents},
    {"silence", "what you do not want to hear of, for a time; lists without a pattern",
     "  telltale silence --node 'web-*' --rule 5 --for 2h --reason \"disks are being replaced\"\n"
     "  telltale silence --process backup --until \"tomorrow 6:00\" --reason \"first full run\"\n"
     "  telltale silence --incident 12 --for 8h --reason \"known, disk on order\"\n"
     "  telltale silence                               those in force\n"
     "  telltale silence --end 1a2b3c4d\n"
     "An incident that is wholly under silences is kept, but left out of telltale incidents and "
     "not\n"
     "told to Alertmanagers. Making and ending a silence needs an operator's certificate.",
     [](CLI::App* c, Arguments& a) {
       SilenceFlags& s = a.silence;
       c->add_option("--node", s.node, "nodes, as a shell pattern (any)");
       c->add_option("--rule", s.rule, "a rule's number, or a filter's name as a pattern (any)");
       c->add_option("--process", s.process, "programs' names without path, as a pattern (any)");
       c->add_option("--incident", s.incident,
                     "instead of these: this incident alone, whatever else belongs to it");
       c->add_option("--for", s.length, "so long, e.g. 2h or 1d");
       c->add_option("--until", s.until, "until then");
       c->add_option("--reason", s.reason, "why, at most 300 bytes");
       c->add_option("--end", s.end, "the id of one to end now");
       c->add_flag("--all", s.all, "those of the last 7 days that are over, too");
     },
     RunSilence},
    {"rules", "the rules that make diagnoses of symptoms, and how often each was right",
     "  telltale rules", [](CLI::App*, Arguments&) {}, RunRules},
    {"status", "how the collector is: nodes, store, latency, refusals", "  telltale status",
     [](CLI::App*, Arguments&) {}, RunStatus},
    {"audit",
     "who did what: orders of operators, what was refused to whom, who opened samples; an "
     "operator's",
     "  telltale audit\n  telltale audit --from yesterday --to \"today 6:00\"\n"
     "  telltale audit --limit 100000 -o csv > audit.csv   all that is kept",
     [](CLI::App* c, Arguments& a) {
       AddLimit(c, a, 100'000, "the newest so many (100); at most 100,000");
       AddRange(c, a, nullptr);
     },
     RunAudit},
    {"bundle", "one .tar.gz with what a maintainer asks for first; no secrets, no samples",
     "  telltale bundle\n  telltale bundle --file /tmp/b.tar.gz --log "
     "/var/log/telltale/collector.log",
     [](CLI::App* c, Arguments& a) {
       c->add_option("--file", a.file, "where to write (telltale-bundle-TIME.tar.gz)");
       c->add_option("--log", a.logs, "a log to put in; may be repeated")->allow_extra_args(false);
     },
     RunBundle},
};

void AddCommand(CLI::App& app, const Command& command, Arguments& arguments,
                std::function<int()>& run) {
  CLI::App* sub = app.add_subcommand(command.name, command.about);
  command.options(sub, arguments);
  AddConnection(sub, arguments);
  sub->footer(std::string("\nExamples:\n") + command.examples);
  sub->callback([&] { run = [&] { return command.run(arguments); }; });
}

void AddFilter(CLI::App& app, Arguments& a, std::function<int()>& run) {
  CLI::App* filter = app.add_subcommand("filter", "what watches the epochs as they come");
  filter->require_subcommand(1);
  CLI::App* list = filter->add_subcommand("list", "detectors and rules, and how each is");
  CLI::App* again = filter->add_subcommand(
      "run", "one of them over the past again; nothing of it is kept, live goes on");
  again->add_option("NAME", a.filter, "as telltale filter list shows it")->required();
  AddNodes(again, a);
  AddRange(again, a, "day");
  list->footer("\nExample:\n  telltale filter list");
  again->footer("\nExample:\n  telltale filter run level_shift --node db-1 --from -2d");
  CLI::App* series = filter->add_subcommand("series", "the series that one emits of its own");
  series->add_option("NAME", a.filter, "as telltale filter list shows it")->required();
  AddNodes(series, a);
  AddRange(series, a, "hour");
  AddVital(series, a, "only those about this vital");
  series->add_option("--series", a.series, "only this one, as the filter calls it");
  AddLimit(series, a, 100'000, "at most so many points (10,000); at most 100,000");
  series->footer("\nExample:\n  telltale filter series sort --node db-1 --from -2h -o csv");
  series->callback([&] { run = [&] { return RunFilterSeries(a); }; });
  for (CLI::App* command : {list, again, series}) AddConnection(command, a);
  list->callback([&] { run = [&] { return RunFilterList(a); }; });
  again->callback([&] { run = [&] { return RunFilterRun(a); }; });
}

// What is wrong with the command line, with the nearest word that would be right.
std::string Complaint(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  const CLI::App* used = &app;
  while (!used->get_subcommands().empty()) used = used->get_subcommands().front();
  std::vector<std::string> commands, flags;
  for (const CLI::App* command : used->get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  for (const CLI::Option* option : used->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  if (used == &app && argc > 1 && argv[1][0] != '-') {
    return "unknown command \"" + Escaped(argv[1]) + "\"" + query::NearestHint(argv[1], commands);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    const bool flag = word.size() > 2 && word.compare(0, 2, "--") == 0;
    if (flag && std::find(flags.begin(), flags.end(), word) == flags.end() && word != "--help") {
      return "unknown flag " + Escaped(word) + query::NearestHint(word, flags);
    }
  }
  return Escaped(error.what());
}

int Main(int argc, char** argv) {
  // gRPC's own log lines would stand beside our one clear line; the environment can have them back.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Telltale: what happened, on which node, in whose code.", "telltale");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "telltale " TELLTALE_VERSION);
  Arguments arguments;
  arguments.words.assign(argv, argv + argc);
  std::function<int()> run;
  AddConnection(&app, arguments);  // before the command or after it, as one likes
  for (const Command& command : IncidentCommands()) AddCommand(app, command, arguments, run);
  for (const Command& command : kCommands) AddCommand(app, command, arguments, run);
  CLI::App* dump = app.add_subcommand(
      "dump", "decode a summary, a spool file or a stored value; needs no collector");
  dump->add_option("FILE", arguments.file, "file, or - for standard input")->required();
  dump->add_option("--kind", arguments.kind,
                   "what it is, if it cannot be told: summary, body, schema, names, cells, spool, "
                   "spool-state, incarnation, raw, series, line, rollup-window, rollup-vital");
  dump->add_option("-o,--output", arguments.output, "table or json");
  dump->footer(
      "\nExamples:\n  telltale dump /var/lib/telltale/spool/00000000000000000042.rec\n  telltale "
      "dump /var/lib/telltale/spool/state.0\n  telltale "
      "dump --kind summary - < summary.bin");
  dump->callback([&] { run = [&] { return RunDump(arguments); }; });
  AddToken(app, arguments, run);
  AddEnroll(app, arguments, run);
  AddDocuments(app, arguments, run);
  AddFilter(app, arguments, run);
  AddPki(app, arguments, run);
  CLI::App* version = app.add_subcommand("version", "version of this program");
  version->callback([&] {
    run = [] {
      std::cout << "telltale " TELLTALE_VERSION "\n";
      return static_cast<int>(kOk);
    };
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string path = "telltale";
    for (CLI::App* used = &app; !used->get_subcommands().empty();) {
      used = used->get_subcommands().front();
      path += " " + used->get_name();
    }
    std::cerr << path << ": " << Complaint(app, argc, argv, error) << "; see " << path
              << " --help\n";
    return kUsage;
  }
  return run();
}

}  // namespace
}  // namespace telltale::cli

int main(int argc, char** argv) { return telltale::cli::Main(argc, argv); }
