#include "agent/symbols/host_resolver.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include "absl/status/status.h"
#include "agent/clock_ns.h"
#include "agent/host/proc_file.h"
#include "agent/host/process_files.h"
#include "agent/symbols/code_identity.h"
#include "agent/symbols/demangle.h"
#include "agent/symbols/vdso.h"

namespace telltale::agent {
namespace {

constexpr size_t kEmptyCost = 64;  // of a file without symbols, in bytes
constexpr size_t kIndicesKnown = 256;
constexpr uint64_t kIndexAgainNs = 60'000'000'000;  // from one whole reading of a file to the next
// Of a name's hash: a million names share none with any chance to speak of, and as a number they
// are short on the wire and whole in a double.
constexpr unsigned kGeneratedBits = 48;

std::tuple<uint64_t, uint64_t, uint32_t> KeyOf(const ExeId& exe) {
  return {exe.device, exe.inode, exe.generation};
}

}  // namespace

HostResolver::HostResolver(Options options, std::shared_ptr<ProcessMaps> maps)
    : options_(std::move(options)),
      kernel_(options_.root),
      maps_(maps ? std::move(maps) : std::make_shared<ProcessMaps>(options_)),
      perf_maps_(options_.perf_maps, maps_),
      symbols_(options_.symbol_bytes),
      indexed_(options_.index_bytes),
      index_read_ns_(kIndicesKnown),
      generated_(
          std::make_shared<CodeFile>(CodeFile{v1::MAPPING_KIND_ANONYMOUS, "jit", kGeneratedCode})),
      generated_names_(options_.generated_names),
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

// A script's path is not that of the program that runs it, and what lies in /proc or /dev/fd is
// called so by each process that starts itself, or what it has open, by such a link.
void HostResolver::OnExec(const RawEvent& event) {
  if (event.exe.inode == 0 || event.path.empty() || event.script) return;
  if (event.path.starts_with("/proc/") || event.path.starts_with("/dev/fd/")) return;
  exec_paths_.Put(KeyOf(event.exe), event.path);
  maps_->OnExec(event.exe, event.path);
}

std::string HostResolver::CgroupPath(const ProcessRef& process) {
  if (process.cgroup_id == 0) return "";
  if (const std::string* known = cgroup_paths_.Find(process.cgroup_id)) return *known;
  if (!maps_->IsAlive(process)) return "";
  const auto text = ReadBounded(maps_->ProcPath(process.tgid, "cgroup"), 64 * 1024);
  std::string path = text.ok() ? CgroupOf(*text) : "";
  if (path.empty()) return "";
  return cgroup_paths_.Put(process.cgroup_id, std::move(path));
}

CodeLocation HostResolver::User(const ProcessRef& process, uint64_t address, uint64_t now_ns) {
  const auto place = maps_->Find(process, address, now_ns);
  if (!place) return {nullptr, address};
  const CodeLocation location{place->mapped->file, place->address};
  if (location.file->kind != v1::MAPPING_KIND_ANONYMOUS) return location;
  const PerfMaps::Answer known = perf_maps_.Find(process, address, now_ns);
  return known.name.empty() ? location : Generated(known.name);
}

// Addresses of generated code mean nothing beyond the process that made it; names do.
CodeLocation HostResolver::Generated(std::string_view name) {
  const uint64_t offset = XXH3_64bits(name.data(), name.size()) >> (64 - kGeneratedBits);
  if (generated_names_.Find(offset) == nullptr) {
    generated_names_.Put(offset, Demangled(name));
  }
  return {generated_, offset};
}

FunctionName HostResolver::Name(const ProcessRef& process, const CodeLocation& location) {
  if (!location.file) return {v1::NAME_OUTCOME_GONE, ""};
  switch (location.file->kind) {
    case v1::MAPPING_KIND_KERNEL: {
      std::string name = kernel_.NameAt(location);
      return {name.empty() ? v1::NAME_OUTCOME_NO_SYMBOL : v1::NAME_OUTCOME_NAMED, std::move(name)};
    }
    case v1::MAPPING_KIND_FILE:
      return NameInFile(process, location);
    case v1::MAPPING_KIND_VDSO:
      if (location.file->build_id.empty()) return {v1::NAME_OUTCOME_NO_SYMBOL, ""};
      return NameInFile(process, location);
    case v1::MAPPING_KIND_ANONYMOUS: {
      if (location.file != generated_) return {perf_maps_.Why(process), ""};
      const std::string* name = generated_names_.Find(location.offset);
      if (name == nullptr) return {v1::NAME_OUTCOME_NOT_IN_PERF_MAP, ""};
      return {v1::NAME_OUTCOME_GENERATED, *name};
    }
    default:
      return {v1::NAME_OUTCOME_NO_SYMBOL, ""};
  }
}

std::variant<OwnedFd, v1::NameOutcome> HostResolver::Open(const ProcessRef& process,
                                                          const CodeFile& file) {
  // A build id is the same in each copy of a file; a hash is of this one only.
  const uint64_t inode = IsHashedId(file.build_id) ? file.inode : 0;
  const int fd =
      file.kind == v1::MAPPING_KIND_VDSO ? OpenVdso() : maps_->OpenMapped(process, file, inode);
  if (fd == ProcessMaps::kUnanswered) return v1::NAME_OUTCOME_NO_ANSWER;
  if (fd < 0) return v1::NAME_OUTCOME_NO_FILE;
  OwnedFd opened(fd);
  // The path may lead to another file by now: names of the wrong one would be worse than none.
  const CodeIdentity identity = IdentifyCode(fd, file.device);
  if (!identity.is_elf || identity.build_id != file.build_id) return v1::NAME_OUTCOME_NO_FILE;
  return opened;
}

FunctionName HostResolver::NameInFile(const ProcessRef& process, const CodeLocation& location) {
  const CodeFile& file = *location.file;
  const ElfSymbols* symbols = symbols_.Find(file.build_id);
  if (symbols == nullptr) symbols = indexed_.Find(file.build_id);
  OwnedFd opened;
  v1::NameOutcome why = v1::NAME_OUTCOME_NO_SYMBOL;
  if (symbols == nullptr || symbols->indexed()) {
    auto answer = Open(process, file);
    if (const auto* refused = std::get_if<v1::NameOutcome>(&answer)) {
      if (symbols == nullptr) return {*refused, ""};
      why = *refused;
    } else {
      opened = std::get<OwnedFd>(std::move(answer));
    }
  }
  if (symbols == nullptr) {
    const uint64_t now = ClockNs(CLOCK_MONOTONIC);
    // Several that do not fit in together must not be read in turns for each name.
    const uint64_t* index_read = index_read_ns_.Find(file.build_id);
    if (index_read != nullptr && now - *index_read < kIndexAgainNs) {
      return {v1::NAME_OUTCOME_NO_ANSWER, ""};
    }
    ElfSymbols read = ElfSymbols::Read(opened.get(), options_.symbols);
    const size_t cost = std::max(kEmptyCost, read.bytes());
    if (read.indexed()) index_read_ns_.Put(file.build_id, now);
    symbols = &(read.indexed() ? indexed_ : symbols_).Put(file.build_id, std::move(read), cost);
  }
  const std::string name = opened.get() >= 0 ? symbols->NameIn(opened.get(), location.offset)
                                             : symbols->NameAt(location.offset);
  if (!name.empty()) return {v1::NAME_OUTCOME_NAMED, Demangled(name)};
  if (symbols->status().ok()) return {why, ""};
  return {absl::IsResourceExhausted(symbols->status()) ? v1::NAME_OUTCOME_LIMIT
                                                       : v1::NAME_OUTCOME_DAMAGED,
          ""};
}

}  // namespace telltale::agent
