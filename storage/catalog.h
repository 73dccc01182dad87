// The catalog: what is small and must change together: ledger, dirty marks, counters, node records,
// schemas, incidents, tokens. Always local, whatever stands behind the history.
//
// Implementations are thread-safe; one Transaction belongs to one thread. Transactions of two
// threads must not write the same keys (each key has one owner: a node's keys belong to its shard's
// thread); commits are atomic, and a reader sees all of a commit or nothing of it.

#ifndef TELLTALE_STORAGE_CATALOG_H_
#define TELLTALE_STORAGE_CATALOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/history.h"

namespace telltale::storage {

enum class Durability {
  kDurable,   // survives a crash of the machine when Commit returns
  kBuffered,  // survives a crash of the process; of the machine only after a later durable commit
};

using CatalogVisitor = std::function<bool(std::string_view key, std::string_view value)>;

class Transaction {
 public:
  virtual ~Transaction() = default;  // without a Commit nothing happened

  // Reads see the state at Begin() with this transaction's own writes over it. NotFound: no such
  // key; DataLoss: it is damaged.
  virtual absl::StatusOr<std::string> Get(std::string_view key) const = 0;
  // All with from <= key < to in key order (empty `to`: to the end); false from the visitor ends
  // it.
  virtual absl::Status Scan(std::string_view from, std::string_view to,
                            const CatalogVisitor& visit) const = 0;
  // A scan that goes on behind what cannot be read and tells each such range, in key order. What
  // was written into such a range since it was damaged is stepped over with it: Get finds that.
  virtual absl::Status ScanOver(std::string_view from, std::string_view to,
                                const CatalogVisitor& visit, const DamageVisitor& damaged) const {
    (void)damaged;
    return Scan(from, to, visit);
  }
  virtual void Put(std::string_view key, std::string_view value) = 0;
  virtual void Delete(std::string_view key) = 0;

  // Rows of a history that stand or fall with this transaction: visible and as durable as the rest
  // once Commit returns OK, and not there without one. They live until then. False: nothing was
  // taken, since that history is kept elsewhere; who needs the rows to be there before the commit
  // appends and syncs them.
  virtual bool AppendWith(const History& history, std::span<const Row> rows) {
    (void)history, (void)rows;
    return false;
  }

  // Once. ResourceExhausted: no space; Unavailable: another write error. After an error nobody sees
  // anything of it, and the next commit of any transaction takes back what it may have left on
  // disk; a crash before that may bring back all of it or nothing.
  virtual absl::Status Commit(Durability durability) = 0;
};

class Catalog {
 public:
  virtual ~Catalog() = default;
  virtual std::unique_ptr<Transaction> Begin() = 0;

  // Rows that could not be read, each time one was met since it was opened; an estimate. Counted by
  // transactions, and by who reads a row whose content is none.
  virtual void CountUnreadable(uint64_t rows) { (void)rows; }
  virtual uint64_t Unreadable() const { return 0; }

  // What was opened on it and goes on without rows that cannot be read says so, a line each.
  virtual void NoteLoss(std::string line) { (void)line; }
  virtual std::vector<std::string> Losses() const { return {}; }
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_CATALOG_H_
