// Where in the kernel a task waits, told from its stack by function names: who waits, and who calls
// it. Pure functions.

#ifndef TELLTALE_AGENT_EPOCH_WAIT_SITE_H_
#define TELLTALE_AGENT_EPOCH_WAIT_SITE_H_

#include <string>
#include <vector>

namespace telltale::agent {

// Frames of a stack that are looked at.
inline constexpr size_t kWaitFrames = 24;

// "jbd2_log_wait_commit < ext4_sync_file": of the functions, leaf first, the first two that not all
// waits have in common (the scheduler's, those of locks and of completions). Empty: the system call
// itself waits, or no function has a name.
std::string WaitSiteOf(const std::vector<std::string>& functions);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_EPOCH_WAIT_SITE_H_
