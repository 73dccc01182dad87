// telltale-agent: flags, commands, exit codes. 0: did what was asked; 1: could not start or go on;
// 2: usage or configuration.

#include <fcntl.h>
#include <malloc.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "agent/config.h"
#include "agent/enroll/enroll_command.h"
#include "agent/spool/spool.h"
#include "agent/supervise/bundle.h"
#include "agent/supervise/link.h"
#include "agent/supervise/privileges.h"
#include "agent/supervise/sensor_factory.h"
#include "agent/supervise/sensor_process.h"
#include "agent/supervise/status_server.h"
#include "agent/supervise/status_text.h"
#include "agent/supervise/supervisor.h"
#include "agent/supervise/uplink_process.h"
#include "agent/uplink/tls.h"
#include "config/command_line.h"
#include "config/load.h"
#include "config/logging.h"
#include "config/service_manager.h"
#include "sketch/time_units.h"
#include "spdlog/spdlog.h"
#include "telltale_version.h"

namespace telltale::agent {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kLockTries = 20;
constexpr mode_t kSharedSpool = 02750;
constexpr auto kLockPause = std::chrono::milliseconds(100);

constexpr const char* kFooter =
    "Every option can stand in the file (tls.ca as ca: below tls:), in the environment\n"
    "(TELLTALE_AGENT_TLS_CA) or on the command line (--tls-ca); the later wins.\n"
    "SIGHUP reloads what --print-config marks so; SIGTERM cuts, sends and stops.\n\n"
    "Examples:\n"
    "  telltale-agent --config /etc/telltale/agent.yaml\n"
    "  telltale-agent check                      which vitals this kernel lets it watch, and why "
    "not\n"
    "  telltale-agent status --json              how the running agent is doing\n"
    "  telltale-agent enroll --collector HOST --ca-hash sha256:... --token T\n"
    "                                            makes this node's key here and has it certified\n"
    "  telltale-agent bundle --log /var/log/telltale-agent.log\n"
    "  telltale-agent --print-config > agent.yaml\n";

struct Arguments {
  config::Sources sources;
  std::string command;
  bool json = false;
  std::string bundle_file;
  std::vector<std::string> logs;
  EnrollFlags enroll;
};

int Complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "telltale-agent: %s\n", std::string(status.message()).c_str());
  return code;
}

config::Program AboutProgram() {
  return {
      .name = "telltale-agent",
      .about = "Watches this node's low-level events and sends a summary of each epoch.",
      .version = TELLTALE_VERSION,
      .default_file = kDefaultConfigFile,
      .footer = kFooter,
      .commands_help =
          "run (default) | check: try the sensor and show what it can watch | status: "
          "of the running agent | enroll: get this node's certificate | bundle: what a maintainer "
          "asks for first, as one "
          "file",
      .commands = {"run", "check", "status", "enroll", "bundle"},
  };
}

TlsFiles FilesOf(const Config& config) { return {config.tls_ca, config.tls_cert, config.tls_key}; }

int Check(const Config& config, bool json) {
  auto parts = MakeSensor(config, nullptr);
  if (!parts.ok()) return Complain(parts.status(), kFailed);
  const absl::Status status = parts->sensor->Start();
  const CheckedSensor checked = {parts->sensor->Status(), parts->sensor->Sources(),
                                 parts->user_stacks, ScopeOf(config)};
  std::fputs((json ? CheckJson(checked) : CheckPage(checked)).c_str(), stdout);
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

// Makes sure that this agent is the directory's only writer, as long as the descriptor is open here
// or in the sensor process. One that was just killed may take a moment to be gone.
absl::StatusOr<OwnedFd> LockSpool(const std::string& directory) {
  OwnedFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return absl::UnavailableError(absl::StrCat("spool: open ", directory, ": ",
                                               std::strerror(errno),
                                               "; make its parent or set spool.dir"));
  }
  for (int tries = 0; flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (tries < kLockTries) {
      std::this_thread::sleep_for(kLockPause);
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "spool: ", directory, " is in use by another agent; stop it or set spool.dir"));
  }
  return fd;
}

bool IsShared(const std::string& directory, const Account& account) {
  struct stat info = {};
  return stat(directory.c_str(), &info) == 0 && info.st_gid == account.gid &&
         (info.st_mode & 07777) == kSharedSpool;
}

