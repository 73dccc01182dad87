#include "config/bundle/archive.h"

#include <zlib.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::bundle {
namespace {

constexpr size_t kBlock = 512;

// POSIX ustar header (IEEE 1003.1, pax: "ustar Interchange Format"); numbers are octal text.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
      magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], padding[12];
};
static_assert(sizeof(Header) == kBlock);

template <size_t N>
void Octal(char (&field)[N], uint64_t value) {
  const std::string text = absl::StrFormat("%0*o", static_cast<int>(N) - 1, value);
  std::memcpy(field, text.data(), N - 1);
}

}  // namespace

absl::Status Archive::Add(const std::string& name, const std::string& data) {
  const std::string path = absl::StrCat(directory_, "/", name);
  if (name.empty() || name.front() == '/' || name.find("..") != std::string::npos ||
      path.size() > sizeof Header::name) {
    return absl::InvalidArgumentError(absl::StrCat("bundle: file name \"", name.substr(0, 64),
                                                   "\" is not a short relative path"));
  }
  Header header{};
  std::memcpy(header.name, path.data(), path.size());
  Octal(header.mode, 0600);
  Octal(header.uid, 0);
  Octal(header.gid, 0);
  Octal(header.size, data.size());
  Octal(header.mtime, static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(now_))));
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  std::memset(header.checksum, ' ', sizeof header.checksum);  // counts as blanks in its own sum
  unsigned sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += reinterpret_cast<const unsigned char*>(&header)[i];
  const std::string checksum = absl::StrFormat("%06o", sum);
  std::memcpy(header.checksum, checksum.data(), 6);
  header.checksum[6] = '\0';
  tar_.append(reinterpret_cast<const char*>(&header), kBlock);
  tar_ += data;
  tar_.append((kBlock - data.size() % kBlock) % kBlock, '\0');
  return absl::OkStatus();
}

absl::StatusOr<std::string> Archive::Compress() {
  tar_.append(2 * kBlock, '\0');
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return absl::InternalError("bundle: zlib did not start");
  }
  std::string out(deflateBound(&stream, tar_.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(tar_.data());
  stream.avail_in = static_cast<uInt>(tar_.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InternalError("bundle: zlib did not finish");
  return out;
}

}  // namespace telltale::bundle
