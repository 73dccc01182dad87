// What each program of the real sensor costs an event: runs the sensor beside a command and prints
// the kernel's own account of every program (run-time statistics: ns, runs). Asserts nothing;
// COVERAGE.md says how it was used to choose the cells.
//
//   build/release/bin/event_cost COMMAND [ARGUMENT...]      as root; kernel.bpf_stats_enabled=1
//
// One JSON line a program: {"program": NAME, "runs": N, "ns": mean of a run}. Other sensors on the
// same kernel are not counted, but their hooks cost time and cache.

#include <bpf/bpf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "agent/sensor/bpf_sensor.h"

namespace telltale::bench {
namespace {

class Nowhere : public agent::SampleSink {
  void OnSample(const agent::RawSample&) override {}
  void OnEvent(const agent::RawEvent&) override {}
};

struct Account {
  uint64_t runs = 0, ns = 0;
};

// Of the programs this process holds: one with the same name may belong to another sensor.
std::map<std::string, Account> Accounts() {
  std::map<std::string, Account> accounts;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream text(entry.path());
    std::string word;
    bool program = false;
    while (text >> word) program |= word == "prog_id:";
    if (!program) continue;
    bpf_prog_info info = {};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(std::stoi(entry.path().filename()), &info, &size) != 0) continue;
    accounts[info.name] = {info.run_cnt, info.run_time_ns};
  }
  return accounts;
}

int Run(char** command) {
  agent::BpfSensor sensor({});
  if (const absl::Status status = sensor.Start(); !status.ok()) {
    std::fprintf(stderr, "event_cost: %s\n", status.ToString().c_str());
    return 1;
  }
  const auto before = Accounts();
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, command[0], nullptr, nullptr, command, environ)) {
    std::fprintf(stderr, "event_cost: starting %s: %s\n", command[0], strerror(error));
    return 1;
  }
  Nowhere nowhere;
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!sensor.Drain(nowhere).ok()) return 1;
  }
  for (const auto& [name, after] : Accounts()) {
    const auto it = before.find(name);
    const Account base = it == before.end() ? Account{} : it->second;
    const uint64_t runs = after.runs - base.runs;
    if (runs == 0) continue;
    std::printf("{\"program\":\"%s\",\"runs\":%llu,\"ns\":%.2f}\n", name.c_str(),
                static_cast<unsigned long long>(runs),
                static_cast<double>(after.ns - base.ns) / static_cast<double>(runs));
  }
  return 0;
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: event_cost COMMAND [ARGUMENT...]\n");
    return 2;
  }
  return telltale::bench::Run(argv + 1);
}
