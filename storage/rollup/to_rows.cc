#include <algorithm>
#include <limits>

#include "storage/rollup/window_model.h"

namespace telltale::storage {
namespace {

// Makes the tables of a window: each string, mapping, frame and stack once, in order of first use.
class TableBuilder {
 public:
  explicit TableBuilder(v1::Tables* tables) : tables_(tables) {}

  uint32_t String(const std::string& text) {  // index + 1; 0: empty
    if (text.empty()) return 0;
    auto [it, fresh] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size() + 1));
    if (fresh) tables_->add_strings(text);
    return it->second;
  }
  uint32_t Frame(const Location& location) {  // index
    auto it = frames_.find(location);
    if (it != frames_.end()) return it->second;
    const uint32_t mapping = Mapping(location);
    const uint32_t index = static_cast<uint32_t>(frames_.size());
    frames_.emplace(location, index);
    tables_->add_frame_mapping(mapping);
    tables_->add_frame_offset(location.offset);
    return index;
  }
  uint32_t Stack(const PortableStack& stack) {  // index + 1
    auto it = stacks_.find(stack);
    if (it != stacks_.end()) return it->second;
    v1::Stack made;
    for (const Location& location : stack.kernel) made.add_kernel(Frame(location));
    for (const Location& location : stack.user) made.add_user(Frame(location));
    made.set_kernel_end(stack.kernel_end);
    made.set_user_end(stack.user_end);
    *tables_->add_stacks() = std::move(made);
    const uint32_t index = static_cast<uint32_t>(stacks_.size() + 1);
    stacks_.emplace(stack, index);
    return index;
  }
  uint64_t Value(const PortableValue& value) {
    if (const uint64_t* number = std::get_if<uint64_t>(&value)) return *number;
    if (const Location* location = std::get_if<Location>(&value)) return Frame(*location) + 1;
    if (const std::string* text = std::get_if<std::string>(&value)) return String(*text);
    return 0;
  }

 private:
  uint32_t Mapping(const Location& location) {  // index + 1; 0: none
    if (location.kind == v1::MAPPING_KIND_UNSPECIFIED) return 0;
    Location key = location;
    key.offset = 0;
    auto [it, fresh] = mappings_.try_emplace(key, static_cast<uint32_t>(mappings_.size() + 1));
    if (fresh) {
      v1::Mapping* mapping = tables_->add_mappings();
      mapping->set_kind(location.kind);
      mapping->set_build_id(location.build_id);
      mapping->set_path(String(location.path));
    }
    return it->second;
  }

  v1::Tables* const tables_;
  std::map<std::string, uint32_t> strings_;
  std::map<Location, uint32_t> mappings_;  // offset 0
  std::map<Location, uint32_t> frames_;
  std::map<PortableStack, uint32_t> stacks_;
};

void WriteSub(const SubModel& model, v1::SubTotals* sub) {
  sub->set_events(model.events);
  sub->set_weight(model.weight);
  sub->set_second_min(model.second_min == UINT64_MAX ? 0 : model.second_min);
  sub->set_second_max(model.second_max);
  for (size_t i = 0; i < model.seconds.bucket.size(); ++i) {
    sub->add_bucket(model.seconds.bucket[i]);
    sub->add_count(model.seconds.count[i]);
  }
}

void WriteExemplar(const PortableExemplar& exemplar, TableBuilder& tables,
                   v1::RollupExemplar* out) {
  out->set_epoch_start_ns(exemplar.epoch_start_ns);
  out->set_epoch_sequence(exemplar.epoch_sequence);
  if (exemplar.has_stack) out->set_stack(tables.Stack(exemplar.stack));
  *out->mutable_sample() = exemplar.numbers;
  out->mutable_sample()->set_comm(tables.String(exemplar.comm));
  out->mutable_sample()->set_cgroup(tables.String(exemplar.cgroup));
  for (const PortableValue& value : exemplar.detail) {
    out->mutable_sample()->add_detail(tables.Value(value));
  }
}

void WriteGroups(const std::array<GroupModel, kGroupings>& groups, TableBuilder& tables,
                 google::protobuf::RepeatedPtrField<v1::GroupTable>* out) {
  for (int by = 0; by < kGroupings; ++by) {
    const GroupModel& group = groups[by];
    v1::GroupTable* table = out->Add();
    table->set_by(static_cast<v1::GroupBy>(by + 1));
    for (const sketch::LabelWeight& weight : group.list.labels) {
      v1::GroupRow* row = table->add_rows();
      auto text = group.text.find(weight.id);
      row->set_key(by == kByUid               ? static_cast<uint32_t>(weight.id)
                   : text == group.text.end() ? 0
                                              : tables.String(text->second));
      row->set_low(weight.low);
      row->set_high(weight.high);
      row->set_events(weight.samples);
    }
    table->set_total(group.list.total);
    table->set_threshold(group.list.threshold);
    table->set_other_events(group.list.other_samples);
    table->set_estimated(group.estimated);
  }
}

