// Damage to a store's files as a bad disk does it.

#ifndef TELLTALE_TESTS_SUPPORT_DAMAGE_H_
#define TELLTALE_TESTS_SUPPORT_DAMAGE_H_

#include <filesystem>
#include <fstream>
#include <string>

namespace telltale::testing {

// Overwrites some bytes at the front of the largest table file of a closed store: that of rollups,
// of which opening reads little. Its name.
inline std::string DamageLargestTable(const std::string& rocks) {
  std::filesystem::path largest;
  for (const auto& entry : std::filesystem::directory_iterator(rocks)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) {
      largest = entry.path();
    }
  }
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);
  file.write("\xff\x00\xff\x00", 4);
  return largest.filename();
}

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_DAMAGE_H_
