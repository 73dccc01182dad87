#include "storage/store.h"

#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rocksdb/env.h"
#include "storage/catalog_blobs.h"
#include "storage/data_directory.h"
#include "storage/dictionary.h"
#include "storage/format_upgrade.h"
#include "storage/placement.h"
#include "storage/rocks_catalog.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr uint32_t kLineBlocksAtOnce = 256;  // a bound of one maintenance round

uint64_t SystemNowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

std::string NewStoreId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = random();
    for (int shift = 0; shift < 32; shift += 8) id.push_back(static_cast<char>(word >> shift));
  }
  return id;
}

}  // namespace

struct Store::Parts {
  explicit Parts(StoreOptions given) : options(std::move(given)) {}

  // Created in this order, destroyed in reverse.
  const StoreOptions options;
  std::optional<DirectoryHold> hold;
  std::unique_ptr<RocksDatabase> database;
  std::unique_ptr<RocksHistory> history;
  std::unique_ptr<RocksCatalog> catalog;
  std::unique_ptr<Dictionary> dictionary;
  std::unique_ptr<NodeRegistry> nodes;
  std::unique_ptr<SummaryStore> summaries;
  std::unique_ptr<CatalogBlobs> blobs;
  std::unique_ptr<Retention> retention;
  std::unique_ptr<Reader> reader;
  FreshBodies fresh_bodies;
  std::unique_ptr<DerivedStore> derived;
  std::unique_ptr<Roller> roller;
  std::string store_id;
  std::optional<FormatUpgrade> upgrade;

  rocksdb::Env* env() const {
    return options.env != nullptr ? options.env : rocksdb::Env::Default();
  }
  absl::Status Open();
  absl::Status CheckFreeSpace() const;
  // Before anything is encoded: whether it could be written.
  absl::Status Admit();
  absl::Status ExpireBlobs(uint64_t now_ns);
};

absl::Status Store::Parts::Admit() {
  if (absl::Status space = CheckFreeSpace(); !space.ok()) return space;
  // Tries to get going again what stopped writing.
  const auto instance = database->Use();
  return instance.ok() ? database->Failure() : instance.status();
}

absl::Status Store::Parts::CheckFreeSpace() const {
  uint64_t free = 0;
  const rocksdb::Status asked = env()->GetFreeSpace(options.path, &free);
  if (!asked.ok() || free >= options.min_free_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "write to store ", options.path, ": ", free >> 20, " MiB free on its file system, want ",
      options.min_free_bytes >> 20, "; free space or lower retention.max_bytes"));
}

absl::Status Store::Parts::Open() {
  absl::Status status = CheckRetention(options.retention);
  if (!status.ok()) return status;
  absl::StatusOr<int> format =
      options.read_only ? ReadFormat(env(), options.path) : PrepareDirectory(env(), options.path);
  if (!format.ok()) return format.status();
  if (options.read_only) {
    if (*format != kFormat) {
      return absl::FailedPreconditionError(
          absl::StrCat("open store ", options.path, ": is of format ", *format, ", to be read as ",
                       kFormat, "; start a collector on it once, which upgrades it"));
    }
    absl::StatusOr<DirectoryHold> held = DirectoryHold::Take(env(), options.path);
    if (!held.ok()) return held.status();
    hold.emplace(*std::move(held));
  }
  auto opened = RocksDatabase::Open({.path = options.path + "/rocks",
                                     .env = options.env,
                                     .memory_bytes = options.memory_bytes,
                                     .read_only = options.read_only});
  if (!opened.ok()) return opened.status();
  database = *std::move(opened);
  history = std::make_unique<RocksHistory>(database.get());
  catalog = std::make_unique<RocksCatalog>(database.get());
  if (*format < kFormat) {
    const auto begun = std::chrono::steady_clock::now();
    // From 2 there is nothing to do: its rows stand in the directory as they came.
    if (*format == 1) status = UpgradeFrom1(history.get(), options.now_ns());
    if (status.ok()) status = WriteFormat(env(), options.path);
    if (!status.ok()) return status;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun;
    upgrade = {.from = *format, .to = kFormat, .took_ns = static_cast<uint64_t>(took.count())};
  }
  auto names = Dictionary::Open(history.get());
  if (!names.ok()) return names.status();
  dictionary = *std::move(names);
  if (dictionary->Unreadable() != 0) {
    catalog->NoteLoss(absl::StrCat(
        "names: about ", dictionary->Unreadable(),
        " where periods of names begin cannot be read and are lost: functions show as file and "
        "offset until their nodes tell them again; telltale-collector verify of a backup names the "
        "file"));
  }

  auto registry = NodeRegistry::Open(catalog.get(), options.max_nodes);
  if (!registry.ok()) return registry.status();
  nodes = *std::move(registry);
  SummaryStoreOptions summary_options;
  summary_options.history = history.get();
  summary_options.catalog = catalog.get();
  summary_options.registry = nodes.get();
  summary_options.dictionary = dictionary.get();
  summary_options.now_ns = options.now_ns;
  summary_options.admit = [this] { return Admit(); };
  summary_options.max_name_bytes_per_node = options.max_name_bytes_per_node;
  auto store = SummaryStore::Open(std::move(summary_options));
  if (!store.ok()) return store.status();
  summaries = *std::move(store);
  auto id = summaries->StoreId(NewStoreId);
  if (!id.ok()) return id.status();
  store_id = *std::move(id);

  blobs = std::make_unique<CatalogBlobs>(CatalogBlobsOptions{.catalog = catalog.get(),
                                                             .now_ns = options.now_ns,
                                                             .admit = [this] { return Admit(); },
                                                             .limits = options.blobs});
  retention = std::make_unique<Retention>(options.retention, history.get(), summaries.get(),
                                          dictionary.get(), options.now_ns());
  // Data older than what would be kept is too late from the first moment. The raw floor stays: what
  // it seals could not be summed up any more.
  retention->JudgeArrivals(options.now_ns());
  reader = std::make_unique<Reader>(history.get(), catalog.get(), nodes.get(), summaries.get(),
                                    dictionary.get());
  derived = std::make_unique<DerivedStore>(history.get(), catalog.get(), reader.get());
  roller = std::make_unique<Roller>(options.roller, history.get(), catalog.get(), reader.get(),
                                    summaries.get(), dictionary.get());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  if (!options.now_ns) options.now_ns = SystemNowNs;
  std::unique_ptr<Store> store(new Store());
  store->parts_ = std::make_unique<Parts>(std::move(options));
  absl::Status opened = store->parts_->Open();
  if (!opened.ok()) return opened;
  return store;
}

