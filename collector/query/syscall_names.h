// Names of system calls by number.

#ifndef TELLTALE_COLLECTOR_QUERY_SYSCALL_NAMES_H_
#define TELLTALE_COLLECTOR_QUERY_SYSCALL_NAMES_H_

#include <cstdint>
#include <string_view>

namespace telltale::query {

// Name of a system call on a machine ("x86_64" as uname says); empty: number or machine not in our
// table.
std::string_view SyscallName(std::string_view machine, uint64_t number);

}  // namespace telltale::query

#endif  // TELLTALE_COLLECTOR_QUERY_SYSCALL_NAMES_H_
