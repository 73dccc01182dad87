// telltale-agent: flags, commands, exit codes. 0: did what was asked; 1: could not start or go on;
// 2: usage or configuration.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/config.h"
#include "agent/logging.h"
#include "agent/spool/spool.h"
#include "agent/supervise/link.h"
#include "agent/supervise/privileges.h"
#include "agent/supervise/sensor_factory.h"
#include "agent/supervise/sensor_process.h"
#include "agent/supervise/status_server.h"
#include "agent/supervise/status_text.h"
#include "agent/supervise/uplink_process.h"
#include "agent/uplink/tls.h"
#include "config/load.h"
#include "config/values.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::agent {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kFooter =
    "Every option can stand in the file (tls.ca as ca: below tls:), in the environment\n"
    "(TELLTALE_AGENT_TLS_CA) or on the command line (--tls-ca); the later wins.\n"
    "SIGHUP reloads what --print-config marks so; SIGTERM cuts, sends and stops.\n\n"
    "Examples:\n"
    "  telltale-agent --config /etc/telltale/agent.yaml\n"
    "  telltale-agent check                      which vitals this kernel lets it watch, and why "
    "not\n"
    "  telltale-agent status --json              how the running agent is doing\n"
    "  telltale-agent --print-config > agent.yaml\n";

struct Arguments {
  config::Sources sources;
  std::string command = "run";
  bool check_config = false, print_config = false, json = false;
};

int Complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "telltale-agent: %s\n", std::string(status.message()).c_str());
  return code;
}

int Usage(const std::string& line) { return Complain(absl::InvalidArgumentError(line), kUsage); }

// Fills `arguments`; a value other than -1 is the exit code.
int ParseArguments(int argc, char** argv, const config::OptionTable& table, Arguments& arguments) {
  CLI::App app("Watches this node's low-level events and sends a summary of each epoch.",
               "telltale-agent");
  app.footer(kFooter);
  app.allow_extras();
  app.set_version_flag("--version", std::string("telltale-agent ") + TELLTALE_VERSION);
  app.add_option(
      "command", arguments.command,
      "run (default) | check: try the sensor and show what it can watch | status: of the "
      "running agent");
  app.add_option("--config", arguments.sources.file,
                 absl::StrCat("configuration file; default ", kDefaultConfigFile, " if it exists"));
  app.add_flag("--check-config", arguments.check_config,
               "read configuration and certificates, then end");
  app.add_flag("--print-config", arguments.print_config,
               "print the effective configuration, then end");
  app.add_flag("--json", arguments.json, "check and status answer in JSON");
  std::vector<std::pair<CLI::Option*, std::string>> options;
  std::vector<std::string> names = {"--config",  "--check-config", "--print-config",
                                    "--version", "--help",         "--json"};
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
    return Usage(absl::StrCat("flags: ", error.what(), "; see --help"));
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    const std::string nearest = config::Nearest(extras[0].substr(0, extras[0].find('=')), names);
    return Usage(absl::StrCat(
        "flags: unknown argument ", extras[0],
        nearest.empty() ? "; see --help" : absl::StrCat("; did you mean ", nearest, "?")));
  }
  const std::vector<std::string> commands = {"run", "check", "status"};
  if (std::find(commands.begin(), commands.end(), arguments.command) == commands.end()) {
    const std::string nearest = config::Nearest(arguments.command, commands);
    return Usage(
        absl::StrCat("command: ", arguments.command, " is none of run, check, status",
                     nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
  }
  for (const auto& [option, key] : options) {
    if (option->count() > 0) arguments.sources.flags.emplace_back(key, option->results().back());
  }
  arguments.sources.default_file = kDefaultConfigFile;
  arguments.sources.environment = config::Environment(environ);
  for (const auto& [name, value] : arguments.sources.environment) {
    if (name == "TELLTALE_AGENT_CONFIG" && arguments.sources.file.empty()) {
      arguments.sources.file = value;
    }
  }
  return -1;
}

TlsFiles FilesOf(const Config& config) { return {config.tls_ca, config.tls_cert, config.tls_key}; }

int Check(const Config& config, bool json) {
  auto parts = MakeSensor(config);
  if (!parts.ok()) return Complain(parts.status(), kFailed);
  const absl::Status status = parts->sensor->Start();
  const std::vector<VitalStatus> vitals = parts->sensor->Status();
  std::fputs((json ? VitalsJson(vitals) : VitalsTable(vitals)).c_str(), stdout);
  return status.ok() ? 0 : Complain(status, kFailed);
}

int Status(const Config& config, bool json) {
  const auto text = AskStatus(config.status_socket);
  if (!text.ok()) return Complain(text.status(), kFailed);
  if (json) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  const auto page = StatusPage(*text);
  if (!page.ok()) return Complain(page.status(), kFailed);
  std::fputs(page->c_str(), stdout);
  return 0;
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  // At most 256 bytes are never given in part once the kernel's generator is seeded; it waits for
  // that.
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

// Makes sure that this agent is the directory's only writer, as long as the descriptor is open.
absl::StatusOr<OwnedFd> LockSpool(const std::string& directory) {
  OwnedFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return absl::UnavailableError(absl::StrCat("spool: open ", directory, ": ",
                                               std::strerror(errno),
                                               "; make its parent or set spool.dir"));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "spool: ", directory, " is in use by another agent; stop it or set spool.dir"));
  }
  return fd;
}

