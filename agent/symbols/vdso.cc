#include "agent/symbols/vdso.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace telltale::agent {
namespace {

constexpr size_t kMaxVdsoBytes = 1 << 20;  // it has a few pages

}  // namespace

int OpenVdso() {
  const auto* image = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return -1;
  // The section headers are the last thing in the image; all of it is mapped.
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  const size_t bytes = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || bytes > kMaxVdsoBytes) return -1;
  const int fd = memfd_create("telltale-vdso", MFD_CLOEXEC);
  if (fd >= 0 && pwrite(fd, image, bytes, 0) != static_cast<ssize_t>(bytes)) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace telltale::agent
