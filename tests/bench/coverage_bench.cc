// What the sketch and its samples keep of streams whose every label is counted exactly: misses,
// what is said about them, intervals, distinct labels. Prints value, goal, OK or OVER; asserts
// nothing. COVERAGE.md has a run and what it means.
//
//   build/release/bin/coverage_bench [--json] [--quick]

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sketch/miss_control.h"
#include "tests/bench/coverage_sim.h"

namespace telltale::bench {
namespace {

constexpr uint64_t kEvents = 1'000'000;
constexpr std::array kLongest = {1U, 100U, 2'000U};  // runs of the streams

class Report {
 public:
  explicit Report(bool json) : json_(json) {
    if (json_) std::printf("[");
  }
  ~Report() {
    if (json_) std::printf("\n]\n");
  }
  void Section(const std::string& title) {
    if (!json_) std::printf("\n%s\n", title.c_str());
  }
  // goal < 0: none. `cases`: what the value rests on. Lower is better.
  void Row(const std::string& part, const std::string& what, double value, double goal,
           uint64_t cases) {
    const char* verdict = goal < 0 ? "" : value <= goal ? "OK" : "OVER";
    if (json_) {
      std::printf("%s\n{\"part\":\"%s\",\"what\":\"%s\",\"value\":%.6g,\"cases\":%llu",
                  first_ ? "" : ",", part.c_str(), what.c_str(), value,
                  static_cast<unsigned long long>(cases));
      if (goal >= 0) std::printf(",\"goal\":%g,\"verdict\":\"%s\"", goal, verdict);
      std::printf("}");
    } else {
      char wanted[32] = "-";
      if (goal >= 0) std::snprintf(wanted, sizeof wanted, "%g", goal);
      std::printf("  %-3s %-58s %10.4g %8s %-4s %9llu\n", part.c_str(), what.c_str(), value, wanted,
                  verdict, static_cast<unsigned long long>(cases));
    }
    std::fflush(stdout);
    first_ = false;
  }

 private:
  const bool json_;
  bool first_ = true;
};

struct Share {
  uint64_t hits = 0, cases = 0;
  void Add(bool hit) { hits += hit, ++cases; }
  double value() const {
    return cases == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(cases);
  }
};

// Wilson's interval at 99 %.
bool Within99(double stated, const Share& observed) {
  constexpr double kZ = 2.5758;
  const double n = static_cast<double>(observed.cases), p = observed.value();
  const double middle = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  constexpr double kRounding = 1e-12;  // middle and half may be equal
  return stated >= middle - half - kRounding && stated <= middle + half + kRounding;
}

double Median(std::vector<double> values, double at = 0.5) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1))];
}

double MeanLoad(const Knobs& knobs) { return static_cast<double>(kEvents) / knobs.columns; }

std::string Text(const Knobs& knobs) {
  return "m=" + std::to_string(knobs.columns) + (knobs.voted ? "" : " plain") +
         " t=" + std::to_string(1U << knobs.t_log2) + (knobs.tokens ? "" : " no token limit");
}

