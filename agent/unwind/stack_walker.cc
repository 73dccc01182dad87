#include "agent/unwind/stack_walker.h"

namespace telltale::agent {
namespace {

constexpr uint32_t Bit(unsigned reg) { return uint32_t{1} << reg; }

// Where the kernel leaves the interrupted registers for a signal handler: offsets into the ucontext
// that rsp points at when the handler has returned (asm/ucontext.h, asm/sigcontext.h), in the
// order of DWARF's numbers.
constexpr uint16_t kInContext[kRegisters] = {
    144, 136, 152, 128, 112, 104, 120, 160,  // rax rdx rcx rbx rsi rdi rbp rsp
    40,  48,  56,  64,  72,  80,  88,  96,   // r8 to r15
    168,                                     // rip
};

// A chain of frame pointers takes no larger step: what does is a register used for something else.
constexpr uint64_t kLargestFrame = 1 << 20;

// The kernel copies that much above where a thread's stack begins (sample path, stack.bpf.h).
constexpr uint64_t kBeginBytes = 64;

class Walk {
 public:
  explicit Walk(const UserCopy& copy) : copy_(copy), value_(copy.registers) {}

  uint64_t ip() const { return value_[kRip]; }
  // The address to look up: in the call, not behind it.
  uint64_t lookup() const { return exact_ ? ip() : ip() - 1; }
  // The address to report.
  uint64_t frame() const { return exact_ && !leaf_ ? ip() + 1 : ip(); }

  // Goes to the caller; kNone: there is one. Else why there is none.
  UserEnd Step(const UnwindRule& rule) {
    switch (rule.cfa) {
      case CfaRule::kEnd:
        return UserEnd::kComplete;
      case CfaRule::kSignal:
        return StepSignal();
      case CfaRule::kRegister:
      case CfaRule::kDeref:
      case CfaRule::kPlt:
      case CfaRule::kInRegister:
        return StepByRule(rule);
      default:
        return UserEnd::kUnsupported;
    }
  }

  // Some linkers write no information for the stubs they make (mold's .plt). A leaf without any is
  // taken for one if a return address into code that has some is on top of the stack, or below the
  // one or two words that a stub pushes to have its function looked up.
  bool StepFromStub(CodeFinder& finder) {
    if (!leaf_) return false;
    for (uint64_t at = value_[kRsp], end = at + 24; at != end; at += 8) {
      uint64_t caller_ip = 0;
      if (!copy_.Read(at, &caller_ip)) return false;
      const CodeAt code = finder.Find(caller_ip - 1);
      if (code.rule.cfa == CfaRule::kNone) continue;
      known_ = Bit(kRsp) | Bit(kRbp) | Bit(kRbx);
      Enter(caller_ip, at + 8);
      return true;
    }
    return false;
  }

  // By the frame pointer; `without`: the reason if there is none to follow.
  UserEnd StepByFramePointer(UserEnd without) {
    const uint64_t bp = value_[kRbp], sp = value_[kRsp];
    if ((known_ & Bit(kRbp)) == 0) return without;
    // Zero marks the outermost frame (System V ABI, AMD64 supplement, 3.4.1). In a leaf it may be
    // any function's passing value.
    if (bp == 0 && (!leaf_ || AtBegin())) return UserEnd::kComplete;
    if (bp < sp || bp % 8 != 0 || bp - sp > kLargestFrame) return without;
    uint64_t caller_bp = 0, caller_ip = 0;
    if (!copy_.Read(bp, &caller_bp) || !copy_.Read(bp + 8, &caller_ip)) return UserEnd::kWindow;
    Enter(caller_ip, bp + 16);
    value_[kRbp] = caller_bp;
    known_ = Bit(kRsp) | Bit(kRbp);
    return caller_ip == 0 ? UserEnd::kComplete : UserEnd::kNone;
  }

 private:
  // Whether nothing but the thread's beginning is above.
  bool AtBegin() const {
    return value_[kRsp] + kBeginBytes >= copy_.stack_address + copy_.stack.size();
  }

  void Enter(uint64_t ip, uint64_t sp) {
    value_[kRip] = ip;
    value_[kRsp] = sp;
    exact_ = leaf_ = false;
  }

