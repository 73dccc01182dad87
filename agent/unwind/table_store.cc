#include "agent/unwind/table_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"
#include "agent/symbols/elf_file.h"
#include "agent/unwind/byte_reader.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "TTunwind";
constexpr uint32_t kVersion = 1;
constexpr std::string_view kSuffix = ".unwind";

struct Header {
  uint32_t version, rules, pages, rows;
  uint64_t base;
  uint64_t checksum;
};

template <typename T>
void Append(const std::vector<T>& values, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> Take(ByteReader& reader, uint32_t count) {
  const std::string_view bytes = reader.Bytes(uint64_t{count} * sizeof(T));
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Of everything but the checksum itself.
uint64_t Checksum(Header header, std::string_view rest) {
  header.checksum = 0;
  const uint64_t seed = XXH3_64bits(&header, sizeof header);
  return XXH3_64bits_withSeed(rest.data(), rest.size(), seed);
}

absl::Status Damaged(const char* what) {
  return absl::DataLossError(absl::StrCat("unwind table file: ", what));
}

size_t MaxFileBytes(const UnwindTable::Limits& limits) {
  return kMagic.size() + sizeof(Header) + 1 + kMaxBuildId + limits.rules * sizeof(UnwindRule) +
         ((limits.span >> UnwindTable::kPageBits) + 2) * sizeof(uint32_t) +
         limits.rows * sizeof(UnwindRow);
}

}  // namespace

std::string EncodeTable(std::string_view build_id, const UnwindTable& table) {
  std::string rest(1, static_cast<char>(build_id.size()));
  rest.append(build_id);
  Append(table.rules(), &rest);
  Append(table.pages(), &rest);
  Append(table.rows(), &rest);
  Header header{kVersion,
                static_cast<uint32_t>(table.rules().size()),
                static_cast<uint32_t>(table.pages().size()),
                static_cast<uint32_t>(table.rows().size()),
                table.base(),
                0};
  header.checksum = Checksum(header, rest);
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + rest;
}

absl::StatusOr<UnwindTable> DecodeTable(std::string_view bytes, std::string_view build_id,
                                        const UnwindTable::Limits& limits) {
  ByteReader reader(bytes);
  if (reader.Bytes(kMagic.size()) != kMagic) return Damaged("no such file");
  const auto header = reader.Fixed<Header>();
  if (!reader.ok() || header.version != kVersion) return Damaged("another version");
  if (Checksum(header, bytes.substr(reader.at())) != header.checksum) return Damaged("checksum");
  if (reader.Bytes(reader.Fixed<uint8_t>()) != build_id) return Damaged("another build id");
  UnwindTable::Parts parts;
  parts.base = header.base;
  parts.rules = Take<UnwindRule>(reader, header.rules);
  parts.pages = Take<uint32_t>(reader, header.pages);
  parts.rows = Take<UnwindRow>(reader, header.rows);
  if (!reader.ok() || !reader.empty()) return Damaged("length");
  absl::StatusOr<UnwindTable> table = UnwindTable::FromParts(std::move(parts), limits);
  if (!table.ok()) return Damaged(std::string(table.status().message()).c_str());
  return table;
}

TableStore::TableStore(Options options) : options_(std::move(options)) {
  if (options_.directory.empty()) return;
  if (mkdir(options_.directory.c_str(), 0700) != 0 && errno != EEXIST) ++counts_.failed;
}

std::string TableStore::PathOf(std::string_view build_id) const {
  return absl::StrCat(options_.directory, "/",
                      absl::BytesToHexString({build_id.data(), build_id.size()}),
                      absl::string_view(kSuffix.data(), kSuffix.size()));
}

std::optional<UnwindTable> TableStore::Load(std::string_view build_id) {
  if (options_.directory.empty() || build_id.empty() || build_id.size() > kMaxBuildId) {
    return std::nullopt;
  }
  const std::string path = PathOf(build_id);
  const auto bytes = ReadBounded(path, MaxFileBytes(options_.limits));
  if (!bytes.ok()) return std::nullopt;
  absl::StatusOr<UnwindTable> table = DecodeTable(*bytes, build_id, options_.limits);
  if (!table.ok()) {
    ++counts_.damaged;
    unlink(path.c_str());
    return std::nullopt;
  }
  ++counts_.loaded;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return *std::move(table);
}

void TableStore::Save(std::string_view build_id, const UnwindTable& table) {
  if (options_.directory.empty() || build_id.empty() || build_id.size() > kMaxBuildId) return;
  const std::string bytes = EncodeTable(build_id, table);
  if (bytes.size() > options_.max_bytes) return;
  MakeRoom(bytes.size());
  const std::string path = PathOf(build_id);
  const std::string draft = absl::StrCat(path, ".", getpid());
  if (Write(draft, bytes) && rename(draft.c_str(), path.c_str()) == 0) {
    ++counts_.saved;
    return;
  }
  ++counts_.failed;
  unlink(draft.c_str());
}

bool TableStore::Write(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  bool good = true;
  while (good && !bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    good = wrote > 0;
    if (good) bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return close(fd) == 0 && good;
}

// The directory is read anew each time: tables are made seldom, and other agents may write too.
// Drafts that a killed agent left are files like others and go when their time comes.
void TableStore::MakeRoom(uint64_t bytes) {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t sum = bytes;
  std::error_code error;
  for (fs::directory_iterator it(options_.directory, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (it->path().filename().string().find(kSuffix) == std::string::npos) continue;
    const File file{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    sum += file.bytes;
    files.push_back(file);
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (sum <= options_.max_bytes) return;
    if (!fs::remove(file.path, error)) continue;
    sum -= file.bytes;
    ++counts_.evicted;
  }
}

}  // namespace telltale::agent
