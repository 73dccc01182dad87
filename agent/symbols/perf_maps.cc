#include "agent/symbols/perf_maps.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"
#include "agent/host/process_files.h"
#include "agent/symbols/regular_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxStatus = 16 * 1024;
constexpr size_t kChunk = 64 * 1024;
constexpr size_t kTail = 64;

// A file below a directory that is root to whatever links lie on the way, to be looked at: it is
// opened for nothing yet (regular_file.h).
int LookBelow(int directory, const std::string& path) {
  open_how how = {};
  how.flags = kLookOnly;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
}

void AddToTail(std::string_view read, std::string& tail) {
  tail.append(read.substr(read.size() - std::min(read.size(), kTail)));
  if (tail.size() > kTail) tail.erase(0, tail.size() - kTail);
}

}  // namespace

PerfMaps::PerfMaps(const Options& options, std::shared_ptr<ProcessMaps> processes)
    : options_(options), processes_(std::move(processes)), maps_(options.bytes) {}

PerfMaps::Key PerfMaps::KeyOf(const ProcessRef& process) {
  return {process.tgid, process.start_ns, process.exe.inode};
}

size_t PerfMaps::CostOf(const Known& known) const {
  return std::max(known.map.bytes(), options_.bytes / options_.processes);
}

PerfMaps::Answer PerfMaps::Find(const ProcessRef& process, uint64_t address, uint64_t now_ns) {
  const Key key = KeyOf(process);
  std::unique_ptr<Known>* found = maps_.Find(key);
  const bool met = found != nullptr;
  if (!met) {
    auto fresh = std::make_unique<Known>();
    fresh->map = PerfMap(options_.map);
    const size_t cost = CostOf(*fresh);
    found = &maps_.Put(key, std::move(fresh), cost);
  }
  Known* known = found->get();
  const uint64_t wait = known->map.NameAt(address).empty() ? known->wait_ns : options_.known_ns;
  if (!met || (now_ns > known->looked_ns && now_ns - known->looked_ns >= wait)) {
    known->looked_ns = now_ns;
    const size_t before = CostOf(*known);
    const uint64_t read_before = known->read_bytes;
    Look(process, *known);
    known->wait_ns = !met || known->read_bytes != read_before
                         ? options_.unknown_ns
                         : std::min(2 * known->wait_ns, options_.known_ns);
    if (CostOf(*known) != before) {
      std::unique_ptr<Known> grown = std::move(*found);
      const size_t cost = CostOf(*grown);
      known = maps_.Put(key, std::move(grown), cost).get();
    }
  }
  const std::string_view name = known->map.NameAt(address);
  if (!name.empty()) return {v1::NAME_OUTCOME_GENERATED, name};
  return {known->why, {}};
}

v1::NameOutcome PerfMaps::Why(const ProcessRef& process) {
  const std::unique_ptr<Known>* known = maps_.Find(KeyOf(process));
  return known == nullptr ? v1::NAME_OUTCOME_NO_PERF_MAP : (*known)->why;
}

void PerfMaps::Look(const ProcessRef& process, Known& known) {
  v1::NameOutcome why = v1::NAME_OUTCOME_NOT_IN_PERF_MAP;
  const int fd = Open(process, &why);
  struct stat info {};
  // Asked last: whatever was opened before was that of the process meant.
  if (!processes_->IsAlive(process)) {
    why = v1::NAME_OUTCOME_GONE;
  } else if (fd >= 0 && fstat(fd, &info) == 0) {
    const auto bytes = static_cast<uint64_t>(info.st_size);
    if (!IsContinued(fd, info, known)) {
      known.map = PerfMap(options_.map);  // written anew
      known.device = info.st_dev;
      known.inode = info.st_ino;
      known.read_bytes = 0;
      known.tail.clear();
    }
    ReadOn(fd, bytes, known);
    known.cut = bytes > known.read_bytes && known.read_bytes >= options_.file_bytes;
  }
  if (fd >= 0) close(fd);
  if (why == v1::NAME_OUTCOME_NOT_IN_PERF_MAP && (known.cut || known.map.full())) {
    why = v1::NAME_OUTCOME_LIMIT;
  }
  known.why = why;
}

bool PerfMaps::IsContinued(int fd, const struct stat& info, const Known& known) {
  if (info.st_dev != known.device || info.st_ino != known.inode) return false;
  std::string tail(known.tail.size(), '\0');
  ssize_t got;
  do {
    got = pread(fd, tail.data(), tail.size(), static_cast<off_t>(known.read_bytes - tail.size()));
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(tail.size()) && tail == known.tail;
}

int PerfMaps::Open(const ProcessRef& process, v1::NameOutcome* why) const {
  *why = v1::NAME_OUTCOME_GONE;
  const auto text = ReadBounded(processes_->ProcPath(process.tgid, "status"), kMaxStatus);
  const auto status = text.ok() ? ParseProcessStatus(*text) : std::nullopt;
  if (!status) return -1;
  const std::string directory = processes_->ProcPath(process.tgid, "root");
  const std::string path = absl::StrCat("/tmp/perf-", status->ns_pid, ".map");
  FileSystems& file_systems = processes_->file_systems();
  if (!file_systems.Answers(process.tgid, file_systems.DeviceOf(process.tgid, path),
                            directory + path)) {
    *why = v1::NAME_OUTCOME_NO_ANSWER;
    return -1;
  }
  const int root = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  const int looked_at = LookBelow(root, path);
  const int error = errno;
  close(root);
  if (looked_at < 0) {
    *why = error == ENOENT ? v1::NAME_OUTCOME_NO_PERF_MAP : v1::NAME_OUTCOME_PERF_MAP_REFUSED;
    return -1;
  }
  *why = v1::NAME_OUTCOME_PERF_MAP_REFUSED;
  struct stat info {};
  if (fstat(looked_at, &info) != 0 || (info.st_uid != status->uid && info.st_uid != 0)) {
    close(looked_at);
    return -1;
  }
  const int fd = OpenIfRegular(looked_at, 0);
  if (fd >= 0) *why = v1::NAME_OUTCOME_NOT_IN_PERF_MAP;
  return fd;
}

void PerfMaps::ReadOn(int fd, uint64_t file_bytes, Known& known) const {
  const uint64_t end =
      std::min<uint64_t>({file_bytes, options_.file_bytes, known.read_bytes + options_.part_bytes});
  std::string chunk;
  while (known.read_bytes < end && !known.map.full()) {
    chunk.resize(std::min<uint64_t>(kChunk, end - known.read_bytes));
    const ssize_t got = pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(known.read_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    known.map.Append(std::string_view(chunk).substr(0, static_cast<size_t>(got)));
    AddToTail(std::string_view(chunk).substr(0, static_cast<size_t>(got)), known.tail);
    known.read_bytes += static_cast<uint64_t>(got);
  }
}

}  // namespace telltale::agent
