#include "tests/fleetsim/redraw.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "proto/codec.h"
#include "sketch/time_units.h"
#include "sketch/vital_ids.h"
#include "tests/fleetsim/noise.h"
#include "tests/fleetsim/redraw_weights.h"

namespace telltale::fleetsim {
namespace {

constexpr uint32_t kFirstPrivatePid = 300;  // below it are the kernel's, alike everywhere
constexpr uint32_t kMostShift = 20'000;     // as far as process ids of small hosts go
constexpr double kBendSigma = 0.1;          // of ln of the power that an epoch's time is bent by

void MovePids(uint64_t seed, const v1::Schema& schema, v1::SummaryBody& body) {
  const auto pid = [seed](uint32_t recorded) { return NodePid(seed, recorded); };
  for (v1::ProcessRow& row : *body.mutable_processes()->mutable_rows()) {
    row.set_pid(pid(row.pid()));
  }
  for (v1::DiscreteEvent& event : *body.mutable_events()) event.set_pid(pid(event.pid()));
  for (v1::Vital& vital : *body.mutable_vitals()) {
    const auto described = std::ranges::find(schema.vitals(), vital.id(), &v1::VitalDescriptor::id);
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      v1::Sample& exemplar = *sample.mutable_exemplar();
      exemplar.set_pid(pid(exemplar.pid()));
      exemplar.set_tid(pid(exemplar.tid()));
      if (exemplar.has_waker()) {
        exemplar.mutable_waker()->set_pid(pid(exemplar.waker().pid()));
        exemplar.mutable_waker()->set_tid(pid(exemplar.waker().tid()));
      }
      if (described == schema.vitals().end()) continue;
      for (int i = 0; i < std::min(sample.label_size(), described->label_size()); ++i) {
        if (described->label(i).kind() != v1::FIELD_KIND_PID) continue;
        sample.set_label(i, pid(static_cast<uint32_t>(sample.label(i))));
      }
    }
  }
}

// Things happen at other moments of the epoch: its time runs faster here and slower there. What was
// at one moment stays so, and what came in crowds (first samples at an epoch's begin, processes
// that end together) too: moments drawn one by one would be more at random than those of any
// machine.
void MoveMoments(uint64_t epoch_seed, uint32_t length_s, v1::SummaryBody& body) {
  const double length_ms = length_s * 1000.0;
  const double bend = LogNormal(Mix(epoch_seed, 66), kBendSigma);
  const auto moved = [&](uint64_t ms) {
    const double share = std::min(static_cast<double>(ms) / length_ms, 1.0);
    return static_cast<uint32_t>(std::pow(share, bend) * length_ms);
  };
  for (v1::Vital& vital : *body.mutable_vitals()) {
    for (v1::FoldedSample& sample : *vital.mutable_samples()) {
      v1::Sample& exemplar = *sample.mutable_exemplar();
      const uint64_t ns = exemplar.time_ns();
      exemplar.set_time_ns(
          std::min(moved(ns / kNsPerMs) * kNsPerMs + ns % kNsPerMs, length_s * kNsPerS));
      sample.set_first_ms(moved(sample.first_ms()));
      sample.set_last_ms(moved(sample.last_ms()));
    }
  }
  for (v1::DiscreteEvent& event : *body.mutable_events()) {
    event.set_time_ms(moved(event.time_ms()));
  }
}

void PlaceEpoch(const NodeTraits& node, const CutEpoch& cut, v1::Epoch& epoch) {
  epoch.set_start_unix_ns(cut.start_unix_ns);
  epoch.set_end_unix_ns(cut.end_unix_ns);
  epoch.set_start_mono_ns(cut.start_mono_ns);
  epoch.set_end_mono_ns(cut.start_mono_ns + cut.length_s * kNsPerS);
  epoch.set_kind(v1::EPOCH_KIND_FULL);
  epoch.set_length_s(cut.length_s);
  epoch.set_watched_ns(cut.length_s * kNsPerS);
  epoch.set_clock_offset_ns(cut.clock_offset_ns);
  epoch.set_clock_error_ns(cut.clock_error_ns);
  epoch.set_hlc(cut.hlc);
  epoch.set_boot_id(node.boot_id);
  epoch.set_agent_start_unix_ns(node.agent_start_unix_ns);
}

// Build of the files on this node: 0: as recorded. Counted, not drawn, so that no fleet has fewer
// of them than it is said to have; and spread evenly, because its first nodes are the bad citizens.
uint64_t BuildOf(const RedrawOptions& options, const NodeTraits& node) {
  const uint64_t percent = options.other_builds_percent;
  if (node.number * percent % 100 >= percent) return 0;
  return 1 + Mix(node.seed, 56) % std::max(options.builds, 1u);
}

// Names of a body's frames, grouped as they travel.
class NameList {
 public:
  NameList(const std::vector<Place>& places, uint64_t build, uint64_t shift)
      : places_(places), build_(build), shift_(shift) {}

  void Add(int32_t place, bool is_private) {
    const Place& of = places_[static_cast<size_t>(place)];
    auto& offsets = files_[{of.build_id, of.kind, of.path}];
    offsets[of.offset + (is_private ? shift_ : 0)] = &of.name;
  }