  UserEnd StepByRule(const UnwindRule& rule) {
    const unsigned base = rule.base & UnwindRule::kRegisterMask;
    if ((known_ & Bit(base)) == 0) return UserEnd::kUnsupported;
    uint64_t cfa = value_[base];
    if (rule.cfa == CfaRule::kRegister) {
      cfa += static_cast<uint64_t>(int64_t{rule.offset});
    } else if (rule.cfa == CfaRule::kInRegister) {
      cfa += static_cast<uint64_t>(int64_t{rule.offset >> 5});
    } else if (rule.cfa == CfaRule::kPlt) {
      cfa += (ip() & 15) >= static_cast<uint64_t>(rule.offset) ? 16 : 8;
    } else {
      const uint64_t at = cfa + static_cast<uint64_t>(int64_t{rule.offset >> 8});
      if (!copy_.Read(at, &cfa)) return Missing(at);
      cfa += uint64_t{8} * (static_cast<uint32_t>(rule.offset) & 255);
    }
    uint64_t caller_ip = 0;
    if (rule.cfa == CfaRule::kInRegister) {
      const unsigned in = static_cast<unsigned>(rule.offset) & 31;
      // Only a leaf can have it there, so that its frame may be empty.
      if (!leaf_ || in >= kRip || cfa < value_[kRsp]) return UserEnd::kUnsupported;
      caller_ip = value_[in];
    } else {
      if (cfa <= value_[kRsp] || cfa % 8 != 0) return UserEnd::kBadFrame;
      if (!copy_.Read(cfa - 8, &caller_ip)) return UserEnd::kWindow;
    }
    const uint64_t rbp = value_[kRbp];
    uint32_t known = Bit(kRsp);
    if (UserEnd end = Restore(kRbp, rule.rbp, rule.base & UnwindRule::kRbpByRbp ? rbp : cfa, known);
        end != UserEnd::kNone) {
      return end;
    }
    if (UserEnd end = Restore(kRbx, rule.rbx, rule.base & UnwindRule::kRbxByRbp ? rbp : cfa, known);
        end != UserEnd::kNone) {
      return end;
    }
    known_ = known;
    Enter(caller_ip, cfa);
    return caller_ip == 0 ? UserEnd::kComplete : UserEnd::kNone;
  }

  UserEnd Restore(unsigned reg, int8_t where, uint64_t base, uint32_t& known) {
    if (where == UnwindRule::kLost) return UserEnd::kNone;
    const uint64_t at = base + static_cast<uint64_t>(int64_t{where} * 8);
    // In an epilogue compilers go on to name the place that a register was popped from, now below
    // the stack pointer: it has the caller's value again.
    if (where != UnwindRule::kSame && at >= value_[kRsp]) {
      if (!copy_.Read(at, &value_[reg])) return Missing(at);
      known |= Bit(reg);
    } else {
      known |= known_ & Bit(reg);
    }
    return UserEnd::kNone;
  }

  UserEnd StepSignal() {
    const uint64_t context = value_[kRsp];
    std::array<uint64_t, kRegisters> interrupted;
    for (unsigned reg = 0; reg < kRegisters; ++reg) {
      if (!copy_.Read(context + kInContext[reg], &interrupted[reg])) return UserEnd::kWindow;
    }
    value_ = interrupted;
    known_ = ~uint32_t{0};
    exact_ = true;
    leaf_ = false;
    return UserEnd::kNone;
  }

  // What lies below the stack pointer was never copied because no rule should ask for it.
  UserEnd Missing(uint64_t address) const {
    return address < copy_.stack_address ? UserEnd::kBadFrame : UserEnd::kWindow;
  }

  const UserCopy& copy_;
  std::array<uint64_t, kRegisters> value_;
  uint32_t known_ = ~uint32_t{0};  // registers whose value is this frame's
  bool exact_ = true;              // the place itself, not a return address
  bool leaf_ = true;
};

}  // namespace

UserEnd WalkStack(const UserCopy& copy, CodeFinder& finder, size_t max_frames,
                  std::vector<uint64_t>& frames) {
  Walk walk(copy);
  frames.push_back(walk.frame());
  for (;;) {
    const CodeAt code = finder.Find(walk.lookup());
    if (code.kind == CodeAt::Kind::kNothing || code.kind == CodeAt::Kind::kBeyond) {
      if (frames.size() > 1) frames.pop_back();  // no code that is known: not a frame
      return code.kind == CodeAt::Kind::kBeyond ? UserEnd::kMapsLimit : UserEnd::kBadPlace;
    }
    UserEnd end = UserEnd::kNone;
    if (code.kind == CodeAt::Kind::kGenerated) {
      end = walk.StepByFramePointer(UserEnd::kGenerated);
    } else if (code.rule.cfa == CfaRule::kNone) {
      const UserEnd without = code.postponed ? UserEnd::kPostponed : UserEnd::kNoTable;
      if (!walk.StepFromStub(finder)) end = walk.StepByFramePointer(without);
    } else {
      end = walk.Step(code.rule);
    }
    if (end != UserEnd::kNone) return end;
    if (frames.size() >= max_frames) return UserEnd::kDepth;
    frames.push_back(walk.frame());
  }
}

}  // namespace telltale::agent