// Lets the account of the uplink process read the directory; files made later inherit the group.
absl::Status ShareSpool(const std::string& directory, const Account& account) {
  // One that a package made so asks for no capability.
  if (IsShared(directory, account)) return absl::OkStatus();
  if (chown(directory.c_str(), static_cast<uid_t>(-1), account.gid) != 0 ||
      chmod(directory.c_str(), kSharedSpool) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "spool: share ", directory, " with run_as: ", std::strerror(errno), "; start as root"));
  }
  // Without CAP_FSETID the kernel takes the set-group-id bit away and calls that success.
  if (IsShared(directory, account)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("spool: share ", directory,
                   " with run_as: the kernel refused the set-group-id bit; make the directory mode "
                   "2750 of that group, as the package does, or grant CAP_FSETID"));
}

// Into `current`, as far as it can change while running; says what did and what needs a restart.
// False: the new configuration cannot be used.
bool Reload(const config::Sources& sources, Config& current) {
  Config fresh;
  const config::OptionTable before = AgentOptions(current), after = AgentOptions(fresh);
  const auto loaded = config::Load(after, sources);
  if (!loaded.ok()) {
    spdlog::error("reload: {}; the configuration read before stays in use",
                  std::string(loaded.status().message()));
    return false;
  }
  const config::Change change = config::Compare(before, after);
  if (!change.fixed.empty()) {
    spdlog::warn("reload: {} cannot change while running; restart for it",
                 absl::StrJoin(change.fixed, ", "));
  }
  current.labels = fresh.labels;
  current.log_level = fresh.log_level;
  current.log_format = fresh.log_format;
  config::SetUpLogging(current.log_level, current.log_format);
  spdlog::info("reload: done{}{}", change.reloadable.empty() ? ", nothing changed" : "; changed: ",
               absl::StrJoin(change.reloadable, ", "));
  return true;
}

int Run(const Arguments& arguments, Config& config, const std::string& node) {
  config::ServiceManager manager = config::ServiceManager::FromEnvironment();
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
  if (absl::Status status = RaisePriority(); !status.ok()) {
    spdlog::info("{}; on an overloaded host epochs may be cut late", std::string(status.message()));
  }
  if (absl::Status status = BecomeSupervisor(); !status.ok()) return Complain(status, kFailed);
  SupervisorOptions options;
  options.manager = &manager;
  options.node = node;
  options.reload = [&] { return Reload(arguments.sources, config); };
  options.run_sensor = [&](OwnedFd supervisor) {
    manager.Leave();
    const auto reload = [&]() -> absl::StatusOr<Config> {
      Config fresh;
      const auto loaded = config::Load(AgentOptions(fresh), arguments.sources);
      if (!loaded.ok()) return loaded.status();
      return fresh;
    };
    SensorProcessOptions sensor{config, node, arguments.sources.file, reload};
    if (const uint64_t beat = manager.beat_every_ns(); beat != 0) {
      sensor.alive_every_ns = std::clamp(beat / 4, kNsPerS, sensor.alive_every_ns);
    }
    return RunSensorProcess(sensor, std::move(supervisor));
  };
  options.run_uplink = [&](OwnedFd link) {
    manager.Leave();
    *lock = OwnedFd();  // only what writes the spool holds it
    return RunUplinkProcess({config, node, account}, std::move(link));
  };
  return RunSupervisor(options);
}

int Bundle(const Arguments& arguments, const Config& config, const std::string& config_text) {
  const auto said =
      WriteBundle({config, config_text, arguments.logs, arguments.bundle_file, absl::Now()});
  if (!said.ok()) return Complain(said.status(), kFailed);
  std::fputs(said->c_str(), stdout);
  return 0;
}

// What is left to do after `enroll` with --collector on its command line.
std::string NextStep(const Arguments& arguments, const Config& config) {
  Config written;
  config::Sources sources = arguments.sources;
  sources.flags.clear();
  const std::string& file = sources.file.empty() ? sources.default_file : sources.file;
  if (!config::Load(AgentOptions(written), sources).ok() || written.collector == config.collector) {
    return "next: systemctl restart telltale-agent\n";
  }
  return absl::StrCat("next: collector: ", config.collector, " in ", file, " (there it is ",
                      written.collector, "), then systemctl restart telltale-agent\n");
}

