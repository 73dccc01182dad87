// telltale-filter-host MEMORY_BYTES: runs one filter from filters.d for the collector, which starts
// it with a socket and the filter's file open and tells it what to do (filter_host.proto). Not a
// command for people.
//
// A program of its own, not a mode of the collector: it maps neither gRPC nor RocksDB nor OpenSSL,
// so that a filter shares its address space and its symbols with next to nothing, its memory budget
// is the filter's, and one costs about a megabyte. One process per filter, so that what one does to
// its process is done to no other.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "collector/filter/filter_code.h"
#include "collector/filter/host/confine.h"
#include "collector/filter/host/frames.h"
#include "collector/filter/host/host_limits.h"
#include "collector/filter/host/host_loop.h"

namespace telltale::filter {
namespace {

absl::Status Load(const telltale_filter** filter) {
  const std::string path = absl::StrCat("/proc/self/fd/", kHostLibrary);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be loaded: ", absl::StrReplaceAll(dlerror(), {{path, "the file"}})));
  }
  const auto entry =
      reinterpret_cast<telltale_filter_entry_fn>(dlsym(library, TELLTALE_FILTER_ENTRY));
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("is no filter: exports no function ", TELLTALE_FILTER_ENTRY));
  }
  *filter = entry();
  return CheckFilter(*filter);
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("telltale-filter-host: is started by telltale-collector, see filters.d\n", stderr);
    return 2;
  }
  close_range(kHostLibrary + 1, ~0U, 0);  // what the collector had open
  const uint64_t memory_bytes = std::strtoull(argv[1], nullptr, 10);
  absl::Status status = Confine(memory_bytes);
  TellOfCrashes(memory_bytes);
  const uint64_t base = AddressSpace();
  const telltale_filter* filter = nullptr;
  if (status.ok()) status = Load(&filter);
  if (status.ok()) status = CloseFiles();
  if (!status.ok()) {
    v1::HostReply reply;
    reply.set_refused(std::string(status.message()));
    static_cast<void>(WriteFrame(kHostSocket, reply.SerializeAsString(), nullptr));
    return 1;
  }
  return HostLoop(kHostSocket, filter, base).Run().ok() ? 0 : 1;
}

}  // namespace
}  // namespace telltale::filter

int main(int argc, char** argv) {
  // Not exit(): nothing of the filter runs once its collector is gone.
  _exit(telltale::filter::Main(argc, argv));
}
