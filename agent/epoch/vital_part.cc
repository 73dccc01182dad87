#include "agent/epoch/vital_part.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "agent/epoch/epoch_span.h"
#include "agent/vitals/vitals.h"
#include "proto/validate.h"
#include "sketch/linear_count.h"
#include "sketch/miss_control.h"
#include "sketch/round7.h"
#include "sketch/saturating.h"
#include "sketch/votes.h"

namespace telltale::agent {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Seconds begun in the epoch. A cut a few ms late opens no second of its own.
size_t SecondsOf(const RawEpoch& raw) {
  const uint64_t ns = raw.end_mono_ns > raw.start_mono_ns ? raw.end_mono_ns - raw.start_mono_ns : 0;
  return std::max<size_t>(1, (ns + kSecond / 2) / kSecond);
}

// Exactly `seconds` values; what lies past the end belongs to the last.
std::vector<uint64_t> PerSecond(const std::vector<uint64_t>& raw, size_t seconds) {
  std::vector<uint64_t> values(seconds, 0);
  for (size_t i = 0; i < raw.size(); ++i) values[std::min(i, seconds - 1)] += raw[i];
  return values;
}

// Samples of labels that do not lead the cell of their first hash.
uint64_t ContestedSamples(const RawVital& raw, const FoldedEpoch& folded) {
  uint64_t samples = 0;
  for (const FoldedLabel& label : folded.labels) {
    if (label.vital != raw.id || label.hashes.empty()) continue;
    const sketch::Place place = sketch::PlaceOf(label.hashes[0], raw.cells.columns());
    const uint64_t margin = raw.cells.MarginAt(place);
    const bool leads = margin > 0 && margin == raw.cells.GreatestMargin(place.cell);
    if (!leads) samples = sketch::SaturatingAdd(samples, label.samples);
  }
  return samples;
}

// The part of the curve that is neither as good as certain nor as good as never.
void WriteMiss(const sketch::MissCurve& curve, v1::SketchDigest* to) {
  constexpr double kParts = 10'000;
  constexpr uint32_t kCertain = 9'950, kNever = 10;
  for (size_t i = 0; i < curve.miss.size(); ++i) {
    const auto parts = static_cast<uint32_t>(std::lround(curve.miss[i] * kParts));
    if (parts > kCertain && i + 1 < curve.miss.size()) continue;
    if (to->miss_size() == 0) to->set_miss_from(curve.from_log2 + static_cast<uint32_t>(i));
    to->add_miss(parts);
    if (parts <= kNever) break;
  }
}

// Events that were due to be kept whole and could not be.
uint64_t Refused(const RawEpoch& epoch, uint8_t vital) {
  uint64_t events = 0;
  for (const RawLoss& loss : epoch.losses) {
    const bool due = loss.kind == LossKind::kTokensRefused || loss.kind == LossKind::kRingFull;
    if (due && loss.vital == vital) events = sketch::SaturatingAdd(events, loss.events);
  }
  return events;
}

std::vector<sketch::ExactLabel> Group(const RawVital& raw, const SampledHashes& sampled) {
  std::vector<sketch::ExactLabel> group;
  for (const RawExact& label : raw.group) {
    if (label.weight < raw.quantum) continue;  // none so light is sampled
    group.push_back({label.weight, !sampled.Has(raw.id, label.hash)});
  }
  return group;
}

uint64_t MeanCell(const RawVital& raw) {
  return std::max(raw.cells.Sum() / raw.cells.columns(), uint64_t{1});
}

void WriteGroup(const RawVital& raw, const std::vector<sketch::ExactLabel>& group,
                v1::SketchDigest* to) {
  const uint64_t load = MeanCell(raw);
  uint32_t heavy = 0, missed = 0;
  for (const sketch::ExactLabel& label : group) {
    if (label.weight < load) continue;
    ++heavy;
    missed += label.missed ? 1 : 0;
  }
  to->set_control_labels(static_cast<uint32_t>(group.size()));
  to->set_control_heavy(heavy);
  to->set_control_heavy_missed(missed);
}

void WriteSketch(const RawVital& raw, const RawEpoch& epoch, const FoldedEpoch& folded,
                 v1::SketchDigest* to) {
  if (raw.cells.columns() == 0) return;
  to->set_layout(v1::CELL_LAYOUT_VOTED);
  to->set_rows(1);
  to->set_columns(raw.cells.columns());
  const sketch::LoadDigest digest = sketch::Digest(sketch::Competing(raw.cells));
  to->set_total(raw.cells.Sum());
  to->set_distinct(sketch::CountDistinct(raw.bitmap).estimate);
  to->mutable_load_exponents()->Assign(digest.exponents.begin(), digest.exponents.end());
  to->mutable_load_cells()->Assign(digest.cells.begin(), digest.cells.end());
  to->set_contested_samples(ContestedSamples(raw, folded));
  if (!folded.sampled.overflowed()) {
    const auto sampled = folded.sampled.Of(raw.id, raw.cells.columns());
    const std::vector<sketch::ExactLabel> group = Group(raw, folded.sampled);
    const sketch::MissCurve measured =
        sketch::MeasureMiss(raw.cells, sampled, Refused(epoch, raw.id), raw.quantum);
    WriteMiss(raw.estimated ? sketch::CorrectedUpwards(measured, group)
                            : sketch::Corrected(measured, group),
              to);
    WriteGroup(raw, group, to);
  }
}

using LossMap = std::map<std::pair<uint8_t, v1::LossReason>, LossCount>;

LossMap LossesOf(const RawEpoch& raw, const FoldedEpoch& folded) {
  LossMap losses = folded.losses;
  for (const RawLoss& loss : raw.losses) {
    LossCount& count = losses[{loss.vital, static_cast<v1::LossReason>(loss.kind)}];
    count.events = sketch::SaturatingAdd(count.events, loss.events);
    count.weight = sketch::SaturatingAdd(count.weight, loss.weight);
  }
  return losses;
}

void WriteVital(const RawVital& raw, const sketch::Vital& vital, const RawEpoch& epoch,
                const FoldedEpoch& folded, v1::Vital* to) {
  const size_t seconds = SecondsOf(epoch);
  to->set_quantum(raw.quantum);
  to->set_t_log2(raw.t_log2);
  to->set_estimated(raw.estimated);
  for (size_t i = 0; i < vital.subs.size(); ++i) {
    v1::SubSeries& sub = *to->add_subs();
    if (i >= raw.subs.size()) continue;
    sub.set_events(raw.subs[i].events);
    sub.set_weight(raw.subs[i].weight);
    if (raw.subs[i].weight == 0) continue;  // a silent series has no seconds
    for (const uint64_t w : PerSecond(raw.subs[i].second_weight, seconds)) {
      sub.add_second_weight(sketch::Round7(w));
    }
  }
  WriteSketch(raw, epoch, folded, to->mutable_sketch());
  if (vital.has_backlog && !raw.backlog.empty()) {
    // A level, not a sum: what lies past the end replaces the last.
    for (size_t i = 0; i < std::min(seconds, raw.backlog.size()); ++i) {
      to->add_backlog(i + 1 == seconds ? raw.backlog.back() : raw.backlog[i]);
    }
  }
  for (const RawKnobChange& change : raw.knobs) {
    v1::KnobChange& knob = *to->add_knobs();
    knob.set_time_ms(EpochSpan{epoch.start_mono_ns, epoch.end_mono_ns}.Ms(change.mono_ns));
    knob.set_knob(static_cast<v1::Knob>(change.knob));
    knob.set_from(change.from);
    knob.set_to(change.to);
  }
}

struct HistogramKind {
  v1::Layer layer;
  const char* operation;
};

HistogramKind KindOf(HistogramOp op) {
  switch (op) {
    case HistogramOp::kDiskRead:
      return {v1::LAYER_DISK, "read"};
    case HistogramOp::kDiskWrite:
      return {v1::LAYER_DISK, "write"};
    case HistogramOp::kDiskFlush:
      return {v1::LAYER_DISK, "flush"};
    case HistogramOp::kRunqueueWait:
      return {v1::LAYER_RUNQUEUE, "wait"};
    case HistogramOp::kLockWait:
      return {v1::LAYER_LOCK, "wait"};
    case HistogramOp::kBlockDisk:
      return {v1::LAYER_BLOCK, "disk"};
    case HistogramOp::kBlockUninterruptible:
      return {v1::LAYER_BLOCK, "uninterruptible"};
    case HistogramOp::kBlockLock:
      return {v1::LAYER_BLOCK, "lock"};
    case HistogramOp::kBlockSocket:
      return {v1::LAYER_BLOCK, "socket"};
    case HistogramOp::kBlockPipe:
      return {v1::LAYER_BLOCK, "pipe"};
    case HistogramOp::kBlockPoll:
      return {v1::LAYER_BLOCK, "poll"};
    case HistogramOp::kBlockTimer:
      return {v1::LAYER_BLOCK, "timer"};
    case HistogramOp::kBlockOther:
      return {v1::LAYER_BLOCK, "other"};
  }
  return {v1::LAYER_UNSPECIFIED, ""};
}

}  // namespace

