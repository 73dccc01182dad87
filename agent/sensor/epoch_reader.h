// Adds up the per-CPU blocks of one half into the vitals, histograms and losses of a RawEpoch.
// Reads only memory handed in, so it works as well on a running epoch (Peek: figures of one CPU may
// then be a few events apart) as on a closed one (exact). Any thread that owns the memory.

#ifndef TELLTALE_AGENT_SENSOR_EPOCH_READER_H_
#define TELLTALE_AGENT_SENSOR_EPOCH_READER_H_

#include <array>
#include <cstdint>
#include <span>

#include "agent/sensor/sensor.h"
#include "sketch/layout.h"

namespace telltale::agent {

// Where a dense sub-series index of sketch/layout.h belongs.
struct DenseSub {
  uint8_t vital = 0;
  uint8_t sub = 0;  // within the vital
};
const std::array<DenseSub, TELLTALE_SUBS>& DenseSubs();

// Backlog at the begin of an epoch, per telltale_backlog; carried from cut to cut.
using BacklogBase = std::array<int64_t, TELLTALE_BACKLOGS>;

// Sums of what is read besides the epoch itself.
struct EpochSums {
  std::array<telltale_total, TELLTALE_SUBS> irq{};
  std::array<uint32_t, TELLTALE_VITALS> dry_spells{};  // of the CPU that had most
  BacklogBase backlog_end{};
};

using HalfBitmaps = uint64_t[TELLTALE_VITALS][TELLTALE_BITMAP_BITS / 64];

// `halves`: one per CPU and the iterator's. `bitmaps`: of the same half. `seconds`: slots to give
// out, 1..TELLTALE_SECONDS.
EpochSums ReadEpoch(std::span<const telltale_half* const> halves, const HalfBitmaps& bitmaps,
                    const telltale_control& control, const BacklogBase& base, uint32_t seconds,
                    RawEpoch& epoch);

// How many waits for locks were open at the cut: those that the collection after it met, less what
// was begun and ended since, which `half` holds, the one in use. `blocks`: one per CPU and the
// iterator's. Off by what happens while it is collected, which the next cut knows nothing of.
int64_t LocksOpenAtCut(std::span<const telltale_cpu* const> blocks, uint32_t half);

// The control group of a half that nobody writes any more. A vital some of whose labels found no
// room has none: those that came late would be missing.
void ReadGroup(const telltale_group_half& half, RawEpoch& epoch);

// Counts as lost what interrupts added to the cells in the middle of another program's add, which
// then overwrote it. Totals lose nothing that way (bpf/hot.bpf.h), so it is the weight that the
// cells lack; in how many events is not known: at least one. Only of an epoch that nobody writes
// any more.
void CountNestedAdds(RawEpoch& epoch);

}  // namespace telltale::agent

#endif  // TELLTALE_AGENT_SENSOR_EPOCH_READER_H_
