// A source of answers made by hand: nodes and epochs whose sums one can do in the head.

#ifndef TELLTALE_TESTS_UNIT_QUERY_FIXTURE_H_
#define TELLTALE_TESTS_UNIT_QUERY_FIXTURE_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/query/engine.h"
#include "collector/query/source.h"
#include "proto/body_parts.h"
#include "proto/codec.h"
#include "sketch/vital_ids.h"

namespace telltale::query {

constexpr uint64_t kS = 1'000'000'000;

class FakeSource : public Source {
 public:
  FakeSource() : schema_(std::make_shared<v1::Schema>(proto::BuiltinSchema())) {}

  // Returns the node's number.
  uint32_t AddNode(const std::string& name) {
    storage::NodeRecord node;
    node.set_number(static_cast<uint32_t>(nodes_.size() + 1));
    node.set_name(name);
    node.set_state(v1::NODE_STATE_REPORTING);
    node.mutable_info()->set_epoch_length_s(10);
    node.mutable_info()->set_machine("x86_64");
    node.mutable_info()->set_schema_id(schema_->id());
    nodes_.push_back(node);
    return node.number();
  }
  storage::NodeRecord& Node(uint32_t number) { return nodes_[number - 1]; }

  void AddEpoch(uint32_t node, uint64_t start_s, uint64_t length_s, v1::SummaryBody body,
                uint64_t watched_s = ~uint64_t{0}) {
    storage::EpochSpan span{start_s * kS, (start_s + length_s) * kS,
                            std::min(watched_s, length_s) * kS, false};
    storage::NodeRecord& record = Node(node);
    if (record.first_epoch_ns() == 0) record.set_first_epoch_ns(span.start_ns);
    record.set_last_epoch_ns(span.end_ns);
    ++stamp_;
    epochs_[node].push_back({span, std::move(body)});
  }
  void Name(const std::string& build_id, uint64_t offset, const std::string& name) {
    names_[{build_id, offset}] = name;
  }
  void Lose(const storage::LostRange& lost) { lost_.push_back(lost); }

  storage::NodeList Nodes() const override {
    storage::NodeList list;
    for (const storage::NodeRecord& node : nodes_) {
      list.Add(std::make_shared<const storage::NodeRecord>(node));
    }
    return list;
  }
  // Bodies have what was asked for and no more, which a real source may do too: who reads them has
  // to make do with that.
  absl::Status ForEachEpoch(uint32_t node, uint64_t from, uint64_t to,
                            const proto::BodyParts& parts, const EpochVisitor& visit,
                            LeftOut*) const override {
    const auto epochs = epochs_.find(node);
    if (epochs == epochs_.end()) return absl::OkStatus();
    for (const auto& [span, body] : epochs->second) {
      if (span.end_ns <= from || span.start_ns >= to) continue;
      StoredEpoch epoch;
      epoch.node = node;
      epoch.span = span;
      epoch.body = &body;
      epoch.schema = schema_;
      v1::SummaryBody kept;
      if (parts.depth != proto::BodyParts::Depth::kWhole) {
        const absl::StatusOr<std::string> bytes = proto::KeepParts(body.SerializeAsString(), parts);
        if (!bytes.ok()) return bytes.status();
        if (!kept.ParseFromString(*bytes)) return absl::InternalError("parts of a made-up body");
        epoch.body = &kept;
      }
      if (!visit(epoch)) break;
    }
    return absl::OkStatus();
  }
  std::shared_ptr<const v1::Schema> Schema(uint64_t) const override { return schema_; }
  std::optional<std::string> SymbolName(std::string_view build_id, uint64_t offset,
                                        uint32_t) const override {
    const auto name = names_.find({std::string(build_id), offset});
    if (name == names_.end()) return std::nullopt;
    return name->second;
  }
  absl::StatusOr<storage::CoverageView> Coverage(uint32_t node, uint64_t from,
                                                 uint64_t to) const override {
    std::vector<storage::CoveragePiece> pieces;
    const auto epochs = epochs_.find(node);
    if (epochs != epochs_.end()) {
      for (const auto& [span, body] : epochs->second) {
        pieces.push_back({span.start_ns, span.end_ns, span.watched_ns, 1, span.partial ? 1u : 0u});
      }
    }
    return storage::ViewCoverage(pieces, {}, lost_, from, to);
  }
  std::vector<std::pair<storage::Incarnation, storage::SequenceLedger>> Ledgers(
      uint32_t) const override {
    return {};
  }
  storage::NodeCounters Counters(uint32_t) const override { return {}; }
  absl::StatusOr<std::vector<storage::DataRange>> DataRanges(uint32_t node) const override {
    const auto epochs = node == 0 ? epochs_.begin() : epochs_.find(node);  // 0: any
    if (epochs == epochs_.end()) return std::vector<storage::DataRange>{};
    return std::vector<storage::DataRange>{{storage::Tier::kRaw,
                                            epochs->second.front().first.start_ns,
                                            epochs->second.back().first.end_ns}};
  }
  absl::Status ForEachSeries(uint32_t, uint64_t, uint64_t, const storage::Reader::SeriesVisitor&,
                             const storage::DamagedVisitor&) const override {
    return {};
  }
  absl::Status ForEachLine(storage::Tier, uint8_t, uint64_t, uint64_t,
                           const storage::Reader::LineVisitor&, const storage::DamagedVisitor&,
                           const std::vector<uint32_t>&) const override {
    return {};
  }
  absl::Status ForEachRollup(storage::Tier, uint32_t, uint64_t, uint64_t,
                             const storage::RollupParts&, const storage::Reader::RollupVisitor&,
                             const storage::DamagedVisitor&) const override {
    return {};
  }
  std::vector<storage::DirtyKey> Dirty(uint32_t, uint64_t, uint64_t) const override { return {}; }
  absl::StatusOr<std::vector<storage::DirtyLineKey>> DirtyLines(storage::Tier, uint64_t,
                                                                uint64_t) const override {
    return std::vector<storage::DirtyLineKey>{};
  }
  uint64_t RawFloorNs() const override { return raw_floor_ns; }
  uint64_t Stamp(const std::vector<uint32_t>&, uint64_t, uint64_t) const override { return stamp_; }
  absl::StatusOr<std::vector<storage::StoreSizeRow>> Sizes() const override {
    return std::vector<storage::StoreSizeRow>{};
  }
  uint64_t DirtyWindows() const override { return 0; }
  uint64_t StoredSummaries() const override { return 0; }

