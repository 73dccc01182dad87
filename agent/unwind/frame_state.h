// The state of the little machine that call frame instructions run on (DWARF 4, 6.4.2), kept to the
// registers an UnwindRule speaks of, and its reduction to one. Plain values.

#ifndef TELLTALE_AGENT_UNWIND_FRAME_STATE_H_
#define TELLTALE_AGENT_UNWIND_FRAME_STATE_H_

#include <cstdint>
#include <string_view>

#include "agent/unwind/unwind_rule.h"

namespace telltale::agent {

// Where a register's value in the caller is found.
struct SavedRegister {
  enum class Kind : uint8_t { kSame, kByCfa, kByRbp, kLost };
  Kind kind = Kind::kSame;
  int64_t offset = 0;
  friend bool operator==(const SavedRegister&, const SavedRegister&) = default;
};

enum class ReturnAddress : uint8_t {
  kUnstated,  // by the architecture's convention: right below the CFA
  kAtCfa,     // stated to be there
  kNone,      // undefined: the outermost frame
  kInRegister,
  kElsewhere,
};

struct FrameState {
  CfaRule cfa = CfaRule::kUnsupported;  // kRegister, kDeref, kPlt or kUnsupported
  uint64_t base = 0;                    // register of the CFA
  int64_t offset = 0;                   // kPlt: threshold
  int64_t added = 0;                    // kDeref: to what was read
  SavedRegister rbp, rbx;
  ReturnAddress return_address = ReturnAddress::kUnstated;
  uint64_t return_register = 0;  // kInRegister

  // Instructions; register numbers are DWARF's, any number may come.
  void SetCfaExpression(std::string_view expression);
  void Save(uint64_t reg, SavedRegister where);  // kByCfa: by offset from the CFA
  void SaveExpression(uint64_t reg, std::string_view expression);
  void Move(uint64_t reg, uint64_t to);  // the caller's value is in another register
  void Undefine(uint64_t reg);
  void Restore(uint64_t reg, const FrameState& initial);

  // `signal`: the function is a signal trampoline.
  UnwindRule Reduced(bool signal) const;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_FRAME_STATE_H_
