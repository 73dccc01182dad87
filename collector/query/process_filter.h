// "Only this process": a pid, an executable (path or its last part), or a command name.
//
// Value; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_
#define TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_

#include <cstdint>
#include <string>

namespace telltale::query {

class ProcessFilter {
 public:
  explicit ProcessFilter(const std::string& text);  // empty: every process

  bool everything() const { return text_.empty(); }
  bool one_pid() const { return pid_ != 0; }
  bool Matches(uint32_t pid, const std::string& exe, const std::string& comm) const;

 private:
  std::string text_;
  uint32_t pid_ = 0;  // 0: the text is not a number
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_PROCESS_FILTER_H_
