#include "agent/unwind/call_frames.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/unwind/byte_reader.h"
#include "agent/unwind/frame_state.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxCies = 65'536;
// Descriptions may name any place as their CIE, overlapping ones too: short ones bound the work.
constexpr size_t kMaxCieBytes = 1'024;
constexpr size_t kMaxRemembered = 64;

// Pointer encodings (LSB 5.0, 10.5.1).
constexpr uint8_t kOmit = 0xff, kIndirect = 0x80, kFormatMask = 0x0f, kAppliedMask = 0x70,
                  kAbsolute = 0x00, kPcRelative = 0x10;

// Call frame instructions (DWARF 4, 7.23, and two of GNU).
enum Instruction : uint8_t {
  kAdvance = 0x40,  // the upper two bits; the lower six are an operand
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kInRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSf = 0x15,
  kValueExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffset = 0x2f,
};

struct Cie {
  bool good = false;
  bool signal = false;
  bool augmented = false;  // its functions have an augmentation of their own
  uint8_t pointers = kAbsolute;
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  FrameState initial;
};

// Products and sums of untrusted numbers wrap; what comes out is range-checked where it is used.
int64_t Times(uint64_t a, int64_t b) { return static_cast<int64_t>(a * static_cast<uint64_t>(b)); }

class Parser {
 public:
  Parser(std::string_view section, uint64_t address, const UnwindTable::Limits& limits)
      : section_(section), address_(address), builder_(limits) {}

  absl::StatusOr<CallFrames> Parse() {
    size_t at = 0;
    while (at < section_.size() && !builder_.full()) {
      ByteReader header(section_.substr(at));
      uint64_t length = header.Fixed<uint32_t>();
      if (length == UINT32_MAX) length = header.Fixed<uint64_t>();
      if (!header.ok()) break;
      const size_t entry = at + header.at();  // where `length` counts from
      if (length > section_.size() - entry) break;
      at = entry + length;
      if (length == 0) continue;  // a terminator; what other objects brought may follow
      ByteReader reader(section_.substr(entry, length));
      const auto id = reader.Fixed<uint32_t>();
      if (id == 0) continue;  // a CIE: read when a function names it
      if (reader.ok() && id <= entry && ReadFunction(entry - id, entry, reader)) {
        ++result_.functions;
      } else {
        ++result_.skipped;
      }
    }
    absl::StatusOr<UnwindTable> table = builder_.Finish();
    if (!table.ok()) return table.status();
    result_.table = *std::move(table);
    return std::move(result_);
  }

