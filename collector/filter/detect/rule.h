// What the rules of Chopstix 3.2 share. A rule names in each epoch the cases in which its condition
// holds: a process, or the node. What is told is a case that holds in two epochs in a row and that
// is not how its program always is: a program for which the condition held in more than a tenth of
// its last few hundred epochs (a moving share) is left alone. Of a case that is told no more than
// its first epochs count for that: however long a fault lasts it is no habit, but what comes again
// and again is one. A case ends with two epochs in which it does not hold. Over a hole in time
// nothing is in a row. A rule is silent for the first 30 epochs of a node, or as many as it is told
// to.
//
// Of epochs less than 95 % watched, or with losses, the evidence says how much of them it rests on:
// of the vitals of the case, as much as was watched of the least. Where that is less than 70 %, a
// case must hold in three epochs in a row: what was seen of two may be less than a usual epoch has.
// One is enough of what is far from anything usual (Case::at_once).
// What an agent reckoned up from a part of the time counts as watched; the evidence then says of
// which vitals of the case that is so.
//
// As a Detector: one node, one thread at a time.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_RULE_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_RULE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/filter/detect/detector.h"
#include "collector/filter/detect/rates.h"

namespace telltale::filter {

// One epoch, read as the rules need it.
class RuleEpoch {
 public:
  explicit RuleEpoch(const telltale_filter_epoch& epoch) : epoch_(epoch) {}

  const telltale_filter_epoch& epoch() const { return epoch_; }
  double seconds() const { return static_cast<double>(epoch_.watched_ns) / 1e9; }  // watched
  double whole_seconds() const {
    return static_cast<double>(epoch_.end_ns - epoch_.start_ns) / 1e9;
  }
  const telltale_filter_vital* Vital(const char* name) const;  // nullptr: not watched
  // Of the whole node, in base units per second; nullopt: not watched.
  std::optional<double> Rate(const char* vital, const char* sub) const;
  // Of a process: a column per second of watched time or, of what the kernel accounts to it, of the
  // epoch; 0 where the epoch has no such column.
  double Of(const telltale_filter_process& process, uint32_t column) const;
  // A share of a vital: its weight, or its events. In stored units.
  double Of(const telltale_filter_process& process, const char* vital, const char* sub,
            bool weight) const;
  // The most that may stand behind what Of tells: of a process that ran for little, a value of less
  // than a thousandth of the node's travels as 0. Where the row tells a value, that.
  double AtMost(const telltale_filter_process& process, uint32_t column) const;
  double AtMost(const telltale_filter_process& process, const char* vital, const char* sub,
                bool weight) const;
  std::vector<const telltale_filter_process*> Processes() const;
  const telltale_filter_process* Process(uint32_t pid) const;  // nullptr: has no row
  // Labels of a watched vital, heaviest first.
  std::vector<const telltale_filter_label*> Labels(const char* vital) const;
  // Index of a sub-series; -1: none.
  static int SubOf(const telltale_filter_vital& vital, const char* sub);

 private:
  // nullopt: no such vital or sub-series.
  std::optional<uint32_t> ShareColumn(const char* vital, const char* sub, bool weight) const;
  // Whether its row leaves nothing out.
  bool IsWhole(const telltale_filter_process& process) const;
  // Seconds that a column is counted in.
  double SecondsOf(uint32_t column) const;

  const telltale_filter_epoch& epoch_;
};

// Where the condition of a rule holds.
struct Case {
  std::pair<uint32_t, uint64_t> who;  // pid and start; 0, 0: the node
  std::string program;                // whose habit it may be
  Finding found;  // all but times and learned epochs; of the facts, all but how long was watched
  // Vitals without which it would not hold, besides the one it is told of.
  std::vector<const char*> besides = {};
  // So far from anything usual that one epoch is enough.
  bool at_once = false;
  // Of the vital it is told of the kernel's own accounts tell, or events: never an estimate.
  bool by_accounts = false;
};

class Rule : public Detector {
 public:
  using Detector::Detector;
  // "learn": epochs of a node before it speaks.
  void Option(const std::string& name, double value) final;
  void Epoch(const telltale_filter_epoch& epoch) final;
  void Save(StateWriter& to) const final;
  bool Load(StateReader& from) final;
  Learned HowFar() const final;

