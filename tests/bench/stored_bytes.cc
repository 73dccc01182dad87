// Fills a store with one day of one node, made of the summaries that another store holds, and
// prints what a day costs on disk beside its budget. Called by tests/bench/stored_bytes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "storage/store.h"
#include "storage/stored_value.h"

namespace telltale {
namespace {

using storage::kDayNs;
using storage::kSecondNs;

constexpr uint64_t kDayStart = 20'500 * kDayNs;

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "stored_bytes: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}
template <typename T>
T Take(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

// Of the recording's whole epochs, counted from 1.
struct Chosen {
  uint64_t first = 1;
  uint64_t last = UINT64_MAX;
};

struct Epoch {
  uint64_t schema_id = 0;
  uint64_t sent_bytes = 0;  // of the body, as it travels
  v1::SummaryBody body;
  v1::SketchCells cells;
};

struct Recording {
  std::string node;
  std::map<uint64_t, std::shared_ptr<const v1::Schema>> schemas;
  std::vector<Epoch> epochs;
  std::map<std::string, std::map<uint64_t, std::string>> names;  // by build id
};

void AddNames(const storage::Reader& reader, uint32_t node, const v1::Tables& tables,
              Recording* recording) {
  for (int i = 0; i < tables.frame_offset_size(); ++i) {
    if (tables.frame_mapping(i) == 0) continue;
    const auto& mapping = tables.mappings(static_cast<int>(tables.frame_mapping(i) - 1));
    const uint64_t offset = tables.frame_offset(i);
    std::map<uint64_t, std::string>& file = recording->names[mapping.build_id()];
    if (file.contains(offset)) continue;
    file[offset] = reader.SymbolName(mapping.build_id(), offset, node).value_or("");
  }
}

// The whole epochs of the node that has most of them.
Recording Read(storage::Store& store, const Chosen& chosen) {
  const storage::Reader& reader = store.reader();
  uint32_t node = 0;
  uint64_t most = 0;
  uint64_t number = 0;
  Recording recording;
  for (const storage::NodeRecord& record : reader.Nodes()) {
    if (reader.Counters(record.number()).epochs <= most) continue;
    most = reader.Counters(record.number()).epochs;
    node = record.number();
    recording.node = record.name();
  }
  Check(reader.ForEachRaw(node, 0, UINT64_MAX, [&](const storage::RawRow& row) {
    const uint64_t schema_id = row.summary.schema_id();
    auto schema = Take(reader.Schema(schema_id));
    proto::Decoded decoded = Take(proto::DecodeSummary(row.summary, *schema));
    if (decoded.body.epoch().kind() != v1::EPOCH_KIND_FULL) return true;
    if (++number < chosen.first || number > chosen.last) return true;
    recording.schemas[schema_id] = schema;
    AddNames(reader, node, decoded.body.tables(), &recording);
    const size_t sent = Take(proto::Compress(proto::Canonical(decoded.body))).size();
    Epoch epoch{schema_id, sent, std::move(decoded.body), {}};
    if (auto cells = reader.Cells(row.key); cells.ok()) {
      v1::Summary carrier = row.summary;
      carrier.set_cells(*cells);
      epoch.cells = Take(proto::DecodeCells(carrier));
    }
    recording.epochs.push_back(std::move(epoch));
    return true;
  }));
  if (recording.epochs.empty()) {
    Fail(absl::NotFoundError("read recording: no whole epoch in it; record for some minutes"));
  }
  return recording;
}

uint64_t LengthNs(const v1::Epoch& epoch) { return epoch.end_mono_ns() - epoch.start_mono_ns(); }

enum Part { kTotals, kSeconds, kSketch, kHistograms, kProcesses, kSamples, kParts };

// The body with only this part of it.
v1::SummaryBody Only(Part part, const v1::SummaryBody& body) {
  v1::SummaryBody only = body;
  if (part != kTotals) {
    for (const char* field : {"epoch", "events", "gauges", "losses"}) {
      only.GetReflection()->ClearField(&only, only.GetDescriptor()->FindFieldByName(field));
    }
  }
  if (part != kHistograms) only.clear_histograms();
  if (part != kProcesses) only.clear_processes();
  if (part != kSamples) only.clear_tables();
  for (v1::Vital& vital : *only.mutable_vitals()) {
    v1::Vital kept;
    if (part == kTotals) {
      kept = vital;
      kept.clear_samples();
      kept.clear_sketch();
      kept.clear_backlog();
      for (v1::SubSeries& sub : *kept.mutable_subs()) sub.clear_second_weight();
    } else if (part == kSeconds) {
      *kept.mutable_backlog() = vital.backlog();
      for (const v1::SubSeries& sub : vital.subs()) {
        *kept.add_subs()->mutable_second_weight() = sub.second_weight();
      }
    } else if (part == kSketch) {
      *kept.mutable_sketch() = vital.sketch();
    } else if (part == kSamples) {
      *kept.mutable_samples() = vital.samples();
    }
    vital = std::move(kept);
  }
  return only;
}

void Tell(storage::Store& store, uint32_t node, const Recording& recording) {
  for (const auto& [id, schema] : recording.schemas) {
    Check(store.summaries().PutSchema(node, *schema));
  }
  for (const auto& [build_id, names] : recording.names) {
    v1::Names message;
    message.set_build_id(build_id);
    for (const auto& [offset, name] : names) {
      if (name.empty()) continue;
      message.add_offset(offset);
      message.add_name(name);
    }
    Check(store.summaries().PutNames(node, message));
  }
}

// Puts the recording again and again until the day is full, and computes the tiers as it goes.
uint64_t FillDay(const Recording& recording, uint64_t* now_ns, storage::Store& store) {
  const uint32_t node = Take(store.nodes().NumberOf(recording.node));
  Tell(store, node, recording);
  uint64_t at_ns = kDayStart;
  uint64_t sequence = 0;
  while (at_ns < kDayStart + kDayNs) {
    const Epoch& source = recording.epochs[sequence % recording.epochs.size()];
    v1::SummaryBody body = source.body;
    const uint64_t length_ns = LengthNs(body.epoch());
    v1::Epoch* epoch = body.mutable_epoch();
    epoch->set_start_unix_ns(at_ns);
    epoch->set_end_unix_ns(at_ns + length_ns);
    epoch->set_clock_offset_ns(0);
    v1::Identity identity;
    identity.set_node(recording.node);
    identity.set_incarnation(std::string(16, 'i'));
    identity.set_sequence(++sequence);
    const v1::Summary summary =
        Take(proto::EncodeSummary(identity, source.schema_id, body, source.cells));
    const storage::Incoming item{node, &summary, &body, true};
    Take(store.summaries().PutBatch({&item, 1}));
    at_ns += length_ns;
    *now_ns = at_ns;
    if (sequence % 60 == 0) Take(store.roller().RunDue({&node, 1}, *now_ns, UINT32_MAX));
  }
  *now_ns = kDayStart + kDayNs + 600 * kSecondNs;
  Take(store.roller().RunDue({&node, 1}, *now_ns, UINT32_MAX));
  Take(store.roller().RunLines(*now_ns, UINT32_MAX));
  return sequence;
}

struct Line {
  const char* what;
  double bytes;
  double target_mb;  // 0: no budget of its own
};

void Print(const Line& line) {
  const double mb = line.bytes / 1e6;
  std::printf("%-34s %8.3f", line.what, mb);
  if (line.target_mb > 0) {
    std::printf("   <= %4.1f   %s", line.target_mb, mb <= line.target_mb ? "OK" : "OVER");
  }
  std::printf("\n");
}

// What columns of this take.
size_t StoredSize(const v1::SummaryBody& body) {
  const auto columns = proto::ToColumns(proto::Canonical(body), *body.GetDescriptor());
  if (!columns) Fail(absl::InternalError("a part of a body has no columns"));
  return Take(proto::Compress(*columns, proto::Effort::kStore)).size();
}

int Run(const std::string& from, const std::string& to, bool saturated, const Chosen& chosen) {
  storage::StoreOptions options;
  options.min_free_bytes = 0;
  options.path = from;
  const std::unique_ptr<storage::Store> source = Take(storage::Store::Open(options));
  const Recording recording = Read(*source, chosen);

  uint64_t now_ns = kDayStart;
  options.path = to;
  options.now_ns = [&now_ns] { return now_ns; };
  auto store = Take(storage::Store::Open(options));
  const uint64_t epochs = FillDay(recording, &now_ns, *store);
  store.reset();  // everything in tables, as it stays
  store = Take(storage::Store::Open(options));
  std::map<std::string, double> bytes;
  for (const storage::StoreSizeRow& row : Take(store->reader().Sizes())) {
    bytes[row.family] = static_cast<double>(row.bytes);
  }

  double parts[kParts] = {};
  double all_parts = 0;
  double length_s = 0, sent_bytes = 0, rows = 0, samples = 0, folded_away = 0;
  for (const Epoch& epoch : recording.epochs) {
    length_s += static_cast<double>(LengthNs(epoch.body.epoch())) / 1e9;
    sent_bytes += static_cast<double>(epoch.sent_bytes);
    rows += epoch.body.processes().rows_size();
    for (const v1::Vital& vital : epoch.body.vitals()) {
      samples += vital.samples_size();
      folded_away += static_cast<double>(vital.folded_away().entries());
    }
    for (int part = 0; part < kParts; ++part) {
      const size_t size = StoredSize(Only(static_cast<Part>(part), epoch.body));
      parts[part] += static_cast<double>(size);
      all_parts += static_cast<double>(size);
    }
  }
  size_t named = 0;
  size_t locations = 0;
  for (const auto& [build_id, names] : recording.names) {
    locations += names.size();
    for (const auto& [offset, name] : names) named += name.empty() ? 0 : 1;
  }
  const auto count = static_cast<double>(recording.epochs.size());
  std::printf(
      "%zu epochs of %s, %.0f s each on average, repeated to fill a day of %llu;\n"
      "%zu code locations, %zu with names. An epoch has %.0f rows of processes and %.0f folded\n"
      "samples, %.0f more were folded away. Parts of raw: its bytes, divided as the columns of "
      "each\n"
      "part compress alone. Coarser tiers see the same labels again and again: on a day that "
      "changes\n"
      "they are larger.\n\n",
      recording.epochs.size(), recording.node.c_str(), length_s / count,
      static_cast<unsigned long long>(epochs), locations, named, rows / count, samples / count,
      folded_away / count);
  std::printf("%-34s %8s   %s\n", "stored by one node in a day", "MB", "budget");
  const auto part = [&](Part which) { return bytes["raw"] * parts[which] / all_parts; };
  Print({"totals, gauges, events", part(kTotals), 0.4});
  Print({"seconds", part(kSeconds), 1.0});
  Print({"sketch digest", part(kSketch), 0.3});
  Print({"histograms", part(kHistograms), 0.9});
  Print({"process table", part(kProcesses), 0.7});
  Print({"samples with their stacks", part(kSamples), 1.4});
  const double rollups = bytes["rollup_5min"] + bytes["rollup_1h"] + bytes["rollup_1d"];
  Print({"rollups", rollups, 1.5});
  Print({"  5 min", bytes["rollup_5min"], 0});
  Print({"  1 h", bytes["rollup_1h"], 0});
  Print({"  1 d", bytes["rollup_1d"], 0});
  Print({"series and line", bytes["series"] + bytes["line"], 0.3});
  Print({"names, as on a first day", bytes["dict"], 1.5});
  const double total = bytes["raw"] + rollups + bytes["series"] + bytes["line"] + bytes["dict"];
  Print({saturated ? "all tiers, saturated" : "all tiers, mixed", total, saturated ? 8.0 : 4.0});
  Print({"cells, kept for two days", bytes["cells"], 2.0});
  Print({"sent by the node", sent_bytes / count * static_cast<double>(epochs), 0});
  return 0;
}

}  // namespace
}  // namespace telltale

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr, "usage: stored_bytes FROM TO mixed|saturated [FIRST LAST]\n");
    return 2;
  }
  telltale::Chosen chosen;
  if (argc == 6) {
    chosen = {std::strtoull(argv[4], nullptr, 10), std::strtoull(argv[5], nullptr, 10)};
  }
  return telltale::Run(argv[1], argv[2], std::string_view(argv[3]) == "saturated", chosen);
}