void WriteVital(const VitalModel& model, TableBuilder& tables, v1::RollupVital* out) {
  size_t place = 0;
  for (const sketch::LabelWeight& weight : model.labels.labels) {
    auto it = model.facts.find(weight.id);
    if (it == model.facts.end()) continue;
    const LabelFacts& facts = it->second;
    v1::RollupLabel* label = out->add_labels();
    label->set_exe(tables.String(facts.label.exe));
    label->set_uid(facts.label.uid);
    for (const PortableValue& value : facts.label.values) label->add_label(tables.Value(value));
    label->set_sub(facts.sub);
    label->set_irq(facts.label.irq);
    label->set_low(weight.low);
    label->set_high(weight.high);
    label->set_samples(weight.samples);
    label->set_estimate(weight.estimate);
    label->set_sub_samples(facts.sub_samples);
    if (place++ < kExemplarLabels && facts.exemplar.has_value()) {
      WriteExemplar(*facts.exemplar, tables, label->mutable_exemplar());
    }
  }
  out->set_total(model.labels.total);
  out->set_threshold(model.labels.threshold);
  out->set_other_samples(model.labels.other_samples);
  if (model.has_groups) WriteGroups(model.groups, tables, out->mutable_groups());
}

void WriteLosses(const std::map<int, v1::Loss>& losses,
                 google::protobuf::RepeatedPtrField<v1::Loss>* out) {
  for (const auto& [reason, loss] : losses) {
    if (loss.events() != 0 || loss.weight() != 0) *out->Add() = loss;
  }
}

}  // namespace

WindowRows ToRows(const WindowModel& model) {
  WindowRows rows;
  v1::RollupWindow& window = rows.window;
  TableBuilder tables(window.mutable_tables());
  window.set_watched_ns(model.watched_ns);
  window.set_covered_ns(model.covered_ns);
  window.set_epochs(model.epochs);
  window.set_partial_epochs(model.partial_epochs);
  window.set_schema_id(model.schema_id);
  window.set_latest_ns(model.latest_ns);
  for (const auto& [id, vital] : model.vitals) {
    v1::VitalTotals* totals = window.add_vitals();
    totals->set_id(id);
    totals->set_state(vital.state);
    totals->set_quantum(vital.quantum);
    for (const SubModel& sub : vital.subs) WriteSub(sub, totals->add_subs());
    WriteLosses(vital.losses, totals->mutable_losses());
    if (vital.subs.empty())
      continue;  // unavailable throughout: there is nothing to say about labels
    rows.vitals.emplace_back(static_cast<uint8_t>(id), v1::RollupVital());
    WriteVital(vital, tables, &rows.vitals.back().second);
  }
  for (const auto& [key, histogram] : model.histograms) {
    const auto& [layer, operation, subject_kind, subject] = key;
    v1::Histogram* out = window.add_histograms();
    out->set_layer(static_cast<v1::Layer>(layer));
    out->set_operation(operation);
    out->set_subject_kind(static_cast<v1::SubjectKind>(subject_kind));
    out->set_subject(tables.String(subject));
    out->set_r(histogram.values.r);
    out->set_unit(histogram.unit);
    for (size_t i = 0; i < histogram.values.bucket.size(); ++i) {
      out->add_bucket(histogram.values.bucket[i]);
      out->add_count(histogram.values.count[i]);
    }
    out->set_sum(histogram.values.sum);
    out->set_entries(histogram.entries);
    out->set_exits(histogram.exits);
    if (model.covered_ns != 0) {
      out->set_share_ppm(static_cast<uint32_t>(histogram.share_time / model.covered_ns));
    }
  }
  window.set_histograms_dropped(model.histograms_dropped);
  WriteLosses(model.losses, window.mutable_losses());
  if (model.has_run_time) WriteGroups(model.run_time, tables, window.mutable_run_time());
  for (const UnreadableTime& time : model.unreadable) {
    v1::UnreadablePart* part = window.add_unreadable();
    part->set_start_ns(time.start_ns);
    part->set_end_ns(time.end_ns);
    part->set_rows(time.rows);
  }
  return rows;
}

}  // namespace telltale::storage
