#include "collector/cli/spool_state_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "collector/cli/terminal_text.h"
#include "telltale/v1/ingest.pb.h"

namespace telltale::cli {
namespace {

using google::protobuf::Struct;

constexpr std::string_view kHeadLine = "telltale-spool-state 1\n";
constexpr std::string_view kChecksumWord = "checksum ";
constexpr size_t kIncarnationDigits = 32;
constexpr size_t kHeldWords = 4, kLostWords = 6;  // without the detail

bool IsHex(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)) != 0; }

std::string TimeText(const std::string& unix_ns) {
  int64_t ns = 0;
  if (!absl::SimpleAtoi(unix_ns, &ns) || ns == 0) return "an unknown time";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixNanos(ns), absl::UTCTimeZone());
}

std::string ReasonName(const std::string& number) {
  int reason = 0;
  if (!absl::SimpleAtoi(number, &reason) || !v1::Lost::Reason_IsValid(reason)) {
    return absl::StrCat("reason ", Escaped(number));
  }
  return v1::Lost::Reason_Name(static_cast<v1::Lost::Reason>(reason));
}

Struct& Append(Struct& fields, const char* list) {
  return *(*fields.mutable_fields())[list]
              .mutable_list_value()
              ->add_values()
              ->mutable_struct_value();
}

void Set(Struct& fields, const char* name, const std::string& value) {
  (*fields.mutable_fields())[name].set_string_value(value);
}

// One line of the state; false: it is none of the grammar.
bool AddLine(const std::string& line, SpoolStateFile& file) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  uint64_t number = 0;
  for (size_t i = 1; i < std::min(words.size(), kLostWords); ++i) {
    // SimpleAtoi lets blanks of all kinds through, which would be shown.
    const bool digits = std::all_of(words[i].begin(), words[i].end(), absl::ascii_isdigit);
    if (!digits || !absl::SimpleAtoi(words[i], &number)) return false;
  }
  if (words.size() == 2 && (words[0] == "generation" || words[0] == "next")) {
    absl::StrAppend(&file.text, words[0] == "next" ? "next sequence   " : "generation      ",
                    words[1], words[0] == "next" ? " or above\n" : "\n");
    Set(file.fields, words[0] == "next" ? "next" : "generation", words[1]);
    return true;
  }
  if (words.size() == kHeldWords && words[0] == "held") {
    absl::StrAppend(&file.text, "in memory only  ", words[1], ": ", TimeText(words[2]), " to ",
                    TimeText(words[3]), "\n");
    Struct& held = Append(file.fields, "held");
    Set(held, "sequence", words[1]);
    Set(held, "startUnixNs", words[2]);
    Set(held, "endUnixNs", words[3]);
    return true;
  }
  if (words.size() < kLostWords || words[0] != "lost") return false;
  std::string detail;
  for (size_t i = kLostWords; i < words.size(); ++i) {
    absl::StrAppend(&detail, detail.empty() ? "" : " ", words[i]);
  }
  absl::StrAppend(&file.text, "lost            ", words[1], " to ", words[2], ": ",
                  ReasonName(words[3]), ", ", TimeText(words[4]), " to ", TimeText(words[5]),
                  detail.empty() ? "" : "; ", Escaped(detail), "\n");
  Struct& lost = Append(file.fields, "lost");
  Set(lost, "firstSequence", words[1]);
  Set(lost, "lastSequence", words[2]);
  Set(lost, "reason", ReasonName(words[3]));
  Set(lost, "startUnixNs", words[4]);
  Set(lost, "endUnixNs", words[5]);
  Set(lost, "detail", detail);
  return true;
}

}  // namespace

bool IsSpoolState(std::string_view bytes) { return bytes.substr(0, kHeadLine.size()) == kHeadLine; }

bool IsIncarnation(std::string_view bytes) {
  return bytes.size() == kIncarnationDigits + 1 && bytes.back() == '\n' &&
         std::all_of(bytes.begin(), bytes.end() - 1, IsHex);
}

absl::StatusOr<SpoolStateFile> ReadSpoolState(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  if (!IsSpoolState(text)) {
    return absl::DataLossError("does not begin with \"telltale-spool-state 1\"");
  }
  const size_t sum_at = text.rfind(kChecksumWord);
  if (sum_at == std::string_view::npos) return absl::DataLossError("has no checksum line");
  const std::string wanted = absl::StrFormat("checksum %016x\n", XXH3_64bits(text.data(), sum_at));
  if (text.substr(sum_at) != wanted) {
    return absl::DataLossError(absl::StrCat(
        "checksum of its ", sum_at, " bytes is wrong (a write cut short?); the other slot holds"));
  }
  SpoolStateFile file;
  const std::string body(text.substr(kHeadLine.size(), sum_at - kHeadLine.size()));
  for (const absl::string_view line : absl::StrSplit(body, '\n', absl::SkipEmpty())) {
    if (!AddLine(std::string(line), file)) {
      return absl::DataLossError(
          absl::StrCat("line \"", Escaped(std::string(line)), "\" is not of its grammar"));
    }
  }
  return file;
}

absl::StatusOr<SpoolStateFile> ReadIncarnation(std::string_view bytes) {
  if (!IsIncarnation(bytes)) {
    return absl::DataLossError(absl::StrCat(bytes.size(), " bytes are not ", kIncarnationDigits,
                                            " hexadecimal digits and a newline"));
  }
  SpoolStateFile file;
  const std::string id = absl::AsciiStrToLower(std::string(bytes.substr(0, kIncarnationDigits)));
  file.text = absl::StrCat("incarnation ", id, "\n");
  Set(file.fields, "incarnation", id);
  return file;
}

}  // namespace telltale::cli
