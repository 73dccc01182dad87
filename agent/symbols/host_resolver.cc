#include "agent/symbols/host_resolver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"
#include "agent/symbols/demangle.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kStartSlackNs = 20'000'000;  // two clock ticks
constexpr size_t kEmptyCost = 64;               // of a file without symbols, in bytes

int64_t BootMinusMonotonic() {
  timespec boot{}, mono{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &mono);
  return (boot.tv_sec - mono.tv_sec) * 1'000'000'000 + (boot.tv_nsec - mono.tv_nsec);
}

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Identity of a file without an ELF build id (summary.proto, Mapping).
std::string HashedId(uint64_t device, uint64_t inode, uint64_t bytes, uint64_t mtime_ns) {
  const std::array<uint64_t, 4> key{device, inode, bytes, mtime_ns};
  const uint64_t hash = XXH3_64bits(key.data(), sizeof key);
  std::string id = "h";
  for (int i = 0; i < 8; ++i) id.push_back(static_cast<char>(hash >> (8 * i)));
  return id;
}

std::tuple<uint64_t, uint64_t, uint32_t> KeyOf(const ExeId& exe) {
  return {exe.device, exe.inode, exe.generation};
}

}  // namespace

HostResolver::HostResolver(Options options)
    : options_(std::move(options)),
      kernel_(options_.root),
      maps_(options_.regions),
      files_(options_.files),
      symbols_(options_.symbol_bytes),
      exe_paths_(options_.paths),
      exec_paths_(options_.paths),
      cgroup_paths_(options_.paths) {}

std::string HostResolver::ProcPath(uint32_t tgid, const char* what) const {
  return absl::StrCat(options_.root, "/proc/", tgid, "/", what);
}

