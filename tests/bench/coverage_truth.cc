// What the real sensor's sketch and samples keep of a load whose every label is counted exactly
// beside them (agent/sensor/bpf/truth.bpf.h), one JSON line per vital. Asserts nothing;
// tests/bench/coverage_loads runs it under several loads, COVERAGE.md has a run.
//
//   build/release/bin/coverage_truth EPOCH_SECONDS COMMAND [ARGUMENT...]      as root
//
// Exact counts make each event dearer by some 100 ns; what is counted stays the same.

#include <bpf/bpf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/epoch/sampled_hashes.h"
#include "agent/sensor/bpf_sensor.h"
#include "sketch/layout.h"
#include "sketch/linear_count.h"
#include "sketch/miss_control.h"
#include "sketch/miss_curve.h"
#include "sketch/truth.h"
#include "sketch/vitals.h"
#include "sketch/votes.h"

namespace telltale::bench {
namespace {

using Weights = std::unordered_map<uint64_t, uint64_t>;  // by label hash
using ByVital = std::map<uint32_t, Weights>;

class Taken : public agent::SampleSink {
 public:
  struct Label {
    uint64_t samples = 0, weight = 0;
  };
  struct Epoch {
    std::map<uint32_t, std::unordered_map<uint64_t, Label>> labels;
    agent::SampledHashes hashes;
  };
  void OnSample(const agent::RawSample& sample) override {
    taken_.hashes.Add(sample);
    Label& label = taken_.labels[sample.vital][sample.label_hash];
    ++label.samples;
    label.weight += sample.weight;
  }
  void OnEvent(const agent::RawEvent&) override {}
  Epoch Take() { return std::exchange(taken_, {}); }

 private:
  Epoch taken_;
};

// Descriptor of this process's map of that name; -1: none.
int FindMap(const char* name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream text(entry.path());
    std::string word;
    bool is_map = false;
    while (text >> word) is_map |= word == "map_id:";
    if (!is_map) continue;
    const int fd = std::stoi(entry.path().filename());
    bpf_map_info info = {};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && strcmp(info.name, name) == 0) return fd;
  }
  return -1;
}

// The exact weights of a half that nobody writes any more; they are taken out of the map. Calls
// `meanwhile` often: the next epoch has begun, and its samples wait in the ring.
ByVital TakeTruth(int fd, uint32_t half, const std::function<void()>& meanwhile) {
  constexpr uint32_t kBatch = 4096;
  ByVital truth;
  std::vector<telltale_truth_key> keys(kBatch), taken;
  std::vector<telltale_total> sums(kBatch);
  uint32_t from = 0, next = 0;
  for (int error = 0, first = 1; error == 0; first = 0) {
    uint32_t count = kBatch;
    error = bpf_map_lookup_batch(fd, first ? nullptr : &from, &next, keys.data(), sums.data(),
                                 &count, nullptr);
    if (error != 0 && errno != ENOENT) break;
    for (uint32_t i = 0; i < count; ++i) {
      if (keys[i].half != half) continue;
      truth[keys[i].vital][keys[i].hash] = sums[i].weight;
      taken.push_back(keys[i]);
    }
    from = next;
    meanwhile();
  }
  for (size_t at = 0; at < taken.size();) {
    auto count = static_cast<uint32_t>(std::min<size_t>(kBatch, taken.size() - at));
    // The batch ends at a key whose bucket a program holds at this moment.
    if (bpf_map_delete_batch(fd, taken.data() + at, &count, nullptr) != 0) {
      while (bpf_map_delete_elem(fd, &taken[at + count]) != 0 && errno == EBUSY) {
      }
      ++count;
    }
    at += count;
    meanwhile();
  }
  return truth;
}

uint64_t OwnWeight(const agent::RawEpoch& epoch, uint8_t vital) {
  uint64_t weight = 0;
  for (const agent::RawProcess& process : epoch.processes) {
    if (process.tgid != static_cast<uint32_t>(getpid())) continue;
    for (const agent::RawProcess::Share& share : process.shares) {
      if (share.vital == vital) weight += share.weight;
    }
  }
  return weight;
}

constexpr double kStatedUpTo[] = {0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};

