// Turns what a sensor sees (executable ids, cgroup ids, code addresses) into what may travel:
// paths, and locations inside files. The live one reads /proc (host_resolver.h); the replay sensor
// brings its own.
//
// Owned by the agent's sensor thread, which is the only one that calls it. Every answer may be
// "unknown": the process may be gone, its files unreadable. Nothing here fails loudly; callers
// count.

#ifndef TELLTALE_AGENT_SYMBOLS_RESOLVER_H_
#define TELLTALE_AGENT_SYMBOLS_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "agent/sensor/sensor.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

// A process as the kernel names it. An exec keeps tgid and start_ns, but changes exe.
struct ProcessRef {
  uint32_t tgid = 0;
  uint64_t start_ns = 0;
  ExeId exe;
  uint64_t cgroup_id = 0;
  uint32_t parent = 0;  // forked from it and running the same program still, else 0
};

// What code is mapped from. Two files of equal kind, build_id and path are the same file.
struct CodeFile {
  v1::MappingKind kind = v1::MAPPING_KIND_UNSPECIFIED;
  std::string build_id;  // <= 32 bytes; see Mapping.build_id. Empty: places in it have no names
  std::string path;      // untrusted text
  uint64_t device = 0, inode = 0;  // as the maps name them, to find the file again; 0: none
};

// The path of code that lies in no file.
inline constexpr const char* kGeneratedCode = "[generated code]";

// A place in code. file == nullptr: unknown; offset is then the plain address.
// With a file, offset is the address the linker gave (virtual address minus load bias); of
// generated code that has a name it stands for the name (Tables.frame_offset).
struct CodeLocation {
  std::shared_ptr<const CodeFile> file;
  uint64_t offset = 0;
};

// What a location is called.
struct FunctionName {
  v1::NameOutcome outcome = v1::NAME_OUTCOME_UNSPECIFIED;
  std::string text;  // demangled; empty: it has none, and the outcome says why
};

// Whether another process, or the same one later, may know the name of a location that has none.
inline bool MayBeNamedLater(v1::NameOutcome outcome) {
  return outcome != v1::NAME_OUTCOME_NAMED && outcome != v1::NAME_OUTCOME_GENERATED &&
         outcome != v1::NAME_OUTCOME_NO_SYMBOL && outcome != v1::NAME_OUTCOME_DAMAGED &&
         outcome != v1::NAME_OUTCOME_LIMIT;
}

class Resolver {
 public:
  virtual ~Resolver() = default;

  // Path of the executable / cgroup; empty if unknown.
  virtual std::string ExePath(const ProcessRef& process) = 0;
  virtual std::string CgroupPath(const ProcessRef& process) = 0;

  // `now_ns` is the time of the sample (CLOCK_MONOTONIC): it bounds how often maps are read again.
  virtual CodeLocation User(const ProcessRef& process, uint64_t address, uint64_t now_ns) = 0;
  // file == nullptr: the address must not be shown (it would tell where the kernel was loaded).
  virtual CodeLocation Kernel(uint64_t address) = 0;

  // The function at a location that User or Kernel has just given. The source line and what is
  // inlined there are not asked for here: debug information lies where programs are built, and the
  // location is stored, so the collector can look them up later (collector/query/stack_names.h). An
  // agent that has it at hand would add them to FunctionName.
  virtual FunctionName Name(const ProcessRef& process, const CodeLocation& location) = 0;

  // A process has just called exec: remember what its executable is called.
  virtual void OnExec(const RawEvent& event) = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_RESOLVER_H_
