#include "config/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values.h"

namespace telltale::config {
namespace {

using Parse = absl::StatusOr<uint64_t> (*)(const std::string&, uint64_t, uint64_t);
using Format = std::string (*)(uint64_t);

std::string FormatNumber(uint64_t value) { return absl::StrCat(value); }

template <typename T>
Option Quantity(OptionInfo info, T& field, Parse parse, Format format, uint64_t low,
                uint64_t high) {
  return {std::move(info),
          [&field, parse, low, high](const std::string& text) -> absl::Status {
            auto value = parse(text, low, high);
            if (!value.ok()) return value.status();
            field = static_cast<T>(*value);
            return absl::OkStatus();
          },
          [&field, format] { return format(field); }};
}

std::string Translate(const std::string& key, const std::string& prefix, char separator,
                      bool upper) {
  std::string result = prefix;
  for (const char c : key) {
    if (c == '.' || c == '_') {
      result += separator;
    } else {
      result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
  }
  return result;
}

bool ValidWord(const std::string& word) {
  return !word.empty() && word.size() <= 64 && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
           c == '/';
  });
}

absl::StatusOr<std::map<std::string, std::string>> ParsePairs(const std::string& text) {
  std::map<std::string, std::string> pairs;
  for (const auto& piece : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(piece, absl::MaxSplits('=', 1));
    if (sides.size() != 2 || !ValidWord(sides[0]) || !ValidWord(sides[1])) {
      return absl::InvalidArgumentError(
          "must be key=value pairs with commas between them, each side 1 to 64 letters, digits or "
          "._/-");
    }
    pairs[sides[0]] = sides[1];
  }
  return pairs;
}

// As short as it can be read back the same: "1e15", as a plus is part of no word.
std::string FormatDouble(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  std::erase(text, '+');
  return text;
}

}  // namespace

void OptionTable::Number(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high) {
  Add(Quantity(std::move(info), field, ParseNumber, FormatNumber, low, high));
}
void OptionTable::Number(OptionInfo info, uint32_t& field, uint64_t low, uint64_t high) {
  Add(Quantity(std::move(info), field, ParseNumber, FormatNumber, low, high));
}
void OptionTable::Seconds(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high) {
  Add(Quantity(std::move(info), field, ParseSeconds, FormatSeconds, low, high));
}
void OptionTable::Seconds(OptionInfo info, uint32_t& field, uint64_t low, uint64_t high) {
  Add(Quantity(std::move(info), field, ParseSeconds, FormatSeconds, low, high));
}
void OptionTable::Bytes(OptionInfo info, uint64_t& field, uint64_t low, uint64_t high) {
  Add(Quantity(std::move(info), field, ParseBytes, FormatBytes, low, high));
}

void OptionTable::Text(OptionInfo info, std::string& field,
                       std::function<absl::Status(const std::string&)> check) {
  Add({std::move(info),
       [&field, check = std::move(check)](const std::string& text) -> absl::Status {
         if (absl::Status status = check(text); !status.ok()) return status;
         field = text;
         return absl::OkStatus();
       },
       [&field] { return field; }});
}

void OptionTable::Path(OptionInfo info, std::string& field, bool may_be_empty) {
  Text(std::move(info), field, [may_be_empty](const std::string& text) {
    return text.empty() && !may_be_empty ? absl::InvalidArgumentError("must be a path")
                                         : absl::OkStatus();
  });
}

void OptionTable::Address(OptionInfo info, std::string& field) {
  Text(std::move(info), field, [](const std::string& text) { return ParseAddress(text).status(); });
}

void OptionTable::Choice(OptionInfo info, std::string& field, std::vector<std::string> allowed) {
  Text(std::move(info), field, [allowed = std::move(allowed)](const std::string& text) {
    return std::find(allowed.begin(), allowed.end(), text) != allowed.end()
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     absl::StrCat("must be one of ", absl::StrJoin(allowed, ", ")));
  });
}

void OptionTable::Switch(OptionInfo info, bool& field) {
  Add({std::move(info),
       [&field](const std::string& text) -> absl::Status {
         auto value = ParseBool(text);
         if (!value.ok()) return value.status();
         field = *value;
         return absl::OkStatus();
       },
       [&field] { return std::string(field ? "true" : "false"); }});
}

void OptionTable::Pairs(OptionInfo info, std::map<std::string, std::string>& field) {
  Option option{std::move(info),
                [&field](const std::string& text) -> absl::Status {
                  auto pairs = ParsePairs(text);
                  if (!pairs.ok()) return pairs.status();
                  field = *std::move(pairs);
                  return absl::OkStatus();
                },
                [&field] { return absl::StrJoin(field, ",", absl::PairFormatter("=")); }};
  option.mapping = true;
  Add(std::move(option));
}

void OptionTable::Numbers(OptionInfo info, std::map<std::string, double>& field,
                          std::function<absl::Status(const std::map<std::string, double>&)> check) {
  Option option{std::move(info),
                [&field, check = std::move(check)](const std::string& text) -> absl::Status {
                  const auto pairs = ParsePairs(text);
                  if (!pairs.ok()) return pairs.status();
                  std::map<std::string, double> numbers;
                  for (const auto& [key, value] : *pairs) {
                    if (!absl::SimpleAtod(value, &numbers[key]) || !std::isfinite(numbers[key])) {
                      return absl::InvalidArgumentError(
                          absl::StrCat("must be numbers, and ", key, " is none"));
                    }
                  }
                  if (absl::Status status = check(numbers); !status.ok()) return status;
                  field = std::move(numbers);
                  return absl::OkStatus();
                },
                [&field] {
                  return absl::StrJoin(field, ",", [](std::string* out, const auto& pair) {
                    absl::StrAppend(out, pair.first, "=", FormatDouble(pair.second));
                  });
                }};
  option.mapping = true;
  Add(std::move(option));
}

const Option* OptionTable::Find(const std::string& key) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&key](const Option& option) { return option.info.key == key; });
  return found == options_.end() ? nullptr : &*found;
}

std::string OptionTable::Flag(const OptionInfo& info) const {
  return Translate(info.key, "--", '-', false);
}

std::string OptionTable::Variable(const OptionInfo& info) const {
  return Translate(info.key, prefix_, '_', true);
}

}  // namespace telltale::config
