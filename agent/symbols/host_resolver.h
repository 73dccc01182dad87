// The live Resolver: reads /proc of this host while the processes are still there
// (process_maps.h), and the files they run. All caches are bounded. One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_
#define TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <variant>

#include "agent/owned_fd.h"
#include "agent/symbols/elf_symbols.h"
#include "agent/symbols/kallsyms.h"
#include "agent/symbols/lru_cache.h"
#include "agent/symbols/perf_maps.h"
#include "agent/symbols/process_maps.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class HostResolver : public Resolver {
 public:
  struct Options : ProcessMaps::Options {
    size_t paths = 8'192;            // of executables and of cgroups, each
    size_t symbol_bytes = 8 << 20;   // function names of files, packed, all together
    size_t index_bytes = 10 << 20;   // of files with more functions than are kept by name
    size_t generated_names = 4'096;  // between their location's finding and its naming
    ElfSymbols::Limits symbols;
    PerfMaps::Options perf_maps;
  };
  // `maps`: shared with whoever else asks about the same processes; null: its own.
  explicit HostResolver(Options options, std::shared_ptr<ProcessMaps> maps = nullptr);

  std::string ExePath(const ProcessRef& process) override;
  std::string CgroupPath(const ProcessRef& process) override;
  CodeLocation User(const ProcessRef& process, uint64_t address, uint64_t now_ns) override;
  CodeLocation Kernel(uint64_t address) override { return kernel_.Locate(address); }
  FunctionName Name(const ProcessRef& process, const CodeLocation& location) override;
  void OnExec(const RawEvent& event) override;

 private:
  using ExeKey = std::tuple<uint64_t, uint64_t, uint32_t>;

  CodeLocation Generated(std::string_view name);
  FunctionName NameInFile(const ProcessRef& process, const CodeLocation& location);
  // The file that was mapped, by its build id; why not: an outcome.
  std::variant<OwnedFd, v1::NameOutcome> Open(const ProcessRef& process, const CodeFile& file);

  const Options options_;
  Kallsyms kernel_;
  const std::shared_ptr<ProcessMaps> maps_;
  PerfMaps perf_maps_;
  LruCache<std::string, ElfSymbols> symbols_, indexed_;  // by build id
  LruCache<std::string, uint64_t> index_read_ns_;        // when it was; CLOCK_MONOTONIC
  const std::shared_ptr<const CodeFile> generated_;
  LruCache<uint64_t, std::string> generated_names_;  // by offset in it
  LruCache<ExeKey, std::string> exe_paths_, exec_paths_;
  LruCache<uint64_t, std::string> cgroup_paths_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_HOST_RESOLVER_H_
