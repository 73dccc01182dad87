// Writes the data directory that is kept of today's format and what it answers. Run once when a
// format is released, never again for it: tests/unit/storage_kept_test.cc proves that newer code
// still opens it.
//   write_golden_store DIRECTORY VERSION    makes DIRECTORY/store_vVERSION.{tar.gz,answers}
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/support/kept_store.h"
#include "tests/support/temp_dir.h"

int main(int argc, char** argv) {
  using namespace telltale::testing;
  if (argc != 3) {
    std::cerr << "usage: write_golden_store DIRECTORY VERSION\n";
    return 2;
  }
  const std::string base = std::string(argv[1]) + "/store_v" + argv[2];
  const TempDir scratch;
  std::filesystem::create_directories(scratch.path() + "/data");
  {
    auto store = OpenKeptStore(scratch.path() + "/data");
    absl::Status done = store.ok() ? FillKeptStore(**store) : store.status();
    if (done.ok()) done = (*store)->BackUp(scratch.path() + "/kept", {}).status();
    if (!done.ok()) {
      std::cerr << done << "\n";
      return 1;
    }
    std::ofstream(base + ".answers") << KeptAnswers(**store);
  }
  const std::string tar = "tar -C '" + scratch.path() + "/kept' -czf '" + base + ".tar.gz' store";
  return std::system(tar.c_str()) == 0 ? 0 : 1;
}
