#include "collector/query/process_filter.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collector/query/nearest.h"
#include "collector/query/stack_names.h"

namespace telltale::query {

ProcessFilter::ProcessFilter(const std::string& text) : text_(text) {
  if (!absl::SimpleAtoi(text, &pid_)) pid_ = 0;
}

bool ProcessFilter::Matches(uint32_t pid, const std::string& exe, const std::string& comm) {
  if (text_.empty()) return true;
  if ((pid_ != 0 && pid == pid_) || exe == text_ || comm == text_ || BaseName(exe) == text_) {
    matched_ = true;
    return true;
  }
  if (!matched_ && names_.size() < kMaxNames) names_.insert(exe.empty() ? comm : BaseName(exe));
  return false;
}

absl::Status ProcessFilter::Found(const char* question) const {
  if (matched_ || names_.empty()) return absl::OkStatus();
  std::string hint = NearestHint(text_, {names_.begin(), names_.end()});
  if (hint.empty()) hint = "; none is spelt like it, telltale top shows which there are";
  return absl::NotFoundError(absl::StrCat(question, ": no process \"", text_.substr(0, 128),
                                          "\" has an account or a sample in this time", hint));
}

}  // namespace telltale::query