 private:
  uint64_t Pointer(ByteReader& reader, uint64_t place, uint8_t encoding) {
    const uint64_t from = place + reader.at();
    uint64_t value = 0;
    switch (encoding & kFormatMask) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = reader.Fixed<uint64_t>();
        break;
      case 0x01:
        value = reader.Unsigned();
        break;
      case 0x02:
        value = reader.Fixed<uint16_t>();
        break;
      case 0x03:
        value = reader.Fixed<uint32_t>();
        break;
      case 0x09:
        value = static_cast<uint64_t>(reader.Signed());
        break;
      case 0x0a:
        value = static_cast<uint64_t>(int64_t{reader.Fixed<int16_t>()});
        break;
      default:
        value = static_cast<uint64_t>(int64_t{reader.Fixed<int32_t>()});
        break;
    }
    return (encoding & kAppliedMask) == kPcRelative ? from + value : value;
  }

  static bool Readable(uint8_t encoding) {
    const uint8_t applied = encoding & kAppliedMask;
    return encoding != kOmit && (encoding & kIndirect) == 0 &&
           (applied == kAbsolute || applied == kPcRelative);
  }

  // The CIE at a place in the section; not good if it cannot be read.
  const Cie& CieAt(size_t at) {
    if (const auto it = cies_.find(at); it != cies_.end()) return it->second;
    static const Cie kBad;
    if (cies_.size() >= kMaxCies) return kBad;
    return cies_[at] = ReadCie(at);
  }

  Cie ReadCie(size_t at) {
    Cie cie;
    ByteReader header(section_.substr(at));
    uint64_t length = header.Fixed<uint32_t>();
    if (length == UINT32_MAX) length = header.Fixed<uint64_t>();
    if (length > kMaxCieBytes) return cie;
    ByteReader reader(header.Bytes(length));
    if (!header.ok() || reader.Fixed<uint32_t>() != 0) return cie;
    const auto version = reader.Fixed<uint8_t>();
    if (version != 1 && version != 3) return cie;
    std::string_view augmentation = reader.Text();
    cie.code_factor = reader.Unsigned();
    cie.data_factor = reader.Signed();
    const uint64_t return_column = version == 1 ? reader.Fixed<uint8_t>() : reader.Unsigned();
    if (!reader.ok() || return_column != kRip) return cie;
    if (augmentation.starts_with('z')) {
      cie.augmented = true;
      ByteReader data(reader.Bytes(reader.Unsigned()));
      for (const char c : augmentation.substr(1)) {
        if (c == 'R') {
          cie.pointers = data.Fixed<uint8_t>();
        } else if (c == 'P') {
          Pointer(data, 0, data.Fixed<uint8_t>());
        } else if (c == 'L') {
          data.Fixed<uint8_t>();
        } else if (c == 'S') {
          cie.signal = true;
        } else if (c != 'B') {
          return cie;
        }
      }
      if (!data.ok()) return cie;
    } else if (!augmentation.empty()) {
      return cie;
    }
    if (!reader.ok() || !Readable(cie.pointers)) return cie;
    // Its instructions set up what every function begins with; they name no place in the code.
    FrameState state;
    if (!Run(reader, 0, cie, state, state, nullptr)) return cie;
    cie.initial = state;
    cie.good = true;
    return cie;
  }

  // `entry`: place of the description's first byte in the section.
  bool ReadFunction(size_t cie_at, size_t entry, ByteReader& reader) {
    const Cie& cie = CieAt(cie_at);
    if (!cie.good) return false;
    const uint64_t begin = Pointer(reader, address_ + entry, cie.pointers);
    const uint64_t length = Pointer(reader, 0, cie.pointers & kFormatMask);
    if (cie.augmented) reader.Bytes(reader.Unsigned());
    if (!reader.ok()) return false;
    if (length == 0 || begin + length < begin) return false;
    builder_.BeginFunction(begin, begin + length);
    FrameState state = cie.initial;
    uint64_t location = begin;
    const bool whole = Run(reader, entry, cie, cie.initial, state, &location);
    // Of a description broken off in the middle nothing is known from there on.
    UnwindRule last;
    if (whole) last = state.Reduced(cie.signal);
    builder_.Add(location, last);
    return whole;
  }

  // Runs instructions to the end of `reader`. location: null in a CIE. A row is added whenever the
  // place moves on, for the state up to there.
  bool Run(ByteReader& reader, size_t entry, const Cie& cie, const FrameState& initial,
           FrameState& state, uint64_t* location) {
    remembered_.clear();
    const auto move_to = [&](uint64_t to) {
      if (location == nullptr || to < *location) return false;
      if (to != *location) builder_.Add(*location, state.Reduced(cie.signal));
      *location = to;
      return !builder_.full();
    };
    const auto by = [&](uint64_t delta) {
      return location != nullptr && move_to(*location + delta * cie.code_factor);
    };
    const auto by_cfa = [&](int64_t offset) {
      return SavedRegister{SavedRegister::Kind::kByCfa, offset};
    };
    while (reader.ok() && !reader.empty()) {
      const auto code = reader.Fixed<uint8_t>();
      const uint8_t low = code & 0x3f;
      switch (code & 0xc0) {
        case kAdvance:
          if (!by(low)) return false;
          continue;
        case kOffset:
          state.Save(low, by_cfa(Times(reader.Unsigned(), cie.data_factor)));
          continue;
        case kRestore:
          state.Restore(low, initial);
          continue;
        default:
          break;
      }
      // The order of evaluation of operands matters: each has its own statement.
      uint64_t reg = 0;
      switch (code) {
        case kNop:
          break;
        case kSetLocation:
          if (!move_to(Pointer(reader, address_ + entry, cie.pointers))) return false;
          break;
        case kAdvance1:
          if (!by(reader.Fixed<uint8_t>())) return false;
          break;
        case kAdvance2:
          if (!by(reader.Fixed<uint16_t>())) return false;
          break;
        case kAdvance4:
          if (!by(reader.Fixed<uint32_t>())) return false;
          break;
        case kOffsetExtended:
          reg = reader.Unsigned();
          state.Save(reg, by_cfa(Times(reader.Unsigned(), cie.data_factor)));
          break;
        case kOffsetExtendedSf:
          reg = reader.Unsigned();
          state.Save(reg, by_cfa(Times(static_cast<uint64_t>(reader.Signed()), cie.data_factor)));
          break;
        case kGnuNegativeOffset:
          reg = reader.Unsigned();
          state.Save(reg, by_cfa(Times(uint64_t{0} - reader.Unsigned(), cie.data_factor)));
          break;
        case kRestoreExtended:
          state.Restore(reader.Unsigned(), initial);
          break;
        case kUndefined:
          state.Undefine(reader.Unsigned());
          break;
        case kSameValue:
          state.Save(reader.Unsigned(), {});
          break;
        case kInRegister:
          reg = reader.Unsigned();
          state.Move(reg, reader.Unsigned());
          break;
        case kValueOffset:
        case kValueOffsetSf:
          reg = reader.Unsigned();
          reader.Unsigned();
          state.Save(reg, {SavedRegister::Kind::kLost, 0});
          break;
        case kRememberState:
          if (remembered_.size() >= kMaxRemembered) return false;
          remembered_.push_back(state);
          break;
        case kRestoreState:
          if (remembered_.empty()) return false;
          state = remembered_.back();
          remembered_.pop_back();
          break;
        case kDefCfa:
        case kDefCfaSf:
          state.cfa = CfaRule::kRegister;
          state.base = reader.Unsigned();
          state.offset = code == kDefCfa
                             ? static_cast<int64_t>(reader.Unsigned())
                             : Times(static_cast<uint64_t>(reader.Signed()), cie.data_factor);
          break;
        case kDefCfaRegister:
          state.base = reader.Unsigned();
          break;
        case kDefCfaOffset:
          state.offset = static_cast<int64_t>(reader.Unsigned());
          break;
        case kDefCfaOffsetSf:
          state.offset = Times(static_cast<uint64_t>(reader.Signed()), cie.data_factor);
          break;
        case kDefCfaExpression:
          state.SetCfaExpression(reader.Bytes(reader.Unsigned()));
          break;
        case kExpression:
          reg = reader.Unsigned();
          state.SaveExpression(reg, reader.Bytes(reader.Unsigned()));
          break;
        case kValueExpression:
          reg = reader.Unsigned();
          reader.Bytes(reader.Unsigned());
          state.Save(reg, {SavedRegister::Kind::kLost, 0});
          break;
        case kGnuArgsSize:
          reader.Unsigned();
          break;
        default:
          return false;
      }
    }
    return reader.ok();
  }

  const std::string_view section_;
  const uint64_t address_;
  UnwindTableBuilder builder_;
  absl::flat_hash_map<size_t, Cie> cies_;  // by place in the section
  std::vector<FrameState> remembered_;
  CallFrames result_;
};

}  // namespace

absl::StatusOr<CallFrames> ParseEhFrame(std::string_view section, uint64_t address,
                                        const UnwindTable::Limits& limits) {
  return Parser(section, address, limits).Parse();
}

}  // namespace telltale::agent
