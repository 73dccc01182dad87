// Who did it: turns the kernel's accounts of every process into the rows worth sending, so that
// rows + other = the totals, column by column (checked when written).
//
// Short-lived processes (begun and ended in the epoch) of one executable, user and cgroup are one
// row with their number. Rows are ranked by run time, by the memory and the files they hold and by
// their share of each vital, whichever puts them highest, so that what leaks is followed also while
// it does next to nothing; idle waits do not rank. Where few rows fit, those that are first of some
// vital take them all. So every fourth row is one of the programs that were there before the epoch,
// who ran most first: a service has a row in each epoch, whatever comes and goes beside it.
//
// Of each value seven significant bits travel, rounded down; what is left of it is in `other`. So a
// row says at most 1.6 % too little of itself. Of one that ran for less than a twentieth of a CPU
// nothing travels that is below one part in 1,000 of its column: beside a million system calls a
// second, who makes a thousand and runs for much is told from who makes none. Memory, open files,
// threads and kernel pages are whole. Used by the cutter; one thread.

#ifndef TELLTALE_AGENT_EPOCH_PROCESS_ROWS_H_
#define TELLTALE_AGENT_EPOCH_PROCESS_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/epoch/body_tables.h"
#include "agent/epoch/fold_tables.h"
#include "agent/host/process_terms.h"
#include "agent/sensor/sensor.h"
#include "agent/symbols/resolver.h"
#include "telltale/v1/summary.pb.h"

namespace telltale::agent {

class ProcessRows {
 public:
  struct Options {
    size_t max_rows = 48;  // more would leave a busy epoch's bytes no room for stacks
    uint64_t page_size = 4096;
  };

  // Of a process that is still there; empty: nobody is asked.
  using AskTerms = std::function<ProcessTerms(uint32_t pid)>;

  // Groups, ranks, and names (through `resolver`, strings into `tables`) what may become a row.
  ProcessRows(const RawEpoch& raw, const Options& options, Resolver& resolver,
              const AskTerms& terms, FoldTables& tables);

  // How many rows there are to choose from, at most max_rows.
  size_t size() const { return std::min(rows_.size(), options_.max_rows); }

  // Writes the best `limit` rows and `other`. Internal: rows + other are not the totals (a bug).
  absl::Status Write(size_t limit, BodyTables& tables, v1::ProcessTable* to) const;

 private:
  struct Row {
    uint32_t tgid = 0, uid = 0;
    ExeId exe_id;
    uint64_t cgroup_id = 0, start_ns = 0;
    uint32_t instances = 1;
    bool irq = false;
    std::array<char, 16> comm{};
    std::vector<uint64_t> values;  // per column
    bool exited = false;
    bool stays = false;  // it was there before the epoch, and is no thread of the kernel
    ProcessTerms terms;
    uint32_t exe_string = 0, comm_string = 0, cgroup_string = 0, throttled_string = 0;
    size_t rank = 0;
  };

  void ChooseColumns(const RawEpoch& raw);
  std::vector<uint64_t> ValuesOf(const RawProcess& process) const;
  void Group(const RawEpoch& raw);
  void Total(const RawEpoch& raw);
  void Rank();
  // Of the first `ranked` rows.
  void LetInWhoStays(size_t ranked);
  uint64_t Ran(const Row& row) const;
  void Name(Resolver& resolver, const AskTerms& terms, FoldTables& tables);

  const Options options_;
  const uint64_t whole_from_run_ns_;  // rows that ran so long leave nothing out
  std::vector<uint32_t> columns_;     // ProcessColumn numbers, ascending
  std::vector<uint32_t> estimated_;
  std::vector<uint64_t> totals_;  // per column
  std::vector<uint64_t> rest_;    // per column: what belongs to no row at all
  std::vector<Row> rows_;         // best first
  uint64_t unranked_processes_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_PROCESS_ROWS_H_
