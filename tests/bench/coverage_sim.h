// One vital of one node for one epoch, in user space, with exact counts beside it: what the sensor
// would count and keep of a stream of events (agent/sensor/bpf/hot.bpf.h, sample.bpf.h), by the
// functions of sketch/ where they exist. For the coverage bench; one thread.

#ifndef TELLTALE_TESTS_BENCH_COVERAGE_SIM_H_
#define TELLTALE_TESTS_BENCH_COVERAGE_SIM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sketch/linear_count.h"
#include "sketch/miss_control.h"
#include "sketch/miss_curve.h"
#include "sketch/votes.h"

namespace telltale::bench {

// Events in the order they happen; each weighs 1.
struct Stream {
  struct Event {
    uint32_t label = 0;
    uint32_t cpu = 0;
  };
  std::string name;
  uint32_t labels = 0, cpus = 1;
  std::vector<Event> events;
  std::vector<uint64_t> truth;  // weight by label
  std::vector<uint32_t> runs;   // by label: times its events came together
};

// Zipf's law with exponent 1 over `labels`, on all CPUs alike. Each label's events come in runs of
// 1..longest on one CPU; with longest = 1 they are mixed evenly.
Stream MakeStream(uint32_t labels, uint32_t cpus, uint32_t longest, uint64_t events, uint64_t seed);

struct Knobs {
  uint32_t columns = 256, t_log2 = 1;
  bool voted = true;   // false: plain cells, who passes a power of t is due
  bool tokens = true;  // the sensor's burst and rate, events evenly over 60 s
};

struct Seen {
  sketch::VotedCells cells;              // summed over CPUs; plain: all is contested
  std::vector<sketch::Interval> bounds;  // by label
  std::vector<uint32_t> samples;         // by label
  sketch::Distinct distinct;
  uint64_t due = 0, refused = 0;
  std::vector<sketch::SampledLabel> sampled;
  std::vector<sketch::ExactLabel> group;  // as large as the sensor's of a vital that is not hot
};

// The epoch as counted with one hash seed.
Seen Watch(const Stream& stream, const Knobs& knobs, uint64_t seed);

}  // namespace telltale::bench

#endif  // TELLTALE_TESTS_BENCH_COVERAGE_SIM_H_
