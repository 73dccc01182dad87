#include "agent/sensor/cut_steps.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/sensor/vital_groups.h"

namespace telltale::agent {
namespace {

constexpr int kBeatTries = 50;
constexpr auto kBeatPause = std::chrono::milliseconds(2);
// Storage of a task takes 6 us (a profile of 50,000 that began at once): 60 ms a pass.
constexpr uint32_t kAdoptionsAtOnce = 10'000;

absl::Status StepFailed(const char* step, int error) {
  return absl::InternalError(absl::StrCat("sensor: ", step, ": ", strerror(error)));
}

}  // namespace

absl::Status CutSteps::Load(SharedMaps& maps) {
  VitalGroup cut = CutGroup();
  programs_ = std::make_unique<BpfGroup>(cut.object, std::move(cut.rungs));
  if (absl::Status status = programs_->Start(maps); !status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("sensor: nothing can be watched on this host: ", status.message(),
                     "; run as root or with CAP_BPF and CAP_PERFMON on a kernel with BTF"));
  }
  iterator_ = OwnedFd(bpf_link_create(programs_->program_fd("pass"), 0, BPF_TRACE_ITER, nullptr));
  if (!iterator_.valid()) return StepFailed("linking the task iterator", errno);
  barrier_inner_ = OwnedFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "tt_inner", 4, 8, 1, nullptr));
  bpf_map_create_opts opts = {};
  opts.sz = sizeof(opts);
  opts.inner_map_fd = static_cast<uint32_t>(barrier_inner_.get());
  barrier_outer_ =
      OwnedFd(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "tt_barrier", 4, 4, 1, &opts));
  if (!barrier_inner_.valid() || !barrier_outer_.valid()) {
    return StepFailed("creating the barrier map", errno);
  }
  return absl::OkStatus();
}

absl::Status CutSteps::StartBeat() {
  const int fd = programs_->program_fd("start_beat");
  int error = 0;
  for (int tries = 0; tries < kBeatTries; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(kBeatPause);
    bpf_test_run_opts opts = {};
    opts.sz = sizeof(opts);
    error = bpf_prog_test_run_opts(fd, &opts) != 0 ? errno : -static_cast<int>(opts.retval);
    if (error == 0) return absl::OkStatus();
  }
  return StepFailed("starting the timer of the seconds", error);
}

absl::Status CutSteps::Barrier() {
  const uint32_t key = 0;
  const int inner = barrier_inner_.get();
  if (bpf_map_update_elem(barrier_outer_.get(), &key, &inner, BPF_ANY) != 0) {
    return StepFailed("waiting for running programs at the cut", errno);
  }
  return absl::OkStatus();
}

absl::Status CutSteps::FlushCpus(uint32_t possible_cpus) {
  const int fd = programs_->program_fd("flush_cpu");
  for (uint32_t cpu = 0; cpu < possible_cpus; ++cpu) {
    bpf_test_run_opts opts = {};
    opts.sz = sizeof(opts);
    opts.cpu = cpu;
    opts.flags = BPF_F_TEST_RUN_ON_CPU;
    // An offline CPU (ENXIO) has nothing running.
    if (bpf_prog_test_run_opts(fd, &opts) != 0 && errno != ENXIO) {
      return StepFailed("flushing a CPU's counts at the cut", errno);
    }
  }
  return absl::OkStatus();
}

absl::Status CutSteps::Pass(telltale_pass pass, telltale_control& control, ProcessTable* table) {
  control.pass = pass;
  control.adoptions_left = kAdoptionsAtOnce;
  const OwnedFd fd(bpf_iter_create(iterator_.get()));
  if (!fd.valid()) return StepFailed("creating the task iterator", errno);
  std::vector<char> buffer(64 * sizeof(telltale_row));
  size_t held = 0;
  while (true) {
    const ssize_t got = read(fd.get(), buffer.data() + held, buffer.size() - held);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return StepFailed("reading the task iterator", errno);
    if (got == 0) break;
    held += static_cast<size_t>(got);
    size_t used = 0;
    for (; held - used >= sizeof(telltale_row); used += sizeof(telltale_row)) {
      telltale_row row;
      memcpy(&row, buffer.data() + used, sizeof(row));
      if (table != nullptr) table->Add(row);
    }
    memmove(buffer.data(), buffer.data() + used, held - used);
    held -= used;
  }
  return absl::OkStatus();
}

}  // namespace telltale::agent
