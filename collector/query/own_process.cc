#include "collector/query/own_process.h"

#include <algorithm>
#include <array>

namespace telltale::query {

bool OwnProcess(std::string_view exe) {
  constexpr std::array<std::string_view, 3> kOwn = {"telltale", "telltale-agent",
                                                    "telltale-collector"};
  if (const size_t slash = exe.rfind('/'); slash != std::string_view::npos) {
    exe.remove_prefix(slash + 1);
  }
  return std::ranges::find(kOwn, exe) != kOwn.end();
}

}  // namespace telltale::query
