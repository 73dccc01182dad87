#include "agent/sensor/bpf_group.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "agent/sensor/bpf_objects.h"

namespace telltale::agent {
namespace {

// `truth` is there only in the tests' variant of the objects (bpf/truth.bpf.h).
constexpr std::string_view kShared[] = {".data.control", ".data.bitmaps", "group", "cpus",
                                        "ring",          "tasks",         "truth"};

constexpr int64_t kMostEntries = 1 << 16;  // one deleted meanwhile leads back to the first

bool IsShared(std::string_view name) {
  return std::ranges::find(kShared, name) != std::end(kShared);
}

// Runs whenever a hardware counter has counted enough.
bool IsCounted(const bpf_program* program) {
  return program != nullptr && std::string_view(bpf_program__section_name(program)) == "perf_event";
}

// Others are run by the agent itself or by a counter.
bool IsHooked(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return section.starts_with("tp_btf/") || section.starts_with("fexit/");
}

// One line for people: errno names are of no use to them, the usual causes are.
std::string Explain(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return "the kernel refused it (needs CAP_BPF and CAP_PERFMON, or the verifier said no)";
    case ESRCH:
      return "this kernel has no such tracepoint in its type information";
    case ENOENT:
    case EOPNOTSUPP:
      return "this kernel has no such hook";
    case EINVAL:
      return "this kernel's version of the hook differs";
    default:
      return strerror(error);
  }
}

// An image lies in the agent's own file: once it is loaded nobody reads it, and if somebody does
// the kernel brings it back.
void LetPagesGo(std::span<const char> image) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(image.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(image.data() + image.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

// libbpf keeps what an object's variables began with, 30 KB of each object, though their maps are
// made or another object's are used. Shared memory without a file: only a hole gives it back.
void LetInitialValuesGo(bpf_object* object) {
  bpf_map* map = nullptr;
  while ((map = bpf_object__next_map(object, map)) != nullptr) {
    size_t bytes = 0;
    const void* const begin = bpf_map__initial_value(map, &bytes);
    if (begin != nullptr) madvise(const_cast<void*>(begin), bytes, MADV_REMOVE);
  }
}

// For a rung that names no programs: what the object has.
void NamePrograms(bpf_object* object, Rung& rung) {
  if (!rung.programs.empty()) return;
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object, program)) != nullptr) {
    rung.programs.emplace_back(bpf_program__name(program));
    absl::StrAppend(&rung.hook, rung.hook.empty() ? "" : ", ", bpf_program__section_name(program));
  }
}

}  // namespace

SharedMaps::~SharedMaps() {
  for (const auto& [name, fd] : fds_) close(fd);
}

int SharedMaps::fd(const std::string& name) const {
  const auto it = fds_.find(name);
  return it == fds_.end() ? -1 : it->second;
}

absl::Status SharedMaps::Prepare(bpf_object* object) const {
  bpf_map* map = nullptr;
  while ((map = bpf_object__next_map(object, map)) != nullptr) {
    const std::string name = bpf_map__name(map);
    int error = 0;
    if (const int shared = fd(name); shared >= 0) {
      error = bpf_map__reuse_fd(map, shared);
    } else if (name == "cpus") {
      error = bpf_map__set_max_entries(map, possible_cpus_ + 1);
    } else if (name == "tick_words") {
      error = bpf_map__set_max_entries(map, possible_cpus_);
    }
    if (error != 0) {
      return absl::InternalError(
          absl::StrCat("sensor: preparing BPF map ", name, ": ", strerror(-error)));
    }
  }
  return absl::OkStatus();
}

absl::Status SharedMaps::Adopt(bpf_object* object) {
  bpf_map* map = nullptr;
  while ((map = bpf_object__next_map(object, map)) != nullptr) {
    const std::string name = bpf_map__name(map);
    if (!IsShared(name) || fds_.contains(name)) continue;
    const int copy = dup(bpf_map__fd(map));
    if (copy < 0) {
      return absl::InternalError(
          absl::StrCat("sensor: keeping BPF map ", name, ": ", strerror(errno)));
    }
    fds_[name] = copy;
  }
  return absl::OkStatus();
}

BpfGroup::BpfGroup(std::string object, std::vector<Rung> rungs)
    : object_name_(std::move(object)), rungs_(std::move(rungs)) {}

BpfGroup::~BpfGroup() { Close(); }

void BpfGroup::Close() {
  counters_.Stop();
  for (const auto& [name, link] : links_) bpf_link__destroy(link);
  links_.clear();
  if (object_ != nullptr) bpf_object__close(object_);
  object_ = nullptr;
}

absl::Status BpfGroup::Try(Rung& rung, SharedMaps& maps, PerfEvents* perf) {
  const std::span<const char> image =
      FindBpfObject(maps.scoped() ? absl::StrCat(object_name_, "_scoped") : object_name_);
  const absl::Status status = Load(image, rung, maps, perf);
  LetPagesGo(image);
  return status;
}

