#include "tests/support/rollup_oracle.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <variant>

#include "storage/rollup/portable.h"
#include "tests/support/rollup_bounds.h"
#include "tests/support/rollup_child.h"

namespace telltale::testing {
namespace {

using oracle::Child;
using oracle::ChildOf;
using oracle::Groups;
using oracle::InOrder;
using oracle::Label;
using oracle::Listed;
using oracle::MergeBounds;
using oracle::VitalChild;
using storage::Location;
using storage::PortableStack;
using storage::PortableValue;
using storage::TableView;

// Tables in order of first use.
class Tables {
 public:
  explicit Tables(v1::Tables* out) : out_(out) {}
  uint32_t Text(const std::string& text) {
    if (text.empty()) return 0;
    for (int i = 0; i < out_->strings_size(); ++i) {
      if (out_->strings(i) == text) return static_cast<uint32_t>(i + 1);
    }
    out_->add_strings(text);
    return static_cast<uint32_t>(out_->strings_size());
  }
  uint32_t Frame(const Location& place) {
    uint32_t mapping = 0;
    if (place.kind != v1::MAPPING_KIND_UNSPECIFIED) {
      for (int i = 0; i < out_->mappings_size() && mapping == 0; ++i) {
        const v1::Mapping& known = out_->mappings(i);
        if (known.kind() == place.kind && known.build_id() == place.build_id &&
            TableView(*out_).String(known.path()) == place.path) {
          mapping = static_cast<uint32_t>(i + 1);
        }
      }
    }
    if (place.kind != v1::MAPPING_KIND_UNSPECIFIED && mapping == 0) {
      v1::Mapping* made = out_->add_mappings();
      made->set_kind(place.kind);
      made->set_build_id(place.build_id);
      made->set_path(Text(place.path));
      mapping = static_cast<uint32_t>(out_->mappings_size());
    }
    for (int i = 0; i < out_->frame_mapping_size(); ++i) {
      if (out_->frame_mapping(i) == mapping && out_->frame_offset(i) == place.offset) {
        return static_cast<uint32_t>(i);
      }
    }
    out_->add_frame_mapping(mapping);
    out_->add_frame_offset(place.offset);
    return static_cast<uint32_t>(out_->frame_mapping_size() - 1);
  }
  uint32_t Stack(const PortableStack& stack) {
    v1::Stack made;
    for (const Location& place : stack.kernel) made.add_kernel(Frame(place));
    for (const Location& place : stack.user) made.add_user(Frame(place));
    made.set_kernel_end(stack.kernel_end);
    made.set_user_end(stack.user_end);
    for (int i = 0; i < out_->stacks_size(); ++i) {
      if (out_->stacks(i).SerializeAsString() == made.SerializeAsString()) {
        return static_cast<uint32_t>(i + 1);
      }
    }
    *out_->add_stacks() = made;
    return static_cast<uint32_t>(out_->stacks_size());
  }
  uint64_t Value(const PortableValue& value) {
    if (std::holds_alternative<uint64_t>(value)) return std::get<uint64_t>(value);
    if (std::holds_alternative<Location>(value)) return Frame(std::get<Location>(value)) + 1;
    if (std::holds_alternative<std::string>(value)) return Text(std::get<std::string>(value));
    return 0;
  }

