// What a transaction has written so far, laid over the state it began with. Belongs to one thread.

#ifndef TELLTALE_STORAGE_STAGED_WRITES_H_
#define TELLTALE_STORAGE_STAGED_WRITES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "storage/catalog.h"

namespace telltale::storage {

class StagedWrites {
 public:
  void Put(std::string_view key, std::string_view value) {
    writes_.insert_or_assign(std::string(key), std::string(value));
  }
  void Delete(std::string_view key) { writes_.insert_or_assign(std::string(key), std::nullopt); }

  // nullptr: this transaction did not touch the key; an empty optional: it deleted it.
  const std::optional<std::string>* Find(std::string_view key) const {
    auto it = writes_.find(key);
    return it == writes_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, std::optional<std::string>, std::less<>>& writes() const {
    return writes_;
  }

  // Merges a scan of the state below with the writes in [from, to). Call Below() for each row of
  // the state in key order, then Finish(). Both return false once the visitor ended the scan.
  class Merge {
   public:
    Merge(const StagedWrites& staged, std::string_view from, std::string_view to,
          const CatalogVisitor& visit)
        : at_(staged.writes_.lower_bound(from)),
          end_(staged.writes_.end()),
          to_(to),
          visit_(visit) {}

    bool Below(std::string_view key, std::string_view value) {
      while (More() && at_->first < key) {
        if (!Own()) return false;
      }
      if (More() && at_->first == key) return Own();
      return visit_(key, value);
    }
    bool Finish() {
      while (More()) {
        if (!Own()) return false;
      }
      return true;
    }

   private:
    bool More() const { return at_ != end_ && (to_.empty() || at_->first < to_); }
    bool Own() {
      const auto& [key, value] = *at_++;
      return !value.has_value() || visit_(key, *value);
    }
    std::map<std::string, std::optional<std::string>, std::less<>>::const_iterator at_;
    std::map<std::string, std::optional<std::string>, std::less<>>::const_iterator end_;
    const std::string_view to_;
    const CatalogVisitor& visit_;
  };

 private:
  std::map<std::string, std::optional<std::string>, std::less<>> writes_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_STAGED_WRITES_H_
