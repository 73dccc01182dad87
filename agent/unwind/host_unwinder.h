// Makes the user stacks of samples on this host: finds what code each address belongs to
// (process_maps.h) and how to leave it (table_cache.h), and walks. Called for each sample as it is
// drained, because processes do not wait. Owned by the sensor, its thread only; shares the maps
// with the resolver of the same thread.

#ifndef TELLTALE_AGENT_UNWIND_HOST_UNWINDER_H_
#define TELLTALE_AGENT_UNWIND_HOST_UNWINDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "agent/sensor/user_unwinder.h"
#include "agent/symbols/process_maps.h"
#include "agent/unwind/stack_walker.h"
#include "agent/unwind/table_cache.h"

namespace telltale::agent {

class HostUnwinder : public UserUnwinder {
 public:
  struct Options {
    size_t max_frames = 216;  // beside 40 of the kernel: what a summary's body holds of one stack
    TableCache::Options tables;
  };
  HostUnwinder(Options options, std::shared_ptr<ProcessMaps> maps);

  void Unwind(const UserCopy& copy, RawSample& sample) override;
  void OnDeparture(const RawDeparture& departure) override;
  uint64_t TakeTableNs() override;
  RawUnwinding EndEpoch() override;

 private:
  class Finder;
  struct Known {  // what was found at an address of a process
    uint64_t reading = 0, address = 0;
    CodeAt code;
  };
  static constexpr unsigned kKnownBits = 13;  // 8,192 of 32 bytes each

  TableCache::Found TableOf(const ProcessRef& process, const ProcessMaps::Mapped& mapped);

  const Options options_;
  const std::shared_ptr<ProcessMaps> maps_;
  TableCache tables_;
  std::vector<Known> known_ = std::vector<Known>(
      1 << kKnownBits);  // by a hash: stacks meet the same callers again and again
  RawUnwinding counts_;  // of samples, since they were taken last
  RawUnwinding taken_;   // the caches' counts as they were then
  uint64_t table_ns_taken_ = 0;
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_UNWIND_HOST_UNWINDER_H_
