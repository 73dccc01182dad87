#include "storage/batch_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/coverage_rows.h"
#include "storage/salvage_epochs.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

// The last tier whose marks a summary makes itself; coarser ones are marked when a finer window was
// computed.
constexpr Tier kMarkedTiers[] = {Tier::kRaw, Tier::k5Min};

}  // namespace

absl::StatusOr<Incarnation> IncarnationFrom(std::string_view bytes) {
  Incarnation incarnation;
  if (bytes.size() != incarnation.size()) {
    return absl::InvalidArgumentError(absl::StrCat("store summary: incarnation of ", bytes.size(),
                                                   " bytes, want ", incarnation.size()));
  }
  std::copy_n(bytes.begin(), bytes.size(), reinterpret_cast<char*>(incarnation.data()));
  return incarnation;
}

absl::StatusOr<uint64_t> BatchWriter::StoredDigest(const std::string& key) const {
  auto it = digests_.find(key);
  if (it != digests_.end()) return it->second;
  absl::StatusOr<std::string> value = options_.history->Get(Family::kRaw, key);
  if (!value.ok()) return value.status();
  absl::StatusOr<RawHeader> header = DecodeRawHeader(*value);
  if (!header.ok()) return header.status();
  return header->digest;
}

void BatchWriter::AppendRows(const RawKey& key, const Incoming& item, const RawHeader& header) {
  std::string bytes = EncodeRawKey(key);
  if (!item.summary->cells().empty()) {
    rows_.push_back({Family::kCells, bytes, VersionedValue(item.summary->cells()), 0});
  }
  digests_[bytes] = header.digest;
  std::string value = key.apart ? EncodeRawValueAsItCame(header, *item.summary)
                                : EncodeRawValue(header, *item.summary, *item.body);
  rows_.push_back({Family::kRaw, std::move(bytes), std::move(value), 0});
}

absl::StatusOr<Outcome> BatchWriter::AddApart(RawKey key, const Incoming& item,
                                              const RawHeader& header, Outcome outcome) {
  key.apart = true;
  key.apart_digest = header.digest;
  absl::StatusOr<uint64_t> stored = StoredDigest(EncodeRawKey(key));
  if (stored.ok() || absl::IsDataLoss(stored.status())) {  // it is there, be it damaged
    return outcome == Outcome::kConflict ? outcome : Outcome::kRepeat;
  }
  if (!absl::IsNotFound(stored.status())) return stored.status();
  AppendRows(key, item, header);
  Staged& staged = StagedOf(item.node);
  NoteSchema(item, key.day, staged);
  ++staged.book.counters.apart;
  Apart& apart = staged.apart[item.summary->identity().incarnation()];
  ++apart.epochs;
  apart.from_ns = std::min(apart.from_ns, key.start_ns);
  apart.to_ns = std::max(apart.to_ns, key.start_ns + header.length_ns);
  return outcome;
}

void BatchWriter::NoteSchema(const Incoming& item, uint16_t day, Staged& staged) {
  NodeBook::SchemaUse& use = staged.book.schemas[item.summary->schema_id()];
  use.day = use.used ? std::max(use.day, day) : day;
  use.used = true;
}

absl::Status BatchWriter::AddCounted(const RawKey& key, const EpochSpan& span, const Incoming& item,
                                     const RawHeader& header) {
  Staged& staged = StagedOf(item.node);
  auto day = staged.days.find(key.day);
  if (day == staged.days.end()) {
    absl::StatusOr<CoverageDay> loaded =
        ReadCoverageDay(*options_.catalog, *transaction_, item.node, key.day);
    if (!loaded.ok()) return loaded.status();
    day = staged.days.emplace(key.day, *std::move(loaded)).first;
  }
  day->second.Add(span);

  SequenceLedger& ledger = staged.book.ledgers[key.incarnation];
  ledger.AddReceived(key.sequence);
  ledger.NoteDay(key.day, key.sequence);
  NoteSchema(item, key.day, staged);
  staged.ledgers.insert(key.incarnation);
  AddTotals(*item.body, span.partial, &staged.book.counters);
  for (Tier tier : kMarkedTiers) {
    const uint64_t start =
        tier == Tier::kRaw ? FloorTo(span.middle_ns(), kHourNs) : WindowStart(tier, span);
    staged.dirty.insert({item.node, tier, start});
  }
  staged.counted = true;
  staged.first_start_ns = std::min(staged.first_start_ns, span.start_ns);
  if (span.end_ns >= staged.latest_end_ns) {
    staged.latest_end_ns = span.end_ns;
    staged.latest = &item.body->epoch();
  }
  AppendRows(key, item, header);
  return absl::OkStatus();
}

