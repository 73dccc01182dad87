#include "storage/memory_catalog.h"

#include <optional>
#include <utility>

#include "storage/staged_writes.h"

namespace telltale::storage {
namespace {

class MemoryTransaction : public Transaction {
 public:
  explicit MemoryTransaction(MemoryCatalog* catalog)
      : catalog_(catalog), state_(catalog->Snapshot()) {}
  ~MemoryTransaction() override { catalog_->Release(std::move(state_)); }
  MemoryTransaction(const MemoryTransaction&) = delete;
  MemoryTransaction& operator=(const MemoryTransaction&) = delete;

  absl::StatusOr<std::string> Get(std::string_view key) const override {
    if (const std::optional<std::string>* own = staged_.Find(key)) {
      if (own->has_value()) return **own;
      return absl::NotFoundError("read catalog: deleted in this transaction");
    }
    auto it = state_->find(key);
    if (it == state_->end()) return absl::NotFoundError("read catalog: no such key");
    return it->second;
  }

  absl::Status Scan(std::string_view from, std::string_view to,
                    const CatalogVisitor& visit) const override {
    StagedWrites::Merge merge(staged_, from, to, visit);
    for (auto it = state_->lower_bound(from); it != state_->end() && (to.empty() || it->first < to);
         ++it) {
      if (!merge.Below(it->first, it->second)) return absl::OkStatus();
    }
    merge.Finish();
    return absl::OkStatus();
  }

  void Put(std::string_view key, std::string_view value) override { staged_.Put(key, value); }
  void Delete(std::string_view key) override { staged_.Delete(key); }

  absl::Status Commit(Durability) override {
    catalog_->Release(std::move(state_));
    catalog_->Apply(staged_.writes());
    return absl::OkStatus();
  }

 private:
  MemoryCatalog* const catalog_;
  std::shared_ptr<const MemoryCatalog::State> state_;  // of the beginning, until the commit
  StagedWrites staged_;
};

}  // namespace

std::unique_ptr<Transaction> MemoryCatalog::Begin() {
  return std::make_unique<MemoryTransaction>(this);
}

std::shared_ptr<const MemoryCatalog::State> MemoryCatalog::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

void MemoryCatalog::Release(std::shared_ptr<const State> snapshot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  snapshot.reset();
}

void MemoryCatalog::Apply(
    const std::map<std::string, std::optional<std::string>, std::less<>>& writes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Transactions that began earlier keep reading the state of their beginning.
  if (state_.use_count() > 1) state_ = std::make_shared<State>(*state_);
  for (const auto& [key, value] : writes) {
    if (value.has_value()) {
      state_->insert_or_assign(key, *value);
    } else {
      state_->erase(key);
    }
  }
}

}  // namespace telltale::storage
