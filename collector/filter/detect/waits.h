// What a process waits for, whom, where in the kernel and on which disk, as one epoch tells: what
// the rule about blocked processes rests on. Pure functions over epochs.

#ifndef TELLTALE_COLLECTOR_FILTER_DETECT_WAITS_H_
#define TELLTALE_COLLECTOR_FILTER_DETECT_WAITS_H_

#include <cstdint>
#include <string>

#include "collector/filter/detect/rule.h"

namespace telltale::filter {

inline constexpr double kWaiting = 0.5;  // threads: more do not just wait now and then

// A kind of wait that the kernel tells from others.
struct WaitClass {
  const char* sub;   // of `blocking`
  const char* lock;  // or of `lock`; nullptr: all of `sub`
  const char* what;
  bool by_choice;  // also how it waits for work
};
const WaitClass& DiskWaits();

// Threads that wait so (weight, in ns per second), or waits per second.
double Waiting(const RuleEpoch& epoch, const telltale_filter_process& process, const WaitClass& of,
               bool weight);
// The most waits per second that the row may stand for.
double MostWaits(const RuleEpoch& epoch, const telltale_filter_process& process,
                 const WaitClass& of);
// Seconds that the heaviest of it took that was sampled, of what `blocking` tells; 0: none was.
double SampledWait(const RuleEpoch& epoch, const telltale_filter_process& process,
                   const WaitClass& of);
// CPUs.
double Ran(const RuleEpoch& epoch, const telltale_filter_process& process);

// What it waits for.
struct Waits {
  const WaitClass* most = nullptr;  // nullptr: nothing
  double threads = 0;               // that wait
  double times = 0;                 // per second, as told
  double most_times = 0;            // and what they may be where the row cannot tell
  std::string what;
  double estimated = 0;  // threads: an estimate that cannot be, where it was more
};
// What some wait for by choice: the one it waits for most.
Waits ByChoice(const RuleEpoch& epoch, const telltale_filter_process& process);
// What nobody waits for by choice: all of it. A wait for a lock of the kernel is one inside the
// kernel, too, so of those the longest counts.
Waits Forced(const RuleEpoch& epoch, const telltale_filter_process& process);

// `what`, with the name of the disk where it is known.
std::string WhatText(const RuleEpoch& epoch, const telltale_filter_process& process,
                     const Waits& waits);

// Whom it waits for.
struct Other {
  uint32_t pid = 0;  // 0: nobody is named
  uint32_t tid = 0;  // 0: not known which thread of it
  std::string comm;
  bool holds = false;  // else: ends its waits
  // Samples tell of one wait in a place, whoever of a program waits there: it is another's.
  bool of_another = false;
};
Other OtherOf(const RuleEpoch& epoch, const telltale_filter_process& process, const WaitClass& of);
// "postgres (pid 812, user pg)", "its own thread wal (tid 813)"; "": nobody is named.
std::string OtherText(const RuleEpoch& epoch, const Other& other,
                      const telltale_filter_process& waits);
// What keeps that one, where it is another process; "": nothing that is seen.
std::string StuckText(const RuleEpoch& epoch, const Other& other,
                      const telltale_filter_process& waits);
// "; it is held by ...", with what keeps that one; "": nobody is named.
std::string Named(const RuleEpoch& epoch, const Other& other, const telltale_filter_process& waits);
// What keeps a process from going on; "": nothing that is seen.
std::string StuckBy(const RuleEpoch& epoch, const telltale_filter_process& process);

// Where it waits.
struct WaitPlace {
  uint64_t call = 0;    // number of the system call + 1; 0: in none, or not known
  std::string site;     // in the kernel, as agents write it, "f < g"; "": not known
  bool before = false;  // it was sampled in an epoch before

  bool known() const { return call != 0 || !site.empty(); }
};
// Of a label of `blocking`.
WaitPlace PlaceOfLabel(const telltale_filter_label& label);
// As samples of the epoch tell. `sub`: index of a kind of wait.
WaitPlace SampledPlace(const RuleEpoch& epoch, const telltale_filter_process& process,
                       uint32_t sub);
// ", in f, called by g".
std::string SiteText(const std::string& site);
// The disk of which it asked most; 0: samples do not tell. What is written back for it another asks
// for: where all that is asked on the node is of one disk, it is that.
uint64_t DiskOf(const RuleEpoch& epoch, const telltale_filter_process& process);

}  // namespace telltale::filter

#endif  // TELLTALE_COLLECTOR_FILTER_DETECT_WAITS_H_
