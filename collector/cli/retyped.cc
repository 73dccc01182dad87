#include "collector/cli/retyped.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace telltale::cli {
namespace {

// What was typed, quoted, without these flags; each takes a value.
std::string Without(std::initializer_list<std::string_view> flags,
                    const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (i > 0 && std::ranges::count(flags, name) > 0) {
      if (name.size() == words[i].size()) ++i;  // its value is the next word
      continue;
    }
    const size_t slash = i == 0 ? words[i].rfind('/') : std::string::npos;
    const std::string word = slash == std::string::npos ? words[i] : words[i].substr(slash + 1);
    absl::StrAppend(&out, out.empty() ? "" : " ", Quoted(word));
  }
  return out;
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

double WindowSeconds(v1::Tier tier) {
  return tier == v1::TIER_5MIN ? 300 : tier == v1::TIER_1H ? 3600 : tier == v1::TIER_1D ? 86400 : 0;
}

// Where data is. The first and the last window of a tier may hold little: where epochs or shorter
// windows begin or end inside it, that is where data does.
std::vector<v1::TierRange> DataOf(const v1::Coverage& coverage) {
  std::vector<v1::TierRange> ranges(coverage.tiers().begin(), coverage.tiers().end());
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.tier() < b.tier(); });
  for (size_t i = 0; i < ranges.size(); ++i) {
    const double window = WindowSeconds(ranges[i].tier());
    for (size_t finer = 0; finer < i; ++finer) {
      const double start = ranges[finer].start_s(), end = ranges[finer].end_s();
      if (start > ranges[i].start_s() && start < ranges[i].start_s() + window) {
        ranges[i].set_start_s(start);
      }
      if (end < ranges[i].end_s() && end > ranges[i].end_s() - window) ranges[i].set_end_s(end);
    }
  }
  return ranges;
}

}  // namespace

std::string Retyped(const std::vector<std::string>& words, const std::vector<std::string>& flags) {
  std::string out =
      Without({"--from", "--to", "--at", "--for", "--around", "--tier", "--page"}, words);
  for (const std::string& flag : flags) absl::StrAppend(&out, " ", Quoted(flag));
  return out;
}

std::string RetypedAgainst(const std::vector<std::string>& words,
                           const std::vector<std::string>& range) {
  std::string out = Without({"--against", "--against-to"}, words);
  for (size_t i = 0; i + 1 < range.size(); i += 2) {
    absl::StrAppend(&out, range[i] == "--from" ? " --against " : " --against-to ",
                    Quoted(range[i + 1]));
  }
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
  const std::vector<v1::TierRange> ranges = DataOf(coverage);
  for (const v1::TierRange& range : ranges) {
    // Only the tier was wrong: the time stays.
    if (asked.tier() != v1::TIER_AUTO && range.tier() != asked.tier() &&
        range.start_s() < asked.end_s() && range.end_s() > asked.start_s()) {
      return {"--from", Moment(std::floor(asked.start_s()), zone), "--to",
              Moment(std::ceil(asked.end_s()), zone)};
    }
  }
  const v1::TierRange* nearest = nullptr;
  double least = 0;
  for (const v1::TierRange& range : ranges) {
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
