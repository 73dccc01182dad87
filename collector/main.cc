// telltale-collector: flags, signals, exit codes. 0: stopped as asked; 1: could not start or go on;
// 2: usage or configuration.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_join.h"
#include "collector/collector.h"
#include "collector/config.h"
#include "collector/logging.h"
#include "collector/tls.h"
#include "config/values.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::collector {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Arguments {
  config::Sources sources;
  bool check_config = false;
  bool print_config = false;
};

int Complain(const std::string& line, int code) {
  std::fprintf(stderr, "telltale-collector: %s\n", line.c_str());
  return code;
}

constexpr const char* kFooter =
    "Every option can stand in the file (tls.ca as ca: below tls:), in the environment\n"
    "(TELLTALE_COLLECTOR_TLS_CA) or on the command line (--tls-ca); the later wins.\n"
    "SIGHUP reloads what --print-config marks so; SIGTERM stops and stores what arrived.\n\n"
    "Examples:\n"
    "  telltale-collector --config /etc/telltale/collector.yaml\n"
    "  telltale-collector --config c.yaml --listen-grpc 127.0.0.1:0 --data /tmp/t\n"
    "  telltale-collector --print-config > collector.yaml\n";

// Fills `arguments`; a value other than -1 is the exit code.
int ParseArguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app("Takes the summaries of all agents in, keeps them, answers questions about them.",
               "telltale-collector");
  app.footer(kFooter);
  app.allow_extras();
  app.set_version_flag("--version", std::string("telltale-collector ") + TELLTALE_VERSION);
  app.add_option("--config", arguments.sources.file,
                 "configuration file; default /etc/telltale/collector.yaml if it exists");
  app.add_flag("--check-config", arguments.check_config,
               "read configuration and certificates, then end");
  app.add_flag("--print-config", arguments.print_config,
               "print the effective configuration, then end");
  std::vector<std::pair<CLI::Option*, std::string>> options;
  std::vector<std::string> names = {"--config", "--check-config", "--print-config", "--version",
                                    "--help"};
  Config defaults;
  const config::OptionTable table = CollectorOptions(defaults);
  for (const config::Option& option : table.options()) {
    const std::string flag = table.Flag(option.info);
    CLI::Option* added = app.add_option(flag, option.info.help);
    added->type_name(option.info.value_name)->expected(1);
    options.emplace_back(added, option.info.key);
    names.push_back(flag);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    return Complain(std::string("flags: ") + error.what() + "; see --help", kUsage);
  }
  for (const std::string& extra : app.remaining()) {
    if (extra == "run") continue;
    const std::string nearest = config::Nearest(extra.substr(0, extra.find('=')), names);
    return Complain("flags: unknown argument " + extra +
                        (nearest.empty() ? "; see --help" : "; did you mean " + nearest + "?"),
                    kUsage);
  }
  for (const auto& [option, key] : options) {
    if (option->count() > 0) arguments.sources.flags.emplace_back(key, option->results().back());
  }
  arguments.sources.environment = config::Environment(environ);
  arguments.sources.default_file = kDefaultConfigFile;
  for (const auto& [name, value] : arguments.sources.environment) {
    if (name == "TELLTALE_COLLECTOR_CONFIG" && arguments.sources.file.empty()) {
      arguments.sources.file = value;
    }
  }
  return -1;
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
  SetUpLogging(fresh.log_level, fresh.log_format);
  collector.Reload(fresh);
  current = fresh;
  spdlog::info("reload: done{}{}", change.reloadable.empty() ? ", nothing changed" : "; changed: ",
               absl::StrJoin(change.reloadable, ", "));
}

int Run(const config::Sources& sources, const LoadedConfig& loaded) {
  Config current = loaded.values;
  // Blocked before any thread is made, so that only the loop below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  RequireTls13();

  auto collector = Collector::Start(loaded);
  if (!collector.ok()) return Complain(std::string(collector.status().message()), kFailed);
  spdlog::info("ready: version {}, gRPC port {}, HTTPS port {}, data {}", TELLTALE_VERSION,
               (*collector)->grpc_port(), (*collector)->https_port(), current.data);
  while (true) {
    const timespec second = {.tv_sec = 1, .tv_nsec = 0};
    const int number = sigtimedwait(&signals, nullptr, &second);
    if (number == SIGTERM || number == SIGINT) break;
    if (number == SIGHUP) ReloadConfig(sources, current, **collector);
    (*collector)->Tick();
  }
  spdlog::info("stopping: what arrived is stored first");
  (*collector)->Stop();
  collector->reset();
  spdlog::info("stopped");
  return 0;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (const int code = ParseArguments(argc, argv, arguments); code >= 0) return code;
  const auto loaded = LoadConfig(arguments.sources);
  if (!loaded.ok()) return Complain(std::string(loaded.status().message()), kUsage);
  if (arguments.print_config) {
    std::fputs(PrintConfig(*loaded).c_str(), stdout);
    return 0;
  }
  SetUpLogging(loaded->values.log_level, loaded->values.log_format);
  if (arguments.check_config) {
    const Config& values = loaded->values;
    const absl::Status status = CheckTlsFiles(
        {.ca = values.tls_ca, .cert = values.tls_cert, .key = values.tls_key}, time(nullptr));
    if (!status.ok()) return Complain(std::string(status.message()), kUsage);
    std::printf("configuration %s: good\n",
                loaded->from.file.empty() ? "(defaults)" : loaded->from.file.c_str());
    return 0;
  }
  return Run(arguments.sources, *loaded);
}

}  // namespace
}  // namespace telltale::collector

int main(int argc, char** argv) { return telltale::collector::Main(argc, argv); }