// Of one vital, over all epochs.
struct Result {
  uint64_t labels = 0, events_weight = 0, truth_weight = 0;
  uint64_t samples = 0, refused = 0, ring_full = 0;
  uint64_t heavy = 0, heavy_missed = 0;   // labels >= mean load
  uint64_t group = 0, group_differs = 0;  // labels of the control group; other weight than exact
  uint64_t group_heavy = 0, group_heavy_missed = 0;
  uint64_t intervals = 0, intervals_false = 0;
  std::vector<double> widths, distinct_errors;
  struct Bin {
    uint64_t cases = 0, missed = 0;
    double stated = 0;
  } bins[std::size(kStatedUpTo)];
  Bin at_1pct;  // labels >= 1 % of the vital: what answers speak of
};

double Median(std::vector<double> values) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// `own`: what of the vital's weight is the agent's, which the exact counts leave out.
void Compare(const agent::RawVital& vital, uint64_t own, const Weights& truth,
             const std::unordered_map<uint64_t, Taken::Label>& taken,
             std::span<const sketch::SampledLabel> sampled, uint64_t refused, uint32_t cpus,
             Result& result) {
  uint64_t total = 0, exact = 0, samples = 0;
  for (const agent::RawSub& sub : vital.subs) total += sub.weight;
  for (const auto& [hash, weight] : truth) exact += weight;
  for (const auto& [hash, label] : taken) samples += label.samples;
  // As the agent does (agent/epoch/vital_part.cc).
  std::vector<sketch::ExactLabel> group;
  for (const agent::RawExact& label : vital.group) {
    if (label.weight >= vital.quantum) group.push_back({label.weight, !taken.contains(label.hash)});
  }
  const sketch::MissCurve curve =
      sketch::Corrected(sketch::MeasureMiss(vital.cells, sampled, refused, vital.quantum), group);
  // Of less than a quantum in each CPU's cell: there is no label that the goal speaks of.
  const uint64_t load = total / vital.cells.columns();
  const uint64_t mean_load = load >= vital.quantum * cpus ? load : ~uint64_t{0};
  for (const agent::RawExact& label : vital.group) {
    const auto it = truth.find(label.hash);
    if (it == truth.end()) continue;  // the agent's own, or it found no room in the exact counts
    const bool heavy = label.weight >= mean_load;
    ++result.group;
    result.group_differs += label.weight != it->second;
    result.group_heavy += heavy;
    result.group_heavy_missed += heavy && !taken.contains(label.hash);
  }
  result.samples += samples;
  result.refused += refused;
  result.events_weight += total - std::min(own, total);
  result.truth_weight += exact;
  for (const auto& [hash, weight] : truth) {
    const auto it = taken.find(hash);
    const bool missed = it == taken.end();
    const sketch::Place place = sketch::PlaceOf(hash, vital.cells.columns());
    const sketch::Interval bounds =
        sketch::Estimate(vital.cells, {&place, 1}, missed ? 0 : it->second.weight);
    ++result.labels;
    ++result.intervals;
    result.intervals_false += weight < bounds.low || weight > bounds.high;
    if (weight >= mean_load) {
      ++result.heavy;
      result.heavy_missed += missed;
    }
    if (weight >= total / 100) {
      result.widths.push_back(static_cast<double>(bounds.high - bounds.low) / 2 /
                              static_cast<double>(std::max<uint64_t>(weight, 1)));
    }
    if (weight < vital.quantum) continue;
    const double stated = curve.At(weight);
    if (weight >= total / 100) {
      ++result.at_1pct.cases;
      result.at_1pct.missed += missed;
      result.at_1pct.stated += stated;
    }
    size_t bin = 0;
    while (bin + 1 < std::size(kStatedUpTo) && stated > kStatedUpTo[bin]) ++bin;
    ++result.bins[bin].cases;
    result.bins[bin].missed += missed;
    result.bins[bin].stated += stated;
  }
  if (truth.size() >= 200) {
    const double found = static_cast<double>(sketch::CountDistinct(vital.bitmap).estimate);
    const auto labels = static_cast<double>(truth.size());
    result.distinct_errors.push_back(std::abs(found - labels) / labels);
  }
}

