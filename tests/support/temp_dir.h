// A directory below the system's temporary one, removed with everything in it at the end.

#ifndef TELLTALE_TESTS_SUPPORT_TEMP_DIR_H_
#define TELLTALE_TESTS_SUPPORT_TEMP_DIR_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace telltale::testing {

class TempDir {
 public:
  TempDir() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "telltale-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
  }
  ~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_TEMP_DIR_H_
