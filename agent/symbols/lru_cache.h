// A map that holds at most a given cost and forgets what was used longest ago. One thread.

#ifndef TELLTALE_AGENT_SYMBOLS_LRU_CACHE_H_
#define TELLTALE_AGENT_SYMBOLS_LRU_CACHE_H_

#include <cstddef>
#include <list>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace telltale::agent {

// Key: hashable by absl::Hash.
template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(size_t max_cost) : max_cost_(max_cost) {}

  // The value of a key, now the most recently used; nullptr if unknown. Valid until the next Put.
  Value* Find(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return &it->second->value;
  }

  // Adds or replaces. A value that costs more than the whole cache holds stays until the next Put.
  Value& Put(const Key& key, Value value, size_t cost = 1) {
    if (const auto it = index_.find(key); it != index_.end()) {
      cost_ -= it->second->cost;
      entries_.erase(it->second);
      index_.erase(it);
    }
    while (!entries_.empty() && cost_ + cost > max_cost_) {
      cost_ -= entries_.back().cost;
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
    entries_.push_front({key, std::move(value), cost});
    index_[key] = entries_.begin();
    cost_ += cost;
    return entries_.front().value;
  }

  size_t size() const { return entries_.size(); }
  size_t cost() const { return cost_; }

 private:
  struct Entry {
    Key key;
    Value value;
    size_t cost;
  };
  const size_t max_cost_;
  size_t cost_ = 0;
  std::list<Entry> entries_;  // most recently used first
  absl::flat_hash_map<Key, typename std::list<Entry>::iterator> index_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_LRU_CACHE_H_