  std::vector<v1::Names> Take() {
    std::vector<v1::Names> all;
    for (const auto& [file, offsets] : files_) {
      v1::Names names;
      const auto& [build_id, kind, path] = file;
      const bool built_here = build_ != 0 && kind == v1::MAPPING_KIND_FILE;
      names.set_build_id(built_here ? OtherBuildId(build_id, build_) : build_id);
      names.set_kind(kind);
      names.set_path(path);
      for (const auto& [offset, name] : offsets) {
        names.add_offset(offset);
        names.add_name(*name);
      }
      all.push_back(std::move(names));
    }
    return all;
  }

 private:
  const std::vector<Place>& places_;
  const uint64_t build_, shift_;
  std::map<std::tuple<std::string, v1::MappingKind, std::string>,
           std::map<uint64_t, const std::string*>>
      files_;
};

WeightNoise NoiseOf(const RedrawOptions& options, const NodeTraits& node, const CutEpoch& epoch) {
  return {.node_seed = node.seed,
          .epoch_seed = Mix(node.seed, epoch.sequence),
          .label_sigma = options.label_sigma,
          .cpus = node.cpus};
}

DrawnTotals TotalsOf(const v1::SummaryBody& body) {
  DrawnTotals totals;
  for (const v1::Vital& vital : body.vitals()) {
    for (const v1::SubSeries& sub : vital.subs()) {
      if (vital.id() == TELLTALE_CPU) totals.cpu_ns += static_cast<double>(sub.weight());
      if (vital.id() == TELLTALE_SYSCALL) totals.syscalls += static_cast<double>(sub.weight());
    }
  }
  return totals;
}

}  // namespace

// All by the same distance, so that what was near each other stays so.
uint32_t NodePid(uint64_t seed, uint32_t pid) {
  return pid < kFirstPrivatePid ? pid : pid + 1 + static_cast<uint32_t>(Mix(seed, 33) % kMostShift);
}

const RecordedEpoch& Redraw::Pick(const NodeTraits& node, uint64_t sequence) const {
  // From an epoch of its own on, in the order recorded.
  const auto& epochs = recording_.epochs();
  return epochs[(Mix(node.seed, 11) + sequence) % epochs.size()];
}

bool Redraw::OtherBuilds(const NodeTraits& node) const { return BuildOf(options_, node) != 0; }

const v1::Schema& Redraw::AnySchema() const {
  return recording_.schema(recording_.epochs().front().schema_id);
}

Redraw::Body Redraw::BodyOf(const NodeTraits& node, const CutEpoch& epoch) const {
  const RecordedEpoch& recorded = Pick(node, epoch.sequence);
  const v1::Schema& schema = recording_.schema(recorded.schema_id);
  const WeightNoise noise = NoiseOf(options_, node, epoch);
  Body drawn{recorded.body, {}};
  v1::SummaryBody& body = drawn.body;
  PlaceEpoch(node, epoch, *body.mutable_epoch());
  RedrawWeights(noise, schema, body);
  MovePids(node.seed, schema, body);
  MoveMoments(noise.epoch_seed, epoch.length_s, body);
  MakeCommsPrivate(node.seed, options_.private_comms_percent, body);
  const uint64_t build = BuildOf(options_, node);
  if (build != 0) {
    for (v1::Mapping& mapping : *body.mutable_tables()->mutable_mappings()) {
      if (mapping.kind() != v1::MAPPING_KIND_FILE) continue;
      mapping.set_build_id(OtherBuildId(mapping.build_id(), build));
    }
  }
  drawn.frames =
      MakeStacksPrivate(node.seed, options_.private_stacks_percent, *body.mutable_tables());
  return drawn;
}

v1::SummaryBody Redraw::DrawBody(const NodeTraits& node, const CutEpoch& epoch) const {
  return BodyOf(node, epoch).body;
}

absl::StatusOr<Redraw::Drawn> Redraw::Draw(const NodeTraits& node, const CutEpoch& epoch,
                                           const std::vector<bool>& named) const {
  const RecordedEpoch& recorded = Pick(node, epoch.sequence);
  const auto [body, frames] = BodyOf(node, epoch);

  Drawn drawn;
  NameList names(recording_.places(), BuildOf(options_, node), PrivateShift(node.seed));
  const auto name = [&](int32_t place, bool is_private) {
    if (place < 0) return;
    const uint32_t number = static_cast<uint32_t>(place) * 2 + (is_private ? 1 : 0);
    if (named.empty() || named[number]) return;
    names.Add(place, is_private);
    drawn.new_names.push_back(number);
  };
  for (size_t i = 0; i < recorded.frame_place.size(); ++i) {
    name(recorded.frame_place[i], frames.own[i]);
  }
  for (const uint32_t frame : frames.made_of) name(recorded.frame_place[frame], true);
  drawn.record.names = names.Take();

  v1::SketchCells cells = recorded.cells;
  RedrawCells(NoiseOf(options_, node, epoch), cells);
  v1::Identity identity;
  identity.set_node(node.name);
  identity.set_incarnation(node.incarnation);
  identity.set_sequence(epoch.sequence);
  auto summary = proto::EncodeSummary(identity, recorded.schema_id, body, cells);
  if (!summary.ok()) return summary.status();
  drawn.record.summary = *std::move(summary);
  drawn.record.schema = recording_.schema(recorded.schema_id);
  drawn.stacks = StackIdentities(body.tables());
  for (int i = 0; i < body.tables().stacks_size(); ++i) {
    if (!frames.In(body.tables().stacks(i))) continue;
    drawn.private_stacks.push_back(drawn.stacks[static_cast<size_t>(i)]);
  }
  drawn.totals = TotalsOf(body);
  return drawn;
}

}  // namespace telltale::fleetsim
