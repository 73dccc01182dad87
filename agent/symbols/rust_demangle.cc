#include "agent/symbols/rust_demangle.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

bool IsDigit(char c) { return '0' <= c && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || ('a' <= c && c <= 'f'); }

// ---- legacy: an Itanium nested name whose last part is 'h' and 16 hexadecimal digits ----

constexpr size_t kHashBytes = 17;

// A hash of a real function has many different digits; a C++ name that looks like one has not.
bool IsHash(std::string_view part) {
  if (part.size() != kHashBytes || part[0] != 'h') return false;
  uint32_t seen = 0;
  for (const char c : part.substr(1)) {
    if (!IsHexDigit(c)) return false;
    seen |= 1u << (IsDigit(c) ? c - '0' : c - 'a' + 10);
  }
  return __builtin_popcount(seen) >= 5;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

bool IsCharacter(uint32_t code) {
  return code >= 0x20 && code != 0x7f && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// What stands between two '$'. False: nothing Rust writes.
bool AppendEscape(std::string_view escape, std::string* out) {
  constexpr std::pair<std::string_view, char> kKnown[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'},
                                                          {"LT", '<'}, {"GT", '>'}, {"LP", '('},
                                                          {"RP", ')'}, {"C", ','}};
  for (const auto& [name, c] : kKnown) {
    if (escape != name) continue;
    out->push_back(c);
    return true;
  }
  uint32_t code = 0;
  if (escape.size() < 2 || escape.size() > 7 || escape[0] != 'u') return false;
  const auto [end, error] =
      std::from_chars(escape.data() + 1, escape.data() + escape.size(), code, 16);
  if (error != std::errc{} || end != escape.data() + escape.size() || !IsCharacter(code)) {
    return false;
  }
  AppendUtf8(code, out);
  return true;
}

bool AppendLegacyPart(std::string_view part, std::string* out) {
  if (part.starts_with("_$")) part.remove_prefix(1);
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out->append("::");
      part.remove_prefix(2);
    } else if (part[0] == '$') {
      const size_t end = part.find('$', 1);
      if (end == std::string_view::npos || !AppendEscape(part.substr(1, end - 1), out))
        return false;
      part.remove_prefix(end + 1);
    } else {
      out->push_back(part[0]);
      part.remove_prefix(1);
    }
  }
  return true;
}

std::optional<std::string> Legacy(std::string_view rest) {  // without "_ZN"
  std::string out;
  std::string_view last;
  while (!rest.empty() && IsDigit(rest[0])) {
    size_t bytes = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), bytes);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (error != std::errc{} || bytes == 0 || bytes > rest.size()) return std::nullopt;
    if (!last.empty()) {
      if (!out.empty()) out.append("::");
      if (!AppendLegacyPart(last, &out)) return std::nullopt;
    }
    last = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  const bool ends = rest == "E" || rest.starts_with("E.");
  if (!ends || !IsHash(last) || out.empty()) return std::nullopt;
  return out;
}

// ---- v0 ----

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
      if (!fits || value > 0x10ffff || !IsCharacter(static_cast<uint32_t>(value))) return Fail();
      std::string character = "'";
      AppendUtf8(static_cast<uint32_t>(value), &character);
      return Write(character + "'");
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

std::optional<std::string> RustDemangled(std::string_view mangled, size_t max_bytes) {
  if (mangled.starts_with("_ZN")) {
    std::optional<std::string> name = Legacy(mangled.substr(3));
    if (name && name->size() > max_bytes) name->resize(max_bytes);
    return name;
  }
  // A digit would be the version of a mangling that does not exist yet.
  if (!mangled.starts_with("_R") || mangled.size() < 3 || IsDigit(mangled[2])) return std::nullopt;
  return V0(mangled.substr(2), max_bytes).Name();
}

}  // namespace telltale::agent
