#include "tests/support/collector_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace telltale::testing {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr int kPatiencePolls = 6000;

std::string ReadAll(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

pid_t Spawn(const char* program, const std::vector<std::string>& arguments,
            const std::string& output_file) {
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int fd = open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

int ExitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

ProgramRun Run(const char* program, const std::vector<std::string>& arguments) {
  const ScratchDirectory scratch;
  const std::string output = scratch.path() + "/output";
  const pid_t pid = Spawn(program, arguments, output);
  int status = 0;
  for (int i = 0; waitpid(pid, &status, WNOHANG) == 0; ++i) {
    if (i == kPatiencePolls) kill(pid, SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
  return {ExitCode(status), ReadAll(output)};
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  char name[] = "/tmp/telltale-test-XXXXXX";
  const char* made = mkdtemp(name);
  path_ = made == nullptr ? "/nonexistent" : made;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ProgramRun RunCollector(const std::vector<std::string>& arguments) {
  return Run(TELLTALE_COLLECTOR_PROGRAM, arguments);
}

ProgramRun RunTelltale(const std::vector<std::string>& arguments) {
  return Run(TELLTALE_PROGRAM, arguments);
}

CollectorProcess::~CollectorProcess() { Kill(); }

bool CollectorProcess::Start(const std::vector<std::string>& more_arguments) {
  std::error_code ignored;
  std::filesystem::remove(data_ + "/ports", ignored);
  std::vector<std::string> arguments = {
      "--listen-grpc", "127.0.0.1:0", "--listen-https", "127.0.0.1:0", "--data",    data_,
      "--tls-ca",      ca_,           "--tls-cert",     own_.cert,     "--tls-key", own_.key};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  pid_ = Spawn(TELLTALE_COLLECTOR_PROGRAM, arguments, data_ + ".log");
  for (int i = 0; i < kPatiencePolls; ++i) {
    if (std::filesystem::exists(data_ + "/ports")) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

void CollectorProcess::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int CollectorProcess::Stop() {
  if (pid_ < 0) return -1;
  kill(pid_, SIGTERM);
  int status = 0;
  for (int i = 0; waitpid(pid_, &status, WNOHANG) == 0; ++i) {
    if (i == kPatiencePolls) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
  pid_ = -1;
  return ExitCode(status);
}

void CollectorProcess::Signal(int number) const { kill(pid_, number); }

std::string CollectorProcess::address() const {
  const std::string ports = ReadAll(data_ + "/ports");
  const size_t begin = ports.find("grpc=") + 5;
  return "localhost:" + ports.substr(begin, ports.find('\n') - begin);
}

std::string CollectorProcess::log() const { return ReadAll(data_ + ".log"); }

}  // namespace telltale::testing
