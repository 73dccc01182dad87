// Which file systems answer. A file server that is gone, or a program behind FUSE that hangs, keeps
// whoever asks waiting for good; the sensor's thread must not be among them, as it is then that the
// host is worth watching. So before it touches a file that somebody else has to serve, it has a
// thread of its own touch that file, and waits for it a moment only.
//
// What is left of the risk: a server that goes between the answer and the reading of it, at most
// kBelievedNs later. Then the supervisor starts the sensor anew. Of disks of this machine
// (block_device.h) it is taken for granted that they answer, of overlays that what is below them
// does, and of file systems that span disks (btrfs, zfs, bcachefs) that theirs do.
//
// The maps of a process keep their reader waiting, too: for whoever changes them at that moment,
// who may be waiting for such a file server (before Linux 6.17).
//
// Owned by one thread; those that it makes end when they are answered, at the latest with the
// process.

#ifndef TELLTALE_AGENT_SYMBOLS_FILE_SYSTEMS_H_
#define TELLTALE_AGENT_SYMBOLS_FILE_SYSTEMS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "agent/symbols/lru_cache.h"

namespace telltale::agent {

class FileSystems {
 public:
  static constexpr uint64_t kBelievedNs = 100'000'000;
  struct Options {
    std::string root;  // where proc is: empty for "/", or a test's directory
    std::chrono::milliseconds patience{50};
  };
  explicit FileSystems(Options options);

  // Whether the file system of a file answers: at once where it needs nobody for it, else within
  // `patience`. `device` (major << 20 | minor) as the maps or mounts of process `tgid` name it,
  // `path` from here.
  bool Answers(uint32_t tgid, uint64_t device, const std::string& path);

  // Whether somebody else serves that file system, so that who touches it may have to wait.
  bool MayWait(uint32_t tgid, uint64_t device);

  // Whether the maps of a process can be read, that perhaps waits while it changes them.
  bool MapsAnswer(uint32_t tgid);

  // The device that a path lies on for a process; 0 (nobody's: may wait) if that cannot be told.
  uint64_t DeviceOf(uint32_t tgid, std::string_view path) const;

 private:
  struct Asked;  // shared with a thread that touches
  struct Verdict {
    bool may_wait = false;
    std::string type;
    uint64_t told_ns = 0;
    uint64_t answered_ns = 0;  // last
  };
  static constexpr size_t kDevices = 1'024;

  Verdict& VerdictOn(uint32_t tgid, uint64_t device, uint64_t now_ns);
  bool IsStillAsked(uint64_t key);
  // Has a thread do what may wait. `what`: for the log; `then`: what is missing meanwhile.
  bool AnswersInTime(uint64_t key, const std::string& what, const char* then,
                     const std::function<void()>& touch);

  const Options options_;
  LruCache<uint64_t, Verdict> verdicts_;                   // by device
  std::map<uint64_t, std::shared_ptr<Asked>> unanswered_;  // by device, or kMapsOf process
};

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SYMBOLS_FILE_SYSTEMS_H_