// (a), (d): one epoch after the other of one stream under one setting.
void OneEpoch(const Stream& stream, const Knobs& knobs, int epochs, bool judged, Report& report) {
  // Weight over mean cell load, by powers of 4 from 1/64: what is missed of it.
  std::array<Share, 6> curve;
  Share missed, held;
  std::vector<double> widths;
  uint64_t due = 0, refused = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Seen seen = Watch(stream, knobs, static_cast<uint64_t>(epoch) * 77'777 + 5);
    due += seen.due, refused += seen.refused;
    for (uint32_t label = 0; label < stream.labels; ++label) {
      const double weight = static_cast<double>(stream.truth[label]);
      if (weight == 0) continue;
      const double loads = weight / MeanLoad(knobs);
      const bool miss = seen.samples[label] == 0;
      const int bin = static_cast<int>(std::floor(std::log2(loads * 64) / 2));
      curve[static_cast<size_t>(std::clamp(bin, 0, 5))].Add(miss);
      if (loads >= 1) missed.Add(miss);
      const sketch::Interval bounds = seen.bounds[label];
      const uint64_t truth = stream.truth[label];
      held.Add(bounds.low <= truth && truth <= bounds.high);
      if (weight < 0.01 * kEvents) continue;
      widths.push_back(static_cast<double>(bounds.high - bounds.low) / 2 / weight);
    }
  }
  const std::string name = stream.name + " " + Text(knobs);
  report.Row("a", name + ": missed >= mean load", missed.value(), judged ? 1e-3 : -1, missed.cases);
  report.Row("d", name + ": intervals false", 1 - held.value(), 0.01, held.cases);
  report.Row("d", name + ": half-width, median", Median(widths), judged ? 0.1 : -1, widths.size());
  if (knobs.tokens) {
    report.Row("", name + ": samples refused",
               static_cast<double>(refused) / static_cast<double>(due), -1, due);
  }
  if (!judged) return;
  static constexpr std::array kBins = {"< 1/16", "1/16..1/4", "1/4..1", "1..4", "4..16", ">= 16"};
  for (size_t bin = 0; bin < curve.size(); ++bin) {
    if (curve[bin].cases == 0) continue;
    report.Row("a", name + ": missed at " + kBins[bin] + " loads", curve[bin].value(), -1,
               curve[bin].cases);
  }
}

// (b) Labels of at least the mean load, missed in five epochs running, each with a seed of its own;
// every five epochs the stream is drawn anew.
void FiveEpochs(const Stream& like, uint32_t longest, const Knobs& knobs, uint64_t wanted,
                Report& report) {
  Share missed;
  for (uint64_t run = 0; missed.cases < wanted; ++run) {
    const Stream stream = MakeStream(like.labels, like.cpus, longest, kEvents, 1000 + run);
    std::vector<uint32_t> samples(stream.labels);
    for (uint64_t epoch = 0; epoch < 5; ++epoch) {
      const Seen seen = Watch(stream, knobs, 1'000'003 * run + epoch);
      for (uint32_t label = 0; label < stream.labels; ++label) {
        samples[label] += seen.samples[label];
      }
    }
    for (uint32_t label = 0; label < stream.labels; ++label) {
      if (static_cast<double>(stream.truth[label]) < MeanLoad(knobs)) continue;
      missed.Add(samples[label] == 0);
    }
  }
  report.Row("b", like.name + " " + Text(knobs) + ": missed 5 times running", missed.value(), 0,
             missed.cases);
}

// (c) What is stated of a label's weight beside how often it happens.
void Stated(const Stream& stream, const Knobs& knobs, int epochs, Report& report) {
  struct Bin {
    Share missed;
    double stated = 0;
  };
  static constexpr std::array kUpTo = {0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0};
  std::array<Bin, kUpTo.size()> bins;
  Bin at_1pct;  // labels that hold that much of the vital: what answers speak of
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Seen seen = Watch(stream, knobs, static_cast<uint64_t>(epoch) * 31'337 + 9);
    const sketch::MissCurve curve = sketch::Corrected(
        sketch::MeasureMiss(seen.cells, seen.sampled, seen.refused, 1), seen.group);
    for (uint32_t label = 0; label < stream.labels; ++label) {
      if (stream.truth[label] == 0) continue;
      const double stated = curve.At(stream.truth[label]);
      size_t bin = 0;
      while (bin + 1 < kUpTo.size() && stated > kUpTo[bin]) ++bin;
      bins[bin].missed.Add(seen.samples[label] == 0);
      bins[bin].stated += stated;
      if (static_cast<double>(stream.truth[label]) < 0.01 * kEvents) continue;
      at_1pct.missed.Add(seen.samples[label] == 0);
      at_1pct.stated += stated;
    }
  }
  uint64_t used = 0, outside = 0, unsafe = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].missed.cases == 0) continue;
    const double stated = bins[i].stated / static_cast<double>(bins[i].missed.cases);
    const bool inside = Within99(stated, bins[i].missed);
    ++used;
    outside += !inside;
    unsafe += !inside && stated < bins[i].missed.value();
    char text[96];
    std::snprintf(text, sizeof text, ": stated %.4g, %s; observed", stated,
                  inside                            ? "inside 99 %"
                  : stated < bins[i].missed.value() ? "too low"
                                                    : "too high");
    report.Row("c", stream.name + text, bins[i].missed.value(), -1, bins[i].missed.cases);
  }
  const std::string name = stream.name + " " + Text(knobs);
  report.Row("c", name + ": bins outside 99 %", static_cast<double>(outside), 0, used);
  if (at_1pct.missed.cases > 0) {
    char text[96];
    std::snprintf(text, sizeof text, ": >= 1 %% of the vital, stated %.2g; observed",
                  at_1pct.stated / static_cast<double>(at_1pct.missed.cases));
    report.Row("c", stream.name + text, at_1pct.missed.value(), -1, at_1pct.missed.cases);
  }
  report.Row("c", name + ": of these stated too low", static_cast<double>(unsafe), 0, used);
}

