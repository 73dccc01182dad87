// Answers kept for the next who asks the same. An answer is valid while nothing it was computed
// from has changed: the highest ingest number of the node groups and hours it touches is what it
// was. Of what is still being written (the open hour) it is kept for a few seconds whatever comes
// in, and no answer is kept for longer than some minutes, since names of functions and nodes may
// come later. Bounded in bytes; what was not used for longest goes first.
//
// Thread-safe; owned by the engine.

#ifndef TELLTALE_COLLECTOR_QUERY_ANSWER_CACHE_H_
#define TELLTALE_COLLECTOR_QUERY_ANSWER_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace telltale::query {

// What an answer was computed from: settled hours of node groups.
struct AnswerBasis {
  std::vector<uint32_t> groups;  // empty: all
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t stamp = 0;       // highest of them, taken before the answer was computed
  uint64_t expires_ns = 0;  // on the collector's clock
};

class AnswerCache {
 public:
  struct Figures {
    uint64_t hits = 0, misses = 0, evictions = 0;
    uint64_t bytes = 0;
  };

  // 0 bytes: keeps nothing.
  explicit AnswerCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  bool enabled() const { return max_bytes_ > 0; }

  // The answer to the question `key`, as bytes; nullptr: none that is still valid. `stamp_of` tells
  // what the stamp of a basis is now.
  std::shared_ptr<const std::string> Find(
      const std::string& key, uint64_t now_ns,
      const std::function<uint64_t(const AnswerBasis&)>& stamp_of);
  // The same for who asks the engine next if there is none: that is one question, and one miss.
  std::shared_ptr<const std::string> FindFirst(
      const std::string& key, uint64_t now_ns,
      const std::function<uint64_t(const AnswerBasis&)>& stamp_of);
  // One that would take more than an eighth of the room is not kept.
  void Keep(const std::string& key, std::string answer, AnswerBasis basis);

  Figures figures() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const std::string> answer;
    AnswerBasis basis;
    size_t bytes() const;
  };
  using Entries = std::list<Entry>;
  void Drop(Entries::iterator entry);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // guarded by mutex_, as all below; used last first
  std::unordered_map<std::string, Entries::iterator> by_key_;
  Figures figures_;
};

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_ANSWER_CACHE_H_
