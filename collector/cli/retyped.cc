#include "collector/cli/retyped.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/formats/escape.h"

namespace telltale::cli {
namespace {

// Each takes a value.
bool Replaced(const std::string& flag) {
  for (const char* name : {"--from", "--to", "--at", "--for", "--around", "--tier", "--page"}) {
    if (flag == name) return true;
  }
  return false;
}

std::string Moment(double unix_s, absl::TimeZone zone) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromUnixSeconds(std::llround(unix_s)), zone);
}

// As --tier takes it; empty: it is the usual one.
std::string TierFlag(v1::Tier tier) {
  switch (tier) {
    case v1::TIER_RAW:
      return "raw";
    case v1::TIER_5MIN:
      return "5m";
    case v1::TIER_1H:
      return "1h";
    case v1::TIER_1D:
      return "1d";
    default:
      return "";
  }
}

}  // namespace

std::string Quoted(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./:=+,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  // Both ways at once; which one it is shows at the end.
  std::string quoted, escaped;
  bool shown = true;
  while (!word.empty()) {
    const size_t length = std::max<size_t>(1, formats::HeadOf(word).length);
    const std::string point(word.substr(0, length));
    word.remove_prefix(length);
    quoted += point == "'" ? "'\\''" : point;
    if (point == "'" || point == "\\") {
      absl::StrAppend(&escaped, "\\", point);
    } else if (formats::Escaped(point) == point) {
      escaped += point;
    } else {
      shown = false;
      for (const char byte : point) {
        absl::StrAppendFormat(&escaped, "\\x%02x", static_cast<unsigned char>(byte));
      }
    }
  }
  return shown ? absl::StrCat("'", quoted, "'") : absl::StrCat("$'", escaped, "'");
}

std::string Retyped(const std::vector<std::string>& words, const std::vector<std::string>& flags) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (i > 0 && Replaced(name)) {
      if (name.size() == words[i].size()) ++i;  // its value is the next word
      continue;
    }
    const size_t slash = i == 0 ? words[i].rfind('/') : std::string::npos;
    const std::string word = slash == std::string::npos ? words[i] : words[i].substr(slash + 1);
    absl::StrAppend(&out, out.empty() ? "" : " ", Quoted(word));
  }
  for (const std::string& flag : flags) absl::StrAppend(&out, " ", Quoted(flag));
  return out;
}

std::string NextPage(const std::vector<std::string>& words, const v1::Selection& asked,
                     const std::string& page, absl::TimeZone zone) {
  const auto exactly = [&](double unix_s) {
    return absl::FormatTime(absl::RFC3339_full, absl::FromUnixMicros(std::llround(unix_s * 1e6)),
                            zone);
  };
  std::vector<std::string> flags = {"--from", exactly(asked.start_s()), "--to",
                                    exactly(asked.end_s())};
  if (const std::string tier = TierFlag(asked.tier()); !tier.empty()) {
    flags.insert(flags.end(), {"--tier", tier});
  }
  flags.insert(flags.end(), {"--page", page});
  return Retyped(words, flags);
}

std::vector<std::string> NearestRange(const v1::Coverage& coverage, const v1::Selection& asked,
                                      absl::TimeZone zone) {
  const v1::TierRange* nearest = nullptr;
  double least = 0;
  for (const v1::TierRange& range : coverage.tiers()) {
    const double away =
        std::max({0.0, range.start_s() - asked.end_s(), asked.start_s() - range.end_s()});
    if (nearest != nullptr && away >= least) continue;
    nearest = &range;
    least = away;
  }
  if (nearest == nullptr) return {};
  const double length =
      std::min(asked.end_s() - asked.start_s(), nearest->end_s() - nearest->start_s());
  // Before all data: its beginning; else its end.
  const bool before = asked.end_s() <= nearest->start_s();
  const double start = before ? nearest->start_s() : nearest->end_s() - length;
  return {"--from", Moment(std::floor(start), zone), "--to",
          Moment(std::ceil(start + length), zone)};
}

}  // namespace telltale::cli
