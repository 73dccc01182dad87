// Whether the names of functions stand where windows need them: each location of a window has a row
// in the window's partition of `dict`, its name or that one is wanted. One thread; changes nothing.

#ifndef TELLTALE_STORAGE_VERIFY_NAMES_H_
#define TELLTALE_STORAGE_VERIFY_NAMES_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "storage/history.h"
#include "storage/keys.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::storage {

class VerifyNames {
 public:
  explicit VerifyNames(const History* history) : history_(*history) {}

  // What is wrong with those of one window, the first alone; empty: nothing.
  std::string Check(const RollupKey& window, const v1::Tables& tables);
  // Rows that were found; of windows of one node and partition that follow each other each once.
  uint64_t found() const { return found_; }

 private:
  enum class Row { kThere, kMissing, kUnreadable };
  Row Find(NamePartition partition, uint32_t node, const std::string& build_id,
           uint64_t offset) const;

  const History& history_;
  uint64_t found_ = 0;
  std::pair<NamePartition, uint32_t> known_of_;
  std::set<std::pair<std::string, uint64_t>> known_;
};

}  // namespace telltale::storage

#endif  // TELLTALE_STORAGE_VERIFY_NAMES_H_
