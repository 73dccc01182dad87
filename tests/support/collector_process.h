// A real telltale-collector on free ports of loopback, with a data directory of its own, for
// integration tests. Whatever happens, the process is gone when this is. One thread.

#ifndef TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_
#define TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/pki.h"

namespace telltale::testing {

// A directory below /tmp that is removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What a program said and how it ended.
struct ProgramRun {
  int exit_code = -1;
  std::string output;  // both streams
};
// Runs the collector, or the command line, to its end, which must come by itself within a minute.
ProgramRun RunCollector(const std::vector<std::string>& arguments);
ProgramRun RunTelltale(const std::vector<std::string>& arguments);

class CollectorProcess {
 public:
  CollectorProcess(std::string data, const Pki& pki, const IssuedFiles& own)
      : data_(std::move(data)), ca_(pki.ca()), own_(own) {}
  ~CollectorProcess();

  // Starts it and waits until it listens; false: it ended instead, see log().
  bool Start(const std::vector<std::string>& more_arguments = {});
  void Kill();  // kill -9
  int Stop();   // SIGTERM; its exit code
  void Signal(int number) const;
  std::string address() const;
  std::string log() const;

 private:
  const std::string data_;
  const std::string ca_;
  const IssuedFiles own_;
  pid_t pid_ = -1;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_COLLECTOR_PROCESS_H_
