// What a node is: kernel, processors, memory, distribution, boot, clock. Read at the start and when
// it may have changed. Free functions: any thread.

#ifndef TELLTALE_AGENT_HOST_NODE_INFO_H_
#define TELLTALE_AGENT_HOST_NODE_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "telltale/v1/ingest.pb.h"

namespace telltale::agent {

// Fills in what the host knows: kernel_release, kernel_version, machine, distribution,
// cpus_possible, cpus_online, memory_bytes, boot_id, machine_fingerprint, clock_source, page_size.
// What cannot be read stays empty. Name, labels, versions and vitals are the caller's. `root`:
// where proc, sys and etc are, empty for "/".
// `before`: what was read earlier in this life of the agent. Boot and fingerprint stay as they were
// (data of the body, and how clones are told apart), and nothing is computed for them.
v1::NodeInfo ReadNodeInfo(const std::string& root, const v1::NodeInfo* before = nullptr);

// How many CPUs a list such as "0-3,8" names; 0 if it is none. At most 65,536.
uint32_t CountCpuList(std::string_view list);

// The value of PRETTY_NAME in the text of os-release, without quotes.
std::string PrettyName(std::string_view os_release);

// 16 bytes of a UUID such as /proc/sys/kernel/random/boot_id; empty if it is none.
std::string UuidBytes(std::string_view text);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_HOST_NODE_INFO_H_
