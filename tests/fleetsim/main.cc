// telltale-fleetsim: flags, signals, exit codes. 0: ran, and if it was to verify, all that was
// acknowledged is there once; 1: could not run, or it is not; 2: usage.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/synchronization/mutex.h"
#include "agent/uplink/tls.h"
#include "config/command_line.h"
#include "config/load.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"
#include "tests/fleetsim/fleet.h"
#include "tests/fleetsim/fleet_options.h"

namespace telltale::fleetsim {
namespace {

constexpr const char* kFooter =
    "Each node has a certificate and a connection of its own, because a certificate names one "
    "node:\n"
    "connections cannot be shared. A fleet of N needs N open files here and in the collector\n"
    "(ulimit -n); several processes share a fleet with --first.\n\n"
    "Examples:\n"
    "  telltale-fleetsim --pki /tmp/pki --nodes 100 --epoch 5s --epochs 4 --verify 10\n"
    "  telltale-fleetsim --pki /tmp/pki --recordings /tmp/rec/spool --nodes 5000 \\\n"
    "    --collector-pid $(pgrep -f telltale-collector) --disk /var/lib/telltale -o json\n";

int Complain(const std::string& line, int code) {
  std::fprintf(stderr, "telltale-fleetsim: %s\n", line.c_str());
  return code;
}

bool Pending(const sigset_t& signals) {
  const timespec no_time = {};
  return sigtimedwait(&signals, nullptr, &no_time) > 0;
}

int Main(int argc, char** argv) {
  FleetOptions options;
  const config::OptionTable table = TableOf(options);
  const config::Program program = {
      .name = "telltale-fleetsim",
      .about = "Plays a fleet of agents to a real collector and measures what that costs it.",
      .version = TELLTALE_VERSION,
      .default_file = "fleetsim.yaml",
      .footer = kFooter,
      .commands_help = "run (default)",
      .commands = {"run"},
  };
  const auto [line, exit_code] = config::ParseCommandLine(argc, argv, program, table,
                                                          {{.flag = "-o,--output",
                                                            .help = "table or json",
                                                            .value = &options.output,
                                                            .value_name = "FORMAT"}});
  if (exit_code >= 0) return exit_code;
  if (const auto loaded = config::Load(table, line.sources); !loaded.ok()) {
    return Complain(std::string(loaded.status().message()), 2);
  }
  if (options.pki.empty()) {
    return Complain("flags: give --pki, the directory of the authority the collector trusts", 2);
  }
  if (options.output != "table" && options.output != "json") {
    return Complain("flags: --output " + options.output + ": must be table or json", 2);
  }
  // Blocked before any thread is made.
  sigset_t stop, storm, both;
  for (sigset_t* set : {&stop, &storm, &both}) sigemptyset(set);
  sigaddset(&storm, SIGUSR1);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&stop, number);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&both, number);
  pthread_sigmask(SIG_BLOCK, &both, nullptr);
  signal(SIGPIPE, SIG_IGN);
  agent::RequireTls13();
  agent::QuietGrpc();
  // As the collector does: the machine is shared with it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  spdlog::set_level(spdlog::level::off);  // each node would say what its agent says

  Requests requests;
  requests.stop = [&stop] { return Pending(stop); };
  requests.storm = [&storm] { return Pending(storm); };
  requests.say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  auto figures = RunFleet(options, requests);
  if (!figures.ok()) return Complain(std::string(figures.status().message()), 1);
  const std::string text = options.output == "json" ? JsonText(*figures) : TableText(*figures);
  std::fputs(text.c_str(), stdout);
  return figures->verification && !figures->verification->wrong.empty() ? 1 : 0;
}

}  // namespace
}  // namespace telltale::fleetsim

int main(int argc, char** argv) {
  const int code = telltale::fleetsim::Main(argc, argv);
  std::fflush(nullptr);
  // Streams and channels are gone by now: agent/uplink/channel_keeper.h says what crashed here
  // once. gRPC's own threads are not, and what OpenSSL's exit handler frees may be theirs.
  _exit(code);
}
