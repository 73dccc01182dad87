// A planted bug: a summary store that acknowledges before anything is synced. The same writer as
// the product's, over a history and a catalog whose syncs return at once. Thread-safe like what it
// wraps.

#ifndef TELLTALE_TESTS_SUPPORT_EARLY_ACK_H_
#define TELLTALE_TESTS_SUPPORT_EARLY_ACK_H_

#include <functional>
#include <memory>
#include <utility>

#include "storage/dictionary.h"
#include "storage/store.h"

namespace telltale::testing {

class EarlyHistory final : public storage::History {
 public:
  explicit EarlyHistory(storage::History* history) : history_(history) {}
  absl::Status Append(std::span<const storage::Row> rows) override {
    return history_->Append(rows);
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  uint64_t Beginnings() const override { return history_->Beginnings(); }
  absl::StatusOr<std::string> Get(storage::Family family, std::string_view key) const override {
    return history_->Get(family, key);
  }
  absl::Status Scan(storage::Family family, std::string_view from, std::string_view to,
                    const storage::RowVisitor& visit) const override {
    return history_->Scan(family, from, to, visit);
  }
  absl::Status DropRange(storage::Family family, std::string_view from,
                         std::string_view to) override {
    return history_->DropRange(family, from, to);
  }
  absl::StatusOr<storage::FamilySize> Size(storage::Family family) const override {
    return history_->Size(family);
  }
  absl::StatusOr<uint64_t> RangeBytes(storage::Family family, std::string_view from,
                                      std::string_view to) const override {
    return history_->RangeBytes(family, from, to);
  }

 private:
  storage::History* const history_;
};

class EarlyTransaction final : public storage::Transaction {
 public:
  explicit EarlyTransaction(std::unique_ptr<storage::Transaction> transaction)
      : transaction_(std::move(transaction)) {}
  absl::StatusOr<std::string> Get(std::string_view key) const override {
    return transaction_->Get(key);
  }
  absl::Status Scan(std::string_view from, std::string_view to,
                    const storage::CatalogVisitor& visit) const override {
    return transaction_->Scan(from, to, visit);
  }
  void Put(std::string_view key, std::string_view value) override { transaction_->Put(key, value); }
  void Delete(std::string_view key) override { transaction_->Delete(key); }
  absl::Status Commit(storage::Durability) override {
    return transaction_->Commit(storage::Durability::kBuffered);
  }

 private:
  const std::unique_ptr<storage::Transaction> transaction_;
};

class EarlyCatalog final : public storage::Catalog {
 public:
  explicit EarlyCatalog(storage::Catalog* catalog) : catalog_(catalog) {}
  std::unique_ptr<storage::Transaction> Begin() override {
    return std::make_unique<EarlyTransaction>(catalog_->Begin());
  }

 private:
  storage::Catalog* const catalog_;
};

// `store` outlives it.
class EarlyAckStore {
 public:
  EarlyAckStore(storage::Store* store, std::function<uint64_t()> now_ns)
      : history_(&store->history()),
        catalog_(&store->catalog()),
        dictionary_(*storage::Dictionary::Open(&history_)),
        summaries_(*storage::SummaryStore::Open({.history = &history_,
                                                 .catalog = &catalog_,
                                                 .registry = &store->nodes(),
                                                 .dictionary = dictionary_.get(),
                                                 .now_ns = std::move(now_ns)})) {}
  storage::SummaryStore& summaries() { return *summaries_; }

 private:
  EarlyHistory history_;
  EarlyCatalog catalog_;
  std::unique_ptr<storage::Dictionary> dictionary_;
  std::unique_ptr<storage::SummaryStore> summaries_;
};

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_EARLY_ACK_H_
