// Bounded reading of small files whose size and text are not trusted (/proc, /sys), and of the
// numbers in them. Free functions: any thread.

#ifndef TELLTALE_AGENT_HOST_PROC_FILE_H_
#define TELLTALE_AGENT_HOST_PROC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace telltale::agent {

// The first `limit` bytes of a file. NotFound, PermissionDenied or Unavailable name path and errno.
absl::StatusOr<std::string> ReadBounded(const std::string& path, size_t limit);

// Calls `line` with each line of the first `limit` bytes of a file, without its newline, while they
// are read: nothing of it is kept. Lines of more than 16 KiB are passed over. How many bytes were
// read, or as ReadBounded.
absl::StatusOr<size_t> ReadLines(const std::string& path, size_t limit,
                                 const std::function<void(std::string_view)>& line);

// The decimal or (base 16) hexadecimal number at the front of `text`, after blanks; moves past it.
// nullopt: no digit, or more than 64 bits.
std::optional<uint64_t> TakeNumber(std::string_view& text, int base = 10);

// The word at the front of `text`, after blanks; moves past it. Empty at the end.
std::string_view TakeWord(std::string_view& text);

// Whether `word` stands in a list of words between commas.
bool HasWord(std::string_view list, std::string_view word);

// Calls `line` with each line of `text`, without its newline.
void ForEachLine(std::string_view text, const std::function<void(std::string_view)>& line);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_PROC_FILE_H_
