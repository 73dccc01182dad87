// The tables of one body: of all that an epoch met, only what the body refers to, numbered in order
// of first reference, so equal bodies have equal bytes. Lives while one body is built.

#ifndef TELLTALE_AGENT_EPOCH_BODY_TABLES_H_
#define TELLTALE_AGENT_EPOCH_BODY_TABLES_H_

#include <cstdint>
#include <vector>

#include "agent/epoch/fold_tables.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

class BodyTables {
 public:
  // Both outlive this object. `to` is written, beginning empty.
  BodyTables(FoldTables& from, v1::Tables& to) : from_(from), to_(to) {}

  // Wire index + 1 of what has this id in the epoch's tables; 0 for 0.
  uint32_t String(uint32_t id);
  uint32_t Frame(uint32_t id);
  uint32_t Stack(uint32_t id);

 private:
  uint32_t File(uint32_t id);

  FoldTables& from_;
  v1::Tables& to_;
  std::vector<uint32_t> strings_, files_, frames_, stacks_;  // [id]: wire index + 1, 0: not yet
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_BODY_TABLES_H_
