#include "collector/query/process_filter.h"

#include "absl/strings/numbers.h"
#include "collector/query/stack_names.h"

namespace telltale::query {

ProcessFilter::ProcessFilter(const std::string& text) : text_(text) {
  if (!absl::SimpleAtoi(text, &pid_)) pid_ = 0;
}

bool ProcessFilter::Matches(uint32_t pid, const std::string& exe, const std::string& comm) const {
  if (text_.empty()) return true;
  if (pid_ != 0 && pid == pid_) return true;
  return exe == text_ || comm == text_ || BaseName(exe) == text_;
}

}  // namespace telltale::query
