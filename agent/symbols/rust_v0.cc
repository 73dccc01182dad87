#include "agent/symbols/rust_v0.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr int kMaxDepth = 96;
// Each step reads at least one letter, or follows a reference back to what was read before.
constexpr int kMaxSteps = 20'000;

class V0 {
 public:
  V0(std::string_view in, size_t max_bytes) : in_(in), max_bytes_(max_bytes) {}

  std::optional<std::string> Name() {
    if (!Path(true)) return Done();
    // The crate that asked for this copy of a generic function, and what the compiler's passes add.
    const std::string_view rest = in_.substr(at_);
    if (!rest.empty() && 'A' <= rest[0] && rest[0] <= 'Z') {
      const Quiet quiet(this);
      if (!Path(false)) return std::nullopt;
    }
    if (at_ < in_.size() && in_[at_] != '.' && in_[at_] != '$') return std::nullopt;
    return Done();
  }

 private:
  // While one lives, what is read is not written.
  class Quiet {
   public:
    explicit Quiet(V0* owner) : owner_(owner) { ++owner_->quiet_; }
    ~Quiet() { --owner_->quiet_; }

   private:
    V0* const owner_;
  };

  std::optional<std::string> Done() {
    if (!full_ && (failed_ || out_.empty())) return std::nullopt;
    return std::move(out_);
  }

  // All readers return false when reading is over: the name makes no sense, or enough is written.
  bool Fail() {
    failed_ = true;
    return false;
  }
  bool Write(std::string_view text) {
    if (quiet_ > 0) return true;
    out_.append(text.substr(0, max_bytes_ - out_.size()));
    full_ = out_.size() >= max_bytes_;
    return !full_;
  }
  bool Step() { return ++steps_ <= kMaxSteps || Fail(); }
  char Next() { return at_ < in_.size() ? in_[at_++] : '\0'; }
  bool Take(char c) {
    if (at_ >= in_.size() || in_[at_] != c) return false;
    ++at_;
    return true;
  }

  // "_" is 0, "0_" is 1, "Z_" is 62 ...
  bool Base62(uint64_t* value) {
    *value = 0;
    if (Take('_')) return true;
    while (true) {
      const char c = Next();
      if (c == '_') break;
      const int digit = IsDigit(c)             ? c - '0'
                        : 'a' <= c && c <= 'z' ? c - 'a' + 10
                        : 'A' <= c && c <= 'Z' ? c - 'A' + 36
                                               : -1;
      if (digit < 0 || *value > UINT64_MAX / 62 - 62) return Fail();
      *value = *value * 62 + static_cast<uint64_t>(digit);
    }
    ++*value;
    return true;
  }
  bool SkipTagged(char tag) {  // a number that means nothing to people
    uint64_t ignored;
    return !Take(tag) || Base62(&ignored);
  }

  bool Identifier(std::string_view* name, uint64_t* disambiguator) {
    *disambiguator = 0;
    if (Take('s')) {
      if (!Base62(disambiguator)) return false;
      ++*disambiguator;
    }
    return PlainIdentifier(name);
  }
  bool PlainIdentifier(std::string_view* name) {
    Take('u');  // punycode, shown as it is
    const std::string_view rest = in_.substr(at_);
    size_t bytes = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
    if (error != std::errc{} || rest.empty() || !IsDigit(rest[0])) return Fail();
    at_ += static_cast<size_t>(end - rest.data());
    Take('_');
    if (bytes > in_.size() - at_) return Fail();
    *name = in_.substr(at_, bytes);
    at_ += bytes;
    return true;
  }

  // Reads what stands at an earlier place with `read`, then goes on here.
  template <typename Read>
  bool Back(size_t tag_at, Read read) {
    uint64_t to;
    if (!Base62(&to)) return false;
    if (to >= tag_at) return Fail();
    if (quiet_ > 0) return true;
    const size_t here = std::exchange(at_, static_cast<size_t>(to));
    const bool read_all = read();
    at_ = here;
    return read_all;
  }

  // `value`: in a position where generic arguments are written with "::" before them.
  bool Path(bool value) {
    const Deeper deeper(this);
    if (!deeper.ok() || !Step()) return false;
    const size_t tag_at = at_;
    std::string_view name;
    uint64_t disambiguator;
    switch (Next()) {
      case 'C':
        return Identifier(&name, &disambiguator) && Write(name);
      case 'N':
        return Nested(value);
      case 'M':
        return ImplPath() && Write("<") && Type() && Write(">");
      case 'X':
        return ImplPath() && Trait();
      case 'Y':
        return Trait();
      case 'I':
        return Path(value) && (!value || Write("::")) && Write("<") && GenericArguments() &&
               Write(">");
      case 'B':
        return Back(tag_at, [&] { return Path(value); });
      default:
        return Fail();
    }
  }
  bool ImplPath() {
    const Quiet quiet(this);
    return SkipTagged('s') && Path(false);
  }
  bool Trait() { return Write("<") && Type() && Write(" as ") && Path(false) && Write(">"); }
  bool Nested(bool value) {
    const char space = Next();
    std::string_view name;
    uint64_t disambiguator;
    if (!Path(value) || !Identifier(&name, &disambiguator)) return false;
    if ('a' <= space && space <= 'z') return name.empty() || (Write("::") && Write(name));
    if (space < 'A' || space > 'Z') return Fail();
    const std::string kind = space == 'C'   ? "closure"
                             : space == 'S' ? "shim"
                                            : std::string(1, space);
    return Write(absl::StrCat("::{", kind, name.empty() ? "" : ":", std::string(name), "#",
                              disambiguator, "}"));
  }
  bool GenericArguments() {
    for (bool first = true; !Take('E');) {
      if (Take('L')) {
        uint64_t ignored;
        if (!Base62(&ignored)) return false;
        continue;
      }
      if (!first && !Write(", ")) return false;
      first = false;
      if (!(Take('K') ? Constant() : Type())) return false;
    }
    return true;
  }

