#include "agent/host/start_pages.h"

#include <malloc.h>
#include <sys/mman.h>

#include <string>

#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxSmaps = 8 << 20;

struct Region {
  CleanRegion at;
  bool of_file = false;  // private and not writable
  bool anonymous_told = false, swap_told = false;
  bool own_pages = false;
};

// The line that begins a region; false: it is another.
bool ReadHead(std::string_view line, Region& region) {
  const auto begin = TakeNumber(line, 16);
  if (!begin || !line.starts_with('-')) return false;
  line.remove_prefix(1);
  const auto end = TakeNumber(line, 16);
  if (!end || !line.starts_with(' ')) return false;
  const std::string_view rights = TakeWord(line);
  TakeWord(line);  // offset
  TakeWord(line);  // device
  const auto inode = TakeNumber(line);
  region = {};
  region.at = {*begin, *end};
  region.of_file = inode && *inode != 0 && rights.size() == 4 && rights[0] == 'r' &&
                   rights[1] == '-' && rights[3] == 'p';
  return true;
}

void ReadCount(std::string_view line, Region& region) {
  const std::string_view name = TakeWord(line);
  const bool anonymous = name == "Anonymous:", swap = name == "Swap:";
  if (!anonymous && !swap) return;
  (anonymous ? region.anonymous_told : region.swap_told) = true;
  const auto kilobytes = TakeNumber(line);
  region.own_pages |= !kilobytes || *kilobytes != 0;
}

}  // namespace

std::vector<CleanRegion> CleanRegions(std::string_view smaps) {
  std::vector<CleanRegion> clean;
  Region region;
  const auto end_region = [&] {
    // What a kernel does not tell cannot be known to be clean.
    if (region.of_file && region.anonymous_told && region.swap_told && !region.own_pages) {
      clean.push_back(region.at);
    }
  };
  ForEachLine(smaps, [&](std::string_view line) {
    Region next;
    if (ReadHead(line, next)) {
      end_region();
      region = next;
    } else {
      ReadCount(line, region);
    }
  });
  end_region();
  return clean;
}

void LetStartPagesGo() {
  malloc_trim(0);
  const auto smaps = ReadBounded("/proc/self/smaps", kMaxSmaps);
  if (!smaps.ok()) return;  // without /proc they stay
  for (const CleanRegion& region : CleanRegions(*smaps)) {
    // An address from the kernel's own list.
    madvise(reinterpret_cast<void*>(region.begin), region.end - region.begin, MADV_DONTNEED);
  }
}

}  // namespace telltale::agent