std::vector<uint64_t> HeavySampled(const RawVital& raw, const SampledHashes& sampled) {
  std::vector<uint64_t> hashes;
  if (raw.cells.columns() == 0 || sampled.overflowed()) return hashes;
  const uint64_t from = std::max(MeanCell(raw), raw.quantum);
  for (const RawExact& label : raw.group) {
    if (label.weight >= from && sampled.Has(raw.id, label.hash)) hashes.push_back(label.hash);
  }
  return hashes;
}

void WriteVitals(const RawEpoch& raw, const FoldedEpoch& folded,
                 const std::vector<VitalStatus>& statuses, v1::SummaryBody* body) {
  const LossMap losses = LossesOf(raw, folded);
  for (const sketch::Vital& vital : Vitals()) {
    const auto raw_vital = std::ranges::find(raw.vitals, vital.id, &RawVital::id);
    const auto status = std::ranges::find(statuses, vital.id, &VitalStatus::id);
    v1::Vital& to = *body->add_vitals();
    to.set_id(vital.id);
    if (status != statuses.end()) {
      to.set_state(static_cast<v1::VitalState>(status->state));
    } else {
      to.set_state(raw_vital != raw.vitals.end() ? v1::VITAL_STATE_ACTIVE
                                                 : v1::VITAL_STATE_UNAVAILABLE);
    }
    if (to.state() != v1::VITAL_STATE_UNAVAILABLE) {
      RawVital none;
      none.quantum = vital.quantum;
      WriteVital(raw_vital != raw.vitals.end() ? *raw_vital : none, vital, raw, folded, &to);
    }
    for (const auto& [key, count] : losses) {
      if (key.first != vital.id) continue;
      v1::Loss& loss = *to.add_losses();
      loss.set_reason(key.second);
      loss.set_events(count.events);
      loss.set_weight(count.weight);
    }
  }
  for (const auto& [key, count] : losses) {
    if (FindVital(key.first) != nullptr) continue;
    v1::Loss& loss = *body->add_losses();
    loss.set_reason(key.second);
    loss.set_events(count.events);
    loss.set_weight(count.weight);
  }
}

