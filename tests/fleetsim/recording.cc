#include "tests/fleetsim/recording.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/spool/file_system.h"
#include "agent/spool/record.h"
#include "agent/spool/spool_reader.h"
#include "proto/codec.h"
#include "sketch/time_units.h"
#include "tests/fleetsim/redraw_weights.h"
#include "tests/support/synthetic_node.h"

namespace telltale::fleetsim {
namespace {

constexpr uint64_t kSyntheticNodes = 4, kSyntheticEpochs = 8;
constexpr uint32_t kLeastMadeS = 5;  // the shortest epoch a made-up node can make

}  // namespace

absl::Status Recording::Read(const std::string& directory, uint32_t epoch_s) {
  agent::PosixFileSystem files;
  const auto entries = files.List(directory);
  if (!entries.ok()) return entries.status();
  std::vector<uint64_t> sequences;
  for (const auto& entry : *entries) {
    if (const uint64_t sequence = agent::SequenceOfFileName(entry.name)) {
      sequences.push_back(sequence);
    }
  }
  std::ranges::sort(sequences);
  for (const uint64_t sequence : sequences) {
    auto record = agent::ReadRecord(directory, sequence);
    if (absl::IsNotFound(record.status())) continue;  // its agent goes on writing
    if (!record.ok()) {
      return absl::Status(record.status().code(), absl::StrCat("recording: ", directory, "/",
                                                               agent::RecordFileName(sequence),
                                                               ": ", record.status().message()));
    }
    for (const v1::Names& names : record->names) {
      for (int i = 0; i < std::min(names.offset_size(), names.name_size()); ++i) {
        const auto [at, fresh] =
            index_.try_emplace({names.build_id(), names.kind(), names.offset(i)},
                               static_cast<int32_t>(places_.size()));
        if (!fresh) continue;
        places_.push_back(
            {names.build_id(), names.kind(), names.path(), names.offset(i), names.name(i)});
      }
    }
    auto decoded = proto::DecodeSummary(record->summary, record->schema);
    if (!decoded.ok()) return decoded.status();
    auto cells = proto::DecodeCells(record->summary);
    if (!cells.ok()) return cells.status();
    if (decoded->body->epoch().kind() != v1::EPOCH_KIND_FULL) continue;
    const v1::Epoch& epoch = decoded->body->epoch();
    const double seconds = static_cast<double>(epoch.end_mono_ns() - epoch.start_mono_ns()) / 1e9;
    RecordedEpoch recorded;
    recorded.schema_id = record->schema.id();
    recorded.bytes = record->summary.body().size() + record->summary.cells().size();
    stretched_ = stretched_ || epoch.length_s() != epoch_s;
    Stretch(epoch_s, seconds, *decoded->body);
    recorded.body = std::move(*decoded->body);
    recorded.cells = *std::move(cells);
    schemas_[record->schema.id()] = std::move(record->schema);
    epochs_.push_back(std::move(recorded));
  }
  return absl::OkStatus();
}

void Recording::FindPlaces() {
  for (RecordedEpoch& epoch : epochs_) {
    const v1::Tables& tables = epoch.body.tables();
    for (int i = 0; i < tables.frame_mapping_size(); ++i) {
      int32_t place = -1;
      if (const uint32_t mapping = tables.frame_mapping(i); mapping != 0) {
        const v1::Mapping& of = tables.mappings(static_cast<int>(mapping - 1));
        const auto found = index_.find({of.build_id(), of.kind(), tables.frame_offset(i)});
        if (found != index_.end()) place = found->second;
      }
      epoch.frame_place.push_back(place);
    }
  }
}

absl::StatusOr<Recording> Recording::Load(const std::vector<std::string>& directories,
                                          uint32_t epoch_s) {
  Recording recording;
  for (const std::string& directory : directories) {
    if (absl::Status status = recording.Read(directory, epoch_s); !status.ok()) return status;
  }
  if (recording.epochs_.empty()) {
    return absl::NotFoundError(
        "recording: no whole epoch in the directories given; they must be spool directories of "
        "agents (spool.dir) that still hold epochs, as one without a collector keeps them");
  }
  recording.FindPlaces();
  return recording;
}

Recording Recording::Synthetic(uint32_t epoch_s) {
  Recording recording;
  const v1::Schema schema = proto::BuiltinSchema();
  recording.schemas_[schema.id()] = schema;
  for (uint64_t seed = 1; seed <= kSyntheticNodes; ++seed) {
    const testing::SyntheticNode node("synthetic", seed);
    for (uint64_t sequence = 1; sequence <= kSyntheticEpochs; ++sequence) {
      const uint32_t made_s = std::max(epoch_s, kLeastMadeS);
      RecordedEpoch epoch;
      epoch.schema_id = schema.id();
      testing::MadeSummary made =
          node.MakeWith(sequence, sequence * made_s * kNsPerS, made_s, [&](v1::SummaryBody& body) {
            Stretch(epoch_s, made_s, body);
            v1::Epoch& made_epoch = *body.mutable_epoch();
            made_epoch.set_end_unix_ns(made_epoch.start_unix_ns() + epoch_s * kNsPerS);
            made_epoch.set_end_mono_ns(made_epoch.start_mono_ns() + epoch_s * kNsPerS);
            made_epoch.set_watched_ns(epoch_s * kNsPerS);
          });
      epoch.body = std::move(made.body);
      epoch.bytes = made.summary.body().size() + made.summary.cells().size();
      recording.epochs_.push_back(std::move(epoch));
    }
  }
  recording.FindPlaces();
  return recording;
}

double Recording::mean_bytes() const {
  double sum = 0;
  for (const RecordedEpoch& epoch : epochs_) sum += static_cast<double>(epoch.bytes);
  return sum / static_cast<double>(epochs_.size());
}

}  // namespace telltale::fleetsim
