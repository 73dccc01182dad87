// Walks one user stack outside the kernel: from the registers and the bytes that a sample copied to
// the return addresses of all frames, by the unwind rules of the code they lie in; through code
// that has none (a just-in-time compiler's) by frame pointers.
//
// Pure function of its arguments and of what the finder says; the bytes are untrusted and every
// access is checked against what was copied. The walk always ends: each frame lies above the one
// before, but for a signal handler's, and the number of frames is limited.

#ifndef TELLTALE_AGENT_UNWIND_STACK_WALKER_H_
#define TELLTALE_AGENT_UNWIND_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/sensor/user_unwinder.h"
#include "agent/unwind/unwind_rule.h"

namespace telltale::agent {

struct CodeAt {
  enum class Kind : uint8_t {
    kNothing,    // no code is mapped there
    kFile,       // of a file; its rule is kNone where it has no table or that does not speak of it
    kGenerated,  // not of a file: made while the program runs
    kBeyond,     // beyond what is known of what is mapped
  };
  Kind kind = Kind::kNothing;
  UnwindRule rule;         // of kind kFile
  bool postponed = false;  // its table is not there now, for want of time to build it
};

class CodeFinder {
 public:
  virtual ~CodeFinder() = default;
  virtual CodeAt Find(uint64_t address) = 0;
};

// Appends the addresses, leaf first, to `frames` (at most `max_frames` in all) and says how the
// walk ended. A caller's address is its return address. After a signal handler's frame comes the
// interrupted place itself, given as its address + 1, so that whoever looks one byte before a
// return address for the call finds it.
UserEnd WalkStack(const UserCopy& copy, CodeFinder& finder, size_t max_frames,
                  std::vector<uint64_t>& frames);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_STACK_WALKER_H_
