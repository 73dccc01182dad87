#include "tests/support/collector_process.h"

#include <filesystem>

namespace telltale::testing {
namespace {

ProgramRun Run(const std::string& path, const std::vector<std::string>& arguments) {
  const TempDir scratch;
  Program program(scratch.path() + "/output");
  program.Start(path, arguments);
  const int code = program.AwaitEnd();
  return {code, program.log()};
}

}  // namespace

ProgramRun RunCollector(const std::vector<std::string>& arguments) {
  return Run(TELLTALE_COLLECTOR_PROGRAM, arguments);
}

std::string CollectorProgram() { return TELLTALE_COLLECTOR_PROGRAM; }
std::string TelltaleProgram() { return TELLTALE_PROGRAM; }

ProgramRun RunTelltale(const std::vector<std::string>& arguments) {
  return Run(TELLTALE_PROGRAM, arguments);
}

bool CollectorProcess::Start(const std::vector<std::string>& more_arguments) {
  std::error_code ignored;
  std::filesystem::remove(data_ + "/ports", ignored);
  std::vector<std::string> arguments = {"--listen-grpc", listen_,   "--listen-https", "127.0.0.1:0",
                                        "--data",        data_,     "--tls-ca",       ca_,
                                        "--tls-cert",    own_.cert, "--tls-key",      own_.key};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  program_.Start(TELLTALE_COLLECTOR_PROGRAM, arguments);
  const std::string ports = data_ + "/ports";
  return Await([&] { return std::filesystem::exists(ports) || program_.Ended(); }) &&
         program_.started();
}

std::string CollectorProcess::PortOf(const std::string& listener) const {
  const std::string ports = ReadAll(data_ + "/ports");
  const size_t begin = ports.find(listener + "=") + listener.size() + 1;
  return ports.substr(begin, ports.find('\n', begin) - begin);
}

std::string CollectorProcess::address() const { return "localhost:" + PortOf("grpc"); }
std::string CollectorProcess::enroll_address() const { return "localhost:" + PortOf("enroll"); }
uint16_t CollectorProcess::https_port() const {
  return static_cast<uint16_t>(std::stoul(PortOf("https")));
}

}  // namespace telltale::testing
