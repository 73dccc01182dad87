#include "agent/symbols/process_maps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/clock_ns.h"
#include "agent/host/proc_file.h"
#include "agent/host/process_files.h"
#include "agent/symbols/regular_file.h"
#include "agent/symbols/vdso.h"

namespace telltale::agent {
namespace {

constexpr char kUninterruptible = 'D';
constexpr uint64_t kLendNs = 1'000'000'000;
constexpr uint64_t kUnansweredNs = 5'000'000'000;
constexpr uint64_t kStartSlackNs = 20'000'000;  // two clock ticks

// What reading maps may take of a CPU, as one part of so many, and what the kernel takes for it.
// Short ones are read as often as the options say.
constexpr uint64_t kReadShare = 200, kReadNsAByte = 10;
constexpr size_t kShortMaps = 64 << 10;

bool SameRegion(const MappedRegion& a, const MappedRegion& b) {
  return a.start == b.start && a.end == b.end && a.inode == b.inode;
}

// The kernel lays out each program anew that a process becomes: whether two readings of it are of
// the same, by where most of its files lie.
bool SameLayout(const std::vector<MappedRegion>& a, const std::vector<MappedRegion>& b) {
  size_t files = 0, same = 0;
  for (const MappedRegion& region : b) {
    if (region.inode == 0) continue;
    ++files;
    const MappedRegion* other = FindRegion(a, region.start);
    same += other != nullptr && SameRegion(*other, region) ? 1 : 0;
  }
  return 2 * same >= files;
}

// As the maps say it.
uint64_t DeviceNumber(dev_t device) { return uint64_t{major(device)} << 20 | minor(device); }

// Whether the time in /proc and that of the kernel programs are of one start. The former also
// counts how long the host had been suspended by then, which is at most how long it has been by
// now.
bool IsSameStart(uint64_t boot_ns, uint64_t mono_ns, uint64_t suspended_ns) {
  return boot_ns + kStartSlackNs >= mono_ns && boot_ns <= mono_ns + suspended_ns + kStartSlackNs;
}

std::tuple<uint32_t, uint64_t, std::tuple<uint64_t, uint64_t, uint32_t>> KeyOf(
    const ProcessRef& process) {
  const ExeId& exe = process.exe;
  return {process.tgid, process.start_ns, {exe.device, exe.inode, exe.generation}};
}

}  // namespace

ProcessMaps::ProcessMaps(Options options)
    : options_(std::move(options)),
      file_systems_({.root = options_.root}),
      maps_(options_.regions),
      files_(options_.files),
      paths_(options_.files) {}

std::string ProcessMaps::ProcPath(uint32_t tgid, const char* what) const {
  return absl::StrCat(options_.root, "/proc/", tgid, "/", what);
}

bool ProcessMaps::IsAlive(const ProcessRef& process) const { return StateOf(process).has_value(); }

std::optional<char> ProcessMaps::StateOf(const ProcessRef& process) const {
  if (process.tgid == 0) return std::nullopt;
  // That of its first thread: the process' own sums up all threads.
  const auto stat = ReadBounded(
      ProcPath(process.tgid, absl::StrCat("task/", process.tgid, "/stat").c_str()), 4'096);
  const std::optional<char> state = stat.ok() ? TaskState(*stat) : std::nullopt;
  if (process.start_ns == 0 || !state) return state;
  const std::optional<uint64_t> ticks = StartTicks(*stat);
  if (!ticks || *ticks > UINT64_MAX / 1'000'000'000) return std::nullopt;
  const uint64_t began = *ticks * (1'000'000'000 / options_.clock_ticks);
  const int64_t boot_ahead =
      options_.boot_minus_mono_ns ? options_.boot_minus_mono_ns() : BootMinusMonoNs();
  const bool meant =
      IsSameStart(began, process.start_ns, static_cast<uint64_t>(std::max<int64_t>(boot_ahead, 0)));
  return meant ? state : std::nullopt;
}

// Device numbers differ between the kernel's view and stat(2) on some filesystems, inodes do not.
// What the kernel knows of the file is enough: nobody is to be asked over the network.
bool ProcessMaps::RunsItsExe(const ProcessRef& process) const {
  struct statx info {};
  if (statx(AT_FDCWD, ProcPath(process.tgid, "exe").c_str(), AT_STATX_DONT_SYNC, STATX_INO,
            &info) != 0) {
    return false;
  }
  return process.exe.inode == 0 || info.stx_ino == process.exe.inode;
}

bool ProcessMaps::MayReread(const Maps& maps, uint64_t now_ns) const {
  constexpr unsigned kDoublings = 5, kInVain = 6;
  uint64_t wait = options_.reread_ns >> (kDoublings - std::min(maps.rereads, kDoublings));
  wait <<= std::min(maps.in_vain, kInVain);
  if (maps.bytes > kShortMaps) wait = std::max(wait, maps.bytes * kReadNsAByte * kReadShare);
  return now_ns > maps.read_ns && now_ns - maps.read_ns >= wait;
}

ProcessMaps::Maps& ProcessMaps::Read(const ProcessRef& process, uint64_t now_ns, unsigned rereads) {
  Maps maps;
  maps.read_ns = now_ns;
  maps.rereads = rereads;
  maps.number = ++readings_;
  const std::optional<char> state = StateOf(process);
  if (state == kUninterruptible && !file_systems_.MapsAnswer(process.tgid)) {
    maps.again_ns = now_ns + kUnansweredNs;
  } else if (state && RunsItsExe(process)) {
    auto read =
        ReadMaps(ProcPath(process.tgid, "maps"), options_.maps_bytes, options_.regions_per_process);
    if (read.ok()) {
      maps.bytes = read->bytes;
      if (read->cut) maps.known_to = read->regions.empty() ? 0 : read->regions.back().end;
      maps.regions = std::move(read->regions);
      maps.files.resize(maps.regions.size());
      for (const MappedRegion& region : maps.regions) LearnPath(region);
    }
  } else if (process.parent != 0) {
    BorrowFromParent(process, now_ns, maps);
  }
  return Keep(KeyOf(process), std::move(maps));
}

ProcessMaps::Maps& ProcessMaps::Keep(const ProcessKey& key, Maps maps) {
  const size_t cost = std::max(maps.regions.size(), options_.regions / options_.processes);
  last_key_ = key;
  last_ = &maps_.Put(key, std::move(maps), cost);
  return *last_;
}

void ProcessMaps::LearnPath(const MappedRegion& region) {
  if (region.inode == 0 || !region.path.starts_with('/')) return;
  const std::pair file(region.device, region.inode);
  const std::string* known = paths_.Find(file);
  if (known == nullptr || *known != region.path) paths_.Put(file, region.path);
}

void ProcessMaps::OnExec(const ExeId& exe, const std::string& path) {
  // It may be a link to where the file is.
  if (paths_.Find({exe.device, exe.inode}) != nullptr) return;
  LearnPath({.device = exe.device, .inode = exe.inode, .path = path});
}

void ProcessMaps::Complete(const Maps& known, bool cut, Maps& maps) {
  for (size_t i = 0; i < maps.regions.size(); ++i) {
    MappedRegion& region = maps.regions[i];
    const MappedRegion* same = FindRegion(known.regions, region.start);
    if (same == nullptr || !SameRegion(*same, region)) continue;
    region.path = same->path;
    maps.files[i] = known.files[static_cast<size_t>(same - known.regions.data())];
  }
  if (!cut && !maps.regions.empty()) return;
  const uint64_t beyond = maps.regions.empty() ? 0 : maps.regions.back().end;
  maps.known_to = known.known_to;
  for (size_t i = 0; i < known.regions.size(); ++i) {
    if (known.regions[i].start < beyond) continue;
    maps.regions.push_back(known.regions[i]);
    maps.files.push_back(known.files[i]);
  }
}

void ProcessMaps::Remember(const ProcessRef& process, Departed departed) {
  if (process.tgid == 0) return;
  const ProcessKey key = KeyOf(process);
  const Maps* known = maps_.Find(key);
  // Of what it was before an earlier exec of the same program.
  const bool looked = !departed.regions.empty();
  if (known != nullptr && looked && !SameLayout(known->regions, departed.regions)) known = nullptr;
  if (known != nullptr && !looked && known->ended_ns != UINT64_MAX) known = nullptr;
  if (known == nullptr && !looked) return;
  Maps maps;
  maps.regions = std::move(departed.regions);
  maps.files.resize(maps.regions.size());
  if (departed.cut && !maps.regions.empty()) maps.known_to = maps.regions.back().end;
  if (known != nullptr) Complete(*known, departed.cut, maps);
  for (size_t i = maps.regions.size(); i-- > 0;) {
    MappedRegion& region = maps.regions[i];
    if (region.inode == 0 || !region.path.empty()) continue;
    if (const std::string* path = paths_.Find({region.device, region.inode})) {
      region.path = *path;
      continue;
    }
    maps.partial = true;
    maps.regions.erase(maps.regions.begin() + static_cast<ptrdiff_t>(i));
    maps.files.erase(maps.files.begin() + static_cast<ptrdiff_t>(i));
  }
  maps.read_ns = UINT64_MAX;  // there is nobody to ask again
  maps.ended_ns = departed.ns;
  maps.number = ++readings_;
  Keep(key, std::move(maps));
}

void ProcessMaps::BorrowFromParent(const ProcessRef& process, uint64_t now_ns, Maps& maps) {
  const ProcessRef parent{.tgid = process.parent, .exe = process.exe};
  Maps* lender = &Of(parent, now_ns);
  // Its pid may have come round, or it may have loaded more, since the child before this one.
  if (now_ns > lender->read_ns + kLendNs) lender = &Read(parent, now_ns);
  maps.regions = lender->regions;
  maps.files = lender->files;
  maps.again_ns = lender->again_ns;
  maps.known_to = lender->known_to;
}

ProcessMaps::Maps& ProcessMaps::Of(const ProcessRef& process, uint64_t now_ns) {
  const ProcessKey key = KeyOf(process);
  if (last_ == nullptr || key != last_key_) {
    last_key_ = key;
    last_ = maps_.Find(key);
  }
  if (last_ == nullptr) return Read(process, now_ns);
  // It has become what runs the same file anew, or it failed to.
  if (now_ns > last_->ended_ns && IsAlive(process) && RunsItsExe(process)) {
    return Read(process, now_ns);
  }
  // A forked copy has what its parent has.
  if (std::exchange(last_->partial, false) && process.parent != 0 &&
      IsAlive({.tgid = process.parent})) {
    return Read(process, now_ns);
  }
  if (now_ns >= last_->again_ns) {
    last_->again_ns = UINT64_MAX;
    if (IsAlive(process)) return Read(process, now_ns);
  }
  return *last_;
}

bool ProcessMaps::IsBeyondKnown(const ProcessRef& process, uint64_t address, uint64_t now_ns) {
  return process.tgid != 0 && address >= Of(process, now_ns).known_to;
}

uint64_t ProcessMaps::Reading(const ProcessRef& process, uint64_t now_ns) {
  if (process.tgid == 0) return 0;
  const Maps* maps = &Of(process, now_ns);
  // It may have been in the middle of an exec.
  if (maps->regions.empty() && MayReread(*maps, now_ns)) {
    maps = &Read(process, now_ns, maps->rereads + 1);
  }
  return maps->regions.empty() ? 0 : maps->number;
}

const MappedRegion* ProcessMaps::FindHinted(const Maps& maps, uint64_t address) {
  if (maps.hint < maps.regions.size()) {
    const MappedRegion& last = maps.regions[maps.hint];
    if (address >= last.start && address < last.end) return &last;
  }
  return FindRegion(maps.regions, address);
}

std::optional<ProcessMaps::Place> ProcessMaps::Find(const ProcessRef& process, uint64_t address,
                                                    uint64_t now_ns) {
  if (process.tgid == 0) return std::nullopt;
  Maps* maps = &Of(process, now_ns);
  const MappedRegion* region = FindHinted(*maps, address);
  if (region == nullptr && MayReread(*maps, now_ns)) {
    // Something was loaded since. A process that is gone by now keeps the maps it had.
    if (!maps->regions.empty() && !IsAlive(process)) {
      maps->read_ns = now_ns;
    } else {
      const std::vector<MappedRegion> before = std::move(maps->regions);
      const unsigned in_vain = maps->in_vain;
      maps = &Read(process, now_ns, maps->rereads + 1);
      maps->in_vain = std::ranges::equal(before, maps->regions, SameRegion) ? in_vain + 1 : 0;
    }
    region = FindRegion(maps->regions, address);
  }
  if (region == nullptr) return std::nullopt;
  maps->hint = static_cast<size_t>(region - maps->regions.data());
  std::shared_ptr<const Mapped>& mapped = maps->files[maps->hint];
  if (!mapped) {
    Identified identified = Identify(process, *region);
    mapped = std::move(identified.mapped);
    if (!identified.answered) maps->again_ns = now_ns + kUnansweredNs;
  }
  const uint64_t in_file = address - region->start + region->file_offset;
  for (const ElfSegment& s : mapped->segments) {
    if (in_file >= s.file_offset && in_file - s.file_offset < s.bytes) {
      return Place{mapped.get(), s.address + (in_file - s.file_offset)};
    }
  }
  return Place{mapped.get(), in_file};
}

int ProcessMaps::OpenMapped(const ProcessRef& process, const CodeFile& file, uint64_t inode) {
  int fd = OpenThrough(process.tgid, file, inode);
  if (fd == -1 && process.parent != 0) fd = OpenThrough(process.parent, file, inode);
  return fd == -1 ? OpenHere(file, inode) : fd;
}

// Of a process that is gone: the same path may lead to another file here, so its device is looked
// at as well.
int ProcessMaps::OpenHere(const CodeFile& file, uint64_t inode) {
  const int fd = OpenThrough(static_cast<uint32_t>(getpid()), file, inode);
  struct stat info {};
  if (fd < 0 || inode == 0 || (fstat(fd, &info) == 0 && DeviceNumber(info.st_dev) == file.device)) {
    return fd;
  }
  close(fd);
  return -1;
}

// The process chose the path: nothing but a regular file is opened for reading, and opening never
// waits.
int ProcessMaps::OpenThrough(uint32_t tgid, const CodeFile& file, uint64_t inode) {
  const std::string through = ProcPath(tgid, "root") + file.path;
  if (!file_systems_.Answers(tgid, file.device, through)) return kUnanswered;
  return OpenIfRegular(open(through.c_str(), kLookOnly), inode);
}

bool ProcessMaps::HasChanged(const ProcessRef& process, const MappedRegion& region,
                             const FileStamp& stamp) {
  const std::string through = ProcPath(process.tgid, "root") + region.path;
  if (!file_systems_.Answers(process.tgid, region.device, through)) return false;
  struct stat info {};
  return lstat(through.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_ino == region.inode && StampOf(info) != stamp;
}

ProcessMaps::Identified ProcessMaps::Identify(const ProcessRef& process,
                                              const MappedRegion& region) {
  // Memory without a file in any directory is where some make their code.
  const bool is_file =
      region.inode != 0 && region.path.starts_with('/') && !region.path.starts_with("/memfd:");
  FileKey key{region.device, region.inode, region.path};
  if (region.path == kVdsoPath) std::get<1>(key) = region.start > UINT32_MAX ? 1 : 0;
  if (const IdentifiedFile* known = files_.Find(key)) {
    if (!is_file || !HasChanged(process, region, known->stamp)) return {known->mapped};
  }
  auto mapped = std::make_shared<Mapped>();
  mapped->serial = ++serial_;
  mapped->inode = region.inode;
  auto file = std::make_shared<CodeFile>();
  file->path = region.path;
  file->device = region.device;
  file->inode = region.inode;
  file->kind = is_file                    ? v1::MAPPING_KIND_FILE
               : region.path == kVdsoPath ? v1::MAPPING_KIND_VDSO
                                          : v1::MAPPING_KIND_ANONYMOUS;
  if (file->kind == v1::MAPPING_KIND_ANONYMOUS && !file->path.starts_with('[')) {
    file->path = kGeneratedCode;
  }
  // A 32-bit process has another one, below 4 GB.
  if (file->kind == v1::MAPPING_KIND_VDSO && region.start > UINT32_MAX) {
    file->build_id = VdsoBuildId();
  }
  bool known_for_good = true, answered = true;
  FileStamp stamp;
  if (is_file) {
    file->build_id = UnreadId(region.device, region.inode);
    const int fd = OpenMapped(process, *file, region.inode);
    known_for_good = fd >= 0;
    answered = fd != kUnanswered;
    if (fd >= 0) {
      CodeIdentity identity = IdentifyCode(fd, region.device);
      close(fd);
      file->build_id = std::move(identity.build_id);
      mapped->segments = std::move(identity.segments);
      stamp = identity.stamp;
    }
  }
  mapped->file = std::move(file);
  // A file that could not be opened through this process may be through the next.
  if (known_for_good) files_.Put(key, {mapped, stamp});
  return {std::move(mapped), answered};
}

const std::string& ProcessMaps::VdsoBuildId() {
  if (!vdso_build_id_) {
    vdso_build_id_ = "";
    if (const int fd = OpenVdso(); fd >= 0) {
      const absl::StatusOr<ElfIdentity> identity = ReadElfIdentity(fd);
      if (identity.ok()) vdso_build_id_ = identity->build_id;
      close(fd);
    }
  }
  return *vdso_build_id_;
}

}  // namespace telltale::agent
