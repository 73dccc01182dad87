// Parser of .eh_frame, the call frame information that compilers leave in every program for
// exceptions (Linux Standard Base 5.0, 10.6; DWARF 4, 6.4), for x86-64: runs each function's
// instructions once and keeps what they say as the rows of an UnwindTable.
//
// The bytes are untrusted: every length is checked against what is there, nothing is followed
// twice, what a table may hold is limited. A function whose description cannot be read is skipped
// and counted; its code then has no rule. Pure function: any thread.

#ifndef TELLTALE_AGENT_UNWIND_CALL_FRAMES_H_
#define TELLTALE_AGENT_UNWIND_CALL_FRAMES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/unwind/unwind_table.h"

namespace telltale::agent {

struct CallFrames {
  UnwindTable table;
  uint64_t functions = 0;  // read
  uint64_t skipped = 0;    // could not be read
};

// `section`: all of .eh_frame, whose first byte the linker placed at `address`. ResourceExhausted:
// more than `limits`.
absl::StatusOr<CallFrames> ParseEhFrame(std::string_view section, uint64_t address,
                                        const UnwindTable::Limits& limits);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_CALL_FRAMES_H_
