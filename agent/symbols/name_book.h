// The names of code locations this agent has learned, and when the present store was sent them:
// names travel before the first summary that uses them, and again after a week
// (proto::kNamesTravelAgainNs), because stores forget what nobody refers to.
//
// Filled while samples are folded, because the process whose file must be read may be gone at the
// cut. Bounded: beyond `max_names` the oldest half is forgotten (and learned and sent again when
// seen again). Owned by the sensor thread.

#ifndef TELLTALE_AGENT_SYMBOLS_NAME_BOOK_H_
#define TELLTALE_AGENT_SYMBOLS_NAME_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/symbols/resolver.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

class NameBook {
 public:
  explicit NameBook(size_t max_names = 65'536) : max_names_(max_names) {}

  // Whether a name (or the fact that there is none) is on record. Locations without a build id have
  // no names that could travel: true, and Learn does nothing.
  bool Has(const CodeLocation& location) const;

  // Records `name`, made printable and cut to 512 bytes; empty: there is none, do not look again.
  void Learn(const CodeLocation& location, std::string_view name);

  // Names of the frames of `tables` that the store has not been sent or was sent a week before
  // `now_unix_ns` (the node's clock), one message per file, offsets ascending, files in the order
  // of the table; they count as sent. Empty when all are known.
  std::vector<v1::Names> Unsent(const v1::Tables& tables, uint64_t now_unix_ns);

  // Another store answers: nothing has been sent to it yet.
  void ForgetSent();

  size_t size() const { return young_.size() + old_.size(); }

 private:
  struct Entry {
    std::string name;
    uint64_t sent_unix_ns = 0;  // 0: never
  };
  using Map = absl::flat_hash_map<uint64_t, Entry>;

  // The entry of a key, moved to the young half; nullptr if unknown.
  Entry* Find(uint64_t key);
  void MakeRoom();

  size_t max_names_;
  Map young_, old_;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_NAME_BOOK_H_
