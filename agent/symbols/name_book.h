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

  // What is on record of a location's name; UNSPECIFIED: nothing.
  v1::NameOutcome Known(const CodeLocation& location) const;

  // Records a name, made printable and cut to 512 bytes, or that there is none. Not what may change
  // (MayBeNamedLater), and nothing of locations without a build id: their names could not travel.
  void Learn(const CodeLocation& location, const FunctionName& name);

  // Names of the frames of `tables` that the store has not been sent or was sent a week before
  // `now_unix_ns` (the node's clock); they count as sent. Files in the order of the table; a file
  // has as many messages of at most 256 KiB as it needs, offsets ascending through all of them.
  // What is beyond 4 MiB comes with the next tables that refer to it. Empty when all are known.
  std::vector<v1::Names> Unsent(const v1::Tables& tables, uint64_t now_unix_ns);

  // Another store answers: nothing has been sent to it yet.
  void ForgetSent();

  size_t size() const { return young_.size() + old_.size(); }

 private:
  struct Entry {
    std::string name;
    v1::NameOutcome outcome = v1::NAME_OUTCOME_UNSPECIFIED;
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
