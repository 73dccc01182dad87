// Names as compilers write them, made readable.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "agent/symbols/demangle.h"
#include "agent/symbols/rust_demangle.h"

namespace telltale::agent {
namespace {

TEST(DemangleTest, MakesNamesReadableAndLeavesOthers) {
  EXPECT_EQ(Demangled("_ZN8telltale5agent9DemangledEi"), "telltale::agent::Demangled(int)");
  EXPECT_EQ(Demangled("vfs_read"), "vfs_read");
  EXPECT_EQ(Demangled("_Zoops"), "_Zoops");
  EXPECT_EQ(Demangled("_Roops"), "_Roops");
  EXPECT_EQ(Demangled(""), "");
}

TEST(DemangleTest, ANameThatWouldExplodeStaysAsItIs) {
  // Each step repeats the last three times: 400 bytes that would unfold into more than 2^60.
  std::string bomb = "_Z1f1AIiE";
  std::string last = "S0_";
  for (int i = 0; i < 34; ++i) {
    bomb += "S_I" + last + last + last + "E";
    last = std::string("S") + "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i] + "_";
  }
  EXPECT_EQ(Demangled(bomb), bomb.substr(0, 512));
}

TEST(RustDemangleTest, LegacyNamesLoseTheirHash) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"_ZN3std2io5stdio6_print17h1a2b3c4d5e6f7081E", "std::io::stdio::_print"},
      {"_ZN4main4main17he714a2e23ed7db23E.llvm.8391", "main::main"},
      {"_ZN57_$LT$std..net..Ipv4Addr$u20$as$u20$core..fmt..Display$GT$3fmt17h05af221e174051e9E",
       "<std::net::Ipv4Addr as core::fmt::Display>::fmt"},
      {"_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h89abcdef01234567E",
       "core::ptr::drop_in_place<alloc::string::String>"},
      {"_ZN3foo36_$u7b$$u7b$closure$u7d$$u7d$$RF$$BP$17h0123456789abcdefE", "foo::{{closure}}&*"},
      {"_ZN2me3a.b17h0123456789abcdefE", "me::a.b"}};
  for (const auto& [mangled, readable] : names) EXPECT_EQ(Demangled(mangled), readable);
}

TEST(RustDemangleTest, CppNamesThatLookLikeThemStayCpp) {
  EXPECT_EQ(Demangled("_ZN3foo17haaaaaaaaaaaaaaaaEv"), "foo::haaaaaaaaaaaaaaaa()");
  EXPECT_EQ(Demangled("_ZN3foo3barEv"), "foo::bar()");
  // No hash at all: everything in it counts.
  EXPECT_EQ(Demangled("_ZN3foo17haaaaaaaaaaaaaaaaE"), "foo::haaaaaaaaaaaaaaaa");
}

