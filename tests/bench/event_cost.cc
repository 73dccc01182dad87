// What each program of the real sensor costs an event: runs the sensor beside a command and prints
// the kernel's own account of every program (run-time statistics: ns, runs). Asserts nothing;
// COVERAGE.md says how it was used to choose the cells, `tests/bench/run sensor` prints it.
//
//   build/release/bin/event_cost [--samples MS] COMMAND [ARGUMENT...]           as root
//   build/release/bin/event_cost --empty
//
// --samples MS   no limit of samples, and an epoch of MS milliseconds: each begins with empty
// cells,
//                so most events are samples. Without: one epoch, a sample a second and vital.
//
// --empty        no sensor and no statistics, only the program "empty" until standard input ends;
//                prints a line once it is attached. So what a hook costs any sensor can be
//                measured.
//
// One JSON line a program: {"program": NAME, "runs": N, "ns": mean of a run}; one a vital that had
// samples: {"vital": NAME, "samples": N}. The program "empty" is none of the sensor's: it does
// nothing at each system call's exit, so its figure is what the statistics themselves cost. Other
// sensors on the same kernel are not counted, but their hooks cost time and cache.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "agent/sensor/bpf_sensor.h"
#include "sketch/vitals.h"
#ifdef __x86_64__
#include "agent/unwind/host_unwinder.h"
#endif

namespace telltale::bench {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Counted : public agent::SampleSink {
 public:
  void OnSample(const agent::RawSample& sample) override { ++samples[sample.vital]; }
  void OnEvent(const agent::RawEvent&) override {}
  std::map<uint8_t, uint64_t> samples;
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

// Loads and attaches a program that does nothing; it stays until this process ends.
bool AttachEmpty() {
  const bpf_insn body[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  const int hook = libbpf_find_vmlinux_btf_id("sys_exit", BPF_TRACE_RAW_TP);
  if (hook < 0) return false;
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
              .attach_btf_id = static_cast<uint32_t>(hook));
  const int program =
      bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", body, std::size(body), &options);
  return program >= 0 && bpf_raw_tracepoint_open(nullptr, program) >= 0;
}

agent::BpfSensorOptions SensorOptions(bool many_samples) {
  agent::BpfSensorOptions options;
  options.budget =
      many_samples ? agent::SampleBudget{1'000'000'000, 1'000'000'000} : agent::SampleBudget{1, 1};
#ifdef __x86_64__
  // As in the agent, so that samples copy the user stack and leave the walk to user space.
  options.unwinder = std::make_shared<agent::HostUnwinder>(
      agent::HostUnwinder::Options{},
      std::make_shared<agent::ProcessMaps>(agent::ProcessMaps::Options{}));
#endif
  return options;
}

void Print(const std::map<std::string, Account>& before, const Counted& sink) {
  for (const auto& [name, after] : Accounts()) {
    const auto it = before.find(name);
    const Account base = it == before.end() ? Account{} : it->second;
    const uint64_t runs = after.runs - base.runs;
    if (runs == 0) continue;
    std::printf("{\"program\":\"%s\",\"runs\":%llu,\"ns\":%.2f}\n", name.c_str(),
                static_cast<unsigned long long>(runs),
                static_cast<double>(after.ns - base.ns) / static_cast<double>(runs));
  }
  for (const auto& [id, samples] : sink.samples) {
    const sketch::Vital* vital = sketch::FindVital(id);
    std::printf("{\"vital\":\"%s\",\"samples\":%llu}\n",
                vital == nullptr ? "unknown" : std::string(vital->name).c_str(),
                static_cast<unsigned long long>(samples));
  }
}

int Failed(const char* what) {
  std::fprintf(stderr, "event_cost: %s: %s; run it as root\n", what, strerror(errno));
  return 1;
}

int StayEmpty() {
  if (!AttachEmpty()) return Failed("attaching an empty program to sys_exit");
  std::puts("attached");
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}

int Run(milliseconds epoch, char** command) {
  const int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);
  if (statistics < 0) return Failed("turning on run-time statistics of BPF programs");
  if (!AttachEmpty()) return Failed("attaching an empty program to sys_exit");
  agent::BpfSensor sensor(SensorOptions(epoch.count() > 0));
  if (const absl::Status status = sensor.Start(); !status.ok()) {
    std::fprintf(stderr, "event_cost: %s\n", status.ToString().c_str());
    return 1;
  }
  Counted sink;
  if (!sensor.Drain(sink).ok()) return 1;
  sink.samples.clear();
  const auto before = Accounts();
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, command[0], nullptr, nullptr, command, environ)) {
    std::fprintf(stderr, "event_cost: starting %s: %s\n", command[0], strerror(error));
    return 1;
  }
  auto cut_at = Clock::now() + epoch;
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(milliseconds(epoch.count() > 0 ? 5 : 50));
    if (!sensor.Drain(sink).ok()) return 1;
    if (epoch.count() == 0 || Clock::now() < cut_at) continue;
    if (!sensor.Cut(sink).ok()) return 1;
    cut_at = Clock::now() + epoch;
  }
  Print(before, sink);
  close(statistics);
  return 0;
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  int epoch_ms = 0, command = 1;
  if (argc == 2 && std::string_view(argv[1]) == "--empty") return telltale::bench::StayEmpty();
  if (argc > 3 && std::string_view(argv[1]) == "--samples") {
    const std::string_view text = argv[2];
    const auto [end, error] = std::from_chars(text.begin(), text.end(), epoch_ms);
    if (error != std::errc() || end != text.end() || epoch_ms < 1) epoch_ms = -1;
    command = 3;
  }
  if (argc <= command || epoch_ms < 0) {
    std::fprintf(
        stderr,
        "usage: event_cost [--samples MS] COMMAND [ARGUMENT...]\n       event_cost --empty\n");
    return 2;
  }
  return telltale::bench::Run(std::chrono::milliseconds(epoch_ms), argv + command);
}