// Lets the account of the uplink process read the directory; files made later inherit the group.
absl::Status ShareSpool(const std::string& directory, const Account& account) {
  if (chown(directory.c_str(), static_cast<uid_t>(-1), account.gid) != 0 ||
      chmod(directory.c_str(), 02750) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "spool: share ", directory, " with run_as: ", std::strerror(errno), "; start as root"));
  }
  return absl::OkStatus();
}

void Reload(const config::Sources& sources, Config& current) {
  Config fresh;
  const config::OptionTable before = AgentOptions(current), after = AgentOptions(fresh);
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
  current.log_level = fresh.log_level;
  current.log_format = fresh.log_format;
  SetUpLogging(current.log_level, current.log_format);
  spdlog::info("reload: done{}{}", change.reloadable.empty() ? ", nothing changed" : "; changed: ",
               absl::StrJoin(change.reloadable, ", "));
}

int Run(const Arguments& arguments, Config& config, const std::string& node) {
  std::optional<Account> account;
  if (!config.run_as.empty()) {
    const auto found = FindAccount(config.run_as);
    if (!found.ok()) return Complain(found.status(), kUsage);
    account = *found;
  }
  PosixFileSystem files;
  if (absl::Status status = files.MakeDirectory(config.spool_dir); !status.ok()) {
    return Complain(status, kFailed);
  }
  auto lock = LockSpool(config.spool_dir);
  if (!lock.ok()) return Complain(lock.status(), kFailed);
  if (account) {
    if (absl::Status status = ShareSpool(config.spool_dir, *account); !status.ok()) {
      return Complain(status, kFailed);
    }
  }
  auto spool = Spool::Open({.directory = config.spool_dir,
                            .max_bytes = config.spool_max_bytes,
                            .random_bytes = RandomBytes},
                           files);
  if (!spool.ok()) return Complain(spool.status(), kFailed);
  auto ends = Link::MakePair();
  if (!ends.ok()) return Complain(ends.status(), kFailed);
  // Before any thread exists; the uplink gets nothing but its end of the link.
  const pid_t pid = fork();
  if (pid < 0) {
    return Complain(absl::UnavailableError(absl::StrCat("agent: fork: ", std::strerror(errno))),
                    kFailed);
  }
  if (pid == 0) {
    ends->first = OwnedFd();
    *lock = OwnedFd();
    UplinkProcessOptions options{config, node, (*spool)->incarnation(), account};
    spool->reset();
    _exit(RunUplinkProcess(options, std::move(ends->second)));
  }
  ends->second = OwnedFd();
  const SensorProcessOptions options{config, node, pid, arguments.sources.file,
                                     [&] { Reload(arguments.sources, config); }};
  return RunSensorProcess(options, *std::move(spool), files, std::move(ends->first));
}

int Main(int argc, char** argv) {
  Config config;
  const config::OptionTable table = AgentOptions(config);
  Arguments arguments;
  if (const int code = ParseArguments(argc, argv, table, arguments); code >= 0) return code;
  const auto loaded = config::Load(table, arguments.sources);
  if (!loaded.ok()) return Complain(loaded.status(), kUsage);
  arguments.sources.file = loaded->file;
  if (arguments.print_config) {
    std::fputs(config::Print(table, *loaded).c_str(), stdout);
    return 0;
  }
  SetUpLogging(config.log_level, config.log_format);
  umask(027);
  if (arguments.command == "check") return Check(config, arguments.json);
  if (arguments.command == "status") return Status(config, arguments.json);
  const auto node = CheckTlsFiles(FilesOf(config), time(nullptr));
  if (!node.ok()) return Complain(node.status(), kUsage);
  if (arguments.check_config) {
    std::printf("configuration %s: good, node %s\n",
                loaded->file.empty() ? "(defaults)" : loaded->file.c_str(), node->c_str());
    return 0;
  }
  return Run(arguments, config, *node);
}

}  // namespace
}  // namespace telltale::agent

int main(int argc, char** argv) { return telltale::agent::Main(argc, argv); }