int Enroll(const Arguments& arguments, const Config& config) {
  RequireTls13();
  QuietGrpc();
  std::optional<FileOwner> owner;
  if (!config.run_as.empty()) {
    const auto account = FindAccount(config.run_as);
    if (!account.ok()) return Complain(account.status(), kUsage);
    if (geteuid() == 0) owner = {account->uid, account->gid};
  }
  const auto said = EnrollNode(config, arguments.enroll, owner, [](const std::string& line) {
    std::fprintf(stderr, "telltale-agent: %s\n", line.c_str());
  });
  if (!said.ok()) {
    return Complain(said.status(), absl::IsInvalidArgument(said.status()) ? kUsage : kFailed);
  }
  std::fputs(said->c_str(), stdout);
  std::fputs(NextStep(arguments, config).c_str(), stdout);
  return 0;
}

int Main(int argc, char** argv) {
  Config config;
  const config::OptionTable table = AgentOptions(config);
  Arguments arguments;
  const auto [line, exit_code] = config::ParseCommandLine(
      argc, argv, AboutProgram(), table,
      {{.flag = "--json", .help = "check and status answer in JSON", .set = &arguments.json},
       {.flag = "--file",
        .help = "bundle: where to write (telltale-agent-bundle-TIME.tar.gz)",
        .value = &arguments.bundle_file,
        .value_name = "FILE"},
       {.flag = "--log",
        .help = "bundle: a log to put in; may be repeated",
        .values = &arguments.logs,
        .value_name = "FILE"},
       {.flag = "--token",
        .help = "enroll: as telltale enroll token shows it; without one an operator decides",
        .value = &arguments.enroll.token,
        .value_name = "TOKEN"},
       {.flag = "--token-file",
        .help = "enroll: the same from a file, which other users' ps does not show",
        .value = &arguments.enroll.token_file,
        .value_name = "FILE"},
       {.flag = "--ca-hash",
        .help = "enroll: whom to believe, sha256:... of the collector's authority",
        .value = &arguments.enroll.ca_hash,
        .value_name = "HASH"},
       {.flag = "--node",
        .help = "enroll: the name to have (the host's)",
        .value = &arguments.enroll.node,
        .value_name = "NAME"},
       {.flag = "--wait",
        .help = "enroll: for the collector, and for an operator (10min)",
        .value = &arguments.enroll.wait,
        .value_name = "DURATION"},
       {.flag = "--again",
        .help = "enroll: even if this node has a good certificate",
        .set = &arguments.enroll.again}});
  if (exit_code >= 0) return exit_code;
  arguments.sources = line.sources;
  arguments.command = line.command;
  const auto loaded = config::Load(table, arguments.sources);
  if (!loaded.ok()) return Complain(loaded.status(), kUsage);
  arguments.sources.file = loaded->file;
  if (line.print_config) {
    std::fputs(config::Print(table, *loaded).c_str(), stdout);
    return 0;
  }
  config::SetUpLogging(config.log_level, config.log_format);
  umask(027);
  if (arguments.command == "check") return Check(config, arguments.json);
  if (arguments.command == "status") return Status(config, arguments.json);
  if (arguments.command == "bundle")
    return Bundle(arguments, config, config::Print(table, *loaded));
  if (arguments.command == "enroll") return Enroll(arguments, config);
  const auto node = ReadNodeName(FilesOf(config));
  if (!node.ok()) return Complain(node.status(), kUsage);
  const absl::Status tls = ReadTlsFiles(FilesOf(config), time(nullptr)).status();
  // A certificate that is over must not blind the node: it watches, keeps and waits for another.
  const bool only_time = absl::IsFailedPrecondition(tls) && !line.check_config;
  if (!tls.ok() && !only_time) return Complain(tls, kUsage);
  if (line.check_config) {
    std::printf("configuration %s: good, node %s\n",
                loaded->file.empty() ? "(defaults)" : loaded->file.c_str(), node->c_str());
    return 0;
  }
  return Run(arguments, config, *node);
}

}  // namespace
}  // namespace telltale::agent

int main(int argc, char** argv) {
  // Large buffers of a moment go back to the system when freed. Left to itself the limit grows with
  // the largest ever freed (mallopt(3)), and the heap keeps the holes.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  return telltale::agent::Main(argc, argv);
}
