// Rows of a top table from the exact process table of an epoch.
//
// Free functions; any thread.

#ifndef TELLTALE_COLLECTOR_QUERY_TOP_PROCESS_H_
#define TELLTALE_COLLECTOR_QUERY_TOP_PROCESS_H_

#include <string>

#include "collector/query/process_filter.h"
#include "collector/query/source.h"
#include "collector/query/stack_names.h"
#include "collector/query/top_table.h"
#include "collector/query/window_sums.h"

namespace telltale::query {

// Adds what each executable weighs in the epoch by the accounts of the choice, or that nothing but
// its total is known.
void AddExeAccounts(const StoredEpoch& epoch, const VitalChoice& choice, uint64_t total,
                    const StackNames& names, GroupSum& sum);

// Asks the filter about every process of the epoch's table, whatever it did.
void LookForProcess(const StoredEpoch& epoch, const StackNames& names, ProcessFilter& filter);

// Where an epoch's process table has what a choice asks for.
enum class Accounts { kNone, kEstimated, kExact };

// Whether the epoch's process table says who did this: its columns of the vital, where any row has
// a share of them; else the kernel's own accounts that mean the same (run time for cpu, queue time
// for sched_delay, faults for user_page).
Accounts AccountsFor(const StoredEpoch& epoch, const VitalChoice& choice);

// Adds each process (or its executable, user, cgroup) to the table. Does nothing where AccountsFor
// is kNone.
void AddProcesses(const StoredEpoch& epoch, const std::string& node_name, StackNames& names,
                  ProcessFilter& filter, TopTable& table);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_TOP_PROCESS_H_
