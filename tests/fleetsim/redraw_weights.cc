#include "tests/fleetsim/redraw_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "sketch/miss_curve.h"
#include "sketch/round7.h"
#include "sketch/time_units.h"
#include "sketch/vital_ids.h"
#include "tests/fleetsim/noise.h"

namespace telltale::fleetsim {
namespace {

constexpr double kMostOfCpus = 0.97;  // of its CPUs a node uses at most

// Vital and sub-series of a process column; a total has events and weight.
struct ColumnKey {
  uint32_t vital = 0, sub = 0;
  bool weight = false;
  auto operator<=>(const ColumnKey&) const = default;
};

struct ColumnSum {
  double before = 0, after = 0;
};
using ColumnSums = std::map<ColumnKey, ColumnSum>;

// How the numbers of one epoch change.
struct Factors {
  std::vector<double> rows;  // of the process table
  std::map<uint32_t, double> vitals;
  double accounts = 1;  // kernel accounts of processes
  uint64_t (*scaled)(uint64_t value, double factor) = Noisy;

  double Vital(uint32_t id) const {
    const auto found = vitals.find(id);
    return found == vitals.end() ? 1 : found->second;
  }
};

double Total(const v1::Vital& vital) {
  double total = 0;
  for (const v1::SubSeries& sub : vital.subs()) total += static_cast<double>(sub.weight());
  return total;
}

// Columns that are states at the cut, not sums over the epoch; they stay as recorded.
bool IsState(uint32_t column) {
  return column == v1::PROCESS_COLUMN_RSS_BYTES || column == v1::PROCESS_COLUMN_THREADS ||
         column == v1::PROCESS_COLUMN_OPEN_FILES || column == v1::PROCESS_COLUMN_OWN_BYTES;
}

// New values of one column: each row by its factor, all together by `all`.
ColumnSum ScaleColumn(int column, double all, const Factors& factors, v1::ProcessTable& table) {
  ColumnSum sum;
  double weighted = 0;
  for (int i = 0; i < table.rows_size(); ++i) {
    const double value = static_cast<double>(table.rows(i).values(column));
    sum.before += value;
    weighted += value * factors.rows[static_cast<size_t>(i)];
  }
  const double level = weighted > 0 ? sum.before / weighted * all : all;
  const auto scale = [&](v1::ProcessRow* row, double factor) {
    const uint64_t value = factors.scaled(row->values(column), factor);
    row->set_values(column, value);
    sum.after += static_cast<double>(value);
  };
  for (int i = 0; i < table.rows_size(); ++i) {
    scale(table.mutable_rows(i), factors.rows[static_cast<size_t>(i)] * level);
  }
  if (table.has_other()) {
    sum.before += static_cast<double>(table.other().values(column));
    scale(table.mutable_other(), all);
  }
  return sum;
}

ColumnSums ScaleProcesses(const Factors& factors, v1::ProcessTable& table) {
  ColumnSums sums;
  for (int column = 0; column < table.columns_size(); ++column) {
    const uint32_t number = table.columns(column);
    if (IsState(number)) continue;
    if (number < v1::PROCESS_COLUMN_FIRST_VITAL) {
      ScaleColumn(column, factors.accounts, factors, table);
      continue;
    }
    const uint32_t code = number - v1::PROCESS_COLUMN_FIRST_VITAL;
    const ColumnKey key{code / 32, code % 32 / 2, code % 2 == 1};
    sums[key] = ScaleColumn(column, factors.Vital(key.vital), factors, table);
  }
  return sums;
}

// The new total: what the rows add up to now, and what they did not account for, scaled.
uint64_t NewTotal(uint64_t total, double factor, const Factors& factors, const ColumnSum* rows) {
  if (rows == nullptr) return factors.scaled(total, factor);
  const double rest = static_cast<double>(total) - rows->before;
  if (rest < 0) return static_cast<uint64_t>(rows->after);
  return static_cast<uint64_t>(rows->after) + factors.scaled(static_cast<uint64_t>(rest), factor);
}

// Seconds begin elsewhere in the epoch, all of it alike, and add up to the new total as the old
// ones did to theirs. Noise of each second's own would come on top of what a real series has.
void ScaleSeconds(uint64_t epoch_seed, uint64_t before, v1::SubSeries& sub) {
  auto& seconds = *sub.mutable_second_weight();
  if (seconds.empty() || before == 0) return;
  std::rotate(
      seconds.begin(),
      seconds.begin() + static_cast<int>(epoch_seed % static_cast<uint64_t>(seconds.size())),
      seconds.end());
  const double level = static_cast<double>(sub.weight()) / static_cast<double>(before);
  double left = 0;  // of the seconds before: what comes once in a while does not vanish
  for (auto& second : seconds) {
    left += static_cast<double>(second) * level;
    const double whole = std::floor(left);
    left -= whole;
    second = sketch::Round7(static_cast<uint64_t>(whole));
  }
}

// A label of `factor` times the weight is missed as one of this weight was.
void ShiftMiss(double factor, v1::SketchDigest& sketch) {
  if (sketch.miss_size() == 0) return;
  constexpr double kParts = 10'000;
  sketch::MissCurve before{sketch.miss_from(), {}};
  for (const uint32_t parts : sketch.miss()) before.miss.push_back(parts / kParts);
  const int points = sketch.miss_size();
  const double first = sketch.miss_from() + std::log2(factor);
  sketch.set_miss_from(static_cast<uint32_t>(std::clamp(std::ceil(first - 1e-9), 0.0, 62.0)));
  sketch.clear_miss();
  for (int i = 0; i < points; ++i) {
    const double weight = std::ldexp(1 / factor, static_cast<int>(sketch.miss_from()) + i);
    const double miss = before.At(static_cast<uint64_t>(std::max(weight + 0.5, 1.0)));
    sketch.add_miss(static_cast<uint32_t>(std::lround(miss * kParts)));
  }
}

void ScaleTotals(const WeightNoise& noise, const Factors& factors, const ColumnSums& sums,
                 v1::Vital& vital) {
  const double factor = factors.Vital(vital.id());
  for (int s = 0; s < vital.subs_size(); ++s) {
    v1::SubSeries& sub = *vital.mutable_subs(s);
    const auto rows = [&](bool weight) {
      const auto found = sums.find({vital.id(), static_cast<uint32_t>(s), weight});
      return found == sums.end() ? nullptr : &found->second;
    };
    const uint64_t before = sub.weight();
    sub.set_events(NewTotal(sub.events(), factor, factors, rows(false)));
    sub.set_weight(NewTotal(before, factor, factors, rows(true)));
    ScaleSeconds(noise.epoch_seed, before, sub);
  }
  for (auto& backlog : *vital.mutable_backlog()) {
    backlog = static_cast<int64_t>(static_cast<double>(backlog) * factor);
  }
  for (v1::Loss& loss : *vital.mutable_losses()) {
    loss.set_events(factors.scaled(loss.events(), factor));
    loss.set_weight(factors.scaled(loss.weight(), factor));
  }
  v1::SketchDigest& sketch = *vital.mutable_sketch();
  sketch.set_total(factors.scaled(sketch.total(), factor));
  sketch.set_unlisted_high(factors.scaled(sketch.unlisted_high(), factor));
  ShiftMiss(factor, sketch);
  v1::FoldedAway& away = *vital.mutable_folded_away();
  away.set_sampled_weight(factors.scaled(away.sampled_weight(), factor));
}

// What names a label on every node alike.
uint64_t LabelKey(const v1::VitalDescriptor& descriptor, const v1::Tables& tables,
                  const v1::FoldedSample& sample) {
  uint64_t key = Mix(descriptor.id(), sample.sub());
  if (sample.exe() != 0) {
    key = Mix(key, HashText(tables.strings(static_cast<int>(sample.exe() - 1))));
  }
  for (int i = 0; i < std::min(sample.label_size(), descriptor.label_size()); ++i) {
    const uint64_t value = sample.label(i);
    switch (descriptor.label(i).kind()) {
      case v1::FIELD_KIND_PID:
      case v1::FIELD_KIND_STACK_POINTER:
        break;
      case v1::FIELD_KIND_IP:
        if (value != 0) key = Mix(key, tables.frame_offset(static_cast<int>(value - 1)));
        break;
      case v1::FIELD_KIND_STRING:
      case v1::FIELD_KIND_ADDRESS:
        if (value != 0) key = Mix(key, HashText(tables.strings(static_cast<int>(value - 1))));
        break;
      default:
        key = Mix(key, value);
    }
  }
  return key;
}

void ScaleSamples(const WeightNoise& noise, double all, const v1::VitalDescriptor& descriptor,
                  const v1::Tables& tables, v1::Vital& vital) {
  const auto most = static_cast<uint64_t>(Total(vital));
  for (v1::FoldedSample& sample : *vital.mutable_samples()) {
    const uint64_t key = LabelKey(descriptor, tables, sample);
    const double factor = all * LogNormal(Mix(noise.node_seed, key), noise.label_sigma) *
                          LogNormal(Mix(noise.epoch_seed, key), noise.epoch_sigma);
    sample.set_high(std::min(Noisy(sample.high(), factor), most));
    sample.set_low(std::min(Noisy(sample.low(), factor), sample.high()));
    // Of single events, which weigh the same in many labels: noise of each label's own would make
    // them differ as they do on no machine.
    sample.set_sampled_weight(std::min(Noisy(sample.sampled_weight(), all), sample.high()));
    v1::Sample& exemplar = *sample.mutable_exemplar();
    exemplar.set_weight(std::min(Noisy(exemplar.weight(), all), most));
    exemplar.set_cell_after(Noisy(exemplar.cell_after(), all));
    exemplar.set_cell_before(std::min(Noisy(exemplar.cell_before(), all), exemplar.cell_after()));
  }
  std::ranges::stable_sort(*vital.mutable_samples(), std::ranges::greater(),
                           &v1::FoldedSample::sampled_weight);
}

void ScaleHistograms(const WeightNoise& noise, const Factors& factors, v1::SummaryBody& body) {
  const double all = factors.accounts;
  uint64_t seed = noise.epoch_seed;
  for (v1::Histogram& histogram : *body.mutable_histograms()) {
    seed = Mix(seed);
    const uint64_t open = histogram.entries() - std::min(histogram.entries(), histogram.exits());
    uint64_t exits = 0;
    for (int i = 0; i < histogram.count_size(); ++i) {
      const double factor = all * LogNormal(Mix(seed, static_cast<uint64_t>(i)), noise.epoch_sigma);
      histogram.set_count(i, factors.scaled(histogram.count(i), factor));
      exits += histogram.count(i);
    }
    histogram.set_exits(exits);
    histogram.set_entries(exits + open);
    histogram.set_sum(factors.scaled(histogram.sum(), all));
  }
}

// Task time is run, queue and blocked time together: what a process ran more it waited less.
void BalanceTaskTime(v1::ProcessTable& table) {
  const auto place = [&table](uint32_t number) {
    const auto found = std::ranges::find(table.columns(), number);
    return found == table.columns().end() ? -1 : static_cast<int>(found - table.columns().begin());
  };
  const int run = place(v1::PROCESS_COLUMN_RUN_NS), queue = place(v1::PROCESS_COLUMN_QUEUE_NS),
            blocked = place(v1::PROCESS_COLUMN_BLOCKED_NS),
            task = place(v1::PROCESS_COLUMN_TASK_NS);
  if (run < 0 || queue < 0 || blocked < 0 || task < 0) return;
  const auto balance = [&](v1::ProcessRow& row) {
    row.set_values(task, row.values(run) + row.values(queue) + row.values(blocked));
  };
  for (v1::ProcessRow& row : *table.mutable_rows()) balance(row);
  if (table.has_other()) balance(*table.mutable_other());
}

void SortRows(v1::ProcessTable& table) {
  const auto run = std::ranges::find(table.columns(), v1::PROCESS_COLUMN_RUN_NS);
  if (run == table.columns().end()) return;
  const int column = static_cast<int>(run - table.columns().begin());
  std::ranges::stable_sort(*table.mutable_rows(), std::ranges::greater(),
                           [column](const v1::ProcessRow& row) { return row.values(column); });
}

// Of CPUs that have less to spare than they do, what they have to spare is drawn by `factor`: else
// many a node without a free CPU, whose processes wait for one, would become one with free CPUs
// whose processes wait all the same, and such nodes there are not.
double OfCpus(double factor, double busy_ns, double cpus_ns) {
  const double most = kMostOfCpus * cpus_ns;
  const double spare_ns = std::max(cpus_ns - busy_ns, cpus_ns - most);
  if (spare_ns < busy_ns) {
    return std::clamp(cpus_ns - spare_ns * factor, cpus_ns / 2, most) / busy_ns;
  }
  return busy_ns * factor > most ? most / busy_ns : factor;
}

void Apply(const WeightNoise& noise, const Factors& factors, const v1::Schema* schema,
           v1::SummaryBody& body) {
  const ColumnSums sums = ScaleProcesses(factors, *body.mutable_processes());
  for (v1::Vital& vital : *body.mutable_vitals()) {
    if (vital.state() == v1::VITAL_STATE_UNAVAILABLE) continue;
    ScaleTotals(noise, factors, sums, vital);
    if (schema == nullptr) continue;
    for (const v1::VitalDescriptor& descriptor : schema->vitals()) {
      if (descriptor.id() != vital.id()) continue;
      ScaleSamples(noise, factors.Vital(vital.id()), descriptor, body.tables(), vital);
    }
  }
  ScaleHistograms(noise, factors, body);
  BalanceTaskTime(*body.mutable_processes());
  SortRows(*body.mutable_processes());
}

}  // namespace

void RedrawWeights(const WeightNoise& noise, const v1::Schema& schema, v1::SummaryBody& body) {
  const double length_ns =
      static_cast<double>(body.epoch().end_mono_ns() - body.epoch().start_mono_ns());
  const double level = LogNormal(noise.node_seed, noise.node_sigma);
  const uint32_t recorded_cpus = body.gauges().cpus_online();
  const uint32_t cpus = recorded_cpus == 0 ? noise.cpus : std::min(recorded_cpus, noise.cpus);
  Factors factors;
  for (const v1::Vital& vital : body.vitals()) {
    const double factor = level * LogNormal(Mix(noise.node_seed, vital.id()), noise.node_sigma) *
                          LogNormal(Mix(noise.epoch_seed, vital.id()), noise.epoch_sigma);
    factors.vitals[vital.id()] =
        vital.id() == TELLTALE_CPU ? OfCpus(factor, Total(vital), cpus * length_ns) : factor;
  }
  factors.accounts = factors.Vital(TELLTALE_CPU);
  for (const v1::ProcessRow& row : body.processes().rows()) {
    uint64_t key = Mix(row.uid());
    if (row.exe() != 0) {
      key = Mix(key, HashText(body.tables().strings(static_cast<int>(row.exe() - 1))));
    }
    factors.rows.push_back(LogNormal(Mix(noise.node_seed, key), noise.label_sigma) *
                           LogNormal(Mix(noise.epoch_seed, key), noise.epoch_sigma));
  }
  Apply(noise, factors, &schema, body);
  v1::Gauges& gauges = *body.mutable_gauges();
  gauges.set_memory_available_bytes(
      Scaled(gauges.memory_available_bytes(), LogNormal(noise.epoch_seed, noise.epoch_sigma)));
  gauges.set_agent_cpu_ns(Scaled(gauges.agent_cpu_ns(), level));
  // Made-up epochs leave it open.
  if (gauges.cpus_online() == 0) gauges.set_cpus_online(noise.cpus);
}

void RedrawCells(const WeightNoise& noise, v1::SketchCells& cells) {
  for (v1::SketchCells::One& one : *cells.mutable_vitals()) {
    const int size = one.cells_size();
    if (size == 0) continue;
    const uint64_t seed = Mix(noise.epoch_seed, one.vital());
    const auto shift = static_cast<int>(seed % static_cast<uint64_t>(size));
    for (auto* column :
         {one.mutable_cells(), one.mutable_contested(), one.mutable_greatest_margin()}) {
      if (column->size() == size)
        std::rotate(column->begin(), column->begin() + shift, column->end());
      for (int i = 0; i < column->size(); ++i) {
        const double factor = LogNormal(Mix(seed, static_cast<uint64_t>(i)), noise.epoch_sigma);
        column->Set(i, std::min(Noisy(column->Get(i), factor),
                                column == one.mutable_cells() ? UINT64_MAX : one.cells(i)));
      }
    }
  }
}

void Stretch(uint32_t epoch_s, double seconds, v1::SummaryBody& body) {
  const double ratio = epoch_s / seconds;
  const double length_ms = epoch_s * 1000.0;
  const auto time_ms = [&](uint32_t ms) {
    return static_cast<uint32_t>(std::min(ms * ratio, length_ms));
  };
  body.mutable_epoch()->set_length_s(epoch_s);
  for (v1::Vital& vital : *body.mutable_vitals()) {
    for (v1::SubSeries& sub : *vital.mutable_subs()) {
      const std::vector<uint64_t> recorded(sub.second_weight().begin(), sub.second_weight().end());
      sub.clear_second_weight();
      // The last of them is what a late cut left over.
      const size_t whole = std::max<size_t>(1, static_cast<size_t>(seconds));
      for (uint32_t i = 0; i < epoch_s && !recorded.empty(); ++i) {
        sub.add_second_weight(recorded[std::min(i % whole, recorded.size() - 1)]);
      }
      // Scaling makes them add up to the new total only if they add up to the old one now.
      double sum = 0;
      for (const uint64_t second : sub.second_weight()) sum += static_cast<double>(second);
      for (auto& second : *sub.mutable_second_weight()) {
        second = static_cast<uint64_t>(static_cast<double>(second) *
                                       static_cast<double>(sub.weight()) / std::max(sum, 1.0));
      }
    }
    std::vector<int64_t> backlog(vital.backlog().begin(), vital.backlog().end());
    vital.clear_backlog();
    for (uint32_t i = 0; i < epoch_s && !backlog.empty(); ++i) {
      vital.add_backlog(backlog[i % backlog.size()]);
    }
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      sample.set_first_ms(time_ms(sample.first_ms()));
      sample.set_last_ms(time_ms(sample.last_ms()));
      v1::Sample& exemplar = *sample.mutable_exemplar();
      exemplar.set_time_ns(
          std::min(static_cast<uint64_t>(static_cast<double>(exemplar.time_ns()) * ratio),
                   epoch_s * static_cast<uint64_t>(kNsPerS)));
    }
    for (v1::KnobChange& knob : *vital.mutable_knobs()) knob.set_time_ms(time_ms(knob.time_ms()));
  }
  for (v1::DiscreteEvent& event : *body.mutable_events())
    event.set_time_ms(time_ms(event.time_ms()));
  for (auto& ns : *body.mutable_gauges()->mutable_cpu_ns()) ns = Scaled(ns, ratio);
  for (auto& us : *body.mutable_gauges()->mutable_psi_us()) us = Scaled(us, ratio);
  Factors factors;
  factors.accounts = ratio;
  factors.scaled = Scaled;
  factors.rows.assign(static_cast<size_t>(body.processes().rows_size()), 1);
  for (const v1::Vital& vital : body.vitals()) factors.vitals[vital.id()] = ratio;
  WeightNoise none;
  none.epoch_sigma = 0;
  Apply(none, factors, nullptr, body);
  for (v1::Vital& vital : *body.mutable_vitals()) {
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      sample.set_low(Scaled(sample.low(), ratio));
      sample.set_high(std::max(Scaled(sample.high(), ratio), sample.low()));
    }
  }
}

}  // namespace telltale::fleetsim