 private:
  v1::Tables* out_;
};

void WriteGroups(const std::vector<const Groups*>& children, Tables& tables,
                 google::protobuf::RepeatedPtrField<v1::GroupTable>* out) {
  if (children.empty()) return;
  for (int by = 0; by < 3; ++by) {
    std::vector<Listed> lists;
    std::map<uint64_t, std::string> text;
    bool estimated = false;
    for (const Groups* child : children) {
      lists.push_back(child->list[by]);
      text.insert(child->text[by].begin(), child->text[by].end());
      estimated |= child->estimated;
    }
    const Listed merged = MergeBounds(lists, 32);
    v1::GroupTable* table = out->Add();
    table->set_by(static_cast<v1::GroupBy>(by + 1));
    for (uint64_t id : InOrder(merged)) {
      v1::GroupRow* row = table->add_rows();
      row->set_key(by == 1 ? static_cast<uint32_t>(id) : tables.Text(text[id]));
      row->set_low(merged.rows.at(id).low);
      row->set_high(merged.rows.at(id).high);
      row->set_events(merged.rows.at(id).count);
    }
    table->set_total(merged.total);
    table->set_threshold(merged.threshold);
    table->set_other_events(merged.other);
    table->set_estimated(estimated);
  }
}

void AddLosses(const google::protobuf::RepeatedPtrField<v1::Loss>& losses,
               std::map<int, v1::Loss>* sums) {
  for (const v1::Loss& loss : losses) {
    v1::Loss& sum = (*sums)[loss.reason()];
    sum.set_reason(loss.reason());
    sum.set_events(sum.events() + loss.events());
    sum.set_weight(sum.weight() + loss.weight());
  }
}

void WriteLosses(const std::map<int, v1::Loss>& sums,
                 google::protobuf::RepeatedPtrField<v1::Loss>* out) {
  for (const auto& [reason, loss] : sums) {
    if (loss.events() + loss.weight() != 0) *out->Add() = loss;
  }
}

void MergeVital(const std::vector<const VitalChild*>& children, Tables& tables,
                v1::VitalTotals* totals, v1::RollupVital* out) {
  std::map<int, v1::Loss> losses;
  std::vector<Listed> lists;
  std::vector<const Groups*> groups;
  for (const VitalChild* child : children) {
    totals->set_id(child->totals.id());
    totals->set_state(std::max(totals->state(), child->totals.state()));
    if (child->totals.quantum() != 0) totals->set_quantum(child->totals.quantum());
    AddLosses(child->totals.losses(), &losses);
    lists.push_back(child->labels);
    if (child->groups.has_value()) groups.push_back(&*child->groups);
    for (int i = 0; i < child->totals.subs_size(); ++i) {
      const v1::SubTotals& from = child->totals.subs(i);
      if (i >= totals->subs_size()) totals->add_subs();
      v1::SubTotals* into = totals->mutable_subs(i);
      into->set_events(into->events() + from.events());
      into->set_weight(into->weight() + from.weight());
      if (from.bucket_size() != 0) {
        into->set_second_min(into->bucket_size() == 0
                                 ? from.second_min()
                                 : std::min(into->second_min(), from.second_min()));
      }
      into->set_second_max(std::max(into->second_max(), from.second_max()));
      std::map<uint32_t, uint64_t> counts;
      for (int b = 0; b < into->bucket_size(); ++b) counts[into->bucket(b)] += into->count(b);
      for (int b = 0; b < from.bucket_size(); ++b) counts[from.bucket(b)] += from.count(b);
      into->clear_bucket();
      into->clear_count();
      for (const auto& [b, n] : counts) {
        into->add_bucket(b);
        into->add_count(n);
      }
    }
  }
  WriteLosses(losses, totals->mutable_losses());
  if (totals->subs_size() == 0) return;
  const Listed merged = MergeBounds(lists, 24);
  int place = 0;
  for (uint64_t id : InOrder(merged)) {
    Label best;
    bool found = false;
    for (const VitalChild* child : children) {
      auto it = child->facts.find(id);
      if (it == child->facts.end()) continue;
      const Label& one = it->second;
      if (!found) {
        best = one;
        found = true;
        continue;
      }
      if (one.sub_samples > best.sub_samples ||
          (one.sub_samples == best.sub_samples && one.sub < best.sub)) {
        best.sub = one.sub;
        best.sub_samples = one.sub_samples;
      }
      if (one.exemplar.has_value() &&
          (!best.exemplar.has_value() || one.exemplar->digest < best.exemplar->digest)) {
        best.exemplar = one.exemplar;
      }
    }
    v1::RollupLabel* row = out->add_labels();
    row->set_exe(tables.Text(best.label.exe));
    row->set_uid(best.label.uid);
    for (const PortableValue& value : best.label.values) row->add_label(tables.Value(value));
    row->set_sub(best.sub);
    row->set_sub_samples(best.sub_samples);
    row->set_irq(best.label.irq);
    row->set_low(merged.rows.at(id).low);
    row->set_high(merged.rows.at(id).high);
    row->set_samples(merged.rows.at(id).count);
    row->set_estimate(merged.rows.at(id).estimate);
    if (place++ >= 8 || !best.exemplar.has_value()) continue;
    v1::RollupExemplar* exemplar = row->mutable_exemplar();
    *exemplar = best.exemplar->message;
    exemplar->clear_stack();
    if (best.exemplar->stack.has_value()) {
      exemplar->set_stack(tables.Stack(*best.exemplar->stack));
    }
    exemplar->mutable_sample()->set_comm(tables.Text(best.exemplar->comm));
    exemplar->mutable_sample()->set_cgroup(tables.Text(best.exemplar->cgroup));
    exemplar->mutable_sample()->clear_detail();
    for (const PortableValue& value : best.exemplar->detail) {
      exemplar->mutable_sample()->add_detail(tables.Value(value));
    }
  }
  out->set_total(merged.total);
  out->set_threshold(merged.threshold);
  out->set_other_samples(merged.other);
  WriteGroups(groups, tables, out->mutable_groups());
}

OracleWindow Merge(const std::vector<Child>& children) {
  OracleWindow out;
  v1::RollupWindow& window = out.window;
  std::map<uint32_t, std::vector<const VitalChild*>> vitals;
  std::map<int, v1::Loss> losses;
  std::vector<const Groups*> run_time;
  using Key = std::tuple<int, std::string, int, std::string>;
  struct Sum {
    v1::Histogram message;
    std::map<uint32_t, uint64_t> counts;
    unsigned __int128 share_time = 0;
  };
  std::map<Key, Sum> histograms;
  for (const Child& child : children) {
    window.set_watched_ns(window.watched_ns() + child.window.watched_ns());
    window.set_covered_ns(window.covered_ns() + child.window.covered_ns());
    window.set_epochs(window.epochs() + child.window.epochs());
    window.set_partial_epochs(window.partial_epochs() + child.window.partial_epochs());
    window.set_latest_ns(std::max(window.latest_ns(), child.start_ns));
    window.set_schema_id(child.window.schema_id());
    AddLosses(child.window.losses(), &losses);
    for (const auto& [id, vital] : child.vitals) vitals[id].push_back(&vital);
    if (child.run_time.has_value()) run_time.push_back(&*child.run_time);
    for (int i = 0; i < child.window.histograms_size(); ++i) {
      const v1::Histogram& from = child.window.histograms(i);
      Sum& sum = histograms[{from.layer(), from.operation(), from.subject_kind(),
                             child.subjects[static_cast<size_t>(i)]}];
      sum.message.set_r(from.r());
      sum.message.set_unit(from.unit());
      sum.message.set_sum(sum.message.sum() + from.sum());
      sum.message.set_entries(sum.message.entries() + from.entries());
      sum.message.set_exits(sum.message.exits() + from.exits());
      for (int b = 0; b < from.bucket_size(); ++b) sum.counts[from.bucket(b)] += from.count(b);
      sum.share_time +=
          static_cast<unsigned __int128>(from.share_ppm()) * child.window.covered_ns();
    }
  }
  Tables tables(window.mutable_tables());
  for (const auto& [id, of_vital] : vitals) {
    v1::RollupVital rows;
    v1::VitalTotals* totals = window.add_vitals();
    MergeVital(of_vital, tables, totals, &rows);
    if (totals->subs_size() != 0) out.vitals[id] = std::move(rows);
  }
  for (auto& [key, sum] : histograms) {
    v1::Histogram* histogram = window.add_histograms();
    *histogram = sum.message;
    histogram->set_layer(static_cast<v1::Layer>(std::get<0>(key)));
    histogram->set_operation(std::get<1>(key));
    histogram->set_subject_kind(static_cast<v1::SubjectKind>(std::get<2>(key)));
    histogram->set_subject(tables.Text(std::get<3>(key)));
    for (const auto& [b, n] : sum.counts) {
      histogram->add_bucket(b);
      histogram->add_count(n);
    }
    histogram->set_share_ppm(static_cast<uint32_t>(sum.share_time / window.covered_ns()));
  }
  WriteLosses(losses, window.mutable_losses());
  WriteGroups(run_time, tables, window.mutable_run_time());
  return out;
}

}  // namespace

OracleWindow RollUpEpochs(const std::vector<OracleEpoch>& epochs, const v1::Schema& schema) {
  std::vector<Child> children;
  for (const OracleEpoch& epoch : epochs) children.push_back(ChildOf(epoch, schema));
  return Merge(children);
}

OracleWindow RollUpWindows(const std::vector<OracleWindow>& windows, const v1::Schema& schema) {
  std::vector<Child> children;
  for (const OracleWindow& window : windows) children.push_back(ChildOf(window, schema));
  return Merge(children);
}

v1::SeriesBlock SeriesOf(uint64_t hour_start_ns, const std::vector<OracleEpoch>& epochs) {
  v1::SeriesBlock block;
  std::map<uint32_t, std::map<size_t, const v1::SubSeries*>> subs;
  int32_t before = 0;
  for (size_t i = 0; i < epochs.size(); ++i) {
    const v1::SummaryBody& body = epochs[i].body;
    const auto start = static_cast<int32_t>(std::llround(
        (static_cast<double>(body.epoch().start_unix_ns()) - static_cast<double>(hour_start_ns)) /
        1e6));
    block.add_start_ms(start - before);
    before = start;
    block.add_length_ms(static_cast<uint32_t>(
        (body.epoch().end_mono_ns() - body.epoch().start_mono_ns()) / 1'000'000));
    block.add_watched_ms(static_cast<uint32_t>(body.epoch().watched_ns() / 1'000'000));
    block.add_kind(body.epoch().kind());
    block.add_load1_centi(body.gauges().load1_centi());
    block.add_memory_available_bytes(body.gauges().memory_available_bytes());
    block.add_agent_cpu_ns(body.gauges().agent_cpu_ns());
    for (const v1::Vital& vital : body.vitals()) {
      for (int sub = 0; sub < vital.subs_size(); ++sub) {
        subs[vital.id() * 256 + static_cast<uint32_t>(sub)][i] = &vital.subs(sub);
      }
    }
  }
  for (const auto& [sub, of_sub] : subs) {
    block.add_sub(sub);
    for (size_t i = 0; i < epochs.size(); ++i) {
      auto it = of_sub.find(i);
      if (it == of_sub.end()) {
        block.add_absent(static_cast<uint32_t>(block.events_size()));
        block.add_events(0);
        block.add_weight(0);
        block.add_second_min(0);
        block.add_second_max(0);
        continue;
      }
      uint64_t least = UINT64_MAX, most = 0;
      for (uint64_t weight : it->second->second_weight()) {
        least = std::min(least, weight);
        most = std::max(most, weight);
      }
      block.add_events(it->second->events());
      block.add_weight(it->second->weight());
      block.add_second_min(least == UINT64_MAX ? 0 : least);
      block.add_second_max(most);
    }
  }
  return block;
}

}  // namespace telltale::testing
