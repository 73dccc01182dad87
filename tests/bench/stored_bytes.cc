// Fills a store with one day of one node, made of the summaries that another store holds of one
// node or of several, and prints what a day costs on disk beside its budget. Called by
// tests/bench/stored_bytes.
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
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "proto/codec.h"
#include "proto/columns.h"
#include "proto/compress.h"
#include "sketch/vital_ids.h"
#include "storage/store.h"
#include "storage/stored_value.h"
#include "tests/bench/recorded_epochs.h"

namespace telltale::bench {
namespace {

using storage::kDayNs;
using storage::kSecondNs;

constexpr uint64_t kDayStart = 20'500 * kDayNs;
constexpr char kNode[] = "vm";  // whose day it becomes

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

// What columns of this take.
size_t StoredSize(const v1::SummaryBody& body) {
  const auto columns = proto::ToColumns(proto::Canonical(body), *body.GetDescriptor());
  if (!columns) Fail(absl::InternalError("a part of a body has no columns"));
  return Take(proto::Compress(*columns, proto::Effort::kStore)).size();
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

// Puts the epochs again and again until the day is full, and computes the tiers as it goes.
uint64_t FillDay(const Recording& recording, uint64_t* now_ns, storage::Store& store) {
  const std::vector<const RecordedEpoch*> epochs = recording.InTurn();
  const uint32_t node = Take(store.nodes().NumberOf(kNode));
  Tell(store, node, recording);
  uint64_t at_ns = kDayStart;
  uint64_t sequence = 0;
  while (at_ns < kDayStart + kDayNs) {
    const RecordedEpoch& source = *epochs[sequence % epochs.size()];
    v1::SummaryBody body = source.body;
    const uint64_t length_ns = LengthNs(body.epoch());
    v1::Epoch* epoch = body.mutable_epoch();
    epoch->set_start_unix_ns(at_ns);
    epoch->set_end_unix_ns(at_ns + length_ns);
    epoch->set_clock_offset_ns(0);
    v1::Identity identity;
    identity.set_node(kNode);
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

// What the epochs of some nodes are on average.
struct Means {
  double epochs = 0;
  double length_s = 0, sent_bytes = 0, stored_bytes = 0, rows = 0, samples = 0, folded_away = 0;
  double cpu_s = 0;           // of what was watched
  double parts[kParts] = {};  // bytes, each part's columns compressed alone

  void Add(const RecordedEpoch& epoch) {
    ++epochs;
    Put(length_s, static_cast<double>(LengthNs(epoch.body.epoch())) / 1e9);
    Put(sent_bytes, static_cast<double>(epoch.sent_bytes));
    Put(stored_bytes, static_cast<double>(StoredSize(epoch.body)));
    Put(rows, epoch.body.processes().rows_size());
    double kept = 0, folded = 0, cpu = 0;
    for (const v1::Vital& vital : epoch.body.vitals()) {
      kept += vital.samples_size();
      folded += static_cast<double>(vital.folded_away().entries());
      if (vital.id() != TELLTALE_CPU) continue;
      for (const v1::SubSeries& sub : vital.subs()) cpu += static_cast<double>(sub.weight()) / 1e9;
    }
    Put(samples, kept);
    Put(folded_away, folded);
    Put(cpu_s, cpu);
    for (int part = 0; part < kParts; ++part) {
      Put(parts[part], static_cast<double>(StoredSize(Only(static_cast<Part>(part), epoch.body))));
    }
  }

 private:
  void Put(double& mean, double value) const { mean += (value - mean) / epochs; }
};

bool IsScoped(const RecordedNode& node) {
  return !node.epochs.front().body.epoch().scope().empty();
}

void PrintNodes(const Recording& recording) {
  std::printf("\nan epoch of %-12s %6s %6s %8s %6s %8s %12s %10s\n", "", "epochs", "CPU s", "",
              "rows", "samples", "stored bytes", "sent bytes");
  for (const RecordedNode& node : recording.nodes) {
    Means means;
    for (const RecordedEpoch& epoch : node.epochs) means.Add(epoch);
    std::printf("%-24s %6.0f %6.2f %8s %6.0f %8.0f %12.0f %10.0f\n", node.name.c_str(),
                means.epochs, means.cpu_s, IsScoped(node) ? "cgroup" : "host", means.rows,
                means.samples, means.stored_bytes, means.sent_bytes);
  }
}

int Run(const std::string& from, const std::string& to, bool saturated, const Chosen& chosen) {
  storage::StoreOptions options;
  options.min_free_bytes = 0;
  options.path = from;
  const std::unique_ptr<storage::Store> source = Take(storage::Store::Open(options));
  const Recording recording = Take(ReadRecording(source->reader(), chosen));

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

  Means means;
  for (const RecordedEpoch* epoch : recording.InTurn()) means.Add(*epoch);
  double all_parts = 0;
  for (const double part : means.parts) all_parts += part;
  size_t named = 0;
  size_t locations = 0;
  for (const auto& [build_id, names] : recording.names) {
    locations += names.size();
    for (const auto& [offset, name] : names) named += name.empty() ? 0 : 1;
  }
  std::printf("%.0f epochs of ", means.epochs);
  if (recording.nodes.size() == 1) {
    std::printf("%s", recording.nodes.front().name.c_str());
  } else {
    const auto scoped = std::ranges::count_if(recording.nodes, IsScoped);
    std::printf("%zu nodes in turn (%td of them a cgroup each)", recording.nodes.size(), scoped);
  }
  std::printf(
      ", %.0f s each on average, repeated to fill a day of %llu;\n"
      "%zu code locations, %zu with names. An epoch has %.0f rows of processes and %.0f folded\n"
      "samples, %.0f more were folded away. Parts of raw: its bytes, divided as the columns of "
      "each\n"
      "part compress alone. Coarser tiers see the same labels again and again: on a day that "
      "changes\n"
      "they are larger.\n\n",
      means.length_s, static_cast<unsigned long long>(epochs), locations, named, means.rows,
      means.samples, means.folded_away);
  std::printf("%-34s %8s   %s\n", "stored by one node in a day", "MB", "budget");
  const auto part = [&](Part which) { return bytes["raw"] * means.parts[which] / all_parts; };
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
  Print({"sent by the node", means.sent_bytes * static_cast<double>(epochs), 0});
  PrintNodes(recording);
  return 0;
}

}  // namespace
}  // namespace telltale::bench

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(
        stderr,
        "usage: stored_bytes FROM TO mixed|saturated FIRST LAST NODES\n"
        "LAST 0: to the last one; NODES: names with commas between, * for all, or empty\n");
    return 2;
  }
  telltale::bench::Chosen chosen;
  chosen.first = std::strtoull(argv[4], nullptr, 10);
  if (const uint64_t last = std::strtoull(argv[5], nullptr, 10)) chosen.last = last;
  const std::string nodes = argv[6];
  chosen.all_nodes = nodes == "*";
  if (!chosen.all_nodes) chosen.nodes = absl::StrSplit(nodes, ',', absl::SkipEmpty());
  return telltale::bench::Run(argv[1], argv[2], std::string_view(argv[3]) == "saturated", chosen);
}
