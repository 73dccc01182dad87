#include "agent/epoch/sample_list.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "agent/epoch/vital_part.h"
#include "agent/vitals/vitals.h"
#include "sketch/round7.h"

namespace telltale::agent {
namespace {

// A code address or a text is an id while folding and an index + 1 on the wire.
uint64_t Rebased(sketch::FieldKind kind, uint64_t value, BodyTables& tables) {
  switch (kind) {
    case sketch::FieldKind::kIp:
      return tables.Frame(static_cast<uint32_t>(value));
    case sketch::FieldKind::kString:
    case sketch::FieldKind::kAddress:
      return tables.String(static_cast<uint32_t>(value));
    default:
      return value;
  }
}

// A task, or with a name alone the pseudo-process [irq].
bool Known(const FoldedPeer& peer) { return peer.tid != 0 || peer.comm != 0; }

void WritePeer(const FoldedPeer& peer, BodyTables& tables, v1::Peer* to) {
  to->set_pid(peer.tgid);
  to->set_tid(peer.tid);
  to->set_comm(tables.String(peer.comm));
  to->set_start_mono_ns(peer.start_ns);
  to->set_stack(tables.Stack(peer.stack));
}

void WriteExemplar(const FoldedExemplar& e, const sketch::Vital& vital, const EpochSpan& span,
                   BodyTables& tables, v1::Sample* to) {
  to->set_time_ns(span.Ns(e.mono_ns));
  to->set_cpu(e.cpu);
  to->set_pid(e.tgid);
  to->set_tid(e.tid);
  to->set_comm(tables.String(e.comm));
  to->set_cgroup(tables.String(e.cgroup));
  to->set_weight(e.weight);
  to->set_cell_before(sketch::Floor7(std::min(e.cell_before, e.cell_after)));
  to->set_cell_after(sketch::Ceil7(e.cell_after));
  to->set_t_log2(e.t_log2);
  to->set_duty_ppm(std::min(e.duty_ppm, 1'000'000u));
  for (size_t i = 0; i < vital.detail.size(); ++i) {
    to->add_detail(Rebased(vital.detail[i].kind, e.detail[i], tables));
  }
  to->set_process_age_ms(e.age_ms);
  if (Known(e.ran_instead)) WritePeer(e.ran_instead, tables, to->mutable_ran_instead());
  if (Known(e.waker)) WritePeer(e.waker, tables, to->mutable_waker());
  if (Known(e.holder)) WritePeer(e.holder, tables, to->mutable_holder());
  to->set_wait_site(tables.String(e.wait_site));
}

void WriteEntry(const FoldedLabel& label, const FoldedEntry& entry, const Bounds& bounds,
                const sketch::Vital& vital, const EpochSpan& span, BodyTables& tables,
                v1::FoldedSample* to) {
  to->set_exe(tables.String(label.exe));
  to->set_uid(label.uid);
  for (size_t i = 0; i < vital.label.size(); ++i) {
    to->add_label(Rebased(vital.label[i].kind, label.fields[i], tables));
  }
  to->set_sub(entry.sub);
  to->set_stack(tables.Stack(entry.stack));
  to->set_samples(entry.samples);
  to->set_sampled_weight(entry.sampled_weight);
  to->set_low(sketch::Floor7(bounds.low));
  to->set_high(sketch::Ceil7(bounds.high));
  to->set_first_ms(span.Ms(entry.first_ns));
  to->set_last_ms(span.Ms(entry.last_ns));
  WriteExemplar(entry.exemplar, vital, span, tables, to->mutable_exemplar());
  to->set_open(entry.open);
  to->set_irq(label.irq);
}

// Of the control group's heavy labels those that were sampled and have no entry in the body.
void CountUnlisted(const FoldedEpoch& epoch, const RawEpoch& raw, const std::vector<bool>& listed,
                   std::span<v1::Vital* const> vitals) {
  absl::flat_hash_set<std::pair<uint8_t, uint64_t>> hashes;
  for (size_t i = 0; i < epoch.labels.size(); ++i) {
    if (!listed[i]) continue;
    for (const uint64_t hash : epoch.labels[i].hashes) hashes.emplace(epoch.labels[i].vital, hash);
  }
  for (const RawVital& of : raw.vitals) {
    v1::Vital* vital = of.id < vitals.size() ? vitals[of.id] : nullptr;
    if (vital == nullptr || vital->sketch().control_heavy() == 0) continue;
    const auto unlisted =
        std::ranges::count_if(HeavySampled(of, epoch.sampled), [&](uint64_t hash) {
          return !hashes.contains({of.id, hash});
        });
    vital->mutable_sketch()->set_control_heavy_unlisted(static_cast<uint32_t>(unlisted));
  }
}

}  // namespace

void WriteSamples(const FoldedEpoch& epoch, const RawEpoch& raw, const std::vector<Bounds>& bounds,
                  const SampleRanking& ranking, size_t kept, const EpochSpan& span,
                  BodyTables& tables, v1::SummaryBody* body) {
  std::array<v1::Vital*, TELLTALE_MAX_VITAL + 1> vitals{};
  for (v1::Vital& vital : *body->mutable_vitals()) {
    // One that cannot be watched has no totals for samples to be part of, whatever its program saw.
    if (vital.state() != v1::VITAL_STATE_UNAVAILABLE) vitals[vital.id()] = &vital;
  }
  kept = std::min(kept, ranking.entries.size());
  for (const uint32_t i : std::span(ranking.entries).subspan(kept)) {
    v1::Vital* vital = vitals[epoch.labels[epoch.entries[i].label].vital];
    if (vital == nullptr) continue;
    v1::FoldedAway& away = *vital->mutable_folded_away();
    away.set_entries(away.entries() + 1);
    away.set_samples(away.samples() + epoch.entries[i].samples);
    away.set_sampled_weight(away.sampled_weight() + epoch.entries[i].sampled_weight);
  }
  std::vector<uint32_t> order(ranking.entries.begin(),
                              ranking.entries.begin() + static_cast<ptrdiff_t>(kept));
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    const FoldedEntry &x = epoch.entries[a], &y = epoch.entries[b];
    const uint8_t vital_x = epoch.labels[x.label].vital, vital_y = epoch.labels[y.label].vital;
    if (vital_x != vital_y) return vital_x < vital_y;
    if (x.sampled_weight != y.sampled_weight) return x.sampled_weight > y.sampled_weight;
    return std::tie(x.label, x.sub, x.stack, x.open) < std::tie(y.label, y.sub, y.stack, y.open);
  });
  std::vector<bool> listed(epoch.labels.size());
  for (const uint32_t i : order) {
    const FoldedEntry& entry = epoch.entries[i];
    listed[entry.label] = true;
    const FoldedLabel& label = epoch.labels[entry.label];
    const sketch::Vital* vital = FindVital(label.vital);
    if (vital == nullptr || vitals[label.vital] == nullptr) continue;
    WriteEntry(label, entry, bounds[entry.label], *vital, span, tables,
               vitals[label.vital]->add_samples());
  }
  CountUnlisted(epoch, raw, listed, vitals);
  for (const auto& [id, high] : BoundUnlisted(epoch, raw, bounds, listed)) {
    v1::Vital* vital = vitals[id];
    if (vital == nullptr || vital->sketch().layout() != v1::CELL_LAYOUT_VOTED) continue;
    vital->mutable_sketch()->set_unlisted_high(high);
  }
}

}  // namespace telltale::agent