// (e) Linear counting: streams in which every label occurs.
void DistinctLabels(int runs, Report& report) {
  for (const uint32_t labels : {200U, 2'000U, 5'000U, 10'000U, 20'000U}) {
    Stream stream{"distinct", labels, 1, {}, std::vector<uint64_t>(labels, 1), {}};
    for (uint32_t label = 0; label < labels; ++label) stream.events.push_back({label, 0});
    std::vector<double> errors;
    for (int run = 0; run < runs; ++run) {
      const double found = static_cast<double>(
          Watch(stream, Knobs{}, static_cast<uint64_t>(run) * 99 + 1).distinct.estimate);
      errors.push_back(std::abs(found - labels) / labels);
    }
    report.Row("e", std::to_string(labels) + " distinct: relative error, p95", Median(errors, 0.95),
               0.05, errors.size());
  }
}

void Run(bool json, bool quick) {
  Report report(json);
  const int epochs = quick ? 3 : 200;
  const uint32_t cpus = 4;
  std::vector<Stream> streams;
  for (const uint32_t labels : {2'000U, 20'000U}) {
    for (const uint32_t longest : kLongest) {
      streams.push_back(MakeStream(labels, cpus, longest, kEvents, labels + longest));
    }
  }
  const Knobs real, unlimited{.tokens = false};
  report.Section("(a) missed, (d) intervals: the sensor as it is, then without token limit");
  for (const Stream& stream : streams) {
    OneEpoch(stream, real, epochs, true, report);
    OneEpoch(stream, unlimited, epochs, true, report);
  }
  report.Section("(a) with higher t");
  for (const uint32_t t_log2 : {2U, 4U}) {
    for (const bool tokens : {false, true}) {
      OneEpoch(streams[0], {.t_log2 = t_log2, .tokens = tokens}, epochs, true, report);
    }
  }
  report.Section("(a) on 32 CPUs");
  OneEpoch(MakeStream(2'000, 32, 1, kEvents, 3), real, quick ? 3 : 40, true, report);
  report.Section("(b) five epochs with changing seeds");
  for (size_t i = 0; i < streams.size(); ++i) {
    FiveEpochs(streams[i], kLongest[i % kLongest.size()], real, quick ? 300 : 10'000, report);
  }
  report.Section("(c) stated against observed");
  for (const Knobs& knobs : {real, unlimited}) {
    for (const Stream& stream : streams) Stated(stream, knobs, epochs, report);
  }
  report.Section("(a), (d) other cells");
  for (const Knobs& knobs : {Knobs{.voted = false}, Knobs{.columns = 128}, Knobs{.columns = 512},
                             Knobs{.columns = 1024}}) {
    for (const size_t stream : {size_t{0}, size_t{5}}) {
      OneEpoch(streams[stream], knobs, quick ? 2 : 20, false, report);
    }
  }
  report.Section("(e) distinct labels");
  DistinctLabels(quick ? 20 : 400, report);
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  bool json = false, quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      std::fprintf(stderr, "coverage_bench: unknown argument %s; there are --json and --quick\n",
                   argv[i]);
      return 2;
    }
  }
  telltale::bench::Run(json, quick);
  return 0;
}