TEST(RustDemangleTest, V0Names) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
      {"_RNvNtCs1234_7mycrate3foo3bar.llvm.123", "mycrate::foo::bar"},
      {"_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
       "std::mem::align_of::<std::mem::Discriminant>"},
      // Closures and shims have numbers in place of names.
      {"_RNCNvC4demo4main0", "demo::main::{closure#0}"},
      {"_RNCNvC4demo4mains_0", "demo::main::{closure#1}"},
      {"_RNSC4demo3foo", "demo::{shim:foo#0}"},
      // Methods: of a type, of a trait for a type, of a trait.
      {"_RNvMC4demoNtB2_3Foo3new", "<demo::Foo>::new"},
      {"_RNvXs_C4demoNtB4_3FooNtNtC4core3fmt5Debug3fmt", "<demo::Foo as core::fmt::Debug>::fmt"},
      {"_RNvYNtC4demo3FooNtB4_5Trait3run", "<demo::Foo as demo::Trait>::run"},
      // Types.
      {"_RINvC4demo1fhaslxnimtyojbcefdzupE",
       "demo::f::<u8, i8, i16, i32, i64, i128, isize, u32, u16, u64, u128, usize, bool, char, str, "
       "f32, f64, !, (), _>"},
      {"_RINvC4demo1fReQhShPlOlTEE", "demo::f::<&str, &mut u8, [u8], *const i32, *mut i32, ()>"},
      {"_RINvC4demo1fTlETlmEAhj20_E", "demo::f::<(i32,), (i32, u32), [u8; 32]>"},
      {"_RINvC4demo1fFlmEuFUKCEhE", "demo::f::<fn(i32, u32), unsafe extern \"C\" fn() -> u8>"},
      {"_RINvC4demo1fDNtNtC4core3fmt5DebugEL_E", "demo::f::<dyn core::fmt::Debug>"},
      {"_RINvC4demo1fDNtC4core8Iteratorp4ItemlNtC4core4SendEL_E",
       "demo::f::<dyn core::Iterator<Item = i32> + core::Send>"},
      {"_RINvC4demo1fRL0_eL_E", "demo::f::<&str>"},
      // Constants.
      {"_RINvC4demo1fKj10_Klna_Kb1_Kb0_Kc41_KpE", "demo::f::<16, -10, true, false, 'A', _>"},
      {"_RINvC4demo1fKc1b_Kc1f600_E", "demo::f::<'\\u{1b}', '\\u{1f600}'>"},
      {"_RINvC4demo1fKo10000000000000000_E", "demo::f::<0x10000000000000000>"},
      // Who instantiated it does not matter to people.
      {"_RINvC4demo1flECs5_5other", "demo::f::<i32>"},
      {"_RNvNtNtCs1234_7mycrateu8gdel_5qa3bar3baz", "mycrate::gdel_5qa::bar::baz"}};
  for (const auto& [mangled, readable] : names) EXPECT_EQ(Demangled(mangled), readable) << mangled;
}

TEST(RustDemangleTest, NamesThatContradictThemselvesStayAsTheyAre) {
  for (const std::string_view name :
       {"_R", "_R0NvC4demo1f", "_RNvC4demo9toolong", "_RB_", "_RNvB_3foo", "_RNvC4demo1fX",
        "_RINvC4demo1fl", "_RNvC4demo99999999999999999999x", "_RINvC4demo1fB99999999999999999_E",
        "_RINvC4demo1fKc110000_E", "_RINvC4demo1fKzE", "_ZN3foo17h0123456789abcdef",
        "_ZN9toolong17h0123456789abcdefE", "_ZN17h0123456789abcdefE",
        "_ZN4$XX$17h0123456789abcdefE", "_ZN6$u7fffffff$17h0123456789abcdefE"}) {
    EXPECT_EQ(RustDemangled(name, 512), std::nullopt) << name;
  }
}

TEST(RustDemangleTest, RepetitionOfRepetitionsEndsAtTheLimit) {
  // A tuple of three references to the tuple before it, forty times: 3^40 members.
  std::string bomb = "_RINvC1a1b";
  const auto reference = [](size_t to) {
    std::string digits;
    for (size_t rest = to - 1;; rest /= 62) {
      digits.insert(digits.begin(),
                    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest % 62]);
      if (rest < 62) break;
    }
    return "B" + digits + "_";
  };
  size_t last = bomb.size() - 2;
  bomb += "TllllE";
  for (int i = 0; i < 40; ++i) {
    const std::string again = reference(last);
    last = bomb.size() - 2;
    bomb += "T" + again + again + again + "E";
  }
  const auto name = RustDemangled(bomb + "E", 512);
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->size(), 512u);
  EXPECT_EQ(name->substr(0, 20), "a::b::<(i32, i32, i3");
  // Lifetimes of which nothing but their number is long.
  EXPECT_EQ(RustDemangled("_RINvC1a1bFGzzzzzzzzz_EuE", 512), "a::b::<fn()>");
}

TEST(RustDemangleTest, NestingIsBounded) {
  const std::string deep(5'000, 'R');
  EXPECT_EQ(RustDemangled("_RINvC1a1b" + deep + "lE", 512), std::nullopt);
}

}  // namespace
}  // namespace telltale::agent
