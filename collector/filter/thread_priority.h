// Filters look at what is stored already: ingest and answers go first.

#ifndef TELLTALE_COLLECTOR_FILTER_THREAD_PRIORITY_H_
#define TELLTALE_COLLECTOR_FILTER_THREAD_PRIORITY_H_

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace telltale::filter {

// Lowers the priority of the calling thread (nice 10), for good, and of the processes it starts.
// Where that is not allowed it runs as the rest does.
inline void LetIngestGoFirst() {
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_THREAD_PRIORITY_H_
