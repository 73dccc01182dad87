#include "agent/sensor/epoch_reader.h"

#include <algorithm>

#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

constexpr uint8_t kBacklogVital[TELLTALE_BACKLOGS] = {TELLTALE_BLOCKING, TELLTALE_DISK_IO,
                                                      TELLTALE_KERNEL_PAGE, TELLTALE_LOCK};
constexpr LossKind kLossKind[TELLTALE_LOSSES] = {
    LossKind::kTokensRefused, LossKind::kRingFull,  LossKind::kMapFull,  LossKind::kRecursion,
    LossKind::kSlotEvicted,   LossKind::kStackCopy, LossKind::kDutyCycle};

HistogramOp OpOf(unsigned hist) {
  constexpr HistogramOp kFirst[] = {HistogramOp::kDiskRead, HistogramOp::kDiskWrite,
                                    HistogramOp::kDiskFlush, HistogramOp::kRunqueueWait,
                                    HistogramOp::kLockWait};
  if (hist < TELLTALE_HIST_BLOCK) return kFirst[hist];
  return static_cast<HistogramOp>(static_cast<unsigned>(HistogramOp::kBlockDisk) + hist -
                                  TELLTALE_HIST_BLOCK);
}

void ReadSub(std::span<const telltale_half* const> halves, unsigned dense, uint32_t seconds,
             RawSub& sub) {
  sub.second_weight.assign(seconds, 0);
  for (const telltale_half* half : halves) {
    const telltale_total& total = half->total[dense];
    sub.events += total.events;
    sub.weight += total.weight;
    for (unsigned s = 0; s < TELLTALE_SECONDS; ++s) {
      sub.second_weight[std::min(s, seconds - 1)] += half->second_weight[dense][s];
    }
    // What came since the CPU last noticed a new second belongs to the second it stands in.
    const uint32_t last = std::min(half->second, seconds - 1);
    sub.second_weight[last] += total.weight - half->second_base[dense];
  }
  // A weight taken back in a later second than it was counted (a fault that proved major) comes off
  // the seconds before.
  for (uint32_t s = seconds; s-- > 1;) {
    const auto weight = static_cast<int64_t>(sub.second_weight[s]);
    if (weight >= 0) continue;
    sub.second_weight[s] = 0;
    sub.second_weight[s - 1] += static_cast<uint64_t>(weight);
  }
}

void ReadBacklog(std::span<const telltale_half* const> halves, unsigned which, uint32_t seconds,
                 int64_t base, RawVital& vital, int64_t& end) {
  vital.backlog.assign(seconds, 0);
  for (const telltale_half* half : halves) {
    for (unsigned s = 0; s < TELLTALE_SECONDS; ++s) {
      vital.backlog[std::min(s, seconds - 1)] +=
          static_cast<int64_t>(half->begun[which][s] - half->ended[which][s]);
    }
  }
  int64_t level = base;
  for (int64_t& second : vital.backlog) second = level += second;
  end = level;
}

void ReadHistograms(std::span<const telltale_half* const> halves, RawEpoch& epoch) {
  for (unsigned i = 0; i < TELLTALE_HISTS; ++i) {
    RawHistogram out;
    out.op = OpOf(i);
    out.r = TELLTALE_HIST_R;
    // The kernel's bucket k is floor(r log2(ns)) = first + k - 1; all that is shorter is in 0.
    constexpr unsigned kFirst = TELLTALE_HIST_MIN_LOG2 * TELLTALE_HIST_R - 1;
    out.buckets.assign(kFirst + TELLTALE_HIST_BUCKETS, 0);
    for (const telltale_half* half : halves) {
      out.entries += half->hist[i].entries;
      out.sum += half->hist[i].sum;
      for (unsigned b = 0; b < TELLTALE_HIST_BUCKETS; ++b) {
        out.buckets[kFirst + b] += half->hist[i].bucket[b];
      }
    }
    out.exits = out.entries;
    if (i <= TELLTALE_HIST_DISK_FLUSH) {
      out.entries = epoch.vitals[TELLTALE_DISK_IO - 1].subs[2 * i].events;  // issued
    }
    epoch.histograms.push_back(std::move(out));
  }
}

}  // namespace