 protected:
  virtual std::vector<Case> Look(const RuleEpoch& epoch) const = 0;
  // What a rule remembers of usual epochs besides habits: called for each epoch after Look, with
  // the programs whose condition held in it; saved and loaded with the rest. PassHole, before Look:
  // so many seconds are missing before this one, and what is remembered of processes is of before
  // that.
  virtual void PassHole(double seconds);
  virtual void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>& held);
  virtual void SaveUsual(StateWriter& to) const;
  virtual void LoadUsual(StateReader& from);

 private:
  struct Open {
    uint64_t start_ns = 0, last_ns = 0;
    uint32_t held = 0, missed = 0;  // epochs in a row
    uint32_t taught = 0;            // epochs that count as a habit
    // What the finding rests on, added up over the epochs in a row until it is told.
    uint64_t watched_ns = 0, whole_ns = 0, lost_events = 0;
    std::set<std::string> estimated;  // vitals
    bool told = false;
    std::string vital, sub, subject;
    double value = 0, expected = 0, deviation = 0;
    std::string text, evidence, against, cause, next, cgroup, device, site;
    uint64_t learned = 0;
  };
  // `teach`: those of `held` of which this epoch counts.
  void Learn(const RuleEpoch& epoch, const std::set<std::string>& held,
             const std::set<std::string>& teach);
  // Epochs of the length of this one; 0: none.
  double MissingBefore(const telltale_filter_epoch& epoch) const;
  static void NoteCoverage(const RuleEpoch& epoch, const Case& found, Open& open);
  // As more evidence; "": all was watched, nothing lost and nothing estimated.
  static std::string CoverageText(const Open& open);
  // `facts`: what is said for programs, as far as it is not said yet.
  void Tell(const Open& open, bool goes_on, FactList facts) const;

  uint64_t learn_ = 30;
  uint64_t epochs_ = 0;
  uint64_t last_end_ns_ = 0;
  std::map<std::string, double> habits_;  // moving share of its epochs, by program
  uint64_t no_room_ = 0;                  // programs that it could not tell the habits of
  std::map<std::pair<uint32_t, uint64_t>, Open> open_;
};

// Whose case it is, by pid and start.
std::pair<uint32_t, uint64_t> Who(const telltale_filter_process& process);
// What the node calls a disk; "": unknown.
std::string DiskName(const RuleEpoch& epoch, uint64_t device);
// "disk sda", "a disk" where its name is unknown.
std::string DiskText(const RuleEpoch& epoch, uint64_t device);
// Bytes at the end of the epoch.
double Resident(const RuleEpoch& epoch, const telltale_filter_process& process);
// Per second; what a row tells, or the most that it may have been.
struct CallRate {
  double told = 0, most = 0;
};
CallRate Calls(const RuleEpoch& epoch, const telltale_filter_process& process);
// "12.3", "at most 68" where that is all that is known.
std::string AtMostText(double told, double most);
// Seconds that a sampled wait took itself, whatever its weight stands for besides. 0: it is of
// several in one sum, as its detail at that place says (enum telltale_wait_end, sketch/layout.h).
double Took(const telltale_filter_sample& wait, uint32_t state_detail);
// "42 s", "7 min", "3 h".
std::string LastingText(double seconds);
// "44.1 s of 60 s": how long of the epoch, all threads together.
std::string OfEpoch(const RuleEpoch& epoch, double per_second);
// "ECONNREFUSED", "error 999".
std::string ErrorText(uint64_t error);
// "kill", "system call 999" where nobody knows its name on this machine ("x86_64").
std::string CallText(const char* machine, uint64_t number);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_RULE_H_
