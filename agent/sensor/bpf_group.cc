#include "agent/sensor/bpf_group.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "agent/sensor/bpf_objects.h"

namespace telltale::agent {
namespace {

// `truth` is there only in the tests' variant of the objects (bpf/truth.bpf.h).
constexpr std::string_view kShared[] = {".data.control", ".data.bitmaps", "group",
                                        "cpus",          "briefs",        "ring",
                                        "tasks",         "truth",         "waker_stacks"};

constexpr int64_t kMostEntries = 1 << 16;  // one deleted meanwhile leads back to the first

bool IsShared(std::string_view name) {
  return std::ranges::find(kShared, name) != std::end(kShared);
}

// Runs whenever a hardware counter has counted enough.
bool IsCounted(std::string_view section) { return section == "perf_event"; }

// Others are run by the agent itself or by a counter.
bool IsHooked(std::string_view section) {
  return section.starts_with("tp_btf/") || section.starts_with("fexit/");
}

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

// A descriptor that outlives libbpf's own.
OwnedFd Copy(int fd) { return OwnedFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

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
  links_.clear();
  programs_.clear();
  maps_.clear();
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
  const std::unique_ptr<bpf_object, CloseObject> object(
      bpf_object__open_mem(image.data(), image.size(), &open_opts));
  if (object == nullptr) {
    return absl::InternalError(
        absl::StrCat("opening object ", object_name_, ": ", strerror(errno)));
  }
  NamePrograms(object.get(), rung);
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object.get(), program)) != nullptr) {
    const bool wanted =
        std::ranges::find(rung.programs, bpf_program__name(program)) != rung.programs.end();
    bpf_program__set_autoload(program, wanted);
  }
  if (absl::Status status = maps.Prepare(object.get()); !status.ok()) return status;
  if (const int error = bpf_object__load(object.get()); error != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("loading ", rung.hook, ": ", Explain(-error)));
  }
  if (absl::Status status = Keep(object.get()); !status.ok()) return status;
  if (absl::Status status = AttachRung(rung, perf); !status.ok()) return status;
  return maps.Adopt(object.get());
}

absl::Status BpfGroup::Keep(bpf_object* object) {
  bool kept = true;
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object, program)) != nullptr) {
    if (!bpf_program__autoload(program)) continue;
    programs_.push_back({bpf_program__name(program), bpf_program__section_name(program),
                         bpf_program__expected_attach_type(program),
                         Copy(bpf_program__fd(program))});
    kept = kept && programs_.back().fd.valid();
  }
  bpf_map* map = nullptr;
  while ((map = bpf_object__next_map(object, map)) != nullptr) {
    OwnedFd& own = maps_[bpf_map__name(map)];
    own = Copy(bpf_map__fd(map));
    kept = kept && own.valid();
  }
  if (kept) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("keeping the descriptors of object ",
                                                   object_name_, ": ", strerror(errno),
                                                   "; raise LimitNOFILE"));
}

absl::Status BpfGroup::AttachRung(const Rung& rung, PerfEvents* perf) {
  for (const Program& program : programs_) {
    if (IsCounted(program.section) && rung.counter && perf != nullptr) {
      const absl::Status started = counters_.Start(*perf, *rung.counter, program.fd.get());
      if (!started.ok()) return started;
      continue;
    }
    if (!IsHooked(program.section)) continue;
    if (absl::Status status = AttachProgram(program); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status BpfGroup::AttachProgram(const Program& program) {
  OwnedFd link(bpf_link_create(program.fd.get(), 0,
                               static_cast<bpf_attach_type>(program.attach_type), nullptr));
  if (!link.valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat("attaching ", program.section, ": ", Explain(errno)));
  }
  links_[program.name] = std::move(link);
  return absl::OkStatus();
}

void BpfGroup::Detach(const std::string& name) {
  const std::lock_guard lock(hooks_mutex_);
  const Program* const program = Find(name);
  if (rung_ != nullptr && program != nullptr && IsCounted(program->section)) counters_.Pause();
  links_.erase(name);
}

absl::Status BpfGroup::Attach(const std::string& name) {
  const std::lock_guard lock(hooks_mutex_);
  const Program* const program = Find(name);
  if (rung_ == nullptr || program == nullptr || links_.contains(name)) return absl::OkStatus();
  if (IsCounted(program->section)) counters_.GoOn();
  return IsHooked(program->section) ? AttachProgram(*program) : absl::OkStatus();
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

const BpfGroup::Program* BpfGroup::Find(const std::string& name) const {
  const auto it = std::ranges::find(programs_, name, &Program::name);
  return it == programs_.end() ? nullptr : &*it;
}

int BpfGroup::program_fd(const std::string& name) const {
  const Program* const program = Find(name);
  return program == nullptr ? -1 : program->fd.get();
}

int BpfGroup::map_fd(const std::string& name) const {
  const auto it = maps_.find(name);
  return it == maps_.end() ? -1 : it->second.get();
}

int64_t BpfGroup::Entries(const std::string& map) const {
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

uint64_t BpfGroup::RecursionMisses(const std::string& name) const {
  bpf_prog_info info = {};
  uint32_t size = sizeof(info);
  const int fd = program_fd(name);
  return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.recursion_misses : 0;
}

}  // namespace telltale::agent