const std::array<DenseSub, TELLTALE_SUBS>& DenseSubs() {
  static const std::array<DenseSub, TELLTALE_SUBS> subs = [] {
    std::array<DenseSub, TELLTALE_SUBS> out{};
    size_t dense = 0;
    for (const sketch::Vital& vital : Vitals()) {
      for (uint8_t sub = 0; sub < vital.subs.size(); ++sub) out.at(dense++) = {vital.id, sub};
    }
    return out;
  }();
  return subs;
}

EpochSums ReadEpoch(std::span<const telltale_half* const> halves, const HalfBitmaps& bitmaps,
                    const telltale_control& control, const BacklogBase& base, uint32_t seconds,
                    RawEpoch& epoch) {
  EpochSums sums;
  sums.backlog_end = base;
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    const sketch::Vital& descriptor = Vitals()[v];
    RawVital vital;
    vital.id = descriptor.id;
    vital.quantum = uint64_t{1} << control.knobs[v].quantum_log2;
    vital.t_log2 = control.knobs[v].t_log2;
    vital.subs.resize(descriptor.subs.size());
    vital.bitmap.assign(std::begin(bitmaps[v]), std::end(bitmaps[v]));
    std::vector<std::span<const telltale_slot>> rows;
    for (const telltale_half* half : halves) {
      rows.emplace_back(half->sketch[v].slot);
      sums.dry_spells[v] = std::max(sums.dry_spells[v], half->dry_spells[v]);
    }
    vital.cells = sketch::AddUp(rows);
    for (unsigned which = 0; which < TELLTALE_BACKLOGS; ++which) {
      if (kBacklogVital[which] != descriptor.id) continue;
      ReadBacklog(halves, which, seconds, base[which], vital, sums.backlog_end[which]);
    }
    for (unsigned loss = 0; loss < TELLTALE_LOSSES; ++loss) {
      RawLoss sum{kLossKind[loss], descriptor.id, 0, 0};
      for (const telltale_half* half : halves) {
        sum.events += half->lost[v][loss].events;
        sum.weight += half->lost[v][loss].weight;
      }
      if (sum.events != 0) epoch.losses.push_back(sum);
    }
    epoch.vitals.push_back(std::move(vital));
  }
  RawLoss records{LossKind::kRingFull, 0, 0, 0};  // of no vital
  for (const telltale_half* half : halves) records.events += half->lost_records;
  if (records.events != 0) epoch.losses.push_back(records);
  for (unsigned dense = 0; dense < TELLTALE_SUBS; ++dense) {
    const DenseSub where = DenseSubs()[dense];
    ReadSub(halves, dense, seconds, epoch.vitals[PlaceOf(where.vital)].subs[where.sub]);
    for (const telltale_half* half : halves) {
      sums.irq[dense].events += half->irq[dense].events;
      sums.irq[dense].weight += half->irq[dense].weight;
    }
  }
  ReadHistograms(halves, epoch);
  return sums;
}

int64_t LocksOpenAtCut(std::span<const telltale_cpu* const> blocks, uint32_t half) {
  uint64_t open = 0;
  for (const telltale_cpu* block : blocks) {
    open += block->open_locks;
    if (block->irq_lock_begin_ns != 0) open += uint64_t{1} << (block->irq_lock_duty_log2 & 15);
    for (unsigned s = 0; s < TELLTALE_SECONDS; ++s) {
      open -= block->half[half].begun[TELLTALE_BACKLOG_LOCK][s];
      open += block->half[half].ended[TELLTALE_BACKLOG_LOCK][s];
    }
  }
  return std::max<int64_t>(0, static_cast<int64_t>(open));
}

void ReadGroup(const telltale_group_half& half, RawEpoch& epoch) {
  for (unsigned v = 0; v < TELLTALE_VITALS; ++v) {
    if (half.dropped[v] != 0) continue;
    for (const telltale_exact& label : half.label[v]) {
      if (label.hash == 0 || (label.weight & TELLTALE_EXACT_LEFT_OUT) != 0) continue;
      epoch.vitals[v].group.push_back({label.hash, label.weight});
    }
  }
}

void CountNestedAdds(RawEpoch& epoch) {
  for (const RawVital& vital : epoch.vitals) {
    uint64_t cells = 0, totals = 0;
    for (const uint64_t cell : vital.cells.total) cells += cell;
    for (const RawSub& sub : vital.subs) totals += sub.weight;
    if (cells < totals) epoch.losses.push_back({LossKind::kNestedAdd, vital.id, 1, totals - cells});
  }
}

}  // namespace telltale::agent
