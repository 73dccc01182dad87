#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/ledger.h"

namespace telltale::storage {
namespace {

// How far apart the clocks of node and collector may be for a stop to be told from going on.
constexpr uint64_t kClocksApartNs = 30 * kSecondNs;

bool WatchedThroughout(const CoveragePiece& piece) {
  return piece.watched_ns == piece.end_ns - piece.start_ns;
}

// Whether two neighbours may become one without making coverage look different.
bool SameKind(const CoveragePiece& a, const CoveragePiece& b) {
  return WatchedThroughout(a) && WatchedThroughout(b) && a.partial_epochs == 0 &&
         b.partial_epochs == 0;
}

// b follows a. A hole of clock jitter between them counts as watched if both sides were.
CoveragePiece Join(const CoveragePiece& a, const CoveragePiece& b) {
  CoveragePiece joined;
  joined.start_ns = std::min(a.start_ns, b.start_ns);
  joined.end_ns = std::max(a.end_ns, b.end_ns);
  const uint64_t length = joined.end_ns - joined.start_ns;
  joined.watched_ns = SameKind(a, b) && b.start_ns <= a.end_ns + CoverageDay::kJoinNs
                          ? length
                          : std::min(length, a.watched_ns + b.watched_ns);
  joined.epochs = a.epochs + b.epochs;
  joined.partial_epochs = a.partial_epochs + b.partial_epochs;
  return joined;
}

std::string_view StopName(v1::Goodbye::Reason reason) {
  switch (reason) {
    case v1::Goodbye::STOP:
      return "agent stopped";
    case v1::Goodbye::RESTART:
      return "agent restarted";
    case v1::Goodbye::REBOOT:
      return "node rebooted";
    default:
      return "planned stop";
  }
}

std::string LossName(const LostRange& lost) {
  std::string name;
  switch (lost.reason) {
    case v1::Lost::SPOOL_FULL:
      name = "spool full";
      break;
    case v1::Lost::SPOOL_CORRUPT:
      name = "spool corrupt";
      break;
    case v1::Lost::REFUSED:
      name = "refused";
      break;
    case v1::Lost::CRASHED:
      name = "agent crashed";
      break;
    case v1::Lost::MEMORY_FULL:
      name = "spool hung";
      break;
    default:
      name = "unknown reason";
  }
  if (!lost.detail.empty()) absl::StrAppend(&name, ": ", lost.detail);
  return name;
}

}  // namespace

absl::StatusOr<CoverageDay> CoverageDay::FromRecord(const v1::CoverageRecord& record) {
  const int n = record.start_ns_size();
  if (record.length_ns_size() != n || record.watched_ns_size() != n || record.epochs_size() != n ||
      record.partial_epochs_size() != n || record.stop_ns_size() != record.stop_reason_size()) {
    return absl::DataLossError(
        absl::StrCat("read coverage: columns of different length, want ", n));
  }
  CoverageDay day;
  for (int i = 0; i < n; ++i) {
    CoveragePiece piece;
    piece.start_ns = record.start_ns(i);
    if (record.length_ns(i) > UINT64_MAX - piece.start_ns) {
      return absl::DataLossError(
          absl::StrCat("read coverage: piece ", i, " of length ", record.length_ns(i), " ns"));
    }
    piece.end_ns = piece.start_ns + record.length_ns(i);
    piece.watched_ns = record.watched_ns(i);
    piece.epochs = record.epochs(i);
    piece.partial_epochs = record.partial_epochs(i);
    day.pieces_.push_back(piece);
  }
  for (int i = 0; i < record.stop_ns_size(); ++i) {
    day.stops_.push_back(
        {record.stop_ns(i), static_cast<v1::Goodbye::Reason>(record.stop_reason(i))});
  }
  return day;
}

v1::CoverageRecord CoverageDay::ToRecord() const {
  v1::CoverageRecord record;
  for (const CoveragePiece& piece : pieces_) {
    record.add_start_ns(piece.start_ns);
    record.add_length_ns(piece.end_ns - piece.start_ns);
    record.add_watched_ns(piece.watched_ns);
    record.add_epochs(piece.epochs);
    record.add_partial_epochs(piece.partial_epochs);
  }
  for (const PlannedStop& stop : stops_) {
    record.add_stop_ns(stop.time_ns);
    record.add_stop_reason(stop.reason);
  }
  return record;
}

void CoverageDay::Add(const EpochSpan& span) {
  CoveragePiece piece;
  piece.start_ns = span.start_ns;
  piece.end_ns = span.end_ns;
  piece.watched_ns = span.watched_ns;
  // A sensor that was attached throughout may say so with the rounding of two clocks.
  if (piece.watched_ns + kJoinNs / 100 >= piece.end_ns - piece.start_ns) {
    piece.watched_ns = piece.end_ns - piece.start_ns;
  }
  piece.epochs = 1;
  piece.partial_epochs = span.partial ? 1 : 0;

  auto at =
      std::lower_bound(pieces_.begin(), pieces_.end(), piece.start_ns,
                       [](const CoveragePiece& p, uint64_t start) { return p.start_ns < start; });
  at = pieces_.insert(at, piece);
  const auto touches = [](const CoveragePiece& a, const CoveragePiece& b) {
    return SameKind(a, b) && b.start_ns <= a.end_ns + kJoinNs;
  };
  if (std::next(at) != pieces_.end() && touches(*at, *std::next(at))) {
    *at = Join(*at, *std::next(at));
    pieces_.erase(std::next(at));
  }
  if (at != pieces_.begin() && touches(*std::prev(at), *at)) {
    *std::prev(at) = Join(*std::prev(at), *at);
    pieces_.erase(at);
  }
  while (pieces_.size() > kMaxPieces) {
    size_t best = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i + 1 < pieces_.size(); ++i) {
      const uint64_t end = pieces_[i].end_ns;
      const uint64_t start = pieces_[i + 1].start_ns;
      const uint64_t between = start > end ? start - end : 0;
      if (between < least) {
        least = between;
        best = i;
      }
    }
    pieces_[best] = Join(pieces_[best], pieces_[best + 1]);
    pieces_.erase(pieces_.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

void CoverageDay::AddStop(const PlannedStop& stop) {
  auto at = std::lower_bound(stops_.begin(), stops_.end(), stop.time_ns,
                             [](const PlannedStop& s, uint64_t time) { return s.time_ns < time; });
  if (at != stops_.end() && at->time_ns == stop.time_ns) return;
  stops_.insert(at, stop);
  if (stops_.size() > kMaxStops) stops_.erase(stops_.begin());
}

CoverageView ViewCoverage(const std::vector<CoveragePiece>& pieces,
                          const std::vector<PlannedStop>& stops, const std::vector<LostRange>& lost,
                          uint64_t from_ns, uint64_t to_ns) {
  CoverageView view;
  if (to_ns <= from_ns) return view;

  for (const LostRange& range : lost) {
    const bool timed = range.end_ns > range.start_ns;
    if (!timed || (range.start_ns < to_ns && range.end_ns > from_ns)) {
      view.epochs_lost += static_cast<uint32_t>(
          std::min<uint64_t>(range.last - range.first + 1, UINT32_MAX - view.epochs_lost));
    }
  }

  // The stop that explains silence from `at` on: the last one, if nothing was watched since.
  const auto stop_before = [&](uint64_t at) -> const PlannedStop* {
    const PlannedStop* found = nullptr;
    for (const PlannedStop& stop : stops) {
      if (stop.time_ns <= at + 2 * kSecondNs) found = &stop;
    }
    if (found == nullptr) return nullptr;
    for (const CoveragePiece& piece : pieces) {
      if (piece.start_ns >= at) continue;
      // One that began before and goes on: it was another machine's stop, or that of an agent that
      // came back before the clocks of both agreed that it was gone.
      const bool goes_on = piece.end_ns > found->time_ns + kClocksApartNs;
      if (piece.start_ns >= found->time_ns || goes_on) return nullptr;
    }
    return found;
  };

  const auto add_gap = [&](uint64_t start, uint64_t end) {
    if (const PlannedStop* stop = stop_before(start)) {
      view.stopped_ns += end - start;
      view.gaps.push_back(
          {start, end, Gap::Cause::kStopped, std::string(StopName(stop->reason)), 0, 0});
      return;
    }
    view.unwatched_ns += end - start;
    // Declared losses of known time explain the parts they overlap; the rest is simply missing.
    uint64_t at = start;
    for (const LostRange& range : lost) {
      if (range.end_ns <= at || range.start_ns >= end || range.end_ns <= range.start_ns) continue;
      const uint64_t piece_start = std::max(at, range.start_ns);
      const uint64_t piece_end = std::min(end, range.end_ns);
      if (piece_start > at + CoverageDay::kJoinNs) {
        view.gaps.push_back({at, piece_start, Gap::Cause::kMissing, "", 0, 0});
      }
      view.gaps.push_back({piece_start, piece_end, Gap::Cause::kDeclaredLost, LossName(range),
                           range.first, range.last});
      at = piece_end;
    }
    if (at == start || end > at + CoverageDay::kJoinNs) {
      view.gaps.push_back({at, end, Gap::Cause::kMissing, "", 0, 0});
    }
  };

  uint64_t at = from_ns;
  for (const CoveragePiece& piece : pieces) {
    if (piece.end_ns <= from_ns) continue;
    if (piece.start_ns >= to_ns) break;
    if (piece.start_ns > at) {
      // Jitter between two epochs is no gap, but at the edge of the range it is nobody's either.
      if (piece.start_ns - at > CoverageDay::kJoinNs) {
        add_gap(at, piece.start_ns);
      } else {
        view.watched_ns += piece.start_ns - at;
      }
    }
    const uint64_t start = std::max(at, piece.start_ns);
    const uint64_t end = std::min(to_ns, piece.end_ns);
    if (end > start) {
      const uint64_t length = piece.end_ns - piece.start_ns;
      const uint64_t watched =
          piece.watched_ns >= length
              ? end - start
              : static_cast<uint64_t>(static_cast<unsigned __int128>(piece.watched_ns) *
                                      (end - start) / length);
      view.watched_ns += watched;
      view.unwatched_ns += end - start - watched;
      at = end;
    }
    // Of a piece that reaches beyond the range, the share of its epochs.
    const uint64_t whole = piece.end_ns - piece.start_ns;
    const uint64_t part = std::min(to_ns, piece.end_ns) - std::max(from_ns, piece.start_ns);
    const auto share = [&](uint32_t n) -> uint32_t {
      if (whole == 0 || part == whole) return n;
      return static_cast<uint32_t>((static_cast<unsigned __int128>(n) * part + whole / 2) / whole);
    };
    // A range shorter than an epoch rests on one all the same.
    view.epochs += std::max(std::min(piece.epochs, 1u), share(piece.epochs));
    view.partial_epochs += share(piece.partial_epochs);
  }
  if (to_ns > at) {
    if (to_ns - at > CoverageDay::kJoinNs || at == from_ns) {
      add_gap(at, to_ns);
    } else {
      view.watched_ns += to_ns - at;
    }
  }
  return view;
}

}  // namespace telltale::storage
