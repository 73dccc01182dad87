// The longest that each program did something on end, in epochs, as a rule learns it: of this week
// and of the one before. What no run of that time reached again is forgotten, so that one that went
// on for long hides nothing for good.
//
// As a Detector: one node, one thread at a time.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_LONGEST_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_LONGEST_H_

#include <cstdint>
#include <map>
#include <string>

#include "collector/filter/detect/state_bytes.h"

namespace telltale::filter {

class Longest {
 public:
  static constexpr size_t kPrograms = 512;  // others are not learned

  // The time of the epoch, which ascends.
  void Pass(uint64_t now_ns);
  void Note(const std::string& program, uint32_t epochs);
  uint32_t Of(const std::string& program) const;  // 0: none is known

  void Save(StateWriter& to) const;
  void Load(StateReader& from);

 private:
  struct Weeks {
    uint32_t now = 0, before = 0;
  };
  uint64_t week_ = 0;  // since 1970
  std::map<std::string, Weeks> programs_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_LONGEST_H_
