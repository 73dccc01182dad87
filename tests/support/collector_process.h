// A real telltale-collector on free ports of loopback, with a data directory of its own, for
// integration tests. Whatever happens, the process is gone when this is. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_
#define TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_

#include <string>
#include <vector>

#include "tests/support/pki.h"
#include "tests/support/program.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {

// What a program said and how it ended.
struct ProgramRun {
  int exit_code = -1;
  std::string output;  // both streams
};
// Runs the collector, or the command line, to its end, which must come by itself within a minute.
ProgramRun RunCollector(const std::vector<std::string>& arguments);
// Paths of both, for tests that run them in their own way.
std::string CollectorProgram();
std::string TelltaleProgram();
ProgramRun RunTelltale(const std::vector<std::string>& arguments);

class CollectorProcess {
 public:
  // `listen`: for gRPC; another port where one must follow the other.
  CollectorProcess(std::string data, const Pki& pki, const IssuedFiles& own,
                   std::string listen = "127.0.0.1:0")
      : CollectorProcess(std::move(data), pki.ca(), own, std::move(listen)) {}
  CollectorProcess(std::string data, std::string ca_file, const IssuedFiles& own,
                   std::string listen = "127.0.0.1:0")
      : data_(std::move(data)),
        ca_(std::move(ca_file)),
        own_(own),
        listen_(std::move(listen)),
        program_(data_ + ".log") {}

  // Starts it and waits until it listens; false: it ended instead, see log().
  bool Start(const std::vector<std::string>& more_arguments = {});
  void Kill() { program_.Kill(); }
  int Stop() { return program_.Stop(); }
  void Signal(int number) const { program_.Signal(number); }
  std::string address() const;         // of gRPC
  std::string enroll_address() const;  // once it was started with enroll.ca_cert
  uint16_t https_port() const;
  pid_t pid() const { return program_.pid(); }
  std::string log() const { return program_.log(); }

 private:
  std::string PortOf(const std::string& listener) const;
  const std::string data_;
  const std::string ca_;
  const IssuedFiles own_;
  const std::string listen_;
  Program program_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_
