#include "proto/field_path.h"

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/text.h"

namespace telltale::proto {
namespace {

constexpr size_t kShownValueBytes = 64;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string FieldPath::Render() const {
  std::string text;
  if (parent_ != nullptr) {
    text = parent_->Render();
    text += parent_->parent_ == nullptr ? ": " : ".";
  }
  text += name_;
  if (indexed_) absl::StrAppend(&text, "[", index_, "]");
  return text;
}

absl::Status FieldPath::Refuse(const char* field, uint64_t value, std::string_view rule) const {
  return absl::InvalidArgumentError(
      absl::StrCat(FieldPath(*this, field).Render(), " is ", value, ", ", View(rule)));
}

absl::Status FieldPath::RefuseSigned(const char* field, int64_t value,
                                     std::string_view rule) const {
  return absl::InvalidArgumentError(
      absl::StrCat(FieldPath(*this, field).Render(), " is ", value, ", ", View(rule)));
}

absl::Status FieldPath::RefuseText(const char* field, std::string_view value,
                                   std::string_view rule) const {
  return absl::InvalidArgumentError(absl::StrCat(FieldPath(*this, field).Render(), " is \"",
                                                 SanitizeText(value, kShownValueBytes), "\" (",
                                                 value.size(), " bytes), ", View(rule)));
}

absl::Status FieldPath::RefuseAbove(const char* field, uint64_t value, uint64_t limit,
                                    std::string_view what) const {
  return Refuse(field, value, absl::StrCat("must be at most ", limit, " (", View(what), ")"));
}

absl::Status FieldPath::Text(const char* field, std::string_view text, size_t limit) const {
  if (text.size() > limit) {
    return RefuseText(field, text, absl::StrCat("must be at most ", limit, " bytes"));
  }
  if (!Printable(text)) return RefuseText(field, text, "must be printable UTF-8");
  return absl::OkStatus();
}

}  // namespace telltale::proto
