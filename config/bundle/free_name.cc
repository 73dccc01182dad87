#include "config/bundle/free_name.h"

#include <sys/stat.h>

namespace telltale::bundle {

std::string FreeName(const std::string& name) {
  std::string free = name;
  struct stat info = {};
  for (int i = 2; i < 100 && lstat((free + ".tar.gz").c_str(), &info) == 0; ++i) {
    free = name + "-" + std::to_string(i);
  }
  return free;
}

}  // namespace telltale::bundle
