// The live Resolver: reads /proc of this host while the processes are still there.
//
// Every answer is checked against the process meant: pid and start time must agree, and the inode
// of its executable, since pids come round and exec replaces what is mapped. Files are opened
// through /proc/PID/root, so those of other mount namespaces resolve, and only if the inode is the
// mapped one. All caches are bounded. One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_
#define TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agent/symbols/elf_file.h"
#include "agent/symbols/kallsyms.h"
#include "agent/symbols/lru_cache.h"
#include "agent/symbols/proc_maps.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class HostResolver : public Resolver {
 public:
  struct Options {
    std::string root;  // where proc and sys are: empty for "/", or a test's directory
    size_t processes = 1'024;
    size_t regions_per_process = 1'024;  // executable ones
    size_t regions = 64 * 1'024;         // of all cached processes
    size_t maps_bytes = 4 << 20;         // read of one maps file
    size_t files = 2'048;
    size_t paths = 8'192;              // of executables and of cgroups, each
    size_t symbol_bytes = 8 << 20;     // function names of files, all together
    uint64_t reread_ns = 100'000'000;  // maps are read again at most this often
    uint64_t clock_ticks = 100;        // per second in /proc/PID/stat (USER_HZ)
    // CLOCK_BOOTTIME - CLOCK_MONOTONIC: start times are the one in /proc, the other in samples.
    std::function<int64_t()> boot_minus_mono_ns;
    ElfSymbols::Limits symbols;
  };
  explicit HostResolver(Options options);

  std::string ExePath(const ProcessRef& process) override;
  std::string CgroupPath(const ProcessRef& process) override;
  CodeLocation User(const ProcessRef& process, uint64_t address, uint64_t now_ns) override;
  CodeLocation Kernel(uint64_t address) override { return kernel_.Locate(address); }
  std::optional<std::string> Name(const ProcessRef& process, const CodeLocation& location) override;
  void OnExec(const RawEvent& event) override;

 private:
  using ExeKey = std::tuple<uint64_t, uint64_t, uint32_t>;
  using ProcessKey = std::tuple<uint32_t, uint64_t, ExeKey>;
  using FileKey = std::tuple<uint64_t, uint64_t, std::string>;
  struct Mapped {  // a file, and how its offsets become addresses
    std::shared_ptr<const CodeFile> file;
    std::vector<ElfSegment> segments;
  };
  struct Maps {
    std::vector<MappedRegion> regions;
    std::vector<std::shared_ptr<const Mapped>> files;  // per region, found when first needed
    uint64_t read_ns = 0;
  };

  std::string ProcPath(uint32_t tgid, const char* what) const;
  bool IsAlive(const ProcessRef& process) const;
  bool RunsItsExe(const ProcessRef& process) const;
  Maps& ReadMaps(const ProcessRef& process, uint64_t now_ns);
  std::shared_ptr<const Mapped> Identify(const ProcessRef& process, const MappedRegion& region);
  int OpenMapped(uint32_t tgid, const std::string& path, uint64_t inode) const;

  const Options options_;
  Kallsyms kernel_;
  LruCache<ProcessKey, Maps> maps_;
  LruCache<FileKey, std::shared_ptr<const Mapped>> files_;
  LruCache<std::string, ElfSymbols> symbols_;  // by build id
  LruCache<ExeKey, std::string> exe_paths_, exec_paths_;
  LruCache<uint64_t, std::string> cgroup_paths_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_
