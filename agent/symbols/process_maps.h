// Which file's code lies where in the processes of this host: /proc/PID/maps read while they live,
// and what each mapped file says about itself.
//
// Every answer is checked against the process meant: pid and start time must agree, and the inode
// of its executable, since pids come round and exec replaces what is mapped. Files are opened
// through /proc/PID/root, so those of other mount namespaces resolve, and only if the inode is the
// mapped one. What a file says is remembered until it was written or replaced. All caches are
// bounded, and no file keeps the caller waiting (file_systems.h). One thread: the sensor thread's
// resolver and unwinder share one, so that a process is read once.

#ifndef TELLTALE_AGENT_SYMBOLS_PROCESS_MAPS_H_
#define TELLTALE_AGENT_SYMBOLS_PROCESS_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/symbols/code_identity.h"
#include "agent/symbols/elf_file.h"
#include "agent/symbols/file_systems.h"
#include "agent/symbols/lru_cache.h"
#include "agent/symbols/proc_maps.h"
#include "agent/symbols/resolver.h"

namespace telltale::agent {

class ProcessMaps {
 public:
  struct Options {
    std::string root;  // where proc and sys are: empty for "/", or a test's directory
    size_t processes = 1'024;
    size_t regions_per_process = 4'096;  // executable ones, the lowest
    size_t regions = 64 * 1'024;         // of all cached processes
    size_t maps_bytes = 64 << 20;        // read of one maps file
    size_t files = 2'048;
    // Maps are read again at most this often; of a process just met sooner, as it loads its
    // libraries then; later where that taught nothing, or the maps are long.
    uint64_t reread_ns = 100'000'000;
    uint64_t clock_ticks = 100;  // per second in /proc/PID/stat (USER_HZ)
    // CLOCK_BOOTTIME - CLOCK_MONOTONIC: start times are the one in /proc, the other in samples.
    std::function<int64_t()> boot_minus_mono_ns;
  };
  struct Mapped {         // a file, and how its offsets become addresses
    uint64_t serial = 0;  // of all ever made: never names two
    uint64_t inode = 0;   // 0: no file
    std::shared_ptr<const CodeFile> file;
    std::vector<ElfSegment> segments;
  };
  struct Place {
    const Mapped* mapped;  // valid until the next call
    uint64_t address = 0;  // as the linker gave it; the offset in the file if no segment loads it
  };
  explicit ProcessMaps(Options options);

  // What `address` belongs to; nullopt: nothing executable is mapped there, or the process was gone
  // before it could be asked (then Reading is 0). `now_ns` is the time of the sample
  // (CLOCK_MONOTONIC): it bounds how often maps are read again.
  std::optional<Place> Find(const ProcessRef& process, uint64_t address, uint64_t now_ns);
  // Whether nothing is known of that address because of a limit: of how many regions are kept of a
  // process, or of how many the kernel noted as it went.
  bool IsBeyondKnown(const ProcessRef& process, uint64_t address, uint64_t now_ns);
  // Names its maps as they have been read, now or before it went: whoever remembers what Find
  // answered asks again under another number. 0: they are not known.
  uint64_t Reading(const ProcessRef& process, uint64_t now_ns);

  // What a process had mapped when it ended or became another program, perhaps the same one anew.
  struct Departed {
    std::vector<MappedRegion> regions;  // executable, ascending; none: nobody could look
    bool cut = false;                   // it had more, at higher addresses
    uint64_t ns = UINT64_MAX;           // when (CLOCK_MONOTONIC): later samples are not of these
  };
  // From whoever saw that: their paths are those by which their files were met before; what is of
  // files never met is left out, unless a parent that runs the same program lends its own. What
  // was read of the process while it lived fills in what was cut or could not be looked at.
  void Remember(const ProcessRef& process, Departed departed);
  // The path of an executable, as it was asked for.
  void OnExec(const ExeId& exe, const std::string& path);

