// A real telltale-agent with a spool, socket and log of its own, for
// integration tests. Whatever happens, its processes are gone when this is. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_AGENT_PROCESS_H_
#define TELLTALE_TESTS_SUPPORT_AGENT_PROCESS_H_

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/pki.h"
#include "tests/support/program.h"

namespace telltale::testing {

class AgentProcess {
 public:
  // All its files are DIRECTORY/NAME.*; `own` may be replaced while it runs.
  AgentProcess(const std::string& directory, std::string name, const std::string& ca_file,
               const IssuedFiles& own);

  // Epochs of 5 s of the replay sensor unless the arguments say otherwise.
  void Start(const std::string& collector, const std::vector<std::string>& more_arguments = {});
  void Kill() { program_.Kill(); }  // kill -9 of the first process: the others go with it
  int Stop() { return program_.Stop(); }
  int AwaitEnd() { return program_.AwaitEnd(); }
  void Signal(int number) const { program_.Signal(number); }
  bool Ended() { return program_.Ended(); }
  pid_t pid() const { return program_.pid(); }
  // Of the process with this name below the first one ("telltale-sensor"); 0: not there.
  pid_t ChildPid(const std::string& name) const;
  // What `telltale-agent status --json` answers; a JSON null while nobody does.
  nlohmann::json Status() const;

  const std::string& name() const { return name_; }
  const std::string& spool() const { return spool_; }
  const std::string& socket() const { return socket_; }
  std::string log() const { return program_.log(); }
  // How often the text stands in the log.
  int Logged(const std::string& text) const;

 private:
  const std::string name_, base_, spool_, socket_, ca_;
  const IssuedFiles own_;
  Program program_;
};

// Runs the agent's program to its end, which must come by itself.
struct AgentRun {
  int exit_code = -1;
  std::string output;  // both streams
};
AgentRun RunAgent(const std::string& directory, const std::vector<std::string>& arguments);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_AGENT_PROCESS_H_
