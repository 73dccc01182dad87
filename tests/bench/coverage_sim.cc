#include "tests/bench/coverage_sim.h"

#include <algorithm>
#include <array>
#include <random>

#include "sketch/layout.h"
#include "sketch/log_sample.h"

namespace telltale::bench {
namespace {

// As the sensor's (hot.bpf.h): the label of a made-up event has two fields.
uint64_t Mix(uint64_t hash, uint64_t field) {
  hash = (hash ^ field) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

// Of one CPU, as control_words.cc sets it and sample.bpf.h spends it.
class Tokens {
 public:
  Tokens(uint32_t cpus, uint64_t events) : events_(events) {
    const uint32_t shares = std::max(TELLTALE_VITALS * cpus / 4, 1U);
    per_second_ = std::max(100 / shares, 1U);
    burst_ = std::max<uint32_t>(1000 / shares, TELLTALE_COLUMNS * 5 / 4);
    left_ = burst_;
  }
  bool Take(uint64_t event) {
    const uint64_t given = event * 60 * per_second_ / events_;
    left_ = std::min<uint64_t>(left_ + given - given_, burst_);
    given_ = given;
    return left_ > 0 && left_-- > 0;
  }

 private:
  uint64_t events_, per_second_ = 0, burst_ = 0, left_ = 0, given_ = 0;
};

struct Vote {
  uint32_t label = 0;
  uint64_t margin = 0;
};

// Events of weight 1 as votes: the margin is weight of the candidate alone, and every vote that was
// cancelled took one of another label with it.
void Cast(uint32_t label, Vote& vote) {
  if (vote.margin == 0) vote = {label, 0};
  vote.label == label ? ++vote.margin : --vote.margin;
}

}  // namespace

Stream MakeStream(uint32_t labels, uint32_t cpus, bool bursts, uint64_t events, uint64_t seed) {
  const std::string name =
      (bursts ? "bursts " : "zipf ") + std::to_string(labels) + "/" + std::to_string(cpus) + "cpu";
  Stream stream{name, labels, cpus, {}, {}};
  std::mt19937_64 random(seed);
  std::vector<double> weights(labels);
  for (uint32_t i = 0; i < labels; ++i) weights[i] = 1.0 / (i + 1);
  std::discrete_distribution<uint32_t> pick(weights.begin(), weights.end());
  stream.truth.resize(labels);
  stream.events.reserve(events);
  while (stream.events.size() < events) {
    const uint32_t label = pick(random);
    const uint32_t cpu = static_cast<uint32_t>(random() % cpus);
    const uint64_t run = bursts ? std::min(1 + random() % 2000, events - stream.events.size()) : 1;
    stream.events.insert(stream.events.end(), run, {label, cpu});
    stream.truth[label] += run;
  }
  return stream;
}

Seen Watch(const Stream& stream, const Knobs& knobs, uint64_t seed) {
  const size_t row_cells = knobs.columns, of_cpu = row_cells * knobs.rows;
  std::vector<uint64_t> cell(of_cpu * stream.cpus);
  std::vector<Vote> votes(knobs.candidates ? cell.size() : 0);
  std::vector<uint64_t> bitmap(TELLTALE_BITMAP_BITS / 64);
  std::vector<uint32_t> place(size_t{stream.labels} * knobs.rows);
  std::vector<Tokens> tokens(stream.cpus, Tokens(stream.cpus, stream.events.size()));
  Seen seen{{seed, knobs.rows, knobs.columns, std::vector<uint64_t>(of_cpu)},
            std::vector<uint64_t>(stream.labels),
            std::vector<uint64_t>(stream.labels),
            std::vector<uint32_t>(stream.labels),
            {},
            0,
            0};
  for (uint32_t label = 0; label < stream.labels; ++label) {
    const uint64_t hash = Mix(Mix(Mix(0, seed), label * uint64_t{4096} + 1), label);
    for (uint32_t row = 0; row < knobs.rows; ++row) {
      place[size_t{label} * knobs.rows + row] =
          static_cast<uint32_t>(row * row_cells + sketch::Column(hash, row, knobs.columns));
    }
    if (stream.truth[label] == 0) continue;
    const uint64_t bit = hash >> TELLTALE_BITMAP_SHIFT & (TELLTALE_BITMAP_BITS - 1);
    bitmap[bit / 64] |= uint64_t{1} << bit % 64;
  }
  for (size_t i = 0; i < stream.events.size(); ++i) {
    const auto [label, cpu] = stream.events[i];
    bool eligible = false;
    for (uint32_t row = 0; row < knobs.rows; ++row) {
      const size_t at = cpu * of_cpu + place[size_t{label} * knobs.rows + row];
      eligible |= sketch::CrossedPower(cell[at], cell[at] + 1, 1, knobs.t_log2) != 0;
      ++cell[at];
      if (knobs.candidates) Cast(label, votes[at]);
    }
    if (!eligible) continue;
    ++seen.eligible;
    if (knobs.tokens && !tokens[cpu].Take(i)) {
      ++seen.refused;
      continue;
    }
    ++seen.samples[label];
    ++seen.proven[label];
  }
  for (size_t i = 0; i < cell.size(); ++i) seen.cells.cell[i % of_cpu] += cell[i];
  for (uint32_t label = 0; label < stream.labels; ++label) {
    if (!knobs.candidates) {
      const uint64_t hash = Mix(Mix(Mix(0, seed), label * uint64_t{4096} + 1), label);
      const sketch::Interval interval = sketch::Estimate(seen.cells, hash, seen.proven[label]);
      seen.high[label] = interval.high;
      continue;
    }
    // The best row of each CPU, added up.
    uint64_t low = 0, high = 0;
    for (uint32_t cpu = 0; cpu < stream.cpus; ++cpu) {
      uint64_t most = 0, least = ~uint64_t{0};
      for (uint32_t row = 0; row < knobs.rows; ++row) {
        const size_t at = cpu * of_cpu + place[size_t{label} * knobs.rows + row];
        const Vote& vote = votes[at];
        const uint64_t cancelled = (cell[at] - vote.margin) / 2;
        const bool leads = vote.margin > 0 && vote.label == label;
        if (leads) most = std::max(most, vote.margin);
        least = std::min(least, leads ? cancelled + vote.margin : cancelled);
      }
      low += most;
      high += least;
    }
    seen.proven[label] = std::max(seen.proven[label], low);
    seen.high[label] = high;
  }
  seen.distinct = sketch::CountDistinct(bitmap);
  return seen;
}

}  // namespace telltale::bench
