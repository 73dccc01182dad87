#include "agent/host/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::agent {
namespace {

constexpr size_t kPiece = 16 * 1024;  // read at once, and the longest line

absl::Status Failed(const char* step, const std::string& path, int error) {
  const std::string message = absl::StrCat(step, " ", path, ": ", strerror(error));
  if (error == ENOENT || error == ESRCH) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

std::string_view SkipBlanks(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

absl::Status ReadPieces(const std::string& path, size_t limit,
                        const std::function<void(std::string_view)>& take) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return Failed("open", path, errno);
  char piece[kPiece];
  for (size_t left = limit; left > 0;) {
    const ssize_t got = read(fd, piece, std::min(left, sizeof piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      close(fd);
      return Failed("read", path, error);
    }
    if (got == 0) break;
    take({piece, static_cast<size_t>(got)});
    left -= static_cast<size_t>(got);
  }
  close(fd);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadBounded(const std::string& path, size_t limit) {
  std::string text;
  const absl::Status read = ReadPieces(path, limit, [&](std::string_view piece) { text += piece; });
  if (!read.ok()) return read;
  return text;
}

absl::StatusOr<size_t> ReadLines(const std::string& path, size_t limit,
                                 const std::function<void(std::string_view)>& line) {
  size_t bytes = 0;
  std::string begun;  // a line whose end was not read yet
  const absl::Status read = ReadPieces(path, limit, [&](std::string_view piece) {
    bytes += piece.size();
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      begun += piece.substr(0, end);
      piece.remove_prefix(end + 1);
      if (begun.size() <= kPiece) line(begun);
      begun.clear();
    }
    begun += piece.substr(0, kPiece + 1 - std::min(begun.size(), kPiece + 1));
  });
  if (!read.ok()) return read;
  if (!begun.empty() && begun.size() <= kPiece && bytes < limit) line(begun);
  return bytes;
}

std::optional<uint64_t> TakeNumber(std::string_view& text, int base) {
  const std::string_view rest = SkipBlanks(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text = rest.substr(static_cast<size_t>(end - rest.data()));
  return value;
}

std::string_view TakeWord(std::string_view& text) {
  const std::string_view rest = SkipBlanks(text);
  const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  text = rest.substr(end);
  return rest.substr(0, end);
}

bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

void ForEachLine(std::string_view text, const std::function<void(std::string_view)>& line) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace telltale::agent
