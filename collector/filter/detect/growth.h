// Something a process holds that only grows: the slope of its level over its last 40 rows (a minute
// or more apart; Theil-Sen), where a rise so steady comes by chance less than once in 10,000
// (Mann-Kendall). Growth that has stopped is a start-up and no leak: the later half must still rise
// at half the pace at least. A program that was started lately fills up for longer than that, at a
// pace that hardly falls: until a process has been followed for two hours, it is told only if what
// it holds doubled meanwhile. What goes on is told again each time that it has grown to twice of
// what was told. Rule 2 of Chopstix 3.2.
//
// Followed are the 48 processes of a node that grew most and beside them up to 192 that were first
// seen in one of their last ten rows, and so cannot have grown yet.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_GROWTH_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_GROWTH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/rates.h"
#include "collector/filter/detect/robust.h"

namespace telltale::filter {

// One process's level over time.
struct Growth {
  uint64_t seen = 0;  // epoch of its last row, counted as GrowthDetector does
  uint32_t seen_s = 0;
  uint32_t first_s = 0;  // of its first row
  std::string name;
  std::vector<uint32_t> time_s;  // of its last rows, as many as are judged
  std::vector<float> level;
  bool open = false;
  uint64_t start_ns = 0;
  float start_level = 0;
  // When it was told last: an hour; since start_ns; of the rows that were judged then.
  double pace = 0, p = 1, grown = 0, given_back = 0;
  uint64_t judged = 0;
};

// A detector of one level: which, from when on it counts, and how it is said.
class GrowthDetector : public Detector {
 public:
  void Epoch(const telltale_filter_epoch& epoch) override;
  void Save(StateWriter& to) const override;
  bool Load(StateReader& from) override;
  Learned HowFar() const override { return {minutes_, kNeeded, "minutes"}; }

  static constexpr size_t kWindow = 40;  // rows, a minute or more apart
  static constexpr size_t kNeeded = 30;  // of them, to judge

 protected:
  struct Level {
    uint32_t column;         // TELLTALE_PROCESS_*
    uint32_t instead;        // of an epoch that does not have it
    double least_grown;      // in the window: below it is how the innocent breathe
    double least_pace;       // an hour
    double most_given_back;  // sum of its falls, as a share of that of its rises
  };
  GrowthDetector(const telltale_filter_host& host, const Level& level)
      : Detector(host), level_(level) {}

  // Fills what only the level knows: vital, text, evidence, against, cause, next.
  virtual void Describe(const Growth& growth, Finding& finding) const = 0;

 private:
  void Judge(const telltale_filter_epoch& epoch, Growth& growth) const;
  void Tell(const Growth& growth, uint64_t end_ns, bool open) const;
  void KeepThoseThatGrewMost();
  void KeepNew();

  const Level level_;
  uint64_t epochs_ = 0;
  uint64_t minutes_ = 0;   // epochs that are so far apart as rows must be to count
  uint32_t minute_s_ = 0;  // end of the last of them
  std::map<std::pair<uint32_t, uint64_t>, Growth> growths_;  // by pid and start
};

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_GROWTH_H_
