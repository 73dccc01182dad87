// "Only this process": a pid, an executable (path or its last part), or a command name. Remembers
// whom it was asked about, so that an answer can tell a name nobody has from one that did nothing.
//
// One per answer; its thread.

#ifndef TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_
#define TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace telltale::query {

class ProcessFilter {
 public:
  explicit ProcessFilter(const std::string& text);  // empty: every process

  bool everything() const { return text_.empty(); }
  bool one_pid() const { return pid_ != 0; }
  bool Matches(uint32_t pid, const std::string& exe, const std::string& comm);
  // NotFound, with the nearest names: none of those it was asked about matches. Ok if it was asked
  // about nobody. `question`: begins the message.
  absl::Status Found(const char* question) const;

 private:
  static constexpr size_t kMaxNames = 10'000;

  std::string text_;
  uint32_t pid_ = 0;  // 0: the text is not a number
  bool matched_ = false;
  std::set<std::string> names_;  // of those that do not match
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_