  static std::string_view BasicType(char c) {
    constexpr std::pair<char, std::string_view> kTypes[] = {
        {'a', "i8"},   {'b', "bool"},  {'c', "char"},  {'d', "f64"}, {'e', "str"}, {'f', "f32"},
        {'h', "u8"},   {'i', "isize"}, {'j', "usize"}, {'l', "i32"}, {'m', "u32"}, {'n', "i128"},
        {'o', "u128"}, {'p', "_"},     {'s', "i16"},   {'t', "u16"}, {'u', "()"},  {'v', "..."},
        {'x', "i64"},  {'y', "u64"},   {'z', "!"}};
    const auto* found = std::ranges::find(kTypes, c, &std::pair<char, std::string_view>::first);
    return found == std::end(kTypes) ? std::string_view() : found->second;
  }
  bool Type() {
    const Deeper deeper(this);
    if (!deeper.ok() || !Step()) return false;
    const size_t tag_at = at_;
    const char tag = Next();
    if (const std::string_view basic = BasicType(tag); !basic.empty()) return Write(basic);
    switch (tag) {
      case 'A':
        return Write("[") && Type() && Write("; ") && Constant() && Write("]");
      case 'S':
        return Write("[") && Type() && Write("]");
      case 'T':
        return Tuple();
      case 'R':
        return SkipTagged('L') && Write("&") && Type();
      case 'Q':
        return SkipTagged('L') && Write("&mut ") && Type();
      case 'P':
        return Write("*const ") && Type();
      case 'O':
        return Write("*mut ") && Type();
      case 'F':
        return Function();
      case 'D':
        return Dynamic();
      case 'B':
        return Back(tag_at, [&] { return Type(); });
      default:
        at_ = tag_at;
        return Path(false);
    }
  }
  bool Tuple() {
    int members = 0;
    if (!Write("(")) return false;
    for (; !Take('E'); ++members) {
      if ((members > 0 && !Write(", ")) || !Type()) return false;
    }
    return Write(members == 1 ? ",)" : ")");
  }
  bool Function() {
    if (!SkipTagged('G')) return false;
    if (Take('U') && !Write("unsafe ")) return false;
    if (Take('K')) {
      std::string_view abi = "C";
      if (!Take('C') && !PlainIdentifier(&abi)) return false;
      if (!Write("extern \"") || !Write(abi) || !Write("\" ")) return false;
    }
    if (!Write("fn(")) return false;
    for (bool first = true; !Take('E'); first = false) {
      if ((!first && !Write(", ")) || !Type()) return false;
    }
    if (!Write(")")) return false;
    return Take('u') || (Write(" -> ") && Type());
  }
  bool Dynamic() {
    if (!Write("dyn ") || !SkipTagged('G')) return false;
    for (bool first = true; !Take('E'); first = false) {
      if ((!first && !Write(" + ")) || !DynamicTrait()) return false;
    }
    uint64_t ignored;
    return Take('L') ? Base62(&ignored) : Fail();
  }
  bool DynamicTrait() {
    if (!Path(false)) return false;
    bool open = false;
    for (; Take('p'); open = true) {
      std::string_view name;
      if (!Write(open ? ", " : "<") || !PlainIdentifier(&name) || !Write(name) || !Write(" = ") ||
          !Type()) {
        return false;
      }
    }
    return !open || Write(">");
  }

  bool Constant() {
    const Deeper deeper(this);
    if (!deeper.ok() || !Step()) return false;
    const size_t tag_at = at_;
    const char type = Next();
    if (type == 'B') return Back(tag_at, [&] { return Constant(); });
    if (type == 'p') return Write("_");
    if (std::string_view("abchijlmnostxy").find(type) == std::string_view::npos) return Fail();
    const bool negative = Take('n');
    const size_t begin = at_;
    while (at_ < in_.size() && IsHexDigit(in_[at_])) ++at_;
    const std::string_view digits = in_.substr(begin, at_ - begin);
    if (!Take('_')) return Fail();
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool fits = digits.empty() || error == std::errc{};
    if (type == 'b') return Write(value == 0 ? "false" : "true");
    if (type == 'c') {
      if (!fits || value > 0x10ffff) return Fail();
      const bool plain = value >= 0x20 && value < 0x7f;
      return Write(plain ? absl::StrCat("'", std::string(1, static_cast<char>(value)), "'")
                         : absl::StrCat("'\\u{", absl::Hex(value), "}'"));
    }
    return Write(negative ? "-" : "") &&
           Write(fits ? absl::StrCat(value) : absl::StrCat("0x", std::string(digits)));
  }

  // One level of nesting, while it lives.
  class Deeper {
   public:
    explicit Deeper(V0* owner) : owner_(owner), ok_(++owner->depth_ <= kMaxDepth) {
      if (!ok_) owner_->Fail();
    }
    ~Deeper() { --owner_->depth_; }
    bool ok() const { return ok_; }

   private:
    V0* const owner_;
    const bool ok_;
  };

  const std::string_view in_;  // without "_R": references count from there
  const size_t max_bytes_;
  size_t at_ = 0;
  std::string out_;
  int quiet_ = 0, depth_ = 0, steps_ = 0;
  bool failed_ = false, full_ = false;
};

}  // namespace

std::optional<std::string> RustV0Demangled(std::string_view mangled, size_t max_bytes) {
  return V0(mangled, max_bytes).Name();
}

}  // namespace telltale::agent
