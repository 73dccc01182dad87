#include "agent/sensor/stack_trimmer.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

// The machinery is never deeper: two frames of a program, its caller, the tracepoint's
// iterator, and for waits the scheduler.
constexpr size_t kDeepest = 7;

// The scheduler's two frames are on every stack of a wait that has ended and on none of an open
// one.
bool IsAboveTheEvent(const char* name) {
  return strcmp(name, "__schedule") == 0 || strcmp(name, "schedule") == 0 ||
         strncmp(name, "bpf_trace_run", 13) == 0 || strncmp(name, "__traceiter_", 12) == 0 ||
         strncmp(name, "__bpf_trace_", 12) == 0;
}

}  // namespace

void StackTrimmer::Load(std::istream& symbols) {
  std::vector<uint64_t> all;
  std::vector<uint64_t> begins;
  std::string line;
  while (std::getline(symbols, line)) {
    uint64_t address = 0;
    char type = 0, name[128] = {};
    if (sscanf(line.c_str(), "%" SCNx64 " %c %127s", &address, &type, name) != 3) continue;
    if (address == 0) return;  // hidden (kptr_restrict)
    all.push_back(address);
    if (IsAboveTheEvent(name)) begins.push_back(address);
  }
  std::ranges::sort(all);
  std::ranges::sort(begins);
  for (const uint64_t begin : begins) {
    const auto next = std::ranges::upper_bound(all, begin);
    if (next != all.end()) ranges_.emplace_back(begin, *next);
  }
}

bool StackTrimmer::IsMachinery(uint64_t address) const {
  auto it = std::ranges::upper_bound(ranges_, address, {}, &std::pair<uint64_t, uint64_t>::first);
  return it != ranges_.begin() && address < (--it)->second;
}

size_t StackTrimmer::Depth(const std::vector<uint64_t>& frames) const {
  size_t depth = 0;
  for (size_t i = 0; i < std::min(frames.size(), kDeepest); ++i) {
    if (IsMachinery(frames[i])) depth = i + 1;
  }
  return depth;
}

void StackTrimmer::Trim(RawSample& sample) const {
  std::vector<uint64_t>& frames = sample.stack.kernel;
  // A holder's may be that of a waker, too.
  for (RawPeer* const peer : {&sample.waker, &sample.holder}) {
    std::vector<uint64_t>& theirs = peer->stack.kernel;
    theirs.erase(theirs.begin(), theirs.begin() + static_cast<ptrdiff_t>(Depth(theirs)));
  }
  // A counter interrupts any code, the scheduler's too; its stack begins with what it interrupted.
  size_t drop = sample.vital == TELLTALE_LLC ? 0 : Depth(frames);
  if (sample.vital == TELLTALE_CPU && sample.detail[0] != 0) {
    const auto interrupted = std::ranges::find(frames, sample.detail[0]);
    if (interrupted != frames.end()) drop = static_cast<size_t>(interrupted - frames.begin());
  }
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(drop));
}

}  // namespace telltale::agent
