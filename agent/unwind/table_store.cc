#include "agent/unwind/table_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/symbols/elf_file.h"
#include "agent/unwind/byte_reader.h"

namespace telltale::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "TTunwind";
constexpr uint32_t kVersion = 2;
constexpr size_t kAlignment = 8;
constexpr std::string_view kSuffix = ".unwind";

struct Header {
  uint32_t version, rules, pages, rows;
  uint64_t base;
  uint64_t checksum;
};

// Zeroes after the build id, up to where rules may begin.
constexpr size_t Padding(size_t build_id) {
  const size_t at = kMagic.size() + sizeof(Header) + 1 + build_id;
  return (kAlignment - at % kAlignment) % kAlignment;
}

template <typename T>
void Append(std::span<const T> values, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <typename T>
std::span<const T> Take(ByteReader& reader, uint32_t count) {
  const std::string_view bytes = reader.Bytes(uint64_t{count} * sizeof(T));
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
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
  return kMagic.size() + sizeof(Header) + 1 + kMaxBuildId + kAlignment +
         limits.rules * sizeof(UnwindRule) +
         ((limits.span >> UnwindTable::kPageBits) + 2) * sizeof(uint32_t) +
         limits.rows * sizeof(UnwindRow);
}

}  // namespace

// A file, mapped; empty where that failed.
class TableStore::Mapping {
 public:
  Mapping(const std::string& path, size_t most) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    struct stat info {};
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        static_cast<uint64_t>(info.st_size) <= most) {
      void* at = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) at_ = at, size_ = static_cast<size_t>(info.st_size);
    }
    close(fd);
  }
  ~Mapping() {
    if (at_ != nullptr) munmap(at_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(at_), size_}; }
  // What was read need not stay, and its neighbours need not come along.
  void Forget() const {
    madvise(at_, size_, MADV_DONTNEED);
    madvise(at_, size_, MADV_RANDOM);
  }

 private:
  void* at_ = nullptr;
  size_t size_ = 0;
};

std::string EncodeTable(std::string_view build_id, const UnwindTable& table) {
  std::string rest(1, static_cast<char>(build_id.size()));
  rest.append(build_id);
  rest.append(Padding(build_id.size()), '\0');
  const auto& [base, rules, pages, rows] = table.parts();
  Append(rules, &rest);
  Append(pages, &rest);
  Append(rows, &rest);
  Header header{kVersion,
                static_cast<uint32_t>(rules.size()),
                static_cast<uint32_t>(pages.size()),
                static_cast<uint32_t>(rows.size()),
                base,
                0};
  header.checksum = Checksum(header, rest);
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + rest;
}

absl::StatusOr<UnwindTable> DecodeTable(std::string_view bytes, std::shared_ptr<const void> owner,
                                        std::string_view build_id,
                                        const UnwindTable::Limits& limits) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) return Damaged("not aligned");
  ByteReader reader(bytes);
  if (reader.Bytes(kMagic.size()) != kMagic) return Damaged("no such file");
  const auto header = reader.Fixed<Header>();
  if (!reader.ok() || header.version != kVersion) return Damaged("another version");
  if (Checksum(header, bytes.substr(reader.at())) != header.checksum) return Damaged("checksum");
  if (reader.Bytes(reader.Fixed<uint8_t>()) != build_id) return Damaged("another build id");
  reader.Bytes(Padding(build_id.size()));
  UnwindTable::Parts parts;
  parts.base = header.base;
  parts.rules = Take<UnwindRule>(reader, header.rules);
  parts.pages = Take<uint32_t>(reader, header.pages);
  parts.rows = Take<UnwindRow>(reader, header.rows);
  if (!reader.ok() || !reader.empty()) return Damaged("length");
  absl::StatusOr<UnwindTable> table = UnwindTable::FromParts(parts, std::move(owner), limits);
  if (!table.ok()) return Damaged(std::string(table.status().message()).c_str());
  return table;
}

TableStore::TableStore(Options options) : options_(std::move(options)) {
  if (options_.directory.empty()) return;
  if (mkdir(options_.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    CountFailure("mkdir", options_.directory);
  }
}

void TableStore::CountFailure(const char* step, const std::string& path) {
  ++counts_.failed;
  counts_.last_failure = absl::StrCat(step, " ", path, ": ", std::strerror(errno));
}

std::string TableStore::PathOf(std::string_view build_id) const {
  return absl::StrCat(options_.directory, "/",
                      absl::BytesToHexString({build_id.data(), build_id.size()}),
                      absl::string_view(kSuffix.data(), kSuffix.size()));
}

std::optional<absl::StatusOr<UnwindTable>> TableStore::Map(std::string_view build_id) {
  const auto file =
      std::make_shared<const Mapping>(PathOf(build_id), MaxFileBytes(options_.limits));
  if (file->bytes().empty()) return std::nullopt;
  absl::StatusOr<UnwindTable> table = DecodeTable(file->bytes(), file, build_id, options_.limits);
  file->Forget();
  if (table.ok()) mapped_.push_back(file);
  return table;
}

void TableStore::LetPagesGo() {
  std::erase_if(mapped_, [](const std::weak_ptr<const Mapping>& mapped) {
    const std::shared_ptr<const Mapping> file = mapped.lock();
    if (file != nullptr) file->Forget();
    return file == nullptr;
  });
}

std::optional<UnwindTable> TableStore::Load(std::string_view build_id) {
  if (options_.directory.empty() || build_id.empty() || build_id.size() > kMaxBuildId) {
    return std::nullopt;
  }
  std::optional<absl::StatusOr<UnwindTable>> table = Map(build_id);
  if (!table) return std::nullopt;
  const std::string path = PathOf(build_id);
  if (!table->ok()) {
    ++counts_.damaged;
    unlink(path.c_str());
    return std::nullopt;
  }
  ++counts_.loaded;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return **std::move(table);
}

std::optional<UnwindTable> TableStore::Save(std::string_view build_id, const UnwindTable& table) {
  if (options_.directory.empty() || build_id.empty() || build_id.size() > kMaxBuildId) {
    return std::nullopt;
  }
  const std::string bytes = EncodeTable(build_id, table);
  if (bytes.size() > options_.max_bytes) return std::nullopt;
  MakeRoom(bytes.size());
  const std::string path = PathOf(build_id);
  const std::string draft = absl::StrCat(path, ".", getpid());
  if (Write(draft, bytes) && rename(draft.c_str(), path.c_str()) == 0) {
    ++counts_.saved;
    std::optional<absl::StatusOr<UnwindTable>> kept = Map(build_id);
    if (kept && kept->ok()) return **std::move(kept);
    return std::nullopt;
  }
  CountFailure("write", draft);
  unlink(draft.c_str());
  return std::nullopt;
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