  // Whether the process with this pid is the one that began at start_ns.
  bool IsAlive(const ProcessRef& process) const;
  // Whether it still runs the executable it ran when the event happened.
  bool RunsItsExe(const ProcessRef& process) const;
  std::string ProcPath(uint32_t tgid, const char* what) const;

  // Opens what a process, or the parent it is a copy of, has mapped, if its path, or where both are
  // gone that path here, still leads to that file (inode 0: to any); -1 if not, kUnanswered if the
  // file system does not answer. The caller closes it.
  static constexpr int kUnanswered = -2;
  int OpenMapped(const ProcessRef& process, const CodeFile& file, uint64_t inode);

  // Asked before any file is touched that the process chose.
  FileSystems& file_systems() { return file_systems_; }

 private:
  using ExeKey = std::tuple<uint64_t, uint64_t, uint32_t>;
  using ProcessKey = std::tuple<uint32_t, uint64_t, ExeKey>;
  using FileKey = std::tuple<uint64_t, uint64_t, std::string>;
  struct IdentifiedFile {
    std::shared_ptr<const Mapped> mapped;
    FileStamp stamp;  // when it was identified
  };
  struct Maps {
    bool partial = false;  // remembered without regions of files that were never met
    std::vector<MappedRegion> regions;
    std::vector<std::shared_ptr<const Mapped>> files;  // per region, found when first needed
    uint64_t read_ns = 0;
    uint64_t number = 0;             // of all readings ever made
    uint64_t again_ns = UINT64_MAX;  // a file did not answer: read again from then on
    uint64_t ended_ns = UINT64_MAX;  // remembered: the process had these until then
    size_t hint = 0;  // the region found last: a stack's frames are mostly in one file
    uint64_t known_to = UINT64_MAX;  // it has more regions, from here on
    size_t bytes = 0;                // of text
    unsigned rereads = 0, in_vain = 0;
  };

  // Of its first thread, if it is the process meant.
  std::optional<char> StateOf(const ProcessRef& process) const;
  int OpenThrough(uint32_t tgid, const CodeFile& file, uint64_t inode);
  int OpenHere(const CodeFile& file, uint64_t inode);
  void LearnPath(const MappedRegion& region);
  static const MappedRegion* FindHinted(const Maps& maps, uint64_t address);
  Maps& Of(const ProcessRef& process, uint64_t now_ns);
  Maps& Read(const ProcessRef& process, uint64_t now_ns, unsigned rereads = 0);
  Maps& Keep(const ProcessKey& key, Maps maps);
  // Takes over what `known` says of the same process: paths, identified files, and what lies beyond
  // the regions that it departed with, if those were cut.
  static void Complete(const Maps& known, bool cut, Maps& maps);
  bool MayReread(const Maps& maps, uint64_t now_ns) const;
  // What a process that is gone had mapped, or one that has called exec since: as long as it only
  // was a copy of its parent, the same. Nothing if the parent is gone too or runs something else.
  void BorrowFromParent(const ProcessRef& process, uint64_t now_ns, Maps& maps);
  // Once for each region of a reading, as a file may be another one by the next.
  struct Identified {
    std::shared_ptr<const Mapped> mapped;
    bool answered = true;
  };
  Identified Identify(const ProcessRef& process, const MappedRegion& region);
  // Whether a file may have become another one. Not if it cannot be found or asked about: it is as
  // known then.
  bool HasChanged(const ProcessRef& process, const MappedRegion& region, const FileStamp& stamp);
  const std::string& VdsoBuildId();

  const Options options_;
  FileSystems file_systems_;
  LruCache<ProcessKey, Maps> maps_;
  LruCache<FileKey, IdentifiedFile> files_;
  LruCache<std::pair<uint64_t, uint64_t>, std::string> paths_;  // by device and inode
  // The process asked about last: a stack asks for each of its frames.
  ProcessKey last_key_;
  Maps* last_ = nullptr;
  uint64_t serial_ = 0, readings_ = 0;
  std::optional<std::string> vdso_build_id_;  // once it was asked for; empty: it has none
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_PROCESS_MAPS_H_