Store::Store() = default;
Store::~Store() = default;

const std::string& Store::store_id() const { return parts_->store_id; }
std::vector<std::string> Store::Losses() const { return parts_->catalog->Losses(); }
History& Store::history() { return *parts_->history; }
const std::optional<FormatUpgrade>& Store::upgrade() const { return parts_->upgrade; }
Catalog& Store::catalog() { return *parts_->catalog; }
NodeRegistry& Store::nodes() { return *parts_->nodes; }
SummaryStore& Store::summaries() { return *parts_->summaries; }
DerivedStore& Store::derived() { return *parts_->derived; }
BlobStore& Store::blobs() { return *parts_->blobs; }
Roller& Store::roller() { return *parts_->roller; }
const Reader& Store::reader() const { return *parts_->reader; }
FreshBodies& Store::fresh_bodies() { return parts_->fresh_bodies; }

absl::Status Store::Writable() const {
  const absl::Status space = parts_->CheckFreeSpace();
  return space.ok() ? parts_->database->Failure() : space;
}

absl::StatusOr<CopyResult> Store::BackUp(const std::string& to_data, const CopyWatcher& watch) {
  return storage::BackUp(*parts_->database, parts_->env(), to_data, watch);
}

absl::Status Store::CheckFiles(const BadFile& bad, const FileWatcher& watch) {
  return parts_->database->CheckFiles(bad, watch);
}

absl::Status Store::ScanCatalogOver(std::string_view from, std::string_view to,
                                    const RowVisitor& visit, const DamageVisitor& damaged) {
  return parts_->database->ScanCatalogOver(from, to, visit, damaged);
}

absl::Status Store::Parts::ExpireBlobs(uint64_t now_ns) {
  const absl::StatusOr<uint64_t> gone = blobs->Expire(retention->ExpiryNow(now_ns));
  if (!gone.ok() || *gone == 0) return gone.status();
  const std::string pieces = TablePrefix(CatalogTable::kBlobPieces);
  return catalog->GiveBack(pieces, PrefixEnd(pieces));
}

absl::Status Store::Maintain() {
  const uint64_t now_ns = parts_->options.now_ns();
  const absl::StatusOr<uint32_t> lines = parts_->roller->RunLines(now_ns, kLineBlocksAtOnce);
  const absl::StatusOr<uint32_t> dropped = parts_->retention->Run(now_ns);
  const absl::Status blobs = parts_->ExpireBlobs(now_ns);
  if (!lines.ok()) return lines.status();
  return dropped.ok() ? blobs : dropped.status();
}

}  // namespace telltale::storage
