#include "storage/summary_store.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/apart_rows.h"
#include "storage/batch_writer.h"
#include "storage/catalog_damage.h"
#include "storage/coverage_rows.h"
#include "storage/ingest_numbers.h"
#include "storage/lost_marks.h"
#include "storage/node_book.h"
#include "storage/node_pruning.h"
#include "storage/placement.h"
#include "storage/raw_value.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

// Of one node in one step of AdoptDue: some tens of milliseconds of its shard's thread.
constexpr size_t kAdoptedAtOnce = 64;

}  // namespace

struct SummaryStore::Impl {
  explicit Impl(SummaryStoreOptions given) : options(std::move(given)) {}

  const SummaryStoreOptions options;
  IngestNumbers numbers;
  DirtyWindows dirty;
  DirtyLines lines;
  IngestStamps stamps;

  mutable std::shared_mutex mutex;
  std::map<uint32_t, std::shared_ptr<const NodeBook>> books;      // guarded by mutex
  std::map<uint64_t, std::shared_ptr<const v1::Schema>> schemas;  // guarded by mutex
  std::set<uint32_t> to_prune;  // nodes whose books are of an older raw floor; guarded by mutex
  // Nodes with rows to adopt, each with the key to go on at; guarded by mutex.
  std::map<uint32_t, std::string> to_adopt;
  std::atomic<uint16_t> raw_floor{0};
  std::atomic<uint16_t> too_old_before{0};
  std::atomic<uint16_t> coverage_floor{0};

  std::shared_ptr<const NodeBook> BookOf(uint32_t node) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto it = books.find(node);
    return it == books.end() ? std::make_shared<const NodeBook>() : it->second;
  }
  std::shared_ptr<const v1::Schema> SchemaOf(uint64_t id) const {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto it = schemas.find(id);
    return it == schemas.end() ? nullptr : it->second;
  }
  void Publish(uint32_t node, NodeBook book) {
    auto shared = std::make_shared<const NodeBook>(std::move(book));
    std::unique_lock<std::shared_mutex> lock(mutex);
    books[node] = std::move(shared);
  }

  // Once all books are of the present floor: forgets the schemas that stand in none of them.
  absl::Status DropUnusedSchemas();

  // One step of AdoptDue at one node.
  absl::Status AdoptSome(uint32_t node);

  absl::Status LoadMarks();
  absl::Status Load();
};

absl::Status SummaryStore::Impl::LoadMarks() {
  const absl::StatusOr<LostRows> windows = dirty.Load(options.catalog);
  if (!windows.ok()) return windows.status();
  MarkLostWindows(*windows, *options.registry, raw_floor, numbers.last(), &dirty);
  const absl::StatusOr<LostRows> blocks = lines.Load(options.catalog);
  if (!blocks.ok()) return blocks.status();
  return MarkLostLines(*blocks, *options.registry, *options.history, options.now_ns(), &lines);
}