  uint64_t raw_floor_ns = 0;

 private:
  std::vector<storage::NodeRecord> nodes_;
  std::map<uint32_t, std::vector<std::pair<storage::EpochSpan, v1::SummaryBody>>> epochs_;
  std::map<std::pair<std::string, uint64_t>, std::string> names_;
  std::vector<storage::LostRange> lost_;
  uint64_t stamp_ = 0;
  std::shared_ptr<const v1::Schema> schema_;
};

// A body under construction.
class BodyMaker {
 public:
  uint32_t String(const std::string& text) {
    body_.mutable_tables()->add_strings(text);
    return static_cast<uint32_t>(body_.tables().strings_size());
  }
  // Index of a new frame.
  uint32_t Frame(const std::string& build_id, const std::string& path, uint64_t offset,
                 bool kernel = false) {
    v1::Mapping* mapping = body_.mutable_tables()->add_mappings();
    mapping->set_kind(kernel ? v1::MAPPING_KIND_KERNEL : v1::MAPPING_KIND_FILE);
    mapping->set_build_id(build_id);
    mapping->set_path(String(path));
    body_.mutable_tables()->add_frame_mapping(
        static_cast<uint32_t>(body_.tables().mappings_size()));
    body_.mutable_tables()->add_frame_offset(offset);
    return static_cast<uint32_t>(body_.tables().frame_offset_size() - 1);
  }
  uint32_t Stack(const std::vector<uint32_t>& kernel, const std::vector<uint32_t>& user) {
    v1::Stack* stack = body_.mutable_tables()->add_stacks();
    for (const uint32_t frame : kernel) stack->add_kernel(frame);
    for (const uint32_t frame : user) stack->add_user(frame);
    return static_cast<uint32_t>(body_.tables().stacks_size());
  }
  v1::Vital* Vital(uint32_t id, const std::vector<uint64_t>& sub_weights) {
    v1::Vital* vital = body_.add_vitals();
    vital->set_id(id);
    vital->set_state(v1::VITAL_STATE_ACTIVE);
    vital->set_quantum(1);
    for (const uint64_t weight : sub_weights) {
      v1::SubSeries* sub = vital->add_subs();
      sub->set_weight(weight);
      sub->set_events(weight > 0 ? 1 : 0);
    }
    return vital;
  }
  void Columns(const std::vector<uint32_t>& columns) {
    for (const uint32_t column : columns) body_.mutable_processes()->add_columns(column);
  }
  void Process(const std::string& exe, uint32_t pid, uint32_t uid,
               const std::vector<uint64_t>& values, uint32_t instances = 1) {
    const uint32_t exe_string = String(exe), comm = String("comm");
    v1::ProcessRow* row = body_.mutable_processes()->add_rows();
    row->set_exe(exe_string);
    row->set_comm(comm);
    row->set_pid(pid);
    row->set_uid(uid);
    row->set_instances(instances);
    row->set_start_mono_ns(pid);
    for (const uint64_t value : values) row->add_values(value);
  }
  v1::FoldedSample* Sample(v1::Vital* vital, const std::string& exe, uint32_t stack,
                           uint64_t sampled, uint64_t low, uint64_t high, uint64_t label) {
    v1::FoldedSample* sample = vital->add_samples();
    sample->set_exe(String(exe));
    sample->add_label(label);
    sample->set_stack(stack);
    sample->set_samples(1);
    sample->set_sampled_weight(sampled);
    sample->set_low(low);
    sample->set_high(high);
    return sample;
  }
  v1::SummaryBody& body() { return body_; }

 private:
  v1::SummaryBody body_;
};

inline uint32_t ShareColumn(uint32_t vital, uint32_t sub) {
  return v1::PROCESS_COLUMN_FIRST_VITAL + vital * 32 + sub * 2 + 1;
}

inline Engine MakeEngine(const FakeSource& source, uint64_t now_s) {
  EngineOptions options;
  options.source = &source;
  options.now_ns = [now_s] { return now_s * kS; };
  return Engine(options);
}

template <typename Request>
Request Asked(double start_s, double end_s) {
  Request request;
  request.mutable_selection()->set_start_s(start_s);
  request.mutable_selection()->set_end_s(end_s);
  return request;
}

}  // namespace telltale::query

#endif  // TELLTALE_TESTS_UNIT_QUERY_FIXTURE_H_
