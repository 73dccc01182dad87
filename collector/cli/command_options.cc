#include "collector/cli/command_options.h"

#include <set>
#include <string>

namespace telltale::cli {
namespace {

// What -o of a command may be.
std::string FormatsOf(const std::string& command) {
  static const std::set<std::string> kCsv = {"top",  "diff",   "series",    "samples", "histogram",
                                             "host", "events", "anomalies", "audit"};
  const std::string usual = "table or json (protobuf JSON of the answer)";
  if (command == "stacks") return usual + ", csv, folded or pprof";
  if (command == "flame") return usual + ", folded or svg";
  if (kCsv.contains(command)) return usual + " or csv";
  return command == "telltale" ? usual + "; a command's --help says what else it knows" : usual;
}

}  // namespace

void AddConnection(CLI::App* command, Arguments& a) {
  command->add_option("--collector", a.connection.collector, "host:port of the collector")
      ->group("Connection");
  command->add_option("--ca", a.connection.ca, "PEM file: authority of the collector's certificate")
      ->group("Connection");
  command
      ->add_option("--cert", a.connection.cert, "PEM file: your certificate (operator or viewer)")
      ->group("Connection");
  command->add_option("--key", a.connection.key, "PEM file: its key")->group("Connection");
  command->add_option("--timeout", a.timeout_s, "seconds to wait for an answer (60)")
      ->group("Connection");
  command->add_option("-o,--output", a.output, FormatsOf(command->get_name()));
}

void AddNodes(CLI::App* command, Arguments& a) {
  command->add_option("-n,--node", a.nodes, "only this node; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("-l,--label", a.labels, "only nodes with this label, key=value; may be repeated")
      ->allow_extra_args(false);
}

CLI::Validator From1To(int most) { return CLI::Range(1, most); }

void AddRange(CLI::App* command, Arguments& a, const char* usual) {
  command
      ->add_option("--from", a.range.from,
                   std::string("start; without any of these four: ") +
                       (usual == nullptr ? "all" : std::string("the last ") + usual))
      ->group("Time");
  command->add_option("--to", a.range.to, "end; now if not given")->group("Time");
  command->add_option("--at", a.range.at, "the minute (or --for) that begins then")->group("Time");
  command->add_option("--for", a.range.length, "length: 90s, 5m, 1h30m, 2d")->group("Time");
}
void AddTier(CLI::App* command, Arguments& a) {
  command
      ->add_option(
          "--tier", a.tier,
          "what to answer from: raw epochs, windows of 5m, 1h or 1d; auto: the finest that "
          "holds the whole time in few reads")
      ->group("Time");
}

void AddVital(CLI::App* command, Arguments& a, const char* help) {
  command->add_option("--vital", a.vitals, help)->allow_extra_args(false);
}
void AddLimit(CLI::App* command, Arguments& a, int most, const char* help) {
  command->add_option("--limit", a.limit, help)->check(From1To(most));
}
void AddProcess(CLI::App* command, Arguments& a) {
  command->add_option("--process", a.process, "only this pid, executable or command name");
}
void AddPage(CLI::App* command, Arguments& a) {
  command->add_option("--page", a.page, "go on where the last answer ended");
}

void AddAgainst(CLI::App* command, Arguments& a) {
  command
      ->add_option("--against", a.against,
                   "what to compare with: how much earlier (-1h, -1d, -7d, yesterday), or where it "
                   "begins; as long as the time above")
      ->group("Against");
  command->add_option("--against-to", a.against_to, "where it ends, if it is not as long")
      ->group("Against");
  command
      ->add_option("--against-node", a.against_nodes,
                   "other nodes; without --against of the same time; may be repeated")
      ->allow_extra_args(false)
      ->group("Against");
  command->add_option("--against-label", a.against_labels, "nodes with this label, key=value")
      ->allow_extra_args(false)
      ->group("Against");
}

void AddHideSelf(CLI::App* command, Arguments& a) {
  command->add_flag("--hide-self", a.hide_self,
                    "leave Telltale's own processes out; says how much they were");
}

}  // namespace telltale::cli