absl::StatusOr<Outcome> BatchWriter::Add(const Incoming& item) {
  const v1::Identity& identity = item.summary->identity();
  absl::StatusOr<Incarnation> incarnation = IncarnationFrom(identity.incarnation());
  if (!incarnation.ok()) return incarnation.status();
  const EpochSpan span = PlaceEpoch(item.body->epoch());
  RawKey key;
  key.day = DayOf(span.middle_ns());
  key.node = item.node;
  key.start_ns = span.start_ns;
  key.incarnation = *incarnation;
  key.sequence = identity.sequence();
  const RawHeader header{proto::Digest(*item.summary), span.end_ns - span.start_ns};

  // Reads staged state where this batch already touched the node.
  auto staged = staged_.find(item.node);
  std::shared_ptr<const NodeBook> shared;
  const NodeBook* book;
  if (staged != staged_.end()) {
    book = &staged->second.book;
  } else {
    shared = book_of_(item.node);
    book = shared.get();
  }
  auto ledger = book->ledgers.find(*incarnation);
  const bool known = ledger != book->ledgers.end() && ledger->second.Received(key.sequence);
  if (known) {
    absl::StatusOr<uint64_t> stored = StoredDigest(EncodeRawKey(key));
    if (stored.ok() && *stored == header.digest) return Outcome::kRepeat;
    // It was taken in and acknowledged, whatever became of its row: nobody is to wait behind it.
    if (absl::IsDataLoss(stored.status())) return Outcome::kRepeat;
    if (!stored.ok() && !absl::IsNotFound(stored.status())) return stored.status();
    if (!stored.ok()) {
      // Lost with a damaged file it has no row under its own key any more, but one near it.
      const absl::StatusOr<bool> lost = IsToldLost(*options_.history, key);
      if (!lost.ok()) return lost.status();
      if (*lost) return Outcome::kRepeat;
    }
    if (!stored.ok() && key.sequence <= ledger->second.settled_through()) {
      // Whether it was ever taken in is no longer known; it never is again.
      ++StagedOf(item.node).book.counters.too_late;
      return Outcome::kTooLate;
    }
    if (key.day < raw_floor_) return Outcome::kRepeat;  // its row has expired; it was taken in
    return AddApart(key, item, header, Outcome::kConflict);
  }
  if (key.day < raw_floor_) {
    ++StagedOf(item.node).book.counters.too_late;
    return Outcome::kTooLate;
  }
  const bool room = ledger != book->ledgers.end() || book->ledgers.size() < NodeBook::kMaxLedgers;
  if (!item.counted || !room) return AddApart(key, item, header, Outcome::kStored);
  absl::Status added = AddCounted(key, span, item, header);
  if (!added.ok()) return added;
  StagedOf(item.node).arrived = true;
  return Outcome::kStored;
}

absl::StatusOr<Outcome> BatchWriter::Adopt(RawKey apart, const RawHeader& header,
                                           const Incoming& item) {
  RawKey key = apart;
  key.apart = false;
  key.apart_digest = 0;
  if (key.day < raw_floor_) return Outcome::kTooLate;
  const NodeBook& book = StagedOf(item.node).book;
  const auto ledger = book.ledgers.find(key.incarnation);
  if (ledger != book.ledgers.end() && ledger->second.Received(key.sequence)) {
    const absl::StatusOr<uint64_t> stored = StoredDigest(EncodeRawKey(key));
    const bool known = stored.ok() || absl::IsNotFound(stored.status());
    if (!known && !absl::IsDataLoss(stored.status())) return stored.status();
    return stored.ok() && *stored == header.digest ? Outcome::kRepeat : Outcome::kConflict;
  }
  if (ledger == book.ledgers.end() && book.ledgers.size() >= NodeBook::kMaxLedgers) {
    return Outcome::kConflict;
  }
  absl::Status added = AddCounted(key, PlaceEpoch(item.body->epoch()), item, header);
  if (!added.ok()) return added;
  ++StagedOf(item.node).book.counters.adopted;
  return Outcome::kStored;
}

