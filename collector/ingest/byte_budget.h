// How many bytes of summaries one node may have stored: no node fills the disk of all. A day's
// worth each day, evenly, and what it did not use of the four days before: an agent that was cut
// off sends what its spool kept. Kept in memory: full again after a restart of the collector.
//
// Owned by the node's entry; shard thread only.

#ifndef TELLTALE_COLLECTOR_INGEST_BYTE_BUDGET_H_
#define TELLTALE_COLLECTOR_INGEST_BYTE_BUDGET_H_

#include <cstdint>

namespace telltale::ingest {

class ByteBudget {
 public:
  // 0: taken. Else nothing is, and so many ns pass until it could be.
  uint64_t Take(uint64_t bytes, uint64_t a_day, uint64_t mono_ns);
  // Taken and then not stored.
  void GiveBack(uint64_t bytes);

 private:
  double used_ = 0;  // of four days' worth; less again with each day that passes
  uint64_t at_ns_ = 0;
};

}  // namespace telltale::ingest

#endif  // TELLTALE_COLLECTOR_INGEST_BYTE_BUDGET_H_
