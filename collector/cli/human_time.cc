#include "collector/cli/human_time.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <vector>

namespace telltale::cli {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"monday", "tuesday",  "wednesday", "thursday",
                                                   "friday", "saturday", "sunday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr size_t kShortName = 3;

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == ',' || c == '\t') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Position of a name, whole or its first letters (three at least).
template <size_t N>
std::optional<int> NameIn(const std::array<std::string_view, N>& names, std::string_view word) {
  if (word.size() < kShortName) return std::nullopt;
  for (size_t i = 0; i < N; ++i) {
    if (names[i].substr(0, word.size()) == word) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::optional<int> WholeNumber(std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

// Seconds into the day: "17:00", "17:00:05", "5pm", "5:30pm", "noon", "midnight".
std::optional<int> TimeOfDay(std::string_view word) {
  if (word == "noon") return 12 * 3600;
  if (word == "midnight") return 0;
  bool morning = false, afternoon = false;
  for (const auto& [ending, flag] : {std::pair("am", &morning), std::pair("pm", &afternoon)}) {
    if (word.size() > 2 && word.substr(word.size() - 2) == ending) {
      *flag = true;
      word.remove_suffix(2);
      break;
    }
  }
  const bool of_twelve = morning || afternoon;
  std::array<int, 3> parts = {0, 0, 0};
  size_t count = 0;
  while (count < parts.size()) {
    const size_t colon = word.find(':');
    const int least = count == 0 && of_twelve ? 1 : 0;
    const int most = count > 0 ? 59 : of_twelve ? 12 : 23;
    const std::optional<int> part = WholeNumber(word.substr(0, colon), least, most);
    if (!part.has_value()) return std::nullopt;
    parts[count++] = *part;
    if (colon == std::string_view::npos) {
      if (count == 1 && !of_twelve) return std::nullopt;  // a bare number may be anything
      if (of_twelve) parts[0] = parts[0] % 12 + (afternoon ? 12 : 0);
      return parts[0] * 3600 + parts[1] * 60 + parts[2];
    }
    word.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

// "2 hours ago", "an hour ago", "10 min ago".
std::optional<absl::Time> Ago(const std::vector<std::string>& words, absl::Time now) {
  if (words.size() < 2 || words.size() > 3 || words.back() != "ago") return std::nullopt;
  // "1h ago": number and unit in one word.
  const size_t digits = std::min(words[0].find_first_not_of("0123456789"), words[0].size());
  if (words.size() == 2 && (digits == 0 || digits == words[0].size())) return std::nullopt;
  const std::string number = words.size() == 2 ? words[0].substr(0, digits) : words[0];
  const bool one = number == "a" || number == "an";
  const std::optional<int> count = one ? 1 : WholeNumber(number, 1, 10'000);
  if (!count.has_value()) return std::nullopt;
  std::string unit = words.size() == 2 ? words[0].substr(digits) : words[1];
  if (unit.size() > 1 && unit.back() == 's') unit.pop_back();
  for (const auto& [names, seconds] : {std::pair(std::array{"second", "sec", "s"}, 1),
                                       std::pair(std::array{"minute", "min", "m"}, 60),
                                       std::pair(std::array{"hour", "hr", "h"}, 3600),
                                       std::pair(std::array{"day", "day", "d"}, 86400),
                                       std::pair(std::array{"week", "wk", "w"}, 7 * 86400)}) {
    if (std::ranges::find(names, unit) != names.end()) return now - absl::Seconds(*count * seconds);
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::vector<std::string> words, absl::Time now, absl::TimeZone zone, Meant meant)
      : words_(std::move(words)),
        now_(now),
        ahead_(meant == Meant::kAhead),
        zone_(zone),
        today_(zone.At(now).cs) {}

  std::optional<absl::Time> Read() {
    if (!words_.empty() && (words_.back() == "utc" || words_.back() == "z")) {
      zone_ = absl::UTCTimeZone();
      today_ = absl::CivilDay(zone_.At(now_).cs);
      words_.pop_back();
    }
    if (const auto ago = Ago(words_, now_)) return ago;
    while (at_ < words_.size()) {
      if (!TakeWord()) return std::nullopt;
    }
    if (!day_.has_value() && !time_s_.has_value()) return std::nullopt;
    absl::CivilDay day = day_.value_or(today_);
    if (ahead_) {
      if ((!day_.has_value() || weekday_) && Moment(day) <= now_) day += weekday_ ? 7 : 1;
      return Moment(day);
    }
    if (day_.has_value() ? weekday_ && !last_ && Moment(day) > now_ : Moment(day) > now_) {
      day -= weekday_ ? 7 : 1;
    }
    return Moment(day);
  }

 private:
  absl::Time Moment(absl::CivilDay day) const {
    return absl::FromCivil(absl::CivilSecond(day) + time_s_.value_or(0), zone_);
  }

  bool TakeWord() {
    const std::string& word = words_[at_];
    if (word == "at" || word == "on" || word == "around") return ++at_ < words_.size();
    if (!day_.has_value() && TakeDay(word)) return true;
    if (time_s_.has_value()) return false;
    std::string whole = word;
    // "5 pm"
    if (at_ + 1 < words_.size() && (words_[at_ + 1] == "am" || words_[at_ + 1] == "pm")) {
      whole += words_[++at_];
    }
    time_s_ = TimeOfDay(whole);
    ++at_;
    return time_s_.has_value();
  }

  bool TakeDay(const std::string& word) {
    if (word == "today" || word == "yesterday" || word == "tomorrow") {
      day_ = today_ + (word == "today" ? 0 : word == "tomorrow" ? 1 : -1);
      ++at_;
      return true;
    }
    if (word == "last" && !ahead_ && at_ + 1 < words_.size()) {
      last_ = true;
      const std::optional<int> weekday = NameIn(kDays, words_[at_ + 1]);
      if (!weekday.has_value()) return false;
      at_ += 2;
      TakeWeekday(*weekday);
      return true;
    }
    if (const std::optional<int> weekday = NameIn(kDays, word)) {
      ++at_;
      TakeWeekday(*weekday);
      return true;
    }
    return TakeDate();
  }

  void TakeWeekday(int weekday) {
    weekday_ = true;
    const auto wanted = static_cast<absl::Weekday>(weekday);
    if (ahead_) {
      day_ = absl::NextWeekday(today_ - 1, wanted);
    } else {
      day_ = last_ ? absl::PrevWeekday(today_, wanted) : absl::PrevWeekday(today_ + 1, wanted);
    }
  }

  // "2026-11-18", "18 nov", "nov 18".
  bool TakeDate() {
    absl::CivilDay day;
    if (absl::ParseCivilTime(words_[at_], &day)) {
      day_ = day;
      ++at_;
      return true;
    }
    if (at_ + 1 >= words_.size()) return false;
    for (const bool month_first : {false, true}) {
      const std::optional<int> month = NameIn(kMonths, words_[at_ + (month_first ? 0 : 1)]);
      const std::optional<int> number = WholeNumber(words_[at_ + (month_first ? 1 : 0)], 1, 31);
      if (!month.has_value() || !number.has_value()) continue;
      day = absl::CivilDay(today_.year(), *month + 1, *number);
      if (ahead_ && day < today_) day = absl::CivilDay(today_.year() + 1, *month + 1, *number);
      if (!ahead_ && day > today_) day = absl::CivilDay(today_.year() - 1, *month + 1, *number);
      if (day.day() != *number) return false;  // 31 june
      day_ = day;
      at_ += 2;
      return true;
    }
    return false;
  }

  std::vector<std::string> words_;
  const absl::Time now_;
  const bool ahead_;
  absl::TimeZone zone_;
  absl::CivilDay today_;
  size_t at_ = 0;
  std::optional<absl::CivilDay> day_;
  std::optional<int> time_s_;
  bool weekday_ = false, last_ = false;
};

}  // namespace

std::optional<absl::Time> ParseHumanMoment(const std::string& text, absl::Time now,
                                           absl::TimeZone zone, Meant meant) {
  return Reader(WordsOf(text), now, zone, meant).Read();
}

}  // namespace telltale::cli
