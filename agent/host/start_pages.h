// What only the start of a process needed of its program and libraries: symbol tables, relocations,
// code that runs once. Some 10 MB of a process that links gRPC. Free function: any thread.

#ifndef TELLTALE_AGENT_HOST_START_PAGES_H_
#define TELLTALE_AGENT_HOST_START_PAGES_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace telltale::agent {

// Takes the pages of files out of this process that are as they are in the file, and gives freed
// heap back. Nothing is lost: what is used again comes back from the page cache, at a page fault
// each 64 KB. Call it once, after the start.
void LetStartPagesGo();

// A part of the address space that may be taken out.
struct CleanRegion {
  size_t begin = 0, end = 0;  // [begin, end)
  friend bool operator==(const CleanRegion&, const CleanRegion&) = default;
};

// The regions of `smaps` (/proc/self/smaps) that are a file's private, not writable, and without
// one page of the process's own: relocated data is such, in memory or swapped out.
std::vector<CleanRegion> CleanRegions(std::string_view smaps);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_START_PAGES_H_
