#include "agent/spool/spool_state.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace telltale::agent {
namespace {

constexpr std::string_view kHead = "telltale-spool-state 1\n";
constexpr std::string_view kChecksum = "checksum ";

// One line's worth of printable ASCII.
std::string Printable(const std::string& text) {
  std::string result = text.substr(0, SpoolState::kMaxDetailBytes);
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

// Joins `next` into `range`; the time is known if either knows it.
void Join(const v1::Lost& next, v1::Lost* range) {
  range->set_last_sequence(std::max(range->last_sequence(), next.last_sequence()));
  range->set_end_unix_ns(std::max(range->end_unix_ns(), next.end_unix_ns()));
  if (range->start_unix_ns() == 0 ||
      (next.start_unix_ns() != 0 && next.start_unix_ns() < range->start_unix_ns())) {
    range->set_start_unix_ns(next.start_unix_ns());
  }
}

absl::Status Damaged(const char* how) {
  return absl::DataLossError(absl::StrCat("state slot ", how));
}

// The next word, which must be decimal digits: a stream would take "-1" for the greatest number.
template <typename T>
bool Number(std::istream& in, T* value) {
  std::string word;
  if (!(in >> word)) return false;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

bool ParseLine(const std::string& line, SpoolState* state) {
  std::istringstream in(line);
  std::string word;
  in >> word;
  if (word == "generation") return Number(in, &state->generation);
  if (word == "next") return Number(in, &state->next) && state->next > 0;
  if (word == "held") {
    uint64_t sequence = 0;
    TimeRange time;
    if (!Number(in, &sequence) || !Number(in, &time.start_unix_ns) ||
        !Number(in, &time.end_unix_ns) || sequence == 0) {
      return false;
    }
    state->held[sequence] = time;
    return state->held.size() <= SpoolState::kMaxHeld;
  }
  if (word == "lost") {
    uint64_t first = 0, last = 0, start = 0, end = 0;
    uint32_t reason = 0;
    if (!Number(in, &first) || !Number(in, &last) || !Number(in, &reason) || !Number(in, &start) ||
        !Number(in, &end) || first == 0 || last < first || reason > INT32_MAX) {
      return false;
    }
    v1::Lost& range = state->lost.emplace_back();
    range.set_first_sequence(first);
    range.set_last_sequence(last);
    range.set_reason(static_cast<v1::Lost::Reason>(reason));
    range.set_start_unix_ns(start);
    range.set_end_unix_ns(end);
    in.get();  // the space before the detail
    std::string detail;
    std::getline(in, detail);
    range.set_detail(Printable(detail));
    return state->lost.size() <= SpoolState::kMaxLost;
  }
  return false;
}

}  // namespace

void SpoolState::AddLost(v1::Lost range) {
  range.set_detail(Printable(range.detail()));
  const auto at = std::upper_bound(
      lost.begin(), lost.end(), range,
      [](const v1::Lost& a, const v1::Lost& b) { return a.first_sequence() < b.first_sequence(); });
  lost.insert(at, std::move(range));
  for (size_t i = 0; i + 1 < lost.size();) {
    const bool touches = lost[i + 1].first_sequence() <= lost[i].last_sequence() + 1;
    const bool overlaps = lost[i + 1].first_sequence() <= lost[i].last_sequence();
    if (overlaps || (touches && lost[i].reason() == lost[i + 1].reason())) {
      Join(lost[i + 1], &lost[i]);
      lost.erase(lost.begin() + static_cast<ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
  while (lost.size() > kMaxLost) {
    Join(lost[1], &lost[0]);
    lost.erase(lost.begin() + 1);
  }
}

void SpoolState::RemoveLost(uint64_t first, uint64_t last) {
  std::vector<v1::Lost> kept;
  for (const v1::Lost& range : lost) {
    if (range.last_sequence() < first || range.first_sequence() > last) {
      kept.push_back(range);
      continue;
    }
    if (range.first_sequence() < first) {
      kept.push_back(range);
      kept.back().set_last_sequence(first - 1);
    }
    if (range.last_sequence() > last) {
      kept.push_back(range);
      kept.back().set_first_sequence(last + 1);
    }
  }
  lost = std::move(kept);
}

const v1::Lost* SpoolState::LostRangeOf(uint64_t sequence) const {
  for (const v1::Lost& range : lost) {
    if (range.first_sequence() <= sequence && sequence <= range.last_sequence()) return &range;
  }
  return nullptr;
}

std::string SpoolState::Encode() const {
  std::string text(kHead);
  absl::StrAppend(&text, "generation ", generation, "\nnext ", next, "\n");
  for (const auto& [sequence, time] : held) {
    absl::StrAppend(&text, "held ", sequence, " ", time.start_unix_ns, " ", time.end_unix_ns, "\n");
  }
  for (const v1::Lost& range : lost) {
    absl::StrAppend(&text, "lost ", range.first_sequence(), " ", range.last_sequence(), " ",
                    static_cast<int>(range.reason()), " ", range.start_unix_ns(), " ",
                    range.end_unix_ns());
    absl::StrAppend(&text, " ", range.detail(), "\n");
  }
  const uint64_t sum = XXH3_64bits(text.data(), text.size());
  absl::StrAppend(&text, std::string(kChecksum), absl::StrFormat("%016x", sum), "\n");
  text.resize(kSlotBytes, '\0');
  return text;
}

absl::StatusOr<SpoolState> SpoolState::Decode(std::string_view slot) {
  const std::string_view text = slot.substr(0, slot.find('\0'));
  if (text.substr(0, kHead.size()) != kHead) return Damaged("has no head");
  const size_t sum_at = text.rfind(kChecksum);
  if (sum_at == std::string_view::npos) return Damaged("has no checksum");
  const std::string expected =
      absl::StrFormat("checksum %016x\n", XXH3_64bits(text.data(), sum_at));
  if (text.substr(sum_at) != expected) return Damaged("has a wrong checksum");
  SpoolState state;
  std::istringstream lines{std::string(text.substr(kHead.size(), sum_at - kHead.size()))};
  for (std::string line; std::getline(lines, line);) {
    if (!ParseLine(line, &state)) return Damaged("has an unreadable line");
  }
  return state;
}

}  // namespace telltale::agent