absl::Status BpfGroup::Load(std::span<const char> image, Rung& rung, SharedMaps& maps,
                            PerfEvents* perf) {
  bpf_object_open_opts open_opts = {};
  open_opts.sz = sizeof(open_opts);
  open_opts.object_name = object_name_.c_str();
  object_ = bpf_object__open_mem(image.data(), image.size(), &open_opts);
  if (object_ == nullptr) {
    return absl::InternalError(
        absl::StrCat("opening object ", object_name_, ": ", strerror(errno)));
  }
  NamePrograms(object_, rung);
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object_, program)) != nullptr) {
    const bool wanted =
        std::ranges::find(rung.programs, bpf_program__name(program)) != rung.programs.end();
    bpf_program__set_autoload(program, wanted);
  }
  if (absl::Status status = maps.Prepare(object_); !status.ok()) return status;
  if (const int error = bpf_object__load(object_); error != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("loading ", rung.hook, ": ", Explain(-error)));
  }
  LetInitialValuesGo(object_);
  if (absl::Status status = AttachRung(rung, perf); !status.ok()) return status;
  return maps.Adopt(object_);
}

absl::Status BpfGroup::AttachRung(const Rung& rung, PerfEvents* perf) {
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object_, program)) != nullptr) {
    if (!bpf_program__autoload(program)) continue;
    if (IsCounted(program) && rung.counter && perf != nullptr) {
      const absl::Status started = counters_.Start(*perf, *rung.counter, bpf_program__fd(program));
      if (!started.ok()) return started;
      continue;
    }
    if (!IsHooked(program)) continue;
    if (absl::Status status = AttachProgram(program); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status BpfGroup::AttachProgram(bpf_program* program) {
  bpf_link* link = bpf_program__attach(program);
  if (link == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("attaching ", bpf_program__section_name(program), ": ", Explain(errno)));
  }
  links_[bpf_program__name(program)] = link;
  return absl::OkStatus();
}

void BpfGroup::Detach(const std::string& name) {
  const std::lock_guard lock(hooks_mutex_);
  if (rung_ != nullptr && IsCounted(program(name.c_str()))) counters_.Pause();
  const auto it = links_.find(name);
  if (it == links_.end()) return;
  bpf_link__destroy(it->second);
  links_.erase(it);
}

absl::Status BpfGroup::Attach(const std::string& name) {
  const std::lock_guard lock(hooks_mutex_);
  if (rung_ == nullptr || links_.contains(name)) return absl::OkStatus();
  if (std::ranges::find(rung_->programs, name) == rung_->programs.end()) return absl::OkStatus();
  bpf_program* const loaded = program(name.c_str());
  if (IsCounted(loaded)) counters_.GoOn();
  return IsHooked(loaded) ? AttachProgram(loaded) : absl::OkStatus();
}

absl::Status BpfGroup::Start(SharedMaps& maps, PerfEvents* perf) {
  return StartFrom(0, absl::OkStatus(), maps, perf);
}

absl::Status BpfGroup::StartLower(const std::string& why, SharedMaps& maps, PerfEvents* perf) {
  const size_t next = rung_ == nullptr ? 0 : static_cast<size_t>(rung_ - rungs_.data()) + 1;
  Close();
  rung_ = nullptr;
  return StartFrom(next, absl::FailedPreconditionError(why), maps, perf);
}

absl::Status BpfGroup::StartFrom(size_t first, absl::Status why, SharedMaps& maps,
                                 PerfEvents* perf) {
  for (size_t i = first; i < rungs_.size() && rung_ == nullptr; ++i) {
    const absl::Status status = Try(rungs_[i], maps, perf);
    if (status.ok()) {
      rung_ = &rungs_[i];
    } else {
      Close();
      if (why.ok()) why = status;
    }
  }
  why_ = std::string(why.message());
  return rung_ == nullptr ? why : absl::OkStatus();
}

bpf_program* BpfGroup::program(const char* name) const {
  return object_ == nullptr ? nullptr : bpf_object__find_program_by_name(object_, name);
}

int BpfGroup::map_fd(const char* name) const {
  return object_ == nullptr ? -1 : bpf_object__find_map_fd_by_name(object_, name);
}

int64_t BpfGroup::Entries(const char* map) const {
  const int fd = map_fd(map);
  uint64_t key = 0, next = 0;
  int64_t entries = 0;
  const uint64_t* at = nullptr;
  while (fd >= 0 && entries < kMostEntries && bpf_map_get_next_key(fd, at, &next) == 0) {
    ++entries;
    key = next;
    at = &key;
  }
  return entries;
}

uint64_t BpfGroup::RecursionMisses(const char* name) const {
  const bpf_program* loaded = program(name);
  bpf_prog_info info = {};
  uint32_t size = sizeof(info);
  if (loaded == nullptr) return 0;
  const int fd = bpf_program__fd(loaded);
  return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.recursion_misses : 0;
}

}  // namespace telltale::agent
