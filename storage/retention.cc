#include "storage/retention.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/keys.h"

namespace telltale::storage {
namespace {

// Of keys (FORMAT.md).
constexpr size_t kTierBytes = 1, kVitalBytes = 1, kFilterBytes = 4;

// A day that is over is cut for its size only so much later: its last epochs are still on their way
// and its last windows, up to that of the whole day, wait for them to settle. Without raw they
// would never be computed.
constexpr uint64_t kGraceNs = kHourNs;

// A clock that is further ahead of everything ever received is not believed.
constexpr uint64_t kBelievedAheadNs = 2 * kDayNs;

// How long after the store was opened expired days wait for windows that were still to be computed.
// A window that cannot be computed must not keep its day for ever.
constexpr uint64_t kRollUpFirstNs = kDayNs;
// How long a day beyond a limit may wait for its windows.
constexpr uint64_t kWaitNs = kHourNs;

// The first key at or after `from` in [from, to); empty: none.
absl::StatusOr<std::string> FirstKey(const History& history, Family family, std::string_view from,
                                     std::string_view to) {
  std::string first;
  absl::Status scanned =
      history.Scan(family, from, to, [&first](std::string_view key, std::string_view) {
        first = std::string(key);
        return false;
      });
  if (!scanned.ok()) return scanned;
  return first;
}

uint16_t DaysBefore(uint64_t now_ns, uint32_t days) {
  const uint16_t today = DayOf(now_ns);
  return today > days ? static_cast<uint16_t>(today - days) : 0;
}

uint64_t LessGrace(uint64_t now_ns) { return now_ns > kGraceNs ? now_ns - kGraceNs : 0; }

}  // namespace

absl::Status CheckRetention(const RetentionOptions& options) {
  if (options.raw_days == 0 || options.raw_days > options.five_minute_days ||
      options.five_minute_days > options.hour_days || options.hour_days > options.day_days) {
    return absl::InvalidArgumentError(absl::StrCat(
        "check retention: raw ", options.raw_days, " d, 5 min ", options.five_minute_days,
        " d, 1 h ", options.hour_days, " d, 1 d ", options.day_days,
        " d; want 1 <= raw <= 5 min <= 1 h <= 1 d, because coarser tiers are made of finer ones"));
  }
  if (options.guaranteed_five_minute + options.guaranteed_hour + options.guaranteed_day > 90) {
    return absl::InvalidArgumentError(absl::StrCat(
        "check retention: guaranteed shares add up to ",
        options.guaranteed_five_minute + options.guaranteed_hour + options.guaranteed_day,
        " %, want <= 90 so that raw keeps some"));
  }
  return absl::OkStatus();
}

Retention::Retention(RetentionOptions options, History* history, SummaryStore* summaries,
                     Dictionary* dictionary, uint64_t opened_ns)
    : options_(options),
      history_(history),
      summaries_(summaries),
      dictionary_(dictionary),
      opened_ns_(opened_ns) {}

// One start with a clock years ahead would otherwise delete everything and, as the raw floor never
// goes back, refuse all data for as many years. Data that comes in while the clock is wrong is
// dated by that clock, so from then on the clock is believed.
uint64_t Retention::ExpiryNow(uint64_t now_ns) const {
  const uint64_t newest_ns = summaries_->NewestReceivedNs();
  return newest_ns == 0 ? now_ns : std::min(now_ns, newest_ns + kBelievedAheadNs);
}

// After a start the first run may come before the shards have computed what was left to do: a
// collector that was down for longer than raw is kept has the epochs of those windows on disk.
uint16_t Retention::FirstRawDay(uint64_t now_ns) const {
  const uint16_t day = DaysBefore(ExpiryNow(now_ns), options_.raw_days);
  if (now_ns < opened_ns_ || now_ns - opened_ns_ >= kRollUpFirstNs) return day;
  return summaries_->FirstDirtyDay(day);
}

void Retention::JudgeArrivals(uint64_t now_ns) {
  summaries_->SetTooOldBefore(DaysBefore(ExpiryNow(now_ns), options_.raw_days));
}

absl::StatusOr<bool> Retention::NeverUsed() const {
  if (summaries_->NewestReceivedNs() != 0) return false;
  for (Family family : {Family::kRaw, Family::kRollup}) {
    absl::StatusOr<std::string> first = FirstKey(*history_, family, "", "");
    if (!first.ok()) return first.status();
    if (!first->empty()) return false;
  }
  return true;
}

absl::StatusOr<bool> Retention::Drop(Family family, std::string_view from, std::string_view to) {
  absl::StatusOr<std::string> first = FirstKey(*history_, family, from, to);
  if (!first.ok()) return first.status();
  if (first->empty()) return false;
  absl::Status dropped = history_->DropRange(family, from, to);
  if (!dropped.ok()) return dropped;
  return true;
}

absl::StatusOr<uint32_t> Retention::DropRawBefore(uint16_t day) {
  if (day == 0) return 0;
  // What is too late from now on is settled before anything goes.
  absl::Status raised = summaries_->RaiseRawFloor(day);
  if (!raised.ok()) return raised;
  uint32_t dropped = 0;
  const std::string end = DayPrefix(day);
  for (Family family : {Family::kRaw, Family::kCells, Family::kSeries}) {
    absl::StatusOr<bool> gone = Drop(family, std::string(2, '\0'), end);
    if (!gone.ok()) return gone.status();
    dropped += *gone ? 1 : 0;
  }
  // Derived rows are ordered by filter first: one range each.
  uint32_t filter = 0;
  while (true) {
    absl::StatusOr<std::string> first =
        FirstKey(*history_, Family::kDerived, EncodeDerivedKey({filter, 0, 0}), "");
    if (!first.ok()) return first.status();
    if (first->empty()) break;
    absl::StatusOr<DerivedKey> key = DecodeDerivedKey(*first);
    if (!key.ok()) return key.status();
    filter = key->filter;
    absl::StatusOr<bool> gone = Drop(Family::kDerived, EncodeDerivedKey({filter, 0, 0}),
                                     EncodeDerivedKey({filter, 0, day * kDayNs}));
    if (!gone.ok()) return gone.status();
    dropped += *gone ? 1 : 0;
    if (filter == UINT32_MAX) break;
    ++filter;
  }
  return dropped;
}

absl::StatusOr<uint32_t> Retention::DropRollupBefore(Tier tier, uint64_t time_ns) {
  const uint64_t bucket_ns = RollupBucketNs(tier);
  const uint64_t end_ns = time_ns - time_ns % bucket_ns;  // whole partitions only
  uint32_t dropped = 0;
  absl::StatusOr<bool> gone =
      Drop(Family::kRollup, RollupBucketPrefix(tier, 0), RollupBucketPrefix(tier, end_ns));
  if (!gone.ok()) return gone.status();
  dropped += *gone ? 1 : 0;
  const uint64_t line_end_ns = end_ns - end_ns % LineBucketNs(tier);
  for (int vital = 0; vital <= UINT8_MAX; ++vital) {
    const uint8_t id = static_cast<uint8_t>(vital);
    gone = Drop(Family::kLine, EncodeLineKey({tier, id, 0, 0}),
                EncodeLineKey({tier, id, line_end_ns, 0}));
    if (!gone.ok()) return gone.status();
    dropped += *gone ? 1 : 0;
  }
  return dropped;
}

absl::StatusOr<uint32_t> Retention::RunByAge(uint64_t now_ns) {
  // The floor never goes back, and nothing received yet speaks for the clock.
  const absl::StatusOr<bool> never_used = NeverUsed();
  if (!never_used.ok()) return never_used.status();
  if (*never_used) return 0;
  const uint64_t expiry_ns = ExpiryNow(now_ns);
  const uint16_t raw_day = std::max(FirstRawDay(now_ns), summaries_->RawFloor());
  // What raw holds may have to be summed up again, from whole windows: none goes before its raw.
  const auto first_day = [&](uint32_t days) {
    return std::min(DaysBefore(expiry_ns, days), raw_day);
  };
  summaries_->SetCoverageFloor(first_day(options_.day_days));
  absl::StatusOr<uint32_t> sum = DropRawBefore(raw_day);
  if (!sum.ok()) return sum;
  const uint32_t cells_days = (options_.cells_hours + 23) / 24;
  absl::StatusOr<bool> cells =
      Drop(Family::kCells, std::string(2, '\0'), DayPrefix(DaysBefore(expiry_ns, cells_days)));
  if (!cells.ok()) return cells.status();
  *sum += *cells ? 1 : 0;
  const std::pair<Tier, uint32_t> tiers[] = {{Tier::k5Min, options_.five_minute_days},
                                             {Tier::k1Hour, options_.hour_days},
                                             {Tier::k1Day, options_.day_days}};
  for (const auto& [tier, days] : tiers) {
    absl::StatusOr<uint32_t> dropped = DropRollupBefore(tier, first_day(days) * kDayNs);
    if (!dropped.ok()) return dropped;
    *sum += *dropped;
  }
  return sum;
}

absl::StatusOr<uint64_t> Retention::BytesOf(Family family, std::string_view from,
                                            std::string_view to, size_t alike) const {
  uint64_t sum = 0;
  std::string begin(from);
  while (true) {
    absl::StatusOr<std::string> first = FirstKey(*history_, family, begin, to);
    if (!first.ok()) return first.status();
    if (first->empty()) return sum;
    std::string end = PrefixEnd(std::string_view(*first).substr(0, alike));
    if (end.empty() || (!to.empty() && end > to)) end = std::string(to);
    absl::StatusOr<uint64_t> bytes = history_->RangeBytes(family, *first, end);
    if (!bytes.ok()) return bytes;
    sum += *bytes;
    if (end == to) return sum;
    begin = std::move(end);
  }
}

absl::StatusOr<uint64_t> Retention::RawBytes() const {
  uint64_t sum = 0;
  for (Family family : {Family::kRaw, Family::kCells, Family::kSeries}) {
    absl::StatusOr<uint64_t> bytes = BytesOf(family, "", "", 0);
    if (!bytes.ok()) return bytes;
    sum += *bytes;
  }
  return sum;
}

absl::StatusOr<uint64_t> Retention::TierBytes(Tier tier) const {
  const std::string begin = RollupBucketPrefix(tier, 0);
  return BytesOf(Family::kRollup, begin, PrefixEnd(std::string_view(begin).substr(0, kTierBytes)),
                 kTierBytes);
}

absl::StatusOr<uint64_t> Retention::HeldBytes() const {
  absl::StatusOr<uint64_t> sum = RawBytes();
  if (!sum.ok()) return sum;
  // Where dropping leaves gaps inside of a family, its keys begin with what is dropped by itself.
  const std::pair<Family, size_t> others[] = {{Family::kRollup, kTierBytes},
                                              {Family::kLine, kTierBytes + kVitalBytes},
                                              {Family::kDerived, kFilterBytes},
                                              {Family::kDict, NamePartitionPrefix({}).size()}};
  for (const auto& [family, alike] : others) {
    absl::StatusOr<uint64_t> bytes = BytesOf(family, "", "", alike);
    if (!bytes.ok()) return bytes;
    *sum += *bytes;
  }
  return sum;
}

// What is dropped before it is summed up is in no tier; what waits for that for too long fills the
// disk.
bool Retention::WaitsForWindows(uint16_t day, uint64_t now_ns) {
  const uint16_t after = static_cast<uint16_t>(day + 1);
  if (summaries_->FirstDirtyDay(after) == after) {
    waiting_since_ns_.reset();
    return false;
  }
  if (!waiting_since_ns_.has_value() || now_ns < *waiting_since_ns_) waiting_since_ns_ = now_ns;
  return now_ns - *waiting_since_ns_ < kWaitNs;
}

// Oldest day first, but never today: without it nothing would be left to answer with.
absl::StatusOr<uint32_t> Retention::CutRaw(uint64_t now_ns, const TooMuch& too_much) {
  uint32_t dropped = 0;
  const uint16_t today = DayOf(LessGrace(now_ns));
  while (true) {
    const absl::StatusOr<bool> more = too_much();
    if (!more.ok()) return more.status();
    if (!*more) break;
    absl::StatusOr<std::string> first = FirstKey(*history_, Family::kRaw, "", "");
    if (!first.ok()) return first.status();
    if (first->empty()) break;
    absl::StatusOr<RawKey> key = DecodeRawKey(*first);
    if (!key.ok()) return key.status();
    if (key->day >= today || WaitsForWindows(key->day, now_ns)) break;
    absl::StatusOr<uint32_t> gone = DropRawBefore(static_cast<uint16_t>(key->day + 1));
    if (!gone.ok()) return gone;
    dropped += *gone;
  }
  return dropped;
}

absl::StatusOr<uint32_t> Retention::CutTier(Tier tier, uint64_t now_ns, uint64_t kept_bytes,
                                            const TooMuch& too_much) {
  uint32_t dropped = 0;
  const std::string begin = RollupBucketPrefix(tier, 0);
  const std::string end = PrefixEnd(std::string_view(begin).substr(0, kTierBytes));
  while (true) {
    absl::StatusOr<uint64_t> held = TierBytes(tier);
    if (!held.ok()) return held.status();
    if (*held <= kept_bytes) break;
    const absl::StatusOr<bool> more = too_much();
    if (!more.ok()) return more.status();
    if (!*more) break;
    absl::StatusOr<std::string> first = FirstKey(*history_, Family::kRollup, begin, end);
    if (!first.ok()) return first.status();
    if (first->empty()) break;
    absl::StatusOr<RollupKey> key = DecodeRollupKey(*first);
    if (!key.ok()) return key.status();
    const uint64_t bucket_ns = RollupBucketNs(tier);
    const uint64_t next = key->window_start_ns / bucket_ns * bucket_ns + bucket_ns;
    if (next > LessGrace(now_ns)) break;
    // Windows of what raw still holds may have to be summed up again, so it goes with them.
    absl::StatusOr<uint32_t> raw_gone = DropRawBefore(DayOf(next));
    if (!raw_gone.ok()) return raw_gone;
    dropped += *raw_gone;
    absl::StatusOr<uint32_t> gone = DropRollupBefore(tier, next);
    if (!gone.ok()) return gone;
    dropped += *gone;
  }
  return dropped;
}

absl::StatusOr<uint32_t> Retention::RunBySize(uint64_t now_ns) {
  struct Share {
    Tier tier;
    uint64_t max_bytes;
    uint32_t guaranteed;
  };
  const Share tiers[] = {
      {Tier::k5Min, options_.max_five_minute_bytes, options_.guaranteed_five_minute},
      {Tier::k1Hour, options_.max_hour_bytes, options_.guaranteed_hour},
      {Tier::k1Day, options_.max_day_bytes, options_.guaranteed_day}};
  uint32_t dropped = 0;
  const auto add = [&dropped](const absl::StatusOr<uint32_t>& gone) {
    if (gone.ok()) dropped += *gone;
    return gone.status();
  };
  if (options_.max_raw_bytes != 0) {
    const auto too_much = [this]() -> absl::StatusOr<bool> {
      const absl::StatusOr<uint64_t> held = RawBytes();
      if (!held.ok()) return held.status();
      return *held > options_.max_raw_bytes;
    };
    if (absl::Status cut = add(CutRaw(now_ns, too_much)); !cut.ok()) return cut;
  }
  for (const Share& share : tiers) {
    if (share.max_bytes == 0) continue;
    const auto as_long_as_above = []() -> absl::StatusOr<bool> { return true; };
    absl::Status cut = add(CutTier(share.tier, now_ns, share.max_bytes, as_long_as_above));
    if (!cut.ok()) return cut;
  }

  if (options_.max_bytes == 0) return dropped;
  const auto too_much = [&]() -> absl::StatusOr<bool> {
    // What was cut last may have been the last that needed some names.
    if (absl::Status names = add(DropNames()); !names.ok()) return names;
    const absl::StatusOr<uint64_t> held = HeldBytes();
    if (!held.ok()) return held.status();
    return *held > options_.max_bytes;
  };
  if (absl::Status cut = add(CutRaw(now_ns, too_much)); !cut.ok()) return cut;
  for (const Share& share : tiers) {
    const uint64_t guaranteed = options_.max_bytes / 100 * share.guaranteed;
    absl::Status cut = add(CutTier(share.tier, now_ns, guaranteed, too_much));
    if (!cut.ok()) return cut;
  }
  return dropped;
}

absl::StatusOr<uint32_t> Retention::DropNames() {
  const uint64_t raw_floor_ns = summaries_->RawFloor() * kDayNs;
  absl::StatusOr<uint32_t> sum = dictionary_->DropBefore(Tier::kRaw, raw_floor_ns);
  if (!sum.ok()) return sum;
  for (Tier tier : {Tier::k5Min, Tier::k1Hour, Tier::k1Day}) {
    // Windows that begin before the raw floor are sealed, so none comes back in front of the first
    // one there is; those behind the floor may still be written.
    uint64_t referred_ns = raw_floor_ns;
    const std::string begin = RollupBucketPrefix(tier, 0);
    absl::StatusOr<std::string> first =
        FirstKey(*history_, Family::kRollup, begin,
                 PrefixEnd(std::string_view(begin).substr(0, kTierBytes)));
    if (!first.ok()) return first.status();
    if (!first->empty()) {
      absl::StatusOr<RollupKey> key = DecodeRollupKey(*first);
      if (!key.ok()) return key.status();
      referred_ns = std::min(referred_ns, key->window_start_ns);
    }
    absl::StatusOr<uint32_t> dropped = dictionary_->DropBefore(tier, referred_ns);
    if (!dropped.ok()) return dropped;
    *sum += *dropped;
  }
  return sum;
}

absl::StatusOr<uint32_t> Retention::Run(uint64_t now_ns) {
  JudgeArrivals(now_ns);
  absl::StatusOr<uint32_t> by_age = RunByAge(now_ns);
  if (!by_age.ok()) return by_age;
  absl::StatusOr<uint32_t> by_size = RunBySize(ExpiryNow(now_ns));
  if (!by_size.ok()) return by_size;
  absl::StatusOr<uint32_t> names = DropNames();
  if (!names.ok()) return names;
  return *by_age + *by_size + *names;
}

}  // namespace telltale::storage
