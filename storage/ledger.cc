#include "storage/ledger.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::storage {

absl::StatusOr<SequenceLedger> SequenceLedger::FromRecord(const v1::LedgerRecord& record) {
  SequenceLedger ledger;
  ledger.last_day_ = static_cast<uint16_t>(std::min<uint32_t>(record.last_day(), UINT16_MAX));
  ledger.settled_through_ = record.settled_through();
  ledger.settled_received_ = ledger.received_count_ = record.settled_received();
  ledger.settled_lost_ = ledger.lost_count_ = record.settled_lost();
  if (record.received_first_size() != record.received_length_size()) {
    return absl::DataLossError(absl::StrCat("read ledger: ", record.received_first_size(),
                                            " range starts but ", record.received_length_size(),
                                            " lengths"));
  }
  uint64_t end = record.settled_through();  // of the range before
  for (int i = 0; i < record.received_first_size(); ++i) {
    const uint64_t first = record.received_first(i);
    const uint64_t length = record.received_length(i);
    if (length == 0 || first <= end || first > UINT64_MAX - (length - 1)) {
      return absl::DataLossError(absl::StrCat("read ledger: range ", i, " at ", first, " length ",
                                              length, " is not behind the one before"));
    }
    end = first + length - 1;
    ledger.received_.emplace(first, end);
    ledger.received_count_ += length;
  }
  if (record.day_first_size() != record.day_size() || record.day_last_size() != record.day_size()) {
    return absl::DataLossError(absl::StrCat("read ledger: ", record.day_size(), " days but ",
                                            record.day_first_size(), " firsts and ",
                                            record.day_last_size(), " lasts"));
  }
  for (int i = 0; i < record.day_size(); ++i) {
    if (record.day(i) > UINT16_MAX || record.day_first(i) == 0) {
      return absl::DataLossError(
          absl::StrCat("read ledger: day ", record.day(i), " from number ", record.day_first(i)));
    }
    ledger.days_[static_cast<uint16_t>(record.day(i))] = {record.day_first(i), record.day_last(i)};
  }
  for (const v1::LostRecord& lost : record.lost()) {
    if (lost.first() == 0 || lost.last() < lost.first()) {
      return absl::DataLossError(
          absl::StrCat("read ledger: lost range ", lost.first(), "..", lost.last()));
    }
    ledger.lost_.push_back(
        {lost.first(), lost.last(), lost.reason(), lost.detail(), lost.start_ns(), lost.end_ns()});
    ledger.lost_count_ += lost.last() - lost.first() + 1;
  }
  return ledger;
}

v1::LedgerRecord SequenceLedger::ToRecord() const {
  v1::LedgerRecord record;
  record.set_last_day(last_day_);
  record.set_settled_through(settled_through_);
  record.set_settled_received(settled_received_);
  record.set_settled_lost(settled_lost_);
  for (const auto& [first, last] : received_) {
    record.add_received_first(first);
    record.add_received_length(last - first + 1);
  }
  for (const auto& [day, span] : days_) {
    record.add_day(day);
    record.add_day_first(span.first);
    record.add_day_last(span.last);
  }
  for (const LostRange& lost : lost_) {
    v1::LostRecord* out = record.add_lost();
    out->set_first(lost.first);
    out->set_last(lost.last);
    out->set_reason(lost.reason);
    out->set_detail(lost.detail);
    out->set_start_ns(lost.start_ns);
    out->set_end_ns(lost.end_ns);
  }
  return record;
}

bool SequenceLedger::Received(uint64_t sequence) const {
  if (sequence <= settled_through_) return true;
  auto it = received_.upper_bound(sequence);
  return it != received_.begin() && std::prev(it)->second >= sequence;
}

bool SequenceLedger::DeclaredLost(uint64_t sequence) const {
  return std::any_of(lost_.begin(), lost_.end(), [sequence](const LostRange& lost) {
    return lost.first <= sequence && sequence <= lost.last;
  });
}

void SequenceLedger::AddReceived(uint64_t sequence) {
  if (sequence == 0 || Received(sequence)) return;
  uint64_t first = sequence;
  uint64_t last = sequence;
  auto next = received_.upper_bound(sequence);
  if (next != received_.end() && next->first == sequence + 1) {
    last = next->second;
    next = received_.erase(next);
  }
  if (next != received_.begin() && std::prev(next)->second == sequence - 1) {
    first = std::prev(next)->first;
    received_.erase(std::prev(next));
  }
  received_.emplace(first, last);
  ++received_count_;

  auto lost = std::find_if(lost_.begin(), lost_.end(), [sequence](const LostRange& range) {
    return range.first <= sequence && sequence <= range.last;
  });
  if (lost != lost_.end()) {
    LostRange tail = *lost;
    tail.first = sequence + 1;
    --lost_count_;
    if (lost->first == sequence) {
      lost = lost_.erase(lost);
    } else {
      lost->last = sequence - 1;
      ++lost;
    }
    if (tail.first <= tail.last) lost_.insert(lost, std::move(tail));
  }
  Bound();
}

