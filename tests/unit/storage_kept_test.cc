// Data directories of earlier programs: opened, upgraded, whole, and they answer as they did.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "storage/verify.h"
#include "tests/support/kept_store.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

class KeptStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  KeptStoreTest() {
    const std::string tar =
        std::string("tar -C '") + dir_.path() + "' -xzf tests/golden/" + GetParam() + ".tar.gz";
    EXPECT_EQ(std::system(tar.c_str()), 0) << tar;
  }
  TempDir dir_;
};

TEST_P(KeptStoreTest, OpensVerifiesAndAnswersAsItDid) {
  std::stringstream expected;
  expected << std::ifstream(std::string("tests/golden/") + GetParam() + ".answers").rdbuf();
  ASSERT_NE(expected.str(), "");
  for (const char* time : {"first", "second"}) {
    const auto store = OpenKeptStore(dir_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    const auto report = storage::Verify(**store, {});
    ASSERT_TRUE(report.ok()) << report.status();
    for (const storage::VerifyFault& fault : report->faults) {
      ADD_FAILURE() << fault.place << ": " << fault.what;
    }
    EXPECT_GT(report->recomputed, 0u);
    EXPECT_EQ(KeptAnswers(**store), expected.str()) << time << " opening";
  }
}

// By number of the format; a new one adds its own.
INSTANTIATE_TEST_SUITE_P(Formats, KeptStoreTest, ::testing::Values("store_v2", "store_v3"));

}  // namespace
}  // namespace telltale::testing
