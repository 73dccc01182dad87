#include "collector/cli/spool_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"

namespace telltale::cli {
namespace {

constexpr std::string_view kMagic = "TTSPOOL1";
constexpr size_t kHead = 5, kChecksum = 8;  // type and length; XXH3-64
constexpr size_t kMaxPayload = 4 << 20;

uint64_t Little(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

}  // namespace

bool IsSpoolFile(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

SpoolFile ReadSpoolFile(std::string_view bytes) {
  SpoolFile file;
  size_t at = kMagic.size();
  const auto damaged = [&](const std::string& what) {
    file.damage = absl::DataLossError(
        absl::StrCat("spool file: byte ", at, " of ", bytes.size(), ": ", what));
    return file;
  };
  if (!IsSpoolFile(bytes)) {
    at = 0;
    return damaged("does not begin with TTSPOOL1");
  }
  while (at < bytes.size()) {
    if (bytes.size() - at < kHead) return damaged("ends inside the head of a chunk");
    const uint64_t length = Little(bytes.substr(at + 1, 4));
    if (length > kMaxPayload)
      return damaged(absl::StrCat("chunk of ", length, " bytes, limit ", kMaxPayload));
    if (bytes.size() - at < kHead + length + kChecksum) {
      return damaged(absl::StrCat("chunk of ", length, " bytes is cut short"));
    }
    const std::string_view covered = bytes.substr(at, kHead + length);
    if (XXH3_64bits(covered.data(), covered.size()) !=
        Little(bytes.substr(at + kHead + length, kChecksum))) {
      return damaged("checksum of the chunk is wrong");
    }
    file.chunks.push_back({static_cast<uint8_t>(bytes[at]), at, covered.substr(kHead)});
    at += kHead + length + kChecksum;
  }
  return file;
}

}  // namespace telltale::cli