void BatchWriter::NoteInRecord(const Staged& staged, uint64_t now_ns, NodeRecord& record) {
  for (v1::KnownIncarnation& known : *record.mutable_incarnations()) {
    const auto apart = staged.apart.find(known.id());
    if (apart == staged.apart.end()) continue;
    known.set_epochs_apart(known.epochs_apart() + apart->second.epochs);
    const uint64_t from = known.apart_from_ns() == 0 ? UINT64_MAX : known.apart_from_ns();
    known.set_apart_from_ns(std::min(from, apart->second.from_ns));
    known.set_apart_to_ns(std::max(known.apart_to_ns(), apart->second.to_ns));
  }
  if (!staged.counted) return;
  if (record.first_epoch_ns() == 0 || staged.first_start_ns < record.first_epoch_ns()) {
    record.set_first_epoch_ns(staged.first_start_ns);
  }
  if (staged.arrived) record.set_last_received_ns(now_ns);
  if (staged.latest_end_ns < record.last_epoch_ns()) return;
  record.set_last_epoch_ns(staged.latest_end_ns);
  record.set_clock_offset_ns(staged.latest->clock_offset_ns());
  record.set_clock_error_ns(staged.latest->clock_error_ns());
  const bool after_stop = record.state() != v1::NODE_STATE_STOPPED ||
                          staged.latest_end_ns > record.state_since_ns() + 2 * kSecondNs;
  if (staged.arrived && record.state() != v1::NODE_STATE_CLONE_CONFLICT &&
      record.state() != v1::NODE_STATE_REPORTING && after_stop) {
    record.set_state(v1::NODE_STATE_REPORTING);
    record.set_state_since_ns(staged.first_start_ns);
  }
}

absl::Status BatchWriter::Write(uint64_t ingest_number) {
  ingest_number_ = ingest_number;
  if (!rows_.empty() && !transaction_->AppendWith(*options_.history, rows_)) {
    // The ledger must not know of a row that a crash may take.
    absl::Status appended = options_.history->Append(rows_);
    if (!appended.ok()) return appended;
    absl::Status synced = options_.history->Sync();
    if (!synced.ok()) return synced;
  }
  const uint64_t now_ns = options_.now_ns();
  for (auto& [node, staged] : staged_) {
    for (const Incarnation& incarnation : staged.ledgers) {
      transaction_->Put(LedgerKey(node, incarnation),
                        EncodeValue(staged.book.ledgers[incarnation].ToRecord()));
    }
    for (const auto& [day, coverage] : staged.days) {
      transaction_->Put(CoverageKey(node, day), EncodeValue(coverage.ToRecord()));
    }
    transaction_->Put(CountersKey(node), EncodeValue(EncodeCounters(staged.book)));
    for (const DirtyKey& key : staged.dirty) {
      transaction_->Put(EncodeDirtyKey(key), EncodeU64(ingest_number));
    }
    if (!staged.counted && staged.apart.empty()) continue;
    const Staged& seen = staged;
    absl::StatusOr<NodeRecord> record =
        options_.registry->Stage(node, transaction_.get(),
                                 [&](NodeRecord& changed) { NoteInRecord(seen, now_ns, changed); });
    if (!record.ok()) return record.status();
    records_.push_back(*std::move(record));
  }
  return transaction_->Commit(rows_.empty() ? Durability::kBuffered : Durability::kDurable);
}

void BatchWriter::Publish(const std::function<void(uint32_t, NodeBook)>& publish_book,
                          DirtyWindows* dirty, IngestStamps* stamps) {
  for (NodeRecord& record : records_) options_.registry->Publish(std::move(record));
  for (auto& [node, staged] : staged_) {
    for (const DirtyKey& key : staged.dirty) dirty->Mark(key, ingest_number_);
    const std::set<DirtyKey> changed = std::move(staged.dirty);
    publish_book(node, std::move(staged.book));
    for (const DirtyKey& key : changed) {
      if (key.tier == Tier::kRaw) stamps->Touch(node, key.window_start_ns);
    }
  }
}

}  // namespace telltale::storage