absl::Status SummaryStore::Impl::Load() {
  absl::Status status = numbers.Load(options.catalog);
  if (!status.ok()) return status;
  raw_floor = static_cast<uint16_t>(numbers.record().raw_floor_day());
  status = LoadMarks();
  if (!status.ok()) return status;

  std::map<uint32_t, NodeBook> loaded;
  const auto read = [&](CatalogTable table, const char* why, const CatalogReader& take) {
    return ReadWhole(*options.catalog, TablePrefix(table), why, take);
  };
  constexpr char kTwice[] = "an epoch could be counted twice";
  status = read(CatalogTable::kLedger, kTwice, [&](std::string_view key, std::string_view value) {
    auto decoded = DecodeLedgerKey(key);
    if (!decoded.ok()) return decoded.status();
    auto record = DecodeValue<v1::LedgerRecord>(value, "ledger");
    if (!record.ok()) return record.status();
    auto ledger = SequenceLedger::FromRecord(*record);
    if (!ledger.ok()) return ledger.status();
    loaded[decoded->first].ledgers.emplace(decoded->second, *std::move(ledger));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  constexpr char kSchemas[] = "epochs could lose the schema that describes them";
  status =
      read(CatalogTable::kCounters, kSchemas, [&](std::string_view key, std::string_view value) {
        auto node = DecodeNodeOf(key);
        if (!node.ok()) return node.status();
        auto record = DecodeValue<v1::CountersRecord>(value, "counters");
        if (!record.ok()) return record.status();
        return DecodeCounters(*record, &loaded[*node]);
      });
  if (!status.ok()) return status;
  status = read(CatalogTable::kSchemas, kSchemas, [&](std::string_view, std::string_view value) {
    auto schema = DecodeValue<v1::Schema>(value, "schema");
    if (!schema.ok()) return schema.status();
    const uint64_t id = schema->id();
    schemas[id] = std::make_shared<const v1::Schema>(*std::move(schema));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  const uint16_t today = DayOf(options.now_ns());
  for (auto& [node, book] : loaded) {
    for (auto& [id, use] : book.schemas) {
      if (use.day == 0) use = {.day = today, .used = true};  // of an older program: not known
    }
    if (book.pruned_day < raw_floor) to_prune.insert(node);
    books[node] = std::make_shared<const NodeBook>(std::move(book));
  }
  for (const NodeRecord& record : options.registry->List()) {
    if (FirstAdopting(record) != nullptr) to_adopt.emplace(record.number(), "");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SummaryStore>> SummaryStore::Open(SummaryStoreOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  absl::Status loaded = impl->Load();
  if (!loaded.ok()) return loaded;
  return std::unique_ptr<SummaryStore>(new SummaryStore(std::move(impl)));
}

SummaryStore::SummaryStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SummaryStore::~SummaryStore() = default;

absl::StatusOr<std::vector<Outcome>> SummaryStore::PutBatch(std::span<const Incoming> batch) {
  if (impl_->options.admit) {
    absl::Status admitted = impl_->options.admit();
    if (!admitted.ok()) return admitted;
  }
  const uint16_t first_day = std::max(impl_->raw_floor.load(), impl_->too_old_before.load());
  BatchWriter writer(impl_->options, first_day,
                     [this](uint32_t node) { return impl_->BookOf(node); });
  std::vector<Outcome> outcomes;
  outcomes.reserve(batch.size());
  for (const Incoming& item : batch) {
    absl::StatusOr<Outcome> outcome = writer.Add(item);
    if (!outcome.ok()) return outcome.status();
    outcomes.push_back(*outcome);
  }
  if (writer.empty()) return outcomes;
  absl::StatusOr<uint64_t> number = impl_->numbers.Next();
  if (!number.ok()) return number.status();
  absl::Status written = writer.Write(*number);
  if (!written.ok()) return written;
  writer.Publish([this](uint32_t node, NodeBook book) { impl_->Publish(node, std::move(book)); },
                 &impl_->dirty, &impl_->stamps);
  return outcomes;
}

absl::Status SummaryStore::DeclareLost(uint32_t node, const Incarnation& incarnation,
                                       const LostRange& lost) {
  if (lost.first == 0 || lost.last < lost.first || lost.last > (uint64_t{1} << 48)) {
    return absl::InvalidArgumentError(absl::StrCat("declare lost: range ", lost.first, "..",
                                                   lost.last, ", want 1 <= first <= last <= 2^48"));
  }
  NodeBook book = *impl_->BookOf(node);
  if (!book.ledgers.contains(incarnation) && book.ledgers.size() >= NodeBook::kMaxLedgers) {
    return absl::ResourceExhaustedError(absl::StrCat("declare lost: node ", node, " has ",
                                                     book.ledgers.size(), " incarnations, limit ",
                                                     NodeBook::kMaxLedgers));
  }
  SequenceLedger& ledger = book.ledgers[incarnation];
  LostRange clean = lost;
  clean.detail = proto::SanitizeText(clean.detail, 200);
  ledger.AddLost(clean);
  ledger.NoteDay(DayOf(impl_->options.now_ns()));
  std::unique_ptr<Transaction> transaction = impl_->options.catalog->Begin();
  transaction->Put(LedgerKey(node, incarnation), EncodeValue(ledger.ToRecord()));
  absl::Status committed = transaction->Commit(Durability::kDurable);
  if (!committed.ok()) return committed;
  impl_->Publish(node, std::move(book));
  impl_->stamps.TouchAll(node);  // which time was lost is often not known
  return absl::OkStatus();
}

absl::Status SummaryStore::RecordStop(uint32_t node, const PlannedStop& stop) {
  std::unique_ptr<Transaction> transaction = impl_->options.catalog->Begin();
  const uint16_t of_day = DayOf(stop.time_ns);
  absl::StatusOr<CoverageDay> day =
      ReadCoverageDay(*impl_->options.catalog, *transaction, node, of_day);
  if (!day.ok()) return day.status();
  day->AddStop(stop);
  transaction->Put(CoverageKey(node, of_day), EncodeValue(day->ToRecord()));
  absl::StatusOr<NodeRecord> record =
      impl_->options.registry->Stage(node, transaction.get(), [&](NodeRecord& changed) {
        if (changed.state() == v1::NODE_STATE_CLONE_CONFLICT) return;
        changed.set_state(v1::NODE_STATE_STOPPED);
        changed.set_state_since_ns(stop.time_ns);
      });
  if (!record.ok()) return record.status();
  absl::Status committed = transaction->Commit(Durability::kDurable);
  if (!committed.ok()) return committed;
  impl_->options.registry->Publish(*std::move(record));
  impl_->stamps.TouchAll(node);  // it explains all silence after it
  return absl::OkStatus();
}

absl::Status SummaryStore::PutNames(uint32_t node, const v1::Names& names) {
  if (names.offset_size() != names.name_size()) {
    return absl::InvalidArgumentError(absl::StrCat("store names: ", names.offset_size(),
                                                   " offsets but ", names.name_size(), " names"));
  }
  NodeBook book = *impl_->BookOf(node);
  const uint64_t now_ns = impl_->options.now_ns();
  const uint16_t bucket = NamePartitionOf(Tier::kRaw, now_ns).bucket;
  if (book.name_bucket != bucket) {
    book.name_bucket = bucket;
    book.name_bytes = 0;
  }
  const uint64_t limit = impl_->options.max_name_bytes_per_node;
  const uint64_t room = limit - std::min(limit, book.name_bytes);
  absl::StatusOr<Dictionary::Told> told =
      impl_->options.dictionary->Tell(node, names, {now_ns, RawFloor() * kDayNs, room});
  if (!told.ok()) return told.status();
  if (told->bytes != 0) {
    book.name_bytes += told->bytes;
    impl_->Publish(node, std::move(book));
  }
  if (told->left_out != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("store names: node ", node, " has brought ", limit,
                     " bytes of symbol names this week (its limit), left out ", told->left_out,
                     " of ", names.name_size(), "; raise ingest.names_bytes"));
  }
  return absl::OkStatus();
}

absl::Status SummaryStore::PutSchema(uint32_t node, const v1::Schema& schema) {
  NodeBook book = *impl_->BookOf(node);
  const std::shared_ptr<const v1::Schema> stored = FindSchema(schema.id());
  const bool known = stored != nullptr;
  // The id is a short hash that guards against chance alone: what other nodes' epochs are read by
  // is not for one node to replace.
  if (known && proto::Canonical(*stored) != proto::Canonical(schema)) {
    return absl::AlreadyExistsError(absl::StrCat("store schema: node ", node, " brought another ",
                                                 schema.id(),
                                                 " than the one known by this id, which stays"));
  }
  if (known && book.schemas.contains(schema.id())) return absl::OkStatus();
  // Those only windows still speak of are left to the limit of the store.
  const auto recent =
      std::count_if(book.schemas.begin(), book.schemas.end(),
                    [this](const auto& one) { return one.second.day >= impl_->raw_floor.load(); });
  const bool room = static_cast<uint64_t>(recent) < impl_->options.max_schemas_per_node;
  if (known && !room) return absl::OkStatus();
  if (!room) {
    return absl::ResourceExhaustedError(absl::StrCat("store schema: node ", node, " has brought ",
                                                     recent, " schemas, limit ",
                                                     impl_->options.max_schemas_per_node,
                                                     " of those that raw epochs use or that "
                                                     "came since yesterday"));
  }
  book.schemas[schema.id()] = {.day = DayOf(impl_->options.now_ns()), .used = false};
  std::unique_ptr<Transaction> transaction = impl_->options.catalog->Begin();
  transaction->Put(SchemaKey(schema.id()), EncodeValue(schema));
  transaction->Put(CountersKey(node), EncodeValue(EncodeCounters(book)));
  // Schema and book become visible together: between the two another thread would find the schema
  // in no book and drop it as unused.
  std::unique_lock<std::shared_mutex> lock(impl_->mutex);
  if (!known && impl_->schemas.size() >= impl_->options.max_schemas) {
    return absl::ResourceExhaustedError(absl::StrCat("store schema: ", impl_->schemas.size(),
                                                     " schemas known, limit ",
                                                     impl_->options.max_schemas));
  }
  absl::Status committed = transaction->Commit(Durability::kBuffered);
  if (!committed.ok()) return committed;
  // Its id is the hash of its content: the one that is known serves all nodes.
  if (!impl_->schemas.contains(schema.id())) {
    impl_->schemas[schema.id()] = std::make_shared<const v1::Schema>(schema);
  }
  impl_->books[node] = std::make_shared<const NodeBook>(std::move(book));
  return absl::OkStatus();
}

std::shared_ptr<const v1::Schema> SummaryStore::FindSchema(uint64_t id) const {
  return impl_->SchemaOf(id);
}

uint64_t SummaryStore::ReceivedThrough(uint32_t node, const Incarnation& incarnation) const {
  std::shared_ptr<const NodeBook> book = impl_->BookOf(node);
  auto it = book->ledgers.find(incarnation);
  return it == book->ledgers.end() ? 0 : it->second.received_through();
}

NodeCounters SummaryStore::Counters(uint32_t node) const { return impl_->BookOf(node)->counters; }

uint64_t SummaryStore::CountedEpochs(uint32_t node) const {
  return impl_->BookOf(node)->counters.epochs;
}

std::vector<std::pair<Incarnation, SequenceLedger>> SummaryStore::Ledgers(uint32_t node) const {
  std::shared_ptr<const NodeBook> book = impl_->BookOf(node);
  return {book->ledgers.begin(), book->ledgers.end()};
}

bool SummaryStore::Received(uint32_t node, const Incarnation& incarnation,
                            uint64_t sequence) const {
  std::shared_ptr<const NodeBook> book = impl_->BookOf(node);
  auto it = book->ledgers.find(incarnation);
  return it != book->ledgers.end() && it->second.Received(sequence);
}

absl::Status SummaryStore::Decided(uint32_t node) {
  impl_->stamps.TouchAll(node);
  std::unique_lock<std::shared_mutex> lock(impl_->mutex);
  impl_->to_adopt[node].clear();
  return absl::OkStatus();
}

absl::Status SummaryStore::Impl::AdoptSome(uint32_t node) {
  std::string cursor;
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    cursor = to_adopt.at(node);
  }
  const std::optional<NodeRecord> record = options.registry->Find(node);
  const v1::KnownIncarnation* known = record.has_value() ? FirstAdopting(*record) : nullptr;
  if (known == nullptr) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    to_adopt.erase(node);
    return absl::OkStatus();
  }
  absl::StatusOr<ApartRows> rows = ReadApartRows(*options.history, {.node = node,
                                                                    .known = known,
                                                                    .raw_floor = raw_floor.load(),
                                                                    .now_ns = options.now_ns(),
                                                                    .from_key = cursor,
                                                                    .limit = kAdoptedAtOnce});
  if (!rows.ok()) return rows.status();
  BatchWriter writer(options, raw_floor.load(), [this](uint32_t of) { return BookOf(of); });
  uint64_t adopted = 0;
  std::vector<proto::OpenBody> bodies(rows->rows.size());  // outlive the write
  for (size_t i = 0; i < rows->rows.size(); ++i) {
    const ApartRow& row = rows->rows[i];
    const auto schema = SchemaOf(row.summary.schema_id());
    if (schema == nullptr) continue;
    auto decoded = proto::DecodeSummary(row.summary, *schema);
    if (!decoded.ok()) continue;
    bodies[i] = std::move(decoded->body);
    absl::StatusOr<Outcome> outcome = writer.Adopt(
        row.key, row.header, {.node = node, .summary = &row.summary, .body = &*bodies[i]});
    if (!outcome.ok()) return outcome.status();
    if (*outcome == Outcome::kStored || *outcome == Outcome::kRepeat) ++adopted;
  }
  if (!writer.empty()) {
    absl::StatusOr<uint64_t> number = numbers.Next();
    if (!number.ok()) return number.status();
    if (absl::Status written = writer.Write(*number); !written.ok()) return written;
    writer.Publish([this](uint32_t of, NodeBook book) { Publish(of, std::move(book)); }, &dirty,
                   &stamps);
  }
  const absl::Status noted =
      options.registry->Update(node, Durability::kBuffered, [&](NodeRecord& changed) {
        for (v1::KnownIncarnation& one : *changed.mutable_incarnations()) {
          if (one.id() != known->id()) continue;
          one.set_epochs_apart(one.epochs_apart() - std::min(one.epochs_apart(), adopted));
          if (rows->next_key.empty()) one.set_adopting(false);
        }
      });
  if (!noted.ok()) return noted;
  std::unique_lock<std::shared_mutex> lock(mutex);
  to_adopt[node] = rows->next_key;
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> SummaryStore::AdoptDue(std::span<const uint32_t> nodes,
                                                uint32_t max_nodes) {
  std::vector<uint32_t> due;
  {
    std::shared_lock<std::shared_mutex> lock(impl_->mutex);
    if (impl_->to_adopt.empty()) return 0;
    for (uint32_t node : nodes) {
      if (due.size() < max_nodes && impl_->to_adopt.contains(node)) due.push_back(node);
    }
  }
  for (uint32_t node : due) {
    if (absl::Status status = impl_->AdoptSome(node); !status.ok()) return status;
  }
  return static_cast<uint32_t>(due.size());
}

absl::StatusOr<std::string> SummaryStore::StoreId(const std::function<std::string()>& make) {
  if (impl_->numbers.record().store_id().empty()) {
    absl::Status saved = impl_->numbers.UpdateRecord(
        [&make](v1::StoreRecord& record) { record.set_store_id(make()); });
    if (!saved.ok()) return saved;
  }
  return impl_->numbers.record().store_id();
}

uint64_t SummaryStore::IngestNumber() const { return impl_->numbers.last(); }
DirtyWindows& SummaryStore::dirty() const { return impl_->dirty; }
DirtyLines& SummaryStore::lines() const { return impl_->lines; }
const IngestStamps& SummaryStore::stamps() const { return impl_->stamps; }
uint16_t SummaryStore::RawFloor() const { return impl_->raw_floor.load(); }

absl::Status SummaryStore::RaiseRawFloor(uint16_t first_day) {
  if (first_day <= impl_->raw_floor.load()) return absl::OkStatus();
  absl::Status saved = impl_->numbers.UpdateRecord(
      [&](v1::StoreRecord& record) { record.set_raw_floor_day(first_day); });
  if (!saved.ok()) return saved;
  impl_->raw_floor.store(first_day);
  std::unique_lock<std::shared_mutex> lock(impl_->mutex);
  for (const auto& [node, book] : impl_->books) impl_->to_prune.insert(node);
  return absl::OkStatus();
}

void SummaryStore::SetTooOldBefore(uint16_t first_day) { impl_->too_old_before.store(first_day); }

uint64_t SummaryStore::NewestReceivedNs() const {
  uint64_t newest = 0;
  for (const NodeRecord& record : impl_->options.registry->List()) {
    newest = std::max(newest, record.last_received_ns());
  }
  return newest;
}

uint16_t SummaryStore::FirstDirtyDay(uint16_t before) const {
  const uint16_t floor = impl_->raw_floor.load();
  uint16_t first = before;
  if (before <= floor) return first;
  for (const NodeRecord& record : impl_->options.registry->List()) {
    for (const DirtyKey& key : impl_->dirty.Of(record.number(), floor * kDayNs, before * kDayNs)) {
      // A window that begins before the floor is sealed, whatever its mark says.
      const uint16_t day = DayOf(key.window_start_ns);
      if (day >= floor) first = std::min(first, day);
    }
  }
  return first;
}

void SummaryStore::SetCoverageFloor(uint16_t first_day) { impl_->coverage_floor.store(first_day); }

absl::Status SummaryStore::Impl::DropUnusedSchemas() {
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (!to_prune.empty()) return absl::OkStatus();
  std::set<uint64_t> used;
  for (const auto& [node, book] : books) {
    for (const auto& [id, use] : book->schemas) used.insert(id);
  }
  std::unique_ptr<Transaction> transaction = options.catalog->Begin();
  std::vector<uint64_t> unused;
  for (const auto& [id, schema] : schemas) {
    if (used.contains(id)) continue;
    unused.push_back(id);
    transaction->Delete(SchemaKey(id));
  }
  if (unused.empty()) return absl::OkStatus();
  if (absl::Status done = transaction->Commit(Durability::kBuffered); !done.ok()) return done;
  for (const uint64_t id : unused) schemas.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> SummaryStore::Prune(std::span<const uint32_t> nodes, uint32_t max_nodes) {
  std::vector<uint32_t> due;
  {
    std::shared_lock<std::shared_mutex> lock(impl_->mutex);
    if (impl_->to_prune.empty()) return 0;
    for (uint32_t node : nodes) {
      if (due.size() < max_nodes && impl_->to_prune.contains(node)) due.push_back(node);
    }
  }
  if (due.empty()) return 0;
  for (uint32_t node : due) {
    const PruneFloors floors{impl_->raw_floor.load(), impl_->coverage_floor.load(),
                             DayOf(impl_->options.now_ns())};
    NodeBook book = *impl_->BookOf(node);
    absl::Status pruned = PruneNode(impl_->options, node, floors, &book);
    if (!pruned.ok()) return pruned;
    impl_->Publish(node, std::move(book));
    std::unique_lock<std::shared_mutex> lock(impl_->mutex);
    // The floor may have gone up meanwhile.
    if (impl_->raw_floor.load() == floors.raw_day) impl_->to_prune.erase(node);
  }
  if (absl::Status dropped = impl_->DropUnusedSchemas(); !dropped.ok()) return dropped;
  return static_cast<uint32_t>(due.size());
}

}  // namespace telltale::storage
