#include "agent/loop/epoch_source.h"

#include <ctime>
#include <utility>

#include "agent/clock_ns.h"

namespace telltale::agent {
namespace {

uint64_t DiscreteEvents(const FoldedEpoch& folded) {
  uint64_t events = 0;
  for (const FoldedEvent& event : folded.events) events += event.count;
  return events;
}

}  // namespace

EpochSource::EpochSource(Options options)
    : options_(std::move(options)),
      folder_(SampleFolder::Options{}, *options_.resolver, names_),
      cutter_(options_.cutter, *options_.resolver),
      node_events_(options_.agent_start),
      gauges_(options_.gauges) {
  if (!options_.host_root) return;
  terms_.emplace(*options_.host_root);
  host_names_.emplace(*options_.host_root);
}

absl::Status EpochSource::Start() {
  if (absl::Status status = options_.sensor->Start(); !status.ok()) return status;
  gauges_.Read();
  return absl::OkStatus();
}

absl::Status EpochSource::Drain() { return options_.sensor->Drain(folder_).status(); }

// While somebody looks each second is told as soon as it has ended.
SensorRest EpochSource::Rest(uint64_t mono_ns) {
  return live_.Watched(mono_ns) ? SensorRest{} : options_.sensor->Rest();
}

CutContext EpochSource::Context(const Moment& moment) const {
  CutContext context;
  context.clock = moment.clock;
  context.kind = moment.kind;
  context.length_s = options_.length_s;
  context.boot_id = options_.boot_id;
  context.agent_start_unix_ns = options_.agent_start.unix_ns;
  context.scope = options_.scope;
  context.vitals = options_.sensor->Status();
  return context;
}

absl::StatusOr<FinishedEpoch> EpochSource::Cut(const Moment& moment) {
  const uint64_t cpu_before = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const auto raw = options_.sensor->Cut(folder_);
  // The sensor says what else was lost. After any other error the epoch goes on, with what is
  // folded.
  if (absl::IsDataLoss(raw.status())) lost_events_ += DiscreteEvents(folder_.Take());
  if (!raw.ok()) return raw.status();
  FoldedEpoch folded = folder_.Take();
  if (lost_events_ != 0) {
    folded.losses[{0, v1::LOSS_REASON_CUT_FAILED}].events += std::exchange(lost_events_, 0);
  }
  if (live_.Watched(raw->end_mono_ns)) {
    live_.Add(*raw, options_.sensor->Status(), moment.clock.wall_minus_mono_ns);
  }
  node_events_.Add(moment.clock.wall_minus_mono_ns, raw->end_mono_ns, folded);
  CutContext context = Context(moment);
  context.gauges = gauges_.Read();
  context.gauges.set_spool_bytes(moment.spool_bytes);
  context.gauges.set_spool_summaries(static_cast<uint32_t>(moment.spool_records));
  context.gauges.set_unspooled_summaries(static_cast<uint32_t>(moment.unspooled));
  context.gauges.set_cut_us(cut_us_);
  // Not of a draft: what a limit did is told from one cut to the next.
  if (terms_) {
    context.host.terms = [this](uint32_t pid) { return terms_->Of(pid); };
    context.host.user = [this](uint32_t uid) { return host_names_->User(uid); };
    context.host.disk = [this](uint64_t device) { return host_names_->Disk(device); };
  }
  auto cut = cutter_.Cut(*raw, folded, context);
  if (terms_) {
    terms_->EndEpoch();
    host_names_->EndEpoch();
  }
  cut_us_ = static_cast<uint32_t>((ClockNs(CLOCK_THREAD_CPUTIME_ID) - cpu_before) / 1'000);
  if (!cut.ok()) {
    lost_events_ += DiscreteEvents(folded);
    return absl::DataLossError(cut.status().message());
  }
  node_events_.Said(moment.clock.wall_minus_mono_ns);
  FinishedEpoch epoch;
  epoch.names = names_.Unsent(cut->body.tables(), cut->body.epoch().start_unix_ns());
  epoch.body = std::move(cut->body);
  epoch.cells = std::move(cut->cells);
  return epoch;
}

absl::StatusOr<std::optional<v1::Live>> EpochSource::NewSecond(uint64_t mono_ns,
                                                               int64_t wall_minus_mono_ns) {
  if (live_.Due(mono_ns)) {
    const auto raw = options_.sensor->Peek();
    if (!raw.ok()) return raw.status();
    live_.Add(*raw, options_.sensor->Status(), wall_minus_mono_ns);
  }
  return live_.Take();
}

absl::StatusOr<v1::SummaryBody> EpochSource::Draft(const Moment& moment) {
  const auto raw = options_.sensor->Peek();
  if (!raw.ok()) return raw.status();
  CutContext context = Context(moment);
  context.kind = v1::EPOCH_KIND_PARTIAL;
  context.spend = false;
  FoldedEpoch folded = folder_.Current();  // a copy: the folding goes on
  node_events_.Add(moment.clock.wall_minus_mono_ns, raw->end_mono_ns, folded);
  auto cut = cutter_.Cut(*raw, folded, context);
  if (!cut.ok()) return cut.status();
  return std::move(cut->body);
}

}  // namespace telltale::agent
