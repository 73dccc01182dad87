// What a bundle is called when nobody said.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/bundle/free_name.h"
#include "tests/support/temp_dir.h"

namespace telltale::bundle {
namespace {

TEST(BundleNameTest, TheSecondWithinASecondHasANameOfItsOwn) {
  const testing::TempDir scratch;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.path());
  EXPECT_EQ(FreeName("b"), "b");
  std::ofstream("b.tar.gz") << "one";
  EXPECT_EQ(FreeName("b"), "b-2");
  std::filesystem::create_symlink("nowhere", "b-2.tar.gz");
  EXPECT_EQ(FreeName("b"), "b-3");
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace telltale::bundle
