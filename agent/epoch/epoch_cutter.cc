#include "agent/epoch/epoch_cutter.h"

#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/epoch/body_tables.h"
#include "agent/epoch/event_list.h"
#include "agent/epoch/label_bounds.h"
#include "agent/epoch/sample_list.h"
#include "agent/epoch/vital_part.h"
#include "agent/vitals/vitals.h"
#include "proto/codec.h"
#include "proto/message_count.h"

namespace telltale::agent {
namespace {

constexpr int kProbes = 6;           // bodies built to find how many samples fit
constexpr size_t kCloseEnough = 64;  // the part of the budget that is not worth another body
constexpr int kZstdLevel = 3;
// Samples that rows of processes and events give way to, as long as there are 32 of each.
constexpr size_t kSamplesFirst = 60;

// How much of what may be cut a body keeps.
struct Plan {
  size_t samples = 0;
  size_t rows = 0;
  size_t events = 0;
  bool byte_limited = false;  // rows or events gave way to the byte limit
};

struct Draft {
  v1::SummaryBody body;
  size_t samples = 0;
  size_t compressed_bytes = 0;
};

absl::StatusOr<v1::Epoch> EpochOf(const RawEpoch& raw, const CutContext& context) {
  if (raw.end_mono_ns <= raw.start_mono_ns) {
    return absl::InvalidArgumentError(absl::StrCat("cut: epoch ", raw.number, " ends at ",
                                                   raw.end_mono_ns, " ns, begins at ",
                                                   raw.start_mono_ns, " ns: not an interval"));
  }
  const auto start = static_cast<__int128>(raw.start_mono_ns) + context.clock.wall_minus_mono_ns;
  const auto length = raw.end_mono_ns - raw.start_mono_ns;
  if (start <= 0 || start + length > std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cut: epoch ", raw.number, ": wall clock minus monotonic clock = ",
                     context.clock.wall_minus_mono_ns, " ns is no time after 1970; set the clock"));
  }
  v1::Epoch epoch;
  epoch.set_start_unix_ns(static_cast<uint64_t>(start));
  epoch.set_end_unix_ns(static_cast<uint64_t>(start) + length);
  epoch.set_start_mono_ns(raw.start_mono_ns);
  epoch.set_end_mono_ns(raw.end_mono_ns);
  epoch.set_kind(context.kind);
  epoch.set_length_s(context.length_s);
  epoch.set_watched_ns(std::min(raw.watched_ns, length));
  epoch.set_clock_offset_ns(context.clock.offset_ns);
  epoch.set_clock_error_ns(context.clock.error_ns);
  epoch.set_hlc(context.clock.hlc);
  epoch.set_boot_id(context.boot_id);
  epoch.set_agent_start_unix_ns(context.agent_start_unix_ns);
  epoch.set_scope(context.scope);
  return epoch;
}

void AddLoss(v1::LossReason reason, uint64_t events, v1::SummaryBody* body) {
  if (events == 0) return;
  for (v1::Loss& loss : *body->mutable_losses()) {
    if (loss.reason() == reason) return loss.set_events(loss.events() + events);
  }
  v1::Loss& loss = *body->add_losses();
  loss.set_reason(reason);
  loss.set_events(events);
}

