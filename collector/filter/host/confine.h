// What the filter host takes from itself before it runs foreign code: descriptors, memory beyond a
// budget, files to write, and every system call a computation does without. For the host's only
// thread.

#ifndef TELLTALE_COLLECTOR_FILTER_HOST_CONFINE_H_
#define TELLTALE_COLLECTOR_FILTER_HOST_CONFINE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace telltale::filter {

// Address space of this process, bytes; 0: not told. Also after CloseFiles.
uint64_t AddressSpace();

// From here on: dies with the thread that started it, no core file, no file grows, no more address
// space than now and `memory_bytes`; and, by seccomp, no process, thread, socket, signal to others,
// nor file opened but to read. What is refused fails with EPERM. Internal: which step failed.
absl::Status Confine(uint64_t memory_bytes);

// Besides, no file can be opened any more: once the library and what it needs are loaded.
absl::Status CloseFiles();

// On SIGSEGV and its like writes to standard error what it was and how much of the budget was used,
// then ends as the signal would have.
void TellOfCrashes(uint64_t memory_bytes);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_HOST_CONFINE_H_