void WriteHistograms(const RawEpoch& raw, v1::SummaryBody* body) {
  for (const RawHistogram& histogram : raw.histograms) {
    const HistogramKind kind = KindOf(histogram.op);
    uint64_t exits = 0;
    for (const uint64_t count : histogram.buckets) exits = sketch::SaturatingAdd(exits, count);
    if (kind.layer == v1::LAYER_UNSPECIFIED || (exits == 0 && histogram.entries == 0)) continue;
    v1::Histogram& to = *body->add_histograms();
    to.set_layer(kind.layer);
    to.set_operation(kind.operation);
    to.set_r(histogram.r);
    to.set_unit(v1::UNIT_NANOSECONDS);
    for (size_t b = 0; b < histogram.buckets.size(); ++b) {
      if (histogram.buckets[b] == 0) continue;
      to.add_bucket(static_cast<uint32_t>(b));
      to.add_count(histogram.buckets[b]);
    }
    // Waits count whole when they end: those of many threads that slept for weeks are more than a
    // summary may say.
    to.set_sum(std::min(histogram.sum, proto::kMaxTotal));
    to.set_entries(histogram.entries);
    to.set_exits(exits);
    to.set_share_ppm(histogram.share_ppm);
  }
}

v1::SketchCells CellsOf(const RawEpoch& raw) {
  v1::SketchCells cells;
  constexpr std::string_view kDomain = "telltale sketch seed id";
  const uint64_t domain = XXH3_64bits(kDomain.data(), kDomain.size());
  cells.set_seed_id(XXH3_64bits_withSeed(&raw.seed, sizeof raw.seed, domain));
  for (const RawVital& vital : raw.vitals) {
    if (vital.cells.columns() == 0) continue;
    v1::SketchCells::One& one = *cells.add_vitals();
    one.set_vital(vital.id);
    one.mutable_cells()->Assign(vital.cells.total.begin(), vital.cells.total.end());
    one.mutable_contested()->Assign(vital.cells.contested.begin(), vital.cells.contested.end());
    for (uint32_t cell = 0; cell < vital.cells.columns(); ++cell) {
      one.add_greatest_margin(vital.cells.GreatestMargin(cell));
    }
    std::string& bits = *one.mutable_bitmap();
    bits.reserve(vital.bitmap.size() * 8);
    for (const uint64_t word : vital.bitmap) {
      for (int byte = 0; byte < 8; ++byte) bits.push_back(static_cast<char>(word >> (8 * byte)));
    }
  }
  return cells;
}

}  // namespace telltale::agent
