#include "tests/bench/coverage_sim.h"

#include <algorithm>
#include <bit>
#include <random>
#include <span>

#include "sketch/layout.h"
#include "sketch/log_sample.h"

namespace telltale::bench {
namespace {

// As the sensor's (hot.bpf.h): the label of a made-up event has two fields.
uint64_t Mix(uint64_t hash, uint64_t field) {
  hash = (hash ^ field) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

// Of one CPU, as control_words.cc sets it and sample.bpf.h spends it: filled up only when asked.
class Tokens {
 public:
  Tokens(uint32_t cpus, uint64_t events) : events_(events) {
    const uint32_t shares = std::max(TELLTALE_VITALS * cpus / 4, 1U);
    per_second_ = std::max(100 / shares, 1U);
    burst_ = std::max<uint32_t>(1000 / shares, TELLTALE_COLUMNS * 5 / 4);
    left_ = burst_;
  }
  bool Plenty() const { return left_ > burst_ - burst_ / 4; }
  bool Take(uint64_t event, uint64_t stake, uint32_t heavy_log2) {
    const uint64_t given = event * 60 * per_second_ / events_;
    left_ = static_cast<uint32_t>(std::min<uint64_t>(left_ + given - given_, burst_));
    given_ = given;
    if (telltale_too_light(stake, heavy_log2, left_, burst_)) return false;
    return left_ > 0 && left_-- > 0;
  }

 private:
  uint64_t events_, per_second_ = 0, given_ = 0;
  uint32_t left_ = 0, burst_ = 0;
};

// The label of a made-up event has two fields.
uint64_t HashOf(uint32_t label, uint64_t seed) {
  return Mix(Mix(Mix(0, seed), label * uint64_t{4096} + 1), label);
}

}  // namespace

Stream MakeStream(uint32_t labels, uint32_t cpus, uint32_t longest, uint64_t events,
                  uint64_t seed) {
  const std::string name = (longest > 1 ? "runs of " + std::to_string(longest) + " " : "zipf ") +
                           std::to_string(labels) + "/" + std::to_string(cpus) + "cpu";
  Stream stream{name, labels, cpus, {}, {}, {}};
  std::mt19937_64 random(seed);
  std::vector<double> weights(labels);
  for (uint32_t i = 0; i < labels; ++i) weights[i] = 1.0 / (i + 1);
  std::discrete_distribution<uint32_t> pick(weights.begin(), weights.end());
  stream.truth.resize(labels);
  stream.runs.resize(labels);
  stream.events.reserve(events);
  while (stream.events.size() < events) {
    const uint32_t label = pick(random);
    const uint32_t cpu = static_cast<uint32_t>(random() % cpus);
    const uint64_t run = std::min(1 + random() % longest, events - stream.events.size());
    stream.events.insert(stream.events.end(), run, {label, cpu});
    stream.truth[label] += run;
    ++stream.runs[label];
  }
  return stream;
}

Seen Watch(const Stream& stream, const Knobs& knobs, uint64_t seed) {
  std::vector<std::vector<telltale_slot>> rows(stream.cpus,
                                               std::vector<telltale_slot>(knobs.columns));
  std::vector<uint64_t> bitmap(TELLTALE_BITMAP_BITS / 64), hashes(stream.labels);
  std::vector<Tokens> tokens(stream.cpus, Tokens(stream.cpus, stream.events.size()));
  uint64_t powers = 0;
  for (uint32_t bit = 0; bit < 64; bit += knobs.t_log2) powers |= uint64_t{1} << bit;
  // As SetHeavy in control_words.cc, of an epoch before like this one.
  const uint64_t heavy = stream.events.size() / knobs.columns / stream.cpus / 4;
  const uint32_t heavy_log2 =
      static_cast<uint32_t>(std::bit_width(std::max<uint64_t>(heavy, 1)) - 1);
  Seen seen;
  std::vector<uint32_t> repeated(stream.labels);
  std::vector<std::vector<uint64_t>> last(stream.cpus, std::vector<uint64_t>(knobs.columns));
  seen.samples.resize(stream.labels);
  for (uint32_t label = 0; label < stream.labels; ++label) {
    hashes[label] = HashOf(label, seed);
    if (stream.truth[label] == 0) continue;
    const uint64_t bit = hashes[label] >> TELLTALE_BITMAP_SHIFT & (TELLTALE_BITMAP_BITS - 1);
    bitmap[bit / 64] |= uint64_t{1} << bit % 64;
  }
  for (size_t i = 0; i < stream.events.size(); ++i) {
    const auto [label, cpu] = stream.events[i];
    telltale_slot& slot = rows[cpu][sketch::Column(hashes[label], knobs.columns)];
    bool due = false;
    if (knobs.voted) {
      const telltale_due how = telltale_add(&slot, hashes[label], 1, 0, powers, heavy_log2);
      due = how == TELLTALE_DUE ||
            (how == TELLTALE_DUE_AGAIN && (!knobs.tokens || tokens[cpu].Plenty()));
    } else {
      due = sketch::CrossedPower(slot.total, slot.total + 1, 1, knobs.t_log2) != 0;
      ++slot.total;
    }
    if (!due) continue;
    ++seen.due;
    const uint64_t stake = knobs.voted ? telltale_stake(&slot, hashes[label]) : ~uint64_t{0};
    if (knobs.tokens && !tokens[cpu].Take(i, stake, heavy_log2)) {
      ++seen.refused;
      telltale_refused(&slot, hashes[label]);
    } else {
      ++seen.samples[label];
      uint64_t& before = last[cpu][sketch::Column(hashes[label], knobs.columns)];
      repeated[label] += before == hashes[label];
      before = hashes[label];
    }
  }
  const std::vector<std::span<const telltale_slot>> views(rows.begin(), rows.end());
  seen.cells = sketch::AddUp(views);
  if (!knobs.voted) seen.cells.contested = seen.cells.total;
  // As SetGroup in control_words.cc, of an epoch before like this one.
  uint64_t mask = 0;
  while (stream.labels / (mask + 1) > TELLTALE_GROUP_LABELS / 2 ||
         stream.events.size() / 60 / (mask + 1) > 4'000) {
    mask = mask << 1 | 1;
  }
  for (uint32_t label = 0; label < stream.labels; ++label) {
    if (stream.truth[label] > 0 && (hashes[label] >> TELLTALE_GROUP_SHIFT & mask) == 0) {
      seen.group.push_back({stream.truth[label], seen.samples[label] == 0});
    }
    const sketch::Place place = sketch::PlaceOf(hashes[label], knobs.columns);
    if (seen.samples[label] > 0) {
      seen.sampled.push_back({place, seen.samples[label], repeated[label]});
    }
    seen.bounds.push_back(sketch::Estimate(seen.cells, {&place, 1}, seen.samples[label]));
  }
  seen.distinct = sketch::CountDistinct(bitmap);
  return seen;
}

}  // namespace telltale::bench