// How long bodies are when packed. Its memory is that of one cut: a fresh context for each body
// would fault in its pages again.
class Packer {
 public:
  // Packed; kNever if it is beyond what a summary may be before it is packed. A body of many long
  // names that are alike packs well.
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();
  size_t Bytes(const v1::SummaryBody& body) {
    const proto::Limits limits;
    const std::string bytes = proto::Canonical(body);
    if (bytes.size() > limits.body_raw_bytes) return kNever;
    // An object takes two bytes at the least.
    if (bytes.size() / 2 > limits.objects) {
      const auto objects = proto::CountObjects(bytes, *body.GetDescriptor(), limits.objects);
      if (!objects.ok() || *objects > limits.objects) return kNever;
    }
    packed_.resize(ZSTD_compressBound(bytes.size()));
    return ZSTD_compressCCtx(context_.get(), packed_.data(), packed_.size(), bytes.data(),
                             bytes.size(), kZstdLevel);
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
  std::string packed_;
};

void WriteUserStacks(const RawUnwinding& raw, const FoldedEpoch& folded, v1::UserStacks* stacks) {
  for (const auto& [end, samples] : folded.user_stacks) {
    stacks->add_end(end);
    stacks->add_samples(samples);
  }
  stacks->set_frames(raw.frames);
  stacks->set_unwound(raw.stacks);
  stacks->set_unwind_ns(raw.ns);
  stacks->set_tables_built(raw.tables_built);
  stacks->set_tables_loaded(raw.tables_loaded);
  stacks->set_tables_damaged(raw.tables_damaged);
  stacks->set_tables_unsaved(raw.tables_unsaved);
  stacks->set_table_bytes(raw.table_bytes);
}

// Of the users and disks that the body names by number.
void WriteHostNames(const HostAnswers& host, FoldTables& epoch, BodyTables& tables,
                    v1::SummaryBody* body) {
  std::set<uint32_t> uids;
  std::set<uint64_t> devices;
  for (const v1::ProcessRow& row : body->processes().rows()) uids.insert(row.uid());
  for (const v1::DiscreteEvent& event : body->events()) uids.insert(event.uid());
  for (const v1::Vital& vital : body->vitals()) {
    const sketch::Vital* of = FindVital(static_cast<uint8_t>(vital.id()));
    for (const v1::FoldedSample& sample : vital.samples()) {
      uids.insert(sample.uid());
      for (int i = 0; of != nullptr && i < sample.label_size(); ++i) {
        if (of->label[i].kind == sketch::FieldKind::kDevice) devices.insert(sample.label(i));
      }
    }
  }
  v1::HostNames& names = *body->mutable_host_names();
  for (const uint32_t uid : uids) {
    const uint32_t name = host.user ? tables.String(epoch.String(host.user(uid))) : 0;
    if (name == 0) continue;
    names.add_uid(uid);
    names.add_user(name);
  }
  for (const uint64_t device : devices) {
    const uint32_t name = host.disk ? tables.String(epoch.String(host.disk(device))) : 0;
    if (name == 0) continue;
    names.add_device(device);
    names.add_disk(name);
  }
  if (names.uid().empty() && names.device().empty()) body->clear_host_names();
}

// Builds bodies of one epoch that keep more or less.
class Drafter {
 public:
  Drafter(const RawEpoch& raw, FoldedEpoch& folded, const CutContext& context, v1::Epoch epoch,
          const ProcessRows& rows)
      : span_{raw.start_mono_ns, raw.end_mono_ns},
        raw_(raw),
        folded_(folded),
        host_(context.host),
        rows_(rows),
        bounds_(BoundLabels(folded, raw)),
        samples_(RankSamples(folded, bounds_, raw)),
        events_(RankEvents(folded.events, raw)) {
    *fixed_.mutable_epoch() = std::move(epoch);
    WriteVitals(raw, folded, context.vitals, &fixed_);
    WriteHistograms(raw, &fixed_);
    *fixed_.mutable_gauges() = context.gauges;
    fixed_.mutable_gauges()->set_sensor_map_bytes(raw.map_bytes);
    fixed_.mutable_gauges()->set_budget_ppm(static_cast<uint32_t>(raw.budget * 1e6 + 0.5));
    for (const RawCost& cost : raw.costs) {
      fixed_.mutable_gauges()->add_part_cpu_ns(cost.ns);
      fixed_.mutable_gauges()->add_part_level(cost.level);
    }
    WriteUserStacks(raw.unwinding, folded, fixed_.mutable_user_stacks());
    for (const auto& [outcome, frames] : folded.user_frames) {
      fixed_.mutable_user_frames()->add_outcome(outcome);
      fixed_.mutable_user_frames()->add_frames(frames);
    }
  }

  size_t must() const { return samples_.must; }
  size_t samples() const { return samples_.entries.size(); }
  size_t events() const { return events_.size(); }

  // `short_enough`: of a body that fits even if it cannot be packed, an upper limit of its length
  // will do.
  absl::StatusOr<Draft> Make(const Plan& plan, size_t short_enough = 0) {
    Draft draft{fixed_, plan.samples};
    BodyTables tables(folded_.tables, *draft.body.mutable_tables());
    WriteSamples(folded_, raw_, bounds_, samples_, plan.samples, span_, tables, &draft.body);
    const absl::Status rows = rows_.Write(plan.rows, tables, draft.body.mutable_processes());
    if (!rows.ok()) return rows;
    const uint64_t left_out =
        WriteEvents(folded_.events, events_, plan.events, span_, tables, &draft.body);
    AddLoss(plan.byte_limited ? v1::LOSS_REASON_BYTE_LIMIT : v1::LOSS_REASON_ROW_LIMIT, left_out,
            &draft.body);
    WriteHostNames(host_, folded_.tables, tables, &draft.body);
    const size_t most = ZSTD_compressBound(draft.body.ByteSizeLong());
    draft.compressed_bytes = most <= short_enough ? most : packer_.Bytes(draft.body);
    return draft;
  }