// Whether the process with this pid is the one that began at start_ns.
bool HostResolver::IsAlive(const ProcessRef& process) const {
  if (process.tgid == 0) return false;
  const auto stat = ReadBounded(ProcPath(process.tgid, "stat"), 4'096);
  if (!stat.ok()) return false;
  if (process.start_ns == 0) return true;
  // The name in parentheses may hold anything, parentheses too: fields count from the last one.
  const size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return false;
  std::string_view rest = std::string_view(*stat).substr(name_end + 1);
  for (int field = 3; field < 22; ++field) TakeWord(rest);
  const auto ticks = TakeNumber(rest);
  if (!ticks || *ticks > UINT64_MAX / 1'000'000'000) return false;
  const uint64_t began = *ticks * (1'000'000'000 / options_.clock_ticks);
  const int64_t boot_ahead =
      options_.boot_minus_mono_ns ? options_.boot_minus_mono_ns() : BootMinusMonotonic();
  return Distance(began, process.start_ns) <= kStartSlackNs ||
         Distance(began, process.start_ns + static_cast<uint64_t>(boot_ahead)) <= kStartSlackNs;
}

// Whether it still runs the executable it ran when the event happened. Device numbers differ
// between the kernel's view and stat(2) on some filesystems, inodes do not.
bool HostResolver::RunsItsExe(const ProcessRef& process) const {
  struct stat info {};
  if (stat(ProcPath(process.tgid, "exe").c_str(), &info) != 0) return false;
  return process.exe.inode == 0 || info.st_ino == process.exe.inode;
}

std::string HostResolver::ExePath(const ProcessRef& process) {
  if (process.exe.inode == 0) return "";
  const ExeKey key = KeyOf(process.exe);
  if (const std::string* known = exe_paths_.Find(key)) return *known;
  if (IsAlive(process) && RunsItsExe(process)) {
    std::string path(PATH_MAX, '\0');
    const ssize_t length =
        readlink(ProcPath(process.tgid, "exe").c_str(), path.data(), path.size());
    if (length > 0) {
      path.resize(static_cast<size_t>(length));
      constexpr std::string_view kDeleted = " (deleted)";
      if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
      return exe_paths_.Put(key, std::move(path));
    }
  }
  const std::string* asked = exec_paths_.Find(key);
  return asked == nullptr ? "" : *asked;
}

void HostResolver::OnExec(const RawEvent& event) {
  if (event.exe.inode != 0 && !event.path.empty()) exec_paths_.Put(KeyOf(event.exe), event.path);
}

std::string HostResolver::CgroupPath(const ProcessRef& process) {
  if (process.cgroup_id == 0) return "";
  if (const std::string* known = cgroup_paths_.Find(process.cgroup_id)) return *known;
  if (!IsAlive(process)) return "";
  const auto text = ReadBounded(ProcPath(process.tgid, "cgroup"), 64 * 1024);
  if (!text.ok()) return "";
  // "4:memory:/path" in version 1, whose memory hierarchy the sensor reads; "0::/path" in
  // version 2.
  std::string unified, memory;
  ForEachLine(*text, [&](std::string_view line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) unified = line.substr(second + 1);
    if (controllers == "memory") memory = line.substr(second + 1);
  });
  std::string path = memory.empty() ? unified : memory;
  if (path.empty()) return "";
  return cgroup_paths_.Put(process.cgroup_id, std::move(path));
}

HostResolver::Maps& HostResolver::ReadMaps(const ProcessRef& process, uint64_t now_ns) {
  Maps maps;
  maps.read_ns = now_ns;
  if (IsAlive(process) && RunsItsExe(process)) {
    if (const auto text = ReadBounded(ProcPath(process.tgid, "maps"), options_.maps_bytes);
        text.ok()) {
      maps.regions = ParseMaps(*text, options_.regions_per_process);
      maps.files.resize(maps.regions.size());
    }
  }
  const size_t cost = std::max(maps.regions.size(), options_.regions / options_.processes);
  return maps_.Put({process.tgid, process.start_ns, KeyOf(process.exe)}, std::move(maps), cost);
}

CodeLocation HostResolver::User(const ProcessRef& process, uint64_t address, uint64_t now_ns) {
  if (process.tgid == 0) return {nullptr, address};
  Maps* maps = maps_.Find({process.tgid, process.start_ns, KeyOf(process.exe)});
  if (maps == nullptr) maps = &ReadMaps(process, now_ns);
  const MappedRegion* region = FindRegion(maps->regions, address);
  if (region == nullptr && now_ns - maps->read_ns >= options_.reread_ns && now_ns > maps->read_ns) {
    // Something was loaded since. A process that is gone by now keeps the maps it had.
    if (!maps->regions.empty() && !IsAlive(process)) {
      maps->read_ns = now_ns;
    } else {
      maps = &ReadMaps(process, now_ns);
    }
    region = FindRegion(maps->regions, address);
  }
  if (region == nullptr) return {nullptr, address};
  std::shared_ptr<const Mapped>& mapped = maps->files[region - maps->regions.data()];
  if (!mapped) mapped = Identify(process, *region);
  const uint64_t in_file = address - region->start + region->file_offset;
  for (const ElfSegment& s : mapped->segments) {
    if (in_file >= s.file_offset && in_file - s.file_offset < s.bytes) {
      return {mapped->file, s.address + (in_file - s.file_offset)};
    }
  }
  return {mapped->file, in_file};
}

// Opens what a process has mapped from `path`, if it is still that file; -1 if not. The process
// chose the path: nothing but a regular file is opened for reading, and opening never waits.
int HostResolver::OpenMapped(uint32_t tgid, const std::string& path, uint64_t inode) const {
  const std::string through = ProcPath(tgid, "root") + path;
  const int fd = open(through.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (inode == 0 || info.st_ino == inode)) {
    return fd;
  }
  close(fd);
  return -1;
}

std::shared_ptr<const HostResolver::Mapped> HostResolver::Identify(const ProcessRef& process,
                                                                   const MappedRegion& region) {
  const bool is_file = region.inode != 0 && region.path.starts_with('/');
  const FileKey key{region.device, region.inode, region.path};
  if (const auto* known = files_.Find(key)) return *known;
  auto mapped = std::make_shared<Mapped>();
  auto file = std::make_shared<CodeFile>();
  file->path = region.path;
  file->kind = is_file                   ? v1::MAPPING_KIND_FILE
               : region.path == "[vdso]" ? v1::MAPPING_KIND_VDSO
                                         : v1::MAPPING_KIND_ANONYMOUS;
  bool known_for_good = true;
  if (is_file) {
    file->build_id = HashedId(region.device, region.inode, 0, 0);
    const int fd = OpenMapped(process.tgid, region.path, region.inode);
    known_for_good = fd >= 0;
    if (fd >= 0) {
      absl::StatusOr<ElfIdentity> identity = ReadElfIdentity(fd);
      struct stat info {};
      fstat(fd, &info);
      if (identity.ok()) mapped->segments = std::move(identity->segments);
      if (identity.ok() && !identity->build_id.empty()) {
        file->build_id = identity->build_id;
      } else {
        const uint64_t mtime = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
                               static_cast<uint64_t>(info.st_mtim.tv_nsec);
        file->build_id = HashedId(region.device, region.inode, info.st_size, mtime);
      }
      close(fd);
    }
  }
  mapped->file = std::move(file);
  // A file that could not be opened through this process may be through the next.
  if (known_for_good) files_.Put(key, mapped);
  return mapped;
}

std::optional<std::string> HostResolver::Name(const ProcessRef& process,
                                              const CodeLocation& location) {
  if (!location.file) return std::nullopt;
  const CodeFile& file = *location.file;
  if (file.kind == v1::MAPPING_KIND_KERNEL) return std::string(kernel_.NameAt(location));
  if (file.kind != v1::MAPPING_KIND_FILE) return "";
  const ElfSymbols* symbols = symbols_.Find(file.build_id);
  if (symbols == nullptr) {
    const int fd = OpenMapped(process.tgid, file.path, 0);
    if (fd < 0) return std::nullopt;
    // The path may lead to another file by now: names of the wrong one would be worse than none.
    const absl::StatusOr<ElfIdentity> identity = ReadElfIdentity(fd);
    const bool same = identity.ok() && (file.build_id.starts_with('h') && file.build_id.size() == 9
                                            ? identity->build_id.empty()
                                            : identity->build_id == file.build_id);
    absl::StatusOr<ElfSymbols> read = ElfSymbols::Read(fd, options_.symbols);
    close(fd);
    if (!same) return std::nullopt;
    if (!read.ok()) read = ElfSymbols();  // too large or broken: it has no names for us
    const size_t cost = std::max(kEmptyCost, read->bytes());
    symbols = &symbols_.Put(file.build_id, *std::move(read), cost);
  }
  return Demangled(symbols->NameAt(location.offset));
}

}  // namespace telltale::agent
