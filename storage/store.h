// The store: owns the data directory and everything in it. Opened once per process.
//
//   auto store = Store::Open({.path = "/var/lib/telltale/store"});
//   store->summaries() (shard threads), store->reader() (anybody), store->roller() (shard threads,
//   when idle), store->Maintain() (one maintenance thread, about once a minute).
//
// Open fails with one line when another process holds the directory, when it was written by a newer
// version, or when it is damaged where it has to be whole (catalog_damage.h); of other damage it
// tells and goes on. It never changes what it could not read. A directory of an older format is
// upgraded in place.

#ifndef TELLTALE_STORAGE_STORE_H_
#define TELLTALE_STORAGE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/backup.h"
#include "storage/blob.h"
#include "storage/catalog.h"
#include "storage/catalog_blobs.h"
#include "storage/derived.h"
#include "storage/fresh_bodies.h"
#include "storage/history.h"
#include "storage/node_registry.h"
#include "storage/reader.h"
#include "storage/retention.h"
#include "storage/rollup/roller.h"
#include "storage/summary_store.h"

namespace rocksdb {
class Env;
}

namespace telltale::storage {

struct StoreOptions {
  std::string path;                  // created if missing (its parent must exist)
  rocksdb::Env* env = nullptr;       // nullptr: the real file system; tests hand in faults
  std::function<uint64_t()> now_ns;  // wall clock; empty: the system's
  RetentionOptions retention;
  RollerOptions roller;
  BlobLimits blobs;
  size_t memory_bytes = 512 << 20;  // block cache and write buffers together, a bound
  size_t max_nodes = 100'000;
  uint64_t max_name_bytes_per_node = 8 << 20;  // symbol names, in a week
  // Changes nothing on disk and holds the directory so that no collector can: for verify. It must
  // be there, in the present format.
  bool read_only = false;
  uint64_t min_free_bytes =
      256 << 20;  // below it on the file system PutBatch and new blobs say ResourceExhausted
};

// What Open made of a directory of an older format.
struct FormatUpgrade {
  int from = 0, to = 0;
  uint64_t took_ns = 0;
};

class Store {
 public:
  // FailedPrecondition: newer format; Unavailable: locked by another process; DataLoss: damaged.
  static absl::StatusOr<std::unique_ptr<Store>> Open(StoreOptions options);
  ~Store();  // stops background work, flushes, releases the lock
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Nothing: the directory was of the present format.
  const std::optional<FormatUpgrade>& upgrade() const;

  // What could not be read when it and what lies on its catalog was opened, and what is done
  // without it: a line each, for people.
  std::vector<std::string> Losses() const;

  const std::string& store_id() const;  // 16 random bytes, made with the directory

  History& history();
  Catalog& catalog();
  NodeRegistry& nodes();
  SummaryStore& summaries();
  DerivedStore& derived();
  BlobStore& blobs();
  Roller& roller();
  const Reader& reader() const;
  // Of what was stored last; filled by who stores, used up by filters.
  FreshBodies& fresh_bodies();

  // Whether summaries are taken at present; else why not (ResourceExhausted: too little space).
  absl::Status Writable() const;

  // All of it as of now, into a directory that is empty or not there (backup.h). Everything else
  // goes on meanwhile. Any thread, one at a time.
  absl::StatusOr<CopyResult> BackUp(const std::string& to_data, const CopyWatcher& watch);

  // Every block of every table file against its checksum; told each file that is not good and what
  // it holds ("dict"). `watch` is asked before each file; false: stop (Cancelled).
  using BadFile = std::function<void(const std::string& name, const std::string& family,
                                     const absl::Status& fault)>;
  using FileWatcher = std::function<bool(uint64_t checked_bytes, uint64_t all_bytes)>;
  absl::Status CheckFiles(const BadFile& bad, const FileWatcher& watch);

  // All rows of the catalog that can be read, and what cannot.
  absl::Status ScanCatalogOver(std::string_view from, std::string_view to, const RowVisitor& visit,
                               const DamageVisitor& damaged);

  // Retention, line blocks, blobs that have ended. One thread; returns what could not be done this
  // time.
  absl::Status Maintain();

 private:
  Store();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_STORE_H_
