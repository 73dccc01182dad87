// A node that does what it usually does, and then has a fault.

#ifndef TELLTALE_TESTS_UNIT_FILTER_PLAY_H_
#define TELLTALE_TESTS_UNIT_FILTER_PLAY_H_

#include "tests/unit/filter_watch.h"

namespace telltale::filter {

// `quiet` epochs of usual load, then `faulty` ones with the fault.
template <typename Usual, typename Fault>
void Play(Watch& watch, int quiet, int faulty, Usual usual, Fault fault) {
  for (int i = 0; i < quiet + faulty; ++i) {
    usual(watch);
    if (i >= quiet) fault(watch);
    watch.Show();
  }
}

inline void Nothing(Watch& watch) {
  watch.Rate("cpu", "user", 0.2);
  watch.Process(1, "/usr/bin/other", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
}

}  // namespace telltale::filter

#endif  // TELLTALE_TESTS_UNIT_FILTER_PLAY_H_
