#include "agent/unwind/frame_state.h"

#include <optional>

#include "agent/unwind/byte_reader.h"

namespace telltale::agent {
namespace {

// Operations of DWARF expressions (DWARF 4, 7.7.1).
constexpr uint8_t kDerefOp = 0x06, kPlusOp = 0x22, kPlusConstOp = 0x23, kLit0 = 0x30, kLit31 = 0x4f,
                  kBreg0 = 0x70, kBreg31 = 0x8f;

// What linkers write for the stubs of .plt: the CFA is rsp + 8 before the stub's push and rsp + 16
// after it: (((rip & 15) >= N) << 3) + rsp + 8, where byte 6 names N.
constexpr std::string_view kPltBegin("\x77\x08\x80\x00\x3f\x1a", 6);
constexpr std::string_view kPltEnd("\x2a\x33\x24\x22", 4);

struct BaseOffset {
  unsigned reg;
  int64_t offset;
};

// "register + offset" at the front of an expression.
std::optional<BaseOffset> TakeBase(ByteReader& reader) {
  const auto op = reader.Fixed<uint8_t>();
  if (!reader.ok() || op < kBreg0 || op > kBreg31) return std::nullopt;
  const BaseOffset base{static_cast<unsigned>(op - kBreg0), reader.Signed()};
  return reader.ok() ? std::optional(base) : std::nullopt;
}

// kSame and kLost are no offsets; false: the offset has no place in a rule.
bool Pack(const SavedRegister& saved, int8_t* value, uint8_t by_rbp, uint8_t* base) {
  *value = saved.kind == SavedRegister::Kind::kSame ? UnwindRule::kSame : UnwindRule::kLost;
  if (saved.kind == SavedRegister::Kind::kSame || saved.kind == SavedRegister::Kind::kLost) {
    return true;
  }
  const int64_t units = saved.offset / 8;
  if (saved.offset % 8 != 0 || units < UnwindRule::kLowest || units > UnwindRule::kHighest) {
    return false;
  }
  *value = static_cast<int8_t>(units);
  if (saved.kind == SavedRegister::Kind::kByRbp) *base |= by_rbp;
  return true;
}

}  // namespace

void FrameState::SetCfaExpression(std::string_view expression) {
  cfa = CfaRule::kUnsupported;
  if (expression.size() == 11 && expression.starts_with(kPltBegin) &&
      expression.ends_with(kPltEnd) && expression[6] >= kLit0 && expression[6] <= kLit0 + 15) {
    cfa = CfaRule::kPlt;
    offset = expression[6] - kLit0;
    return;
  }
  ByteReader reader(expression);
  const std::optional<BaseOffset> from = TakeBase(reader);
  if (!from) return;
  base = from->reg;
  offset = from->offset;
  added = 0;
  if (reader.empty()) {
    cfa = CfaRule::kRegister;
    return;
  }
  if (reader.Fixed<uint8_t>() != kDerefOp) return;
  if (!reader.empty()) {
    const auto op = reader.Fixed<uint8_t>();
    if (op == kPlusConstOp) {
      added = static_cast<int64_t>(reader.Unsigned());
    } else if (op >= kLit0 && op <= kLit31 && reader.Fixed<uint8_t>() == kPlusOp) {
      added = op - kLit0;
    } else {
      return;
    }
  }
  if (reader.ok() && reader.empty()) cfa = CfaRule::kDeref;
}

void FrameState::Save(uint64_t reg, SavedRegister where) {
  if (reg == kRbp) rbp = where;
  if (reg == kRbx) rbx = where;
  if (reg == kRip) {
    return_address = where.kind == SavedRegister::Kind::kByCfa && where.offset == -8
                         ? ReturnAddress::kAtCfa
                         : ReturnAddress::kElsewhere;
  }
}

void FrameState::SaveExpression(uint64_t reg, std::string_view expression) {
  ByteReader reader(expression);
  const std::optional<BaseOffset> at = TakeBase(reader);
  if (at && at->reg == kRbp && reader.empty()) {
    Save(reg, {SavedRegister::Kind::kByRbp, at->offset});
  } else {
    Save(reg, {SavedRegister::Kind::kLost, 0});
  }
}

void FrameState::Move(uint64_t reg, uint64_t to) {
  Save(reg, {SavedRegister::Kind::kLost, 0});
  if (reg != kRip || to >= kRip) return;
  return_address = ReturnAddress::kInRegister;
  return_register = to;
}

void FrameState::Undefine(uint64_t reg) {
  Save(reg, {SavedRegister::Kind::kLost, 0});
  if (reg == kRip) return_address = ReturnAddress::kNone;
}

void FrameState::Restore(uint64_t reg, const FrameState& initial) {
  if (reg == kRbp) rbp = initial.rbp;
  if (reg == kRbx) rbx = initial.rbx;
  if (reg == kRip) {
    return_address = initial.return_address;
    return_register = initial.return_register;
  }
}

UnwindRule FrameState::Reduced(bool signal) const {
  UnwindRule rule;
  if (signal) {
    rule.cfa = CfaRule::kSignal;
    return rule;
  }
  if (return_address == ReturnAddress::kNone) {
    rule.cfa = CfaRule::kEnd;
    return rule;
  }
  UnwindRule unsupported;
  unsupported.cfa = CfaRule::kUnsupported;
  if (return_address == ReturnAddress::kElsewhere || cfa == CfaRule::kUnsupported || base >= kRip) {
    return unsupported;
  }
  rule.cfa = cfa;
  rule.base = cfa == CfaRule::kPlt ? uint8_t{kRsp} : static_cast<uint8_t>(base);
  int64_t packed = offset;
  if (cfa == CfaRule::kDeref) {
    if (added < 0 || added % 8 != 0 || added / 8 > 255 || offset < -(1 << 23) ||
        offset >= 1 << 23) {
      return unsupported;
    }
    packed = offset * 256 + added / 8;
  }
  if (return_address == ReturnAddress::kInRegister) {
    if (cfa != CfaRule::kRegister || offset < -(1 << 26) || offset >= 1 << 26) return unsupported;
    rule.cfa = CfaRule::kInRegister;
    packed = offset * 32 + static_cast<int64_t>(return_register);
  }
  if (packed < INT32_MIN || packed > INT32_MAX) return unsupported;
  rule.offset = static_cast<int32_t>(packed);
  if (!Pack(rbp, &rule.rbp, UnwindRule::kRbpByRbp, &rule.base) ||
      !Pack(rbx, &rule.rbx, UnwindRule::kRbxByRbp, &rule.base)) {
    return unsupported;
  }
  return rule;
}

}  // namespace telltale::agent
