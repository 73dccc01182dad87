// Filters, and who helps with an answer, look at what is stored already: ingest goes first, and the
// threads that answer.

#ifndef TELLTALE_COLLECTOR_THREAD_PRIORITY_H_
#define TELLTALE_COLLECTOR_THREAD_PRIORITY_H_

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace telltale::collector {

// Lowers the priority of the calling thread (nice 10), for good, and of the processes it starts.
// Where that is not allowed it runs as the rest does.
inline void LetIngestGoFirst() {
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

}  // namespace telltale::collector

#endif  // TELLTALE_COLLECTOR_THREAD_PRIORITY_H_
