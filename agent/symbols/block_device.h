// Whether a block device needs nobody but this machine to answer, by where sysfs says it hangs. A
// disk of a bus does. One over a network (iSCSI, Fibre Channel, NBD, RBD, DRBD, NVMe over fabrics)
// waits for a server that may be gone, and what is made of others (device mapper, md) for those. Of
// a loop device nobody knows what its file lies on. Free function: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_BLOCK_DEVICE_H_
#define TELLTALE_AGENT_SYMBOLS_BLOCK_DEVICE_H_

#include <cstdint>
#include <string>

namespace telltale::agent {

// `root`: where sys is, empty for "/"; `device`: major << 20 | minor. False: it does not, or sysfs
// does not tell.
bool AnswersByItself(const std::string& root, uint64_t device);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_BLOCK_DEVICE_H_
