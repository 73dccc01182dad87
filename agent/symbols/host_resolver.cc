#include "agent/symbols/host_resolver.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "agent/host/proc_file.h"
#include "agent/symbols/demangle.h"

namespace telltale::agent {
namespace {

constexpr size_t kEmptyCost = 64;  // of a file without symbols, in bytes

std::tuple<uint64_t, uint64_t, uint32_t> KeyOf(const ExeId& exe) {
  return {exe.device, exe.inode, exe.generation};
}

}  // namespace

HostResolver::HostResolver(Options options, std::shared_ptr<ProcessMaps> maps)
    : options_(std::move(options)),
      kernel_(options_.root),
      maps_(maps ? std::move(maps) : std::make_shared<ProcessMaps>(options_)),
      symbols_(options_.symbol_bytes),
      exe_paths_(options_.paths),
      exec_paths_(options_.paths),
      cgroup_paths_(options_.paths) {}

std::string HostResolver::ExePath(const ProcessRef& process) {
  if (process.exe.inode == 0) return "";
  const ExeKey key = KeyOf(process.exe);
  if (const std::string* known = exe_paths_.Find(key)) return *known;
  if (maps_->IsAlive(process) && maps_->RunsItsExe(process)) {
    std::string path(PATH_MAX, '\0');
    const ssize_t length =
        readlink(maps_->ProcPath(process.tgid, "exe").c_str(), path.data(), path.size());
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
  if (!maps_->IsAlive(process)) return "";
  const auto text = ReadBounded(maps_->ProcPath(process.tgid, "cgroup"), 64 * 1024);
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

CodeLocation HostResolver::User(const ProcessRef& process, uint64_t address, uint64_t now_ns) {
  const auto place = maps_->Find(process, address, now_ns);
  if (!place) return {nullptr, address};
  return {place->mapped->file, place->address};
}

std::optional<std::string> HostResolver::Name(const ProcessRef& process,
                                              const CodeLocation& location) {
  if (!location.file) return std::nullopt;
  const CodeFile& file = *location.file;
  if (file.kind == v1::MAPPING_KIND_KERNEL) return std::string(kernel_.NameAt(location));
  if (file.kind != v1::MAPPING_KIND_FILE) return "";
  const ElfSymbols* symbols = symbols_.Find(file.build_id);
  if (symbols == nullptr) {
    const int fd = maps_->OpenMapped(process, file.path, 0);
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
