#include "collector/query/answer_cache.h"

#include <utility>

namespace telltale::query {

size_t AnswerCache::Entry::bytes() const {
  constexpr size_t kOverhead = 256;  // list and map nodes, the basis
  return kOverhead + 2 * key.size() + answer->size() + basis.groups.size() * sizeof(uint32_t);
}

void AnswerCache::Drop(Entries::iterator entry) {
  figures_.bytes -= entry->bytes();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

std::shared_ptr<const std::string> AnswerCache::FindFirst(
    const std::string& key, uint64_t now_ns,
    const std::function<uint64_t(const AnswerBasis&)>& stamp_of) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    const auto entry = found->second;
    if (now_ns < entry->basis.expires_ns && stamp_of(entry->basis) == entry->basis.stamp) {
      entries_.splice(entries_.begin(), entries_, entry);
      ++figures_.hits;
      return entry->answer;
    }
    Drop(entry);
  }
  return nullptr;
}

std::shared_ptr<const std::string> AnswerCache::Find(
    const std::string& key, uint64_t now_ns,
    const std::function<uint64_t(const AnswerBasis&)>& stamp_of) {
  std::shared_ptr<const std::string> found = FindFirst(key, now_ns, stamp_of);
  if (found != nullptr) return found;
  std::lock_guard<std::mutex> lock(mutex_);
  ++figures_.misses;
  return nullptr;
}

void AnswerCache::Keep(const std::string& key, std::string answer, AnswerBasis basis) {
  Entry entry{key, std::make_shared<const std::string>(std::move(answer)), std::move(basis)};
  const size_t bytes = entry.bytes();
  if (bytes > max_bytes_ / 8) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto known = by_key_.find(key); known != by_key_.end()) Drop(known->second);
  entries_.push_front(std::move(entry));
  by_key_[key] = entries_.begin();
  figures_.bytes += bytes;
  while (figures_.bytes > max_bytes_) {
    Drop(std::prev(entries_.end()));
    ++figures_.evictions;
  }
}

AnswerCache::Figures AnswerCache::figures() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return figures_;
}

}  // namespace telltale::query
