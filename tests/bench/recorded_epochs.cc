#include "tests/bench/recorded_epochs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/codec.h"
#include "proto/compress.h"

namespace telltale::bench {
namespace {

using NodeRecords = std::vector<storage::NodeRecord>;

absl::StatusOr<NodeRecords> Choose(const storage::Reader& reader, const Chosen& chosen) {
  const storage::NodeList nodes = reader.Nodes();
  const NodeRecords all(nodes.begin(), nodes.end());
  if (chosen.all_nodes || all.empty()) return all;
  if (chosen.nodes.empty()) {
    return NodeRecords{*std::ranges::max_element(all, {}, [&](const storage::NodeRecord& node) {
      return reader.Counters(node.number()).epochs;
    })};
  }
  NodeRecords picked;
  for (const std::string& name : chosen.nodes) {
    const auto found = std::ranges::find(all, name, &storage::NodeRecord::name);
    if (found == all.end()) {
      const auto add_name = [](std::string* out, const storage::NodeRecord& node) {
        absl::StrAppend(out, node.name());
      };
      return absl::NotFoundError(absl::StrCat("read recording: it has no node ", name, ", only ",
                                              absl::StrJoin(all, ", ", add_name)));
    }
    picked.push_back(*found);
  }
  return picked;
}

class NodeRead {
 public:
  NodeRead(const storage::Reader& reader, uint32_t number, Recording& recording)
      : reader_(reader), number_(number), recording_(recording) {}

  absl::Status Read(const Chosen& chosen, RecordedNode& node) {
    uint64_t number = 0;
    absl::Status failed;
    const absl::Status read =
        reader_.ForEachRaw(number_, 0, UINT64_MAX, [&](const storage::RawRow& row) {
          const auto schema = reader_.Schema(row.summary.schema_id());
          if (!schema.ok()) {
            failed = schema.status();
            return false;
          }
          auto decoded = proto::DecodeSummary(row.summary, **schema);
          if (!decoded.ok()) {
            failed = decoded.status();
            return false;
          }
          if (decoded->body->epoch().kind() != v1::EPOCH_KIND_FULL) return true;
          if (++number < chosen.first || number > chosen.last) return true;
          recording_.schemas[row.summary.schema_id()] = *schema;
          failed = Add(row, std::move(*decoded->body), node);
          return failed.ok();
        });
    return failed.ok() ? read : failed;
  }

 private:
  absl::Status Add(const storage::RawRow& row, v1::SummaryBody body, RecordedNode& node) {
    AddNames(body.tables());
    const auto sent = proto::Compress(proto::Canonical(body));
    if (!sent.ok()) return sent.status();
    RecordedEpoch epoch{row.summary.schema_id(), sent->size(), std::move(body), {}};
    if (const auto cells = reader_.Cells(row.key); cells.ok()) {
      v1::Summary carrier = row.summary;
      carrier.set_cells(*cells);
      auto decoded = proto::DecodeCells(carrier);
      if (!decoded.ok()) return decoded.status();
      epoch.cells = *std::move(decoded);
    }
    node.epochs.push_back(std::move(epoch));
    return absl::OkStatus();
  }

  void AddNames(const v1::Tables& tables) {
    for (int i = 0; i < tables.frame_offset_size(); ++i) {
      if (tables.frame_mapping(i) == 0) continue;
      const auto& mapping = tables.mappings(static_cast<int>(tables.frame_mapping(i) - 1));
      const uint64_t offset = tables.frame_offset(i);
      if (!asked_.insert({mapping.build_id(), offset}).second) continue;
      std::string& name = recording_.names[mapping.build_id()][offset];
      if (name.empty()) {
        name = reader_.SymbolName(mapping.build_id(), offset, number_).value_or("");
      }
    }
  }

  const storage::Reader& reader_;
  const uint32_t number_;
  Recording& recording_;
  std::set<std::pair<std::string, uint64_t>> asked_;
};

}  // namespace

std::vector<const RecordedEpoch*> Recording::InTurn() const {
  std::vector<const RecordedEpoch*> all;
  size_t longest = 0;
  for (const RecordedNode& node : nodes) longest = std::max(longest, node.epochs.size());
  for (size_t turn = 0; turn < longest; ++turn) {
    for (const RecordedNode& node : nodes) {
      if (turn < node.epochs.size()) all.push_back(&node.epochs[turn]);
    }
  }
  return all;
}

absl::StatusOr<Recording> ReadRecording(const storage::Reader& reader, const Chosen& chosen) {
  const auto records = Choose(reader, chosen);
  if (!records.ok()) return records.status();
  Recording recording;
  for (const storage::NodeRecord& record : *records) {
    RecordedNode node;
    node.name = record.name();
    if (absl::Status read = NodeRead(reader, record.number(), recording).Read(chosen, node);
        !read.ok()) {
      return read;
    }
    if (node.epochs.empty() && !chosen.nodes.empty()) {
      return absl::NotFoundError(
          absl::StrCat("read recording: no whole epoch of ", node.name, " that was asked for"));
    }
    if (!node.epochs.empty()) recording.nodes.push_back(std::move(node));
  }
  if (recording.nodes.empty()) {
    return absl::NotFoundError(
        "read recording: no whole epoch in it that was asked for; record for some minutes");
  }
  return recording;
}

}  // namespace telltale::bench
