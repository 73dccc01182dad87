// Bodies of the epochs stored last, still open, for the one reader that wants each of them soon:
// filters see an epoch a second after it came, and to open it once more costs them as much as all
// they do with it. Who does not find one here opens the stored row, which says the same.
//
// Bounded: a place for each of the latest `most`, and none for a body larger than kLargestBytes,
// which only a hostile or a very busy node has. Thread-safe.

#ifndef TELLTALE_STORAGE_FRESH_BODIES_H_
#define TELLTALE_STORAGE_FRESH_BODIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "proto/open_body.h"
#include "storage/keys.h"

namespace telltale::storage {

class FreshBodies {
 public:
  // Whose body it is, of summaries that count: there is one of each.
  using Key = std::tuple<uint32_t, Incarnation, uint64_t>;  // node, its life, sequence

  // Encoded; open it takes a few times as much.
  static constexpr size_t kLargestBytes = 128 << 10;

  explicit FreshBodies(size_t most = 512) : places_(most) {}

  // Of a summary that is stored now.
  void Put(const Key& key, proto::OpenBody body);
  // Gives it away; empty: it is not here.
  proto::OpenBody Take(const Key& key);

 private:
  struct Place {
    bool taken = true;
    Key key;
    proto::OpenBody body;
  };

  std::mutex mutex_;
  std::vector<Place> places_;    // guarded by mutex_; in turns
  size_t next_ = 0;              // guarded by mutex_
  std::map<Key, size_t> where_;  // guarded by mutex_; those not taken
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_FRESH_BODIES_H_