void SequenceLedger::AddLost(const LostRange& lost) {
  if (lost.first == 0 || lost.last < lost.first) return;
  // What of it is neither received nor declared yet.
  std::vector<LostRange> fresh;
  uint64_t at = std::max(lost.first, settled_through_ + 1);
  while (at <= lost.last) {
    uint64_t end = lost.last;
    auto next = received_.upper_bound(at);
    if (next != received_.begin() && std::prev(next)->second >= at) {
      const uint64_t covered = std::prev(next)->second;
      if (covered >= lost.last) break;
      at = covered + 1;
      continue;
    }
    if (next != received_.end()) end = std::min(end, next->first - 1);
    bool declared = false;
    for (const LostRange& known : lost_) {
      if (known.first <= at && at <= known.last) {
        declared = true;
        end = std::min(end, known.last);
        break;
      }
      if (known.first > at) end = std::min(end, known.first - 1);
    }
    if (!declared) {
      LostRange piece = lost;
      piece.first = at;
      piece.last = end;
      fresh.push_back(std::move(piece));
      lost_count_ += end - at + 1;
    }
    if (end == UINT64_MAX) break;
    at = end + 1;
  }
  for (LostRange& piece : fresh) {
    piece.detail.resize(std::min<size_t>(piece.detail.size(), 200));
    auto at_or_after = std::lower_bound(
        lost_.begin(), lost_.end(), piece.first,
        [](const LostRange& range, uint64_t first) { return range.first < first; });
    lost_.insert(at_or_after, std::move(piece));
  }
  Bound();
}

void SequenceLedger::Settle(uint64_t through, uint64_t keep_lost_since_ns) {
  const uint64_t before = settled_through_;
  through = std::max(through, before);
  uint64_t received = 0;
  while (!received_.empty() && received_.begin()->first <= through) {
    auto [first, last] = *received_.begin();
    received_.erase(received_.begin());
    received += std::min(last, through) - first + 1;
    if (last > through) received_.emplace(through + 1, last);
  }
  uint64_t listed = 0;  // newly settled numbers that are declared lost ...
  uint64_t kept = 0;    // ... and remain listed
  std::vector<LostRange> left;
  for (LostRange& lost : lost_) {
    if (lost.first > through) {
      left.push_back(std::move(lost));
      continue;
    }
    const uint64_t last = std::min(lost.last, through);
    const uint64_t fresh = last > before ? last - std::max(before, lost.first - 1) : 0;
    listed += fresh;
    if (lost.end_ns > lost.start_ns && lost.end_ns > keep_lost_since_ns) {
      kept += fresh;
      left.push_back(std::move(lost));
      continue;
    }
    settled_lost_ += last - lost.first + 1 - fresh;
    lost.first = through + 1;
    if (lost.first <= lost.last) left.push_back(std::move(lost));
  }
  lost_ = std::move(left);
  const uint64_t gone = through - before - received;
  settled_received_ += received;
  settled_lost_ += gone - kept;
  lost_count_ += gone - listed;
  settled_through_ = through;
}

void SequenceLedger::Bound() {
  while (received_.size() > kMaxRanges) Settle(received_.begin()->second, 0);
  while (lost_.size() > kMaxLost && lost_.front().last <= settled_through_) {
    settled_lost_ += lost_.front().last - lost_.front().first + 1;
    lost_.erase(lost_.begin());
  }
  while (lost_.size() > kMaxLost) Settle(lost_.front().last, UINT64_MAX);
}

void SequenceLedger::NoteDay(uint16_t day, uint64_t sequence) {
  NoteDay(day);
  if (sequence == 0) return;
  Span& span = days_[day];
  span.first = std::min(span.first, sequence);
  span.last = std::max(span.last, sequence);
  while (days_.size() > kMaxDays) {
    const Span lowest = days_.begin()->second;
    days_.erase(days_.begin());
    Span& next = days_.begin()->second;
    next.first = std::min(next.first, lowest.first);
    next.last = std::max(next.last, lowest.last);
  }
}

void SequenceLedger::Expire(uint16_t floor_day, uint64_t since_ns) {
  uint64_t through = 0;
  uint64_t first_alive = UINT64_MAX;
  for (const auto& [day, span] : days_) {
    if (day < floor_day) {
      through = std::max(through, span.last);
    } else {
      // Clocks that were set back put later numbers into earlier days.
      first_alive = std::min(first_alive, span.first);
    }
  }
  days_.erase(days_.begin(), days_.lower_bound(floor_day));
  Settle(std::min(through, first_alive - 1), since_ns);
}

uint64_t SequenceLedger::received_through() const {
  uint64_t through = settled_through_;
  bool moved = true;
  while (moved) {
    moved = false;
    auto it = received_.upper_bound(through + 1);
    if (it != received_.begin() && std::prev(it)->second > through) {
      through = std::prev(it)->second;
      moved = true;
    }
    for (const LostRange& lost : lost_) {
      if (lost.first <= through + 1 && lost.last > through) {
        through = lost.last;
        moved = true;
      }
    }
  }
  return through;
}

uint64_t SequenceLedger::highest() const {
  const uint64_t received =
      received_.empty() ? settled_through_ : std::prev(received_.end())->second;
  return std::max(received, lost_.empty() ? 0 : lost_.back().last);
}

uint64_t SequenceLedger::missing_count() const {
  const uint64_t known = received_count_ + lost_count_;
  return highest() > known ? highest() - known : 0;
}

std::vector<std::pair<uint64_t, uint64_t>> SequenceLedger::received() const {
  return {received_.begin(), received_.end()};
}

}  // namespace telltale::storage
