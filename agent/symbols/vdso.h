// The vdso: the code that the kernel maps into every process, its clock among it. It lies in no
// file. Free functions: any thread.

#ifndef TELLTALE_AGENT_SYMBOLS_VDSO_H_
#define TELLTALE_AGENT_SYMBOLS_VDSO_H_

namespace telltale::agent {

// A descriptor of a copy of this process's own, which is that of all 64-bit processes; -1: there is
// none. The caller closes it.
int OpenVdso();

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_VDSO_H_
