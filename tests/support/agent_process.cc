#include "tests/support/agent_process.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "agent/supervise/status_server.h"

namespace telltale::testing {

AgentProcess::AgentProcess(const std::string& directory, std::string name,
                           const std::string& ca_file, const IssuedFiles& own)
    : name_(std::move(name)),
      base_(directory + "/" + name_),
      spool_(base_ + ".spool"),
      socket_(base_ + ".sock"),
      ca_(ca_file),
      own_(own),
      program_(base_ + ".log") {}

void AgentProcess::Start(const std::string& collector,
                         const std::vector<std::string>& more_arguments) {
  std::vector<std::string> arguments = {"--collector", collector, "--tls-ca",        ca_,
                                        "--tls-cert",  own_.cert, "--tls-key",       own_.key,
                                        "--spool-dir", spool_,    "--status-socket", socket_};
  // A flag given twice is an error: those of the test come instead of these.
  const std::vector<std::pair<std::string, std::string>> usual = {
      {"--epoch", "5s"},
      {"--uplink-reconnect-max", "1s"},
      {"--sensor-kind", "replay"},
      {"--unwind-dir", base_ + ".unwind"}};
  for (const auto& [flag, value] : usual) {
    if (std::find(more_arguments.begin(), more_arguments.end(), flag) != more_arguments.end()) {
      continue;
    }
    arguments.insert(arguments.end(), {flag, value});
  }
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  program_.Start(TELLTALE_AGENT_PROGRAM, arguments);
}

pid_t AgentProcess::ChildPid(const std::string& name) const {
  if (!program_.started()) return 0;
  const std::string process = "/proc/" + std::to_string(program_.pid());
  std::istringstream children(
      ReadAll(process + "/task/" + std::to_string(program_.pid()) + "/children"));
  for (pid_t pid = 0; children >> pid;) {
    if (ReadAll("/proc/" + std::to_string(pid) + "/comm") == name + "\n") return pid;
  }
  return 0;
}

nlohmann::json AgentProcess::Status() const {
  const auto text = agent::AskStatus(socket_);
  if (!text.ok()) return nullptr;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json();
}

int AgentProcess::Logged(const std::string& text) const {
  const std::string all = log();
  int count = 0;
  for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++count;
  return count;
}

AgentRun RunAgent(const std::string& directory, const std::vector<std::string>& arguments) {
  Program program(directory + "/output");
  std::error_code ignored;
  std::filesystem::remove(directory + "/output", ignored);
  program.Start(TELLTALE_AGENT_PROGRAM, arguments);
  const int code = program.AwaitEnd();
  return {code, program.log()};
}

}  // namespace telltale::testing
