#include "storage/store.h"

#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rocksdb/env.h"
#include "storage/dictionary.h"
#include "storage/format_upgrade.h"
#include "storage/placement.h"
#include "storage/rocks_catalog.h"
#include "storage/rocks_database.h"
#include "storage/rocks_history.h"
#include "storage/stored_value.h"

namespace telltale::storage {
namespace {

constexpr int kFormat = 2;
constexpr uint32_t kLineBlocksAtOnce = 256;  // a bound of one maintenance round
constexpr char kVersionFile[] = "VERSION";
constexpr char kVersionWord[] = "telltale-store ";

uint64_t SystemNowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

// Whole or not at all.
absl::Status WriteVersion(rocksdb::Env* env, const std::string& path) {
  const std::string file = path + "/" + kVersionFile;
  const std::string temporary = file + ".new";
  rocksdb::Status wrote = rocksdb::WriteStringToFile(env, absl::StrCat(kVersionWord, kFormat, "\n"),
                                                     temporary, /*should_sync=*/true);
  if (wrote.ok()) wrote = env->RenameFile(temporary, file);
  return FromRocks(wrote, "write", file);
}

// Makes the directory and its version file, or checks them; the format it is in.
absl::StatusOr<int> PrepareDirectory(rocksdb::Env* env, const std::string& path) {
  const rocksdb::Status made = env->CreateDirIfMissing(path);
  if (!made.ok()) return FromRocks(made, "make data directory", path);
  const std::string file = path + "/" + kVersionFile;
  std::string text;
  const rocksdb::Status read = rocksdb::ReadFileToString(env, file, &text);
  if (read.IsNotFound() || (!read.ok() && !env->FileExists(file).ok())) {
    if (env->FileExists(path + "/rocks/CURRENT").ok()) {
      return absl::DataLossError(absl::StrCat("open store ", path, ": ", kVersionFile,
                                              " is missing beside a database; restore it"));
    }
    absl::Status wrote = WriteVersion(env, path);
    if (!wrote.ok()) return wrote;
    return kFormat;
  }
  if (!read.ok()) return FromRocks(read, "read", file);
  int format = 0;
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kVersionWord) ||
      !absl::SimpleAtoi(absl::StripSuffix(rest, "\n"), &format) || format < 1) {
    return absl::DataLossError(absl::StrCat("open store ", path, ": ", kVersionFile,
                                            " does not read \"", kVersionWord,
                                            "N\"; is this a telltale data directory?"));
  }
  if (format > kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("open store ", path, ": written in format ", format, ", this program knows ",
                     kFormat, "; use a newer program or another directory"));
  }
  return format;
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
  std::unique_ptr<RocksDatabase> database;
  std::unique_ptr<RocksHistory> history;
  std::unique_ptr<RocksCatalog> catalog;
  std::unique_ptr<Dictionary> dictionary;
  std::unique_ptr<NodeRegistry> nodes;
  std::unique_ptr<SummaryStore> summaries;
  std::unique_ptr<DerivedStore> derived;
  std::unique_ptr<Retention> retention;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<Roller> roller;
  std::string store_id;
  std::optional<FormatUpgrade> upgrade;

  rocksdb::Env* env() const {
    return options.env != nullptr ? options.env : rocksdb::Env::Default();
  }
  absl::Status Open();
  absl::Status CheckFreeSpace() const;
};

absl::Status Store::Parts::CheckFreeSpace() const {
  uint64_t free = 0;
  const rocksdb::Status asked = env()->GetFreeSpace(options.path, &free);
  if (!asked.ok() || free >= options.min_free_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "store summaries in ", options.path, ": ", free >> 20, " MiB free on its file system, want ",
      options.min_free_bytes >> 20, "; free space or lower retention.max_bytes"));
}

absl::Status Store::Parts::Open() {
  absl::Status status = CheckRetention(options.retention);
  if (!status.ok()) return status;
  absl::StatusOr<int> format = PrepareDirectory(env(), options.path);
  if (!format.ok()) return format.status();
  auto opened = RocksDatabase::Open({options.path + "/rocks", options.env, options.memory_bytes});
  if (!opened.ok()) return opened.status();
  database = *std::move(opened);
  history = std::make_unique<RocksHistory>(database.get());
  catalog = std::make_unique<RocksCatalog>(database.get());
  if (*format < kFormat) {
    const auto begun = std::chrono::steady_clock::now();
    status = UpgradeFrom1(history.get(), options.now_ns());
    if (status.ok()) status = WriteVersion(env(), options.path);
    if (!status.ok()) return status;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun;
    upgrade = {.from = *format, .to = kFormat, .took_ns = static_cast<uint64_t>(took.count())};
  }
  auto names = Dictionary::Open(history.get());
  if (!names.ok()) return names.status();
  dictionary = *std::move(names);

  auto registry = NodeRegistry::Open(catalog.get(), options.max_nodes);
  if (!registry.ok()) return registry.status();
  nodes = *std::move(registry);
  SummaryStoreOptions summary_options;
  summary_options.history = history.get();
  summary_options.catalog = catalog.get();
  summary_options.registry = nodes.get();
  summary_options.dictionary = dictionary.get();
  summary_options.now_ns = options.now_ns;
  summary_options.admit = [this] { return CheckFreeSpace(); };
  summary_options.max_name_bytes_per_node = options.max_name_bytes_per_node;
  auto store = SummaryStore::Open(std::move(summary_options));
  if (!store.ok()) return store.status();
  summaries = *std::move(store);
  auto id = summaries->StoreId(NewStoreId);
  if (!id.ok()) return id.status();
  store_id = *std::move(id);

  // Data older than what would be kept is too late from the first moment.
  const uint16_t today = DayOf(options.now_ns());
  if (today > options.retention.raw_days) {
    status = summaries->RaiseRawFloor(static_cast<uint16_t>(today - options.retention.raw_days));
    if (!status.ok()) return status;
  }
  derived = std::make_unique<DerivedStore>(history.get(), catalog.get());
  retention = std::make_unique<Retention>(options.retention, history.get(), summaries.get(),
                                          dictionary.get());
  reader = std::make_unique<Reader>(history.get(), catalog.get(), nodes.get(), summaries.get(),
                                    dictionary.get());
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
History& Store::history() { return *parts_->history; }
const std::optional<FormatUpgrade>& Store::upgrade() const { return parts_->upgrade; }
Catalog& Store::catalog() { return *parts_->catalog; }
NodeRegistry& Store::nodes() { return *parts_->nodes; }
SummaryStore& Store::summaries() { return *parts_->summaries; }
DerivedStore& Store::derived() { return *parts_->derived; }
Roller& Store::roller() { return *parts_->roller; }
const Reader& Store::reader() const { return *parts_->reader; }

absl::Status Store::Writable() const {
  const absl::Status space = parts_->CheckFreeSpace();
  return space.ok() ? parts_->database->Failure() : space;
}

absl::Status Store::Maintain() {
  const uint64_t now_ns = parts_->options.now_ns();
  const absl::StatusOr<uint32_t> lines = parts_->roller->RunLines(now_ns, kLineBlocksAtOnce);
  const absl::StatusOr<uint32_t> dropped = parts_->retention->Run(now_ns);
  return lines.ok() ? dropped.status() : lines.status();
}

}  // namespace telltale::storage
