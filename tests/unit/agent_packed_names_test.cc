#include "agent/symbols/packed_names.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

std::string Mangled(int number) {
  return absl::StrCat("_ZN2v88internal8compiler", number * 7919 % 100'003, "TurboAssembler",
                      number % 31, "EmitCodeForERKNS1_11InstructionEPNS0_7IsolateE");
}

TEST(PackedNames, EachIsReadAsItWasPutInALargeProgramsMemoryIsAFractionOfIt) {
  PackedNames names;
  std::vector<uint32_t> places;
  for (int i = 0; i < 50'000; ++i) places.push_back(names.Append(Mangled(i)));
  names.Finish();
  for (int i = 0; i < 50'000; i += 7) {
    ASSERT_EQ(names.At(places[static_cast<size_t>(i)]), Mangled(i));
  }
  EXPECT_EQ(names.At(places.back()), Mangled(49'999));
  EXPECT_LT(names.bytes(), names.unpacked_bytes() / 4);
}

TEST(PackedNames, ANameThatIsLongerThanABlockStaysWhole) {
  PackedNames names;
  const std::string name(100'000, 'x');
  const uint32_t first = names.Append("first"), whole = names.Append(name);
  const uint32_t last = names.Append("last");
  names.Finish();
  EXPECT_EQ(names.At(first), "first");
  EXPECT_EQ(names.At(whole), name);
  EXPECT_EQ(names.At(last), "last");
}

TEST(PackedNames, APlaceThatIsNoneHasNoName) {
  PackedNames names;
  EXPECT_EQ(names.At(0), "");
  names.Append("only");
  names.Finish();
  EXPECT_EQ(names.At(5), "");
  EXPECT_EQ(names.At(UINT32_MAX), "");
}

}  // namespace
}  // namespace telltale::agent
