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

}  // namespace

absl::StatusOr<std::string> ReadBounded(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return Failed("open", path, errno);
  std::string text;
  while (text.size() < limit) {
    constexpr size_t kChunk = 16 * 1024;
    const size_t had = text.size();
    text.resize(std::min(limit, had + kChunk));
    const ssize_t got = read(fd, text.data() + had, text.size() - had);
    if (got < 0 && errno == EINTR) {
      text.resize(had);
      continue;
    }
    if (got < 0) {
      const int error = errno;
      close(fd);
      return Failed("read", path, error);
    }
    text.resize(had + static_cast<size_t>(got));
    if (got == 0) break;
  }
  close(fd);
  return text;
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

void ForEachLine(std::string_view text, const std::function<void(std::string_view)>& line) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace telltale::agent
