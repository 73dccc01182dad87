#include "agent/symbols/block_device.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr int kLayers = 8;  // of devices made of others

bool Has(std::string_view path, std::string_view part) {
  return path.find(part) != std::string_view::npos;
}

// Of a bus, and not by way of a network: of what hangs below an iSCSI session or a Fibre Channel
// port the path says so.
bool IsOfThisMachine(std::string_view path) {
  return !Has(path, "/virtual/") && !Has(path, "/session") && !Has(path, "/rport-") &&
         !Has(path, "/devices/rbd");
}

// All entries of a directory for which `counts` holds pass `good`, and there is one.
template <typename Counts, typename Good>
bool AllAndSome(const fs::path& directory, const Counts& counts, const Good& good) {
  std::error_code error;
  bool some = false;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!counts(*entry)) continue;
    if (!good(*entry)) return false;
    some = true;
  }
  return some && !error;
}

bool Answers(const std::string& root, const std::string& number, int layers) {
  std::error_code error;
  fs::path device = fs::canonical(absl::StrCat(root, "/sys/dev/block/", number), error);
  if (error || layers == 0) return false;
  if (fs::exists(device / "partition", error)) device = device.parent_path();
  if (IsOfThisMachine(device.native())) return true;
  const std::string name = device.filename();
  if (name.starts_with("ram") || name.starts_with("zram")) return true;
  if (Has(device.native(), "/nvme-subsystem/")) {  // by all of its controllers
    return AllAndSome(
        device.parent_path(),
        [](const fs::directory_entry& entry) {
          std::error_code unknown;
          return entry.is_symlink(unknown) && entry.path().filename().native().starts_with("nvme");
        },
        [](const fs::directory_entry& entry) {
          std::error_code unknown;
          return IsOfThisMachine(fs::canonical(entry.path(), unknown).native()) && !unknown;
        });
  }
  return AllAndSome(
      device / "slaves", [](const fs::directory_entry&) { return true; },
      [&](const fs::directory_entry& entry) {
        std::string below;
        std::getline(std::ifstream(entry.path() / "dev"), below);
        return !below.empty() && Answers(root, below, layers - 1);
      });
}

}  // namespace

bool AnswersByItself(const std::string& root, uint64_t device) {
  return Answers(root, absl::StrCat(device >> 20, ":", device & ((1u << 20) - 1)), kLayers);
}

}  // namespace telltale::agent
