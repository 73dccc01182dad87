// Opening files whose paths others chose. To open a FIFO or a device for reading can wake or stop
// somebody, so it is looked at by a descriptor that opens nothing (O_PATH) first. Free functions:
// any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_REGULAR_FILE_H_
#define TELLTALE_AGENT_SYMBOLS_REGULAR_FILE_H_

#include <fcntl.h>

#include <cstdint>

namespace telltale::agent {

// How to open what OpenIfRegular is given: opens nothing, and does not follow a link at the end.
inline constexpr int kLookOnly = O_PATH | O_CLOEXEC | O_NOFOLLOW;

// Opens for reading what `looked_at`, opened with kLookOnly, stands for; never waits. -1 if that is
// no regular file, not the one with this inode (0: any), or may not be read. Closes `looked_at`;
// the caller closes the answer.
int OpenIfRegular(int looked_at, uint64_t inode);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_REGULAR_FILE_H_
