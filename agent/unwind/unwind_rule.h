// How to get from one frame of a user stack to its caller, at one place in the code: what DWARF
// call frame information says there, reduced to what x86-64 compilers make of it (System V ABI,
// AMD64 supplement, 3.7; DWARF 4, 6.4). Plain values.
//
// The canonical frame address (CFA) is the stack pointer before the call; the return address stands
// right below it.

#ifndef TELLTALE_AGENT_UNWIND_UNWIND_RULE_H_
#define TELLTALE_AGENT_UNWIND_UNWIND_RULE_H_

#include <cstdint>

namespace telltale::agent {

// DWARF numbers of registers (System V ABI, figure 3.36).
inline constexpr unsigned kRbx = 3, kRbp = 6, kRsp = 7, kRip = 16, kRegisters = 17;

// Values are on disk (table_file.h): never renumber.
enum class CfaRule : uint8_t {
  kNone = 0,         // no table speaks of this code
  kEnd = 1,          // the thread began here: it has no caller
  kUnsupported = 2,  // the table says something that fits no rule below
  kRegister = 3,     // CFA = register + offset
  kDeref = 4,        // CFA = 8 bytes at (register + offset >> 8) plus 8 * (offset & 255)
  kPlt = 5,          // linkage stub: CFA = rsp + 8, plus 8 from byte `offset` of its 16 on
  kSignal = 6,       // signal trampoline: rsp points at the ucontext of what was interrupted
  kInRegister = 7,   // CFA = register + offset >> 5; the return address is in register offset & 31
};

struct UnwindRule {
  int32_t offset = 0;
  CfaRule cfa = CfaRule::kNone;
  uint8_t base = 0;  // register of the CFA; kRbpByRbp, kRbxByRbp
  int8_t rbp = kSame;
  int8_t rbx = kSame;

  // Of rbp and rbx: the caller's value. Else it stands at CFA + 8 * value, or rbp + 8 * value.
  static constexpr int8_t kSame = -128;  // is still in the register
  static constexpr int8_t kLost = -127;  // is not known
  static constexpr int kLowest = -126, kHighest = 127;
  static constexpr uint8_t kRbpByRbp = 0x40, kRbxByRbp = 0x80, kRegisterMask = 0x1f;

  friend bool operator==(const UnwindRule&, const UnwindRule&) = default;
};
static_assert(sizeof(UnwindRule) == 8);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_UNWIND_RULE_H_
