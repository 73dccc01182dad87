#include "agent/symbols/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kMemoryLimit = 68 << 20;  // xz -9 asks for 65 MB; what is not used is not there
constexpr size_t kFirstBytes = 256 * 1024;

absl::Status Failed(lzma_ret code, size_t max_bytes) {
  switch (code) {
    case LZMA_MEMLIMIT_ERROR:
    case LZMA_MEM_ERROR:
      return absl::ResourceExhaustedError(absl::StrCat(
          "unpack .gnu_debugdata: needs more memory than ", kMemoryLimit >> 20, " MB"));
    case LZMA_OK:
      return absl::ResourceExhaustedError(
          absl::StrCat("unpack .gnu_debugdata: longer than ", max_bytes, " bytes"));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("unpack .gnu_debugdata: damaged or no xz stream, code ", int{code}));
  }
}

}  // namespace

absl::StatusOr<std::string> UnpackMiniDebugInfo(std::string_view packed, size_t max_bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  lzma_ret code = lzma_stream_decoder(&stream, kMemoryLimit, 0);
  std::string out;
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  while (code == LZMA_OK && out.size() < max_bytes) {
    const size_t had = out.size();
    out.resize(std::min(max_bytes, std::max(kFirstBytes, had * 2)));
    stream.next_out = reinterpret_cast<uint8_t*>(out.data() + had);
    stream.avail_out = out.size() - had;
    while (code == LZMA_OK && stream.avail_out > 0) code = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (code != LZMA_STREAM_END) return Failed(code, max_bytes);
  return out;
}

}  // namespace telltale::agent