void Print(const sketch::Vital& vital, const Result& r, int epochs) {
  const auto number = [](const char* name, uint64_t value) {
    std::printf("\"%s\":%llu,", name, static_cast<unsigned long long>(value));
  };
  const double counted = r.events_weight == 0 ? 0
                                              : static_cast<double>(r.truth_weight) /
                                                    static_cast<double>(r.events_weight);
  std::printf("{\"vital\":\"%s\",\"epochs\":%d,", std::string(vital.name).c_str(), epochs);
  number("labels", r.labels);
  number("samples", r.samples);
  number("refused", r.refused);
  number("ring_full", r.ring_full);
  number("heavy", r.heavy);
  number("heavy_missed", r.heavy_missed);
  number("group", r.group);
  number("group_differs", r.group_differs);
  number("group_heavy", r.group_heavy);
  number("group_heavy_missed", r.group_heavy_missed);
  number("intervals_false", r.intervals_false);
  number("at_1pct", r.widths.size());
  std::printf("\"half_width_median\":%.4f,\"distinct_error_median\":%.4f,", Median(r.widths),
              Median(r.distinct_errors));
  const double at_1pct = std::max(static_cast<double>(r.at_1pct.cases), 1.0);
  std::printf("\"stated_1pct\":[%.5f,%.5f],", r.at_1pct.stated / at_1pct,
              static_cast<double>(r.at_1pct.missed) / at_1pct);
  std::printf("\"truth_share\":%.5f,\"stated\":[", counted);
  bool first = true;
  for (const Result::Bin& bin : r.bins) {
    if (bin.cases == 0) continue;
    const auto cases = static_cast<double>(bin.cases);
    std::printf("%s[%.4f,%.4f,%llu]", first ? "" : ",", bin.stated / cases,
                static_cast<double>(bin.missed) / cases,
                static_cast<unsigned long long>(bin.cases));
    first = false;
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

int Run(int epoch_seconds, char** command) {
  agent::BpfSensor sensor({});
  if (const absl::Status status = sensor.Start(); !status.ok()) {
    std::fprintf(stderr, "coverage_truth: %s\n", status.ToString().c_str());
    return 1;
  }
  const int truth_map = FindMap("truth");
  if (truth_map < 0) {
    std::fprintf(stderr, "coverage_truth: no map `truth`: not the objects with TELLTALE_TRUTH\n");
    return 1;
  }
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, command[0], nullptr, nullptr, command, environ)) {
    std::fprintf(stderr, "coverage_truth: starting %s: %s\n", command[0], strerror(error));
    return 1;
  }
  const auto cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  std::map<uint32_t, Result> results;
  Taken taken;
  int epochs = 0;
  // Start() ended half 0 and dropped it, this ends half 1: what is there of them is no epoch.
  const auto drain = [&] { sensor.Drain(taken).status().IgnoreError(); };
  TakeTruth(truth_map, 0, drain);
  if (!sensor.Cut(taken).ok()) return 1;
  taken.Take();
  TakeTruth(truth_map, 1, drain);
  bool running = true;
  for (uint32_t half = 0; running; half ^= 1) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(epoch_seconds);
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (!sensor.Drain(taken).ok()) return 1;
      running = running && waitpid(child, nullptr, WNOHANG) == 0;
    }
    const absl::StatusOr<agent::RawEpoch> epoch = sensor.Cut(taken);
    if (!epoch.ok()) {
      std::fprintf(stderr, "coverage_truth: %s\n", epoch.status().ToString().c_str());
      return 1;
    }
    Taken::Epoch seen = taken.Take();
    ByVital truth = TakeTruth(truth_map, half, drain);
    ++epochs;
    for (const agent::RawVital& vital : epoch->vitals) {
      uint64_t refused = 0;
      for (const agent::RawLoss& loss : epoch->losses) {
        if (loss.vital == vital.id && loss.kind == agent::LossKind::kTokensRefused) {
          refused += loss.events;
        }
        if (loss.vital == vital.id && loss.kind == agent::LossKind::kRingFull) {
          results[vital.id].ring_full += loss.events;
        }
      }
      const auto sampled = seen.hashes.Of(vital.id, vital.cells.columns());
      Compare(vital, OwnWeight(*epoch, vital.id), truth[vital.id], seen.labels[vital.id], sampled,
              refused, cpus, results[vital.id]);
    }
  }
  for (const auto& [id, result] : results) {
    if (result.labels != 0) Print(*sketch::FindVital(static_cast<uint8_t>(id)), result, epochs);
  }
  return 0;
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  const int seconds = argc > 2 ? std::atoi(argv[1]) : 0;
  if (seconds < 1 || seconds > 60) {
    std::fprintf(stderr, "usage: coverage_truth EPOCH_SECONDS(1..60) COMMAND [ARGUMENT...]\n");
    return 2;
  }
  return telltale::bench::Run(seconds, argv + 2);
}