 private:
  const EpochSpan span_;
  const RawEpoch& raw_;
  FoldedEpoch& folded_;
  const HostAnswers& host_;
  const ProcessRows& rows_;
  const std::vector<Bounds> bounds_;
  const SampleRanking samples_;
  const std::vector<size_t> events_;
  v1::SummaryBody fixed_;
  Packer packer_;
};

// What a body is to fit.
struct Fit {
  size_t budget = 0;
  size_t least = 0;         // samples that it has even if it gets longer
  size_t short_enough = 0;  // as of Drafter::Make
};

// The body with the most samples that fits the budget, given the rows and events of `plan`; never
// fewer than `least`, so the result may be longer. Body length grows nearly linearly with the
// number of samples: a few interpolated probes find the place, nearly: what is left of the budget
// the next epoch may have.
absl::StatusOr<Draft> FitSamples(Drafter& drafter, Plan plan, const Fit& fit) {
  const size_t budget = fit.budget;
  const size_t least = std::min(fit.least, plan.samples);
  absl::StatusOr<Draft> full = drafter.Make(plan, fit.short_enough);
  if (!full.ok() || full->compressed_bytes <= budget || plan.samples == least) return full;
  size_t too_many = plan.samples, too_many_bytes = full->compressed_bytes;
  plan.samples = least;
  absl::StatusOr<Draft> best = drafter.Make(plan);
  if (!best.ok() || best->compressed_bytes > budget) return best;
  size_t fits = least;
  for (int probe = 0; probe < kProbes && too_many - fits > 1; ++probe) {
    if (best->compressed_bytes > budget - budget / kCloseEnough) break;
    const size_t span = too_many_bytes - best->compressed_bytes;
    const size_t room = budget - best->compressed_bytes;
    const size_t guess = too_many_bytes == Packer::kNever
                             ? std::midpoint(fits, too_many)
                             : fits + (too_many - fits) * room / std::max<size_t>(span, 1);
    plan.samples = std::clamp(guess, fits + 1, too_many - 1);
    absl::StatusOr<Draft> draft = drafter.Make(plan);
    if (!draft.ok()) return draft;
    if (draft->compressed_bytes <= budget) {
      fits = plan.samples;
      best = std::move(draft);
    } else {
      too_many = plan.samples;
      too_many_bytes = draft->compressed_bytes;
    }
  }
  return best;
}

}  // namespace

EpochCutter::EpochCutter(const Options& options, Resolver& resolver)
    : options_(options),
      resolver_(resolver),
      bucket_(options.bytes),
      fitted_(options.max_samples) {}

absl::StatusOr<CutResult> EpochCutter::Cut(const RawEpoch& raw, FoldedEpoch& folded,
                                           const CutContext& context) {
  absl::StatusOr<v1::Epoch> epoch = EpochOf(raw, context);
  if (!epoch.ok()) return epoch.status();
  const ProcessRows rows(raw, options_.processes, resolver_, context.host.terms, folded.tables);
  Drafter drafter(raw, folded, context, *std::move(epoch), rows);

  CutResult result;
  ByteBucket draft_bucket = bucket_;
  ByteBucket& bucket = context.spend ? bucket_ : draft_bucket;
  result.budget_bytes = bucket.Budget(raw.end_mono_ns - raw.start_mono_ns);
  Plan plan{.samples = std::min(drafter.samples(), std::max(options_.max_samples, drafter.must())),
            .rows = rows.size(),
            .events = std::min(drafter.events(), options_.max_events)};
  const size_t wanted = plan.samples;
  size_t budget = result.budget_bytes;
  if (!context.spend) {
    // Fitting takes several bodies, and a draft is made every few seconds to be thrown away.
    plan.samples = std::min(plan.samples, std::max(fitted_, drafter.must()));
    budget = bucket.hard_bytes();
  }
  // A draft for the journal is not packed.
  Fit fit{.budget = budget,
          .least = std::max(drafter.must(), kSamplesFirst),
          .short_enough = context.spend ? 0 : budget};
  absl::StatusOr<Draft> draft = FitSamples(drafter, plan, fit);
  const auto too_long = [&] { return draft.ok() && draft->compressed_bytes > budget; };
  const auto halve = [&](size_t* given, size_t to) {
    while (too_long() && *given > to) {
      *given = std::max(to, *given / 2);
      plan.byte_limited = true;
      draft = FitSamples(drafter, plan, fit);
    }
  };
  halve(&plan.events, 32);
  halve(&plan.rows, 32);
  if (too_long()) {
    fit.least = drafter.must();
    draft = FitSamples(drafter, plan, fit);
  }
  halve(&plan.events, 16);
  halve(&plan.rows, 16);
  if (draft.ok() && draft->compressed_bytes > bucket.hard_bytes())
    draft = drafter.Make({.byte_limited = true});
  if (!draft.ok()) return draft.status();
  if (draft->compressed_bytes > bucket.hard_bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cut: epoch ", raw.number, ": body without samples, rows and events has ",
                     draft->compressed_bytes, " bytes, limit ", bucket.hard_bytes()));
  }
  result.body = std::move(draft->body);
  result.compressed_bytes = draft->compressed_bytes;
  for (const v1::Vital& vital : result.body.vitals()) {
    result.folded_away += vital.folded_away().entries();
  }
  if (context.spend) fitted_ = draft->samples < wanted ? draft->samples : options_.max_samples;
  if (options_.cells) result.cells = CellsOf(raw);
  bucket.Spend(result.compressed_bytes);
  return result;
}

}  // namespace telltale::agent
