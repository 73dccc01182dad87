// telltale-collector: flags, signals, exit codes. 0: stopped as asked; 1: could not start or go on;
// 2: usage or configuration.

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "collector/collector.h"
#include "collector/config.h"
#include "collector/config_check.h"
#include "collector/grpc_listener.h"
#include "collector/grpc_server.h"
#include "collector/store_commands.h"
#include "collector/tls.h"
#include "config/command_line.h"
#include "config/logging.h"
#include "config/service_manager.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::collector {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int Complain(const std::string& line, int code) {
  std::fprintf(stderr, "telltale-collector: %s\n", line.c_str());
  return code;
}

constexpr const char* kFooter =
    "Every option can stand in the file (tls.ca as ca: below tls:), in the environment\n"
    "(TELLTALE_COLLECTOR_TLS_CA) or on the command line (--tls-ca); the later wins.\n"
    "SIGHUP reloads what --print-config marks so; SIGTERM stops and stores what arrived.\n\n"
    "backup DIR   a whole copy of the store into DIR (empty or new), by the running collector if\n"
    "             there is one; a backup is a data directory\n"
    "restore DIR  from such a copy into --data, which must not have a store\n"
    "verify       reads everything in --data and holds it against each other: checksums, the\n"
    "             ledger, counters, names, every tier against what it is made of. Changes "
    "nothing;\n"
    "             says where the first faults are and ends with 1. Of a running collector it reads "
    "a\n"
    "             copy (hard links, removed at the end)\n"
    "salvage      takes damaged table files out of the stopped collector's --data and keeps them\n"
    "             aside: what can be read of them is written anew, what cannot is named and "
    "told\n"
    "             by answers, as are epochs whose bodies in .blob files are damaged. Refuses, and\n"
    "             changes nothing, where that would make a figure wrong or there is no room\n\n"
    "Examples:\n"
    "  telltale-collector --config /etc/telltale/collector.yaml\n"
    "  telltale-collector --config c.yaml --listen-grpc 127.0.0.1:0 --data /tmp/t\n"
    "  telltale-collector --print-config > collector.yaml\n"
    "  telltale-collector backup /mnt/telltale-1122 && \\\n"
    "    telltale-collector verify --data /mnt/telltale-1122\n";

config::Program AboutProgram() {
  return {
      .name = "telltale-collector",
      .about = "Takes the summaries of all agents in, keeps them, answers questions about them.",
      .version = TELLTALE_VERSION,
      .default_file = kDefaultConfigFile,
      .footer = kFooter,
      .commands_help = "run (default), backup DIR, restore DIR, verify, salvage",
      .commands = {"run", "backup DIR", "restore DIR", "verify", "salvage"},
  };
}

void ReloadConfig(const config::Sources& sources, Config& current, Collector& collector) {
  Config fresh;
  const config::OptionTable before = CollectorOptions(current), after = CollectorOptions(fresh);
  const auto loaded = config::Load(after, sources);
  if (!loaded.ok()) {
    spdlog::error("reload: {}; the configuration read before stays in use",
                  std::string(loaded.status().message()));
    return;
  }
  const config::Change change = config::Compare(before, after);
  if (!change.fixed.empty()) {
    spdlog::warn("reload: {} cannot change while running; restart for it",
                 absl::StrJoin(change.fixed, ", "));
  }
  config::SetUpLogging(fresh.log_level, fresh.log_format);
  collector.Reload(fresh);
  current = fresh;
  spdlog::info("reload: done{}{}", change.reloadable.empty() ? ", nothing changed" : "; changed: ",
               absl::StrJoin(change.reloadable, ", "));
}

int Run(const config::Sources& sources, const LoadedConfig& loaded) {
  Config current = loaded.values;
  config::ServiceManager manager = config::ServiceManager::FromEnvironment();
  // Blocked before any thread is made, so that only the loop below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  RequireTls13();
  BoundReadPieces();
  RaiseFileLimit();
  ReleaseIdleTlsBuffers();
  // Debian's abseil looks for lock cycles at every lock of gRPC: a check for its developers, that
  // takes a share of each message.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);

  auto collector = Collector::Start(loaded);
  if (!collector.ok()) {
    std::string line(collector.status().message());
    if (absl::IsDataLoss(collector.status())) {
      absl::StrAppend(&line, "; telltale-collector verify says what else is damaged; move ",
                      current.data,
                      " away and bring a backup back: telltale-collector restore DIR");
    }
    return Complain(line, kFailed);
  }
  spdlog::info("ready: version {}, gRPC port {}, HTTPS port {}, data {}", TELLTALE_VERSION,
               (*collector)->grpc_port(), (*collector)->https_port(), current.data);
  manager.Ready(absl::StrCat("agents at port ", (*collector)->grpc_port(), ", people at port ",
                             (*collector)->https_port()));
  while (true) {
    const timespec second = {.tv_sec = 1, .tv_nsec = 0};
    const int number = sigtimedwait(&signals, nullptr, &second);
    if (number == SIGTERM || number == SIGINT) break;
    if (number == SIGHUP) ReloadConfig(sources, current, **collector);
    (*collector)->Tick();
    manager.Beat();
  }
  manager.Stopping();
  spdlog::info("stopping: what arrived is stored first");
  (*collector)->Stop();
  collector->reset();
  spdlog::info("stopped");
  return 0;
}

int Main(int argc, char** argv) {
  Config defaults;
  const auto [arguments, exit_code] =
      config::ParseCommandLine(argc, argv, AboutProgram(), CollectorOptions(defaults));
  if (exit_code >= 0) return exit_code;
  const auto loaded = LoadConfig(arguments.sources);
  if (!loaded.ok()) return Complain(std::string(loaded.status().message()), kUsage);
  if (arguments.print_config) {
    std::fputs(PrintConfig(*loaded).c_str(), stdout);
    return 0;
  }
  config::SetUpLogging(loaded->values.log_level, loaded->values.log_format);
  if (arguments.check_config) {
    const auto faults = ConfigFaults(loaded->values, absl::Now());
    for (const absl::Status& fault : faults) Complain(std::string(fault.message()), kUsage);
    for (const std::string& warning : ConfigWarnings(loaded->values, absl::Now())) {
      Complain(absl::StrCat("warning: ", warning), 0);
    }
    if (!faults.empty()) return kUsage;
    std::printf("configuration %s: good\n",
                loaded->from.file.empty() ? "(defaults)" : loaded->from.file.c_str());
    return 0;
  }
  if (arguments.command == "backup") return RunBackup(loaded->values, arguments.argument);
  if (arguments.command == "restore") return RunRestore(loaded->values, arguments.argument);
  if (arguments.command == "verify") return RunVerify(loaded->values);
  if (arguments.command == "salvage") return RunSalvage(loaded->values);
  return Run(arguments.sources, *loaded);
}

}  // namespace
}  // namespace telltale::collector

int main(int argc, char** argv) { return telltale::collector::Main(argc, argv); }
