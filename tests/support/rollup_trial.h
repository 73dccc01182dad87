// A day of distinct epochs of many nodes, put into a store in a shuffled order with rollups running
// in between; then every row of every tier and every line block is compared, byte for byte, with
// what the oracles work out.

#ifndef TELLTALE_TESTS_SUPPORT_ROLLUP_TRIAL_H_
#define TELLTALE_TESTS_SUPPORT_ROLLUP_TRIAL_H_

#include <cstdint>
#include <string>

namespace telltale::testing {

struct RollupTrial {
  uint32_t nodes = 4;
  uint32_t hours = 24;
  uint32_t every_minutes = 1;  // an epoch of 60 s each so many minutes
  uint64_t shuffle_seed = 1;
  uint32_t batch = 64;      // summaries in a commit
  uint32_t roll_every = 8;  // commits between two runs of the roller
};

struct RollupTrialResult {
  std::string wrong;  // empty: all equal; else the first difference
  uint64_t summaries = 0;
  uint64_t compared_rows = 0;
  uint64_t compared_lines = 0;   // line blocks among them
  uint64_t store_bytes[7] = {};  // by family
  // CPU seconds of this process, background work of the store included.
  double make_s = 0;     // the summaries themselves
  double put_s = 0;      // PutBatch
  double roll_s = 0;     // RunDue and RunLines
  double compare_s = 0;  // the oracles
};

RollupTrialResult RunTrial(const RollupTrial& trial);

}  // namespace telltale::testing

#endif  // TELLTALE_TESTS_SUPPORT_ROLLUP_TRIAL_H_
