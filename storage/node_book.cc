#include "storage/node_book.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace telltale::storage {
namespace {

void AddTo(uint64_t* sum, uint64_t value) {
  *sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

// Millionths of the CPU time that all CPUs of the host had in an epoch, rounded up: what was taken
// is never nothing.
uint32_t CostPpm(const v1::SummaryBody& body) {
  const v1::Epoch& epoch = body.epoch();
  if (epoch.end_mono_ns() <= epoch.start_mono_ns()) return 0;
  const double host_ns = static_cast<double>(epoch.end_mono_ns() - epoch.start_mono_ns()) *
                         static_cast<double>(body.gauges().cpus_online());
  if (host_ns <= 0) return 0;
  double taken_ns = 0;
  for (const uint64_t ns : body.gauges().part_cpu_ns()) taken_ns += static_cast<double>(ns);
  return static_cast<uint32_t>(std::min(std::ceil(taken_ns / host_ns * 1e6), 1e6));
}

}  // namespace

v1::CountersRecord EncodeCounters(const NodeBook& book) {
  const NodeCounters& counters = book.counters;
  v1::CountersRecord record;
  for (const auto& [sub, sums] : counters.subs) {
    record.add_sub(static_cast<uint32_t>(sub.first) << 8 | sub.second);
    record.add_events(sums.events);
    record.add_weight(sums.weight);
  }
  for (const auto& [reason, events] : counters.losses) {
    record.add_loss_reason(reason);
    record.add_loss_events(events);
  }
  for (const auto& [end, samples] : counters.user_stacks) {
    record.add_stack_end(end);
    record.add_stack_samples(samples);
  }
  for (const auto& [outcome, frames] : counters.user_frames) {
    record.add_name_outcome(outcome);
    record.add_name_frames(frames);
  }
  record.mutable_part_cpu_ns()->Assign(counters.part_cpu_ns.begin(), counters.part_cpu_ns.end());
  record.mutable_part_level()->Assign(counters.part_level.begin(), counters.part_level.end());
  record.set_cost_ppm(counters.cost_ppm);
  record.set_budget_ppm(counters.budget_ppm);
  record.set_agent_cpu_ns(counters.agent_cpu_ns);
  record.set_epochs(counters.epochs);
  record.set_partial_epochs(counters.partial_epochs);
  record.set_apart(counters.apart);
  record.set_adopted(counters.adopted);
  record.set_too_late(counters.too_late);
  record.set_forgotten_lost(counters.forgotten_lost);
  record.set_pruned_day(book.pruned_day);
  record.set_name_bytes(book.name_bytes);
  record.set_name_bucket(book.name_bucket);
  for (const auto& [id, use] : book.schemas) {
    record.add_schema_ids(id);
    record.add_schema_day(use.day);
    record.add_schema_used(use.used);
  }
  return record;
}

absl::Status DecodeCounters(const v1::CountersRecord& record, NodeBook* book) {
  if (record.events_size() != record.sub_size() || record.weight_size() != record.sub_size() ||
      record.loss_events_size() != record.loss_reason_size() ||
      record.stack_samples_size() != record.stack_end_size() ||
      record.name_frames_size() != record.name_outcome_size()) {
    return absl::DataLossError(
        absl::StrCat("read counters: columns of different length, want ", record.sub_size()));
  }
  NodeCounters& counters = book->counters;
  for (int i = 0; i < record.sub_size(); ++i) {
    const uint32_t sub = record.sub(i);
    if (sub > 0xffff) return absl::DataLossError(absl::StrCat("read counters: sub ", sub));
    counters.subs[{static_cast<uint8_t>(sub >> 8), static_cast<uint8_t>(sub)}] = {record.events(i),
                                                                                  record.weight(i)};
  }
  for (int i = 0; i < record.loss_reason_size(); ++i) {
    counters.losses[record.loss_reason(i)] = record.loss_events(i);
  }
  for (int i = 0; i < record.stack_end_size(); ++i) {
    counters.user_stacks[record.stack_end(i)] = record.stack_samples(i);
  }
  for (int i = 0; i < record.name_outcome_size(); ++i) {
    counters.user_frames[record.name_outcome(i)] = record.name_frames(i);
  }
  counters.part_cpu_ns.assign(record.part_cpu_ns().begin(), record.part_cpu_ns().end());
  counters.part_level.assign(record.part_level().begin(), record.part_level().end());
  counters.cost_ppm = record.cost_ppm();
  counters.budget_ppm = record.budget_ppm();
  counters.agent_cpu_ns = record.agent_cpu_ns();
  counters.epochs = record.epochs();
  counters.partial_epochs = record.partial_epochs();
  counters.apart = record.apart();
  counters.adopted = record.adopted();
  counters.too_late = record.too_late();
  counters.forgotten_lost = record.forgotten_lost();
  book->pruned_day = static_cast<uint16_t>(std::min<uint32_t>(record.pruned_day(), UINT16_MAX));
  book->name_bytes = record.name_bytes();
  book->name_bucket = static_cast<uint16_t>(std::min<uint32_t>(record.name_bucket(), UINT16_MAX));
  const bool told = record.schema_day_size() == record.schema_ids_size() &&
                    record.schema_used_size() == record.schema_ids_size();
  for (int i = 0; i < record.schema_ids_size(); ++i) {
    NodeBook::SchemaUse& use = book->schemas[record.schema_ids(i)];
    if (!told) continue;
    use.day = static_cast<uint16_t>(std::min<uint32_t>(record.schema_day(i), UINT16_MAX));
    use.used = record.schema_used(i);
  }
  return absl::OkStatus();
}

void AddTotals(const v1::SummaryBody& body, bool partial, NodeCounters* counters) {
  for (const v1::Vital& vital : body.vitals()) {
    if (vital.id() > UINT8_MAX) continue;
    const uint8_t id = static_cast<uint8_t>(vital.id());
    for (int sub = 0; sub < vital.subs_size() && sub <= UINT8_MAX; ++sub) {
      Cumulative& sums = counters->subs[{id, static_cast<uint8_t>(sub)}];
      AddTo(&sums.events, vital.subs(sub).events());
      AddTo(&sums.weight, vital.subs(sub).weight());
    }
    for (const v1::Loss& loss : vital.losses()) {
      AddTo(&counters->losses[loss.reason()], loss.events());
    }
  }
  for (const v1::Loss& loss : body.losses()) {
    AddTo(&counters->losses[loss.reason()], loss.events());
  }
  const v1::UserStacks& stacks = body.user_stacks();
  for (int i = 0; i < std::min(stacks.end_size(), stacks.samples_size()); ++i) {
    AddTo(&counters->user_stacks[static_cast<uint32_t>(stacks.end(i))], stacks.samples(i));
  }
  const v1::UserFrames& frames = body.user_frames();
  for (int i = 0; i < std::min(frames.outcome_size(), frames.frames_size()); ++i) {
    AddTo(&counters->user_frames[static_cast<uint32_t>(frames.outcome(i))], frames.frames(i));
  }
  const v1::Gauges& gauges = body.gauges();
  AddTo(&counters->agent_cpu_ns, gauges.agent_cpu_ns());
  if (counters->part_cpu_ns.size() < static_cast<size_t>(gauges.part_cpu_ns_size())) {
    counters->part_cpu_ns.resize(static_cast<size_t>(gauges.part_cpu_ns_size()));
  }
  for (int i = 0; i < gauges.part_cpu_ns_size(); ++i) {
    AddTo(&counters->part_cpu_ns[static_cast<size_t>(i)], gauges.part_cpu_ns(i));
  }
  counters->part_level.assign(gauges.part_level().begin(), gauges.part_level().end());
  counters->cost_ppm = CostPpm(body);
  counters->budget_ppm = gauges.budget_ppm();
  ++counters->epochs;
  if (partial) ++counters->partial_epochs;
}

}  // namespace telltale::storage
