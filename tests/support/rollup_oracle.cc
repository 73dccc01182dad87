#include "tests/support/rollup_oracle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "storage/rollup/portable.h"

namespace telltale::testing {
namespace {

using storage::ExactId;
using storage::ExemplarDigest;
using storage::Location;
using storage::PortableLabel;
using storage::PortableStack;
using storage::PortableValue;
using storage::TableView;

// ---- merging bounds, the plain way ----

struct Bound {
  uint64_t low = 0, high = 0, count = 0, estimate = 0;
};
struct Listed {
  std::map<uint64_t, Bound> rows;
  uint64_t total = 0, threshold = 0, other = 0;
};

uint64_t Minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

Listed MergeBounds(const std::vector<Listed>& children, size_t keep) {
  Listed merged;
  std::set<uint64_t> ids;
  uint64_t thresholds = 0;
  uint64_t lows = 0;
  for (const Listed& child : children) {
    merged.total += child.total;
    merged.other += child.other;
    thresholds += std::min(child.threshold, child.total);
    for (const auto& [id, bound] : child.rows) {
      ids.insert(id);
      lows += bound.low;
    }
  }
  for (uint64_t id : ids) {
    Bound sum;
    for (const Listed& child : children) {
      auto it = child.rows.find(id);
      if (it == child.rows.end()) {
        sum.high += std::min(child.threshold, child.total);
      } else {
        sum.low += it->second.low;
        sum.high += std::min(it->second.high, child.total);
        sum.count += it->second.count;
        sum.estimate += it->second.estimate;
      }
    }
    sum.high = std::max(sum.low, std::min(sum.high, Minus(merged.total, lows - sum.low)));
    merged.rows[id] = sum;
  }
  merged.threshold = std::min(thresholds, Minus(merged.total, lows));
  while (merged.rows.size() > keep) {  // put away the least low, of equals the larger id
    auto least = merged.rows.begin();
    for (auto it = merged.rows.begin(); it != merged.rows.end(); ++it) {
      if (it->second.low <= least->second.low) least = it;
    }
    merged.threshold = std::max(merged.threshold, least->second.high);
    merged.other += least->second.count;
    merged.rows.erase(least);
  }
  return merged;
}

std::vector<uint64_t> InOrder(const Listed& list) {
  std::vector<uint64_t> ids;
  for (const auto& [id, bound] : list.rows) ids.push_back(id);
  std::stable_sort(ids.begin(), ids.end(), [&](uint64_t a, uint64_t b) {
    return list.rows.at(a).low > list.rows.at(b).low;
  });
  return ids;
}

// ---- a window without tables ----

struct Exemplar {
  uint64_t digest = 0;
  v1::RollupExemplar message;  // its indexes are not used
  std::optional<PortableStack> stack;
  std::string comm, cgroup;
  std::vector<PortableValue> detail;
};
struct Label {
  PortableLabel label;
  uint32_t sub = 0;
  uint64_t sub_samples = 0;
  std::optional<Exemplar> exemplar;
};
struct Groups {
  Listed list[3];
  std::map<uint64_t, std::string> text[3];
  bool estimated = false;
};
struct VitalChild {
  v1::VitalTotals totals;
  Listed labels;
  std::map<uint64_t, Label> facts;
  std::optional<Groups> groups;
};
struct Child {
  uint64_t start_ns = 0;
  v1::RollupWindow window;  // times, epochs, losses, histograms with text in `subjects`
  std::vector<std::string> subjects;
  std::map<uint32_t, VitalChild> vitals;
  std::optional<Groups> run_time;
};

// floor(4 * log2(v)), by trying: 2^b <= v^4.
uint32_t QuarterOctave(uint64_t v) {
  uint32_t bucket = 0;
  const long double exact = v < 2 ? 0 : 4 * std::log2(static_cast<long double>(v));
  bucket = static_cast<uint32_t>(exact);
  const unsigned whole = bucket / 4;
  if (bucket % 4 == 0 && v >= 2 && (v & (v - 1)) != 0 && v < (uint64_t{1} << whole)) --bucket;
  return bucket;
}

void AddSeconds(const v1::SubSeries& sub, v1::SubTotals* totals) {
  std::map<uint32_t, uint64_t> counts;
  uint64_t least = UINT64_MAX;
  for (uint64_t weight : sub.second_weight()) {
    least = std::min(least, weight);
    totals->set_second_max(std::max(totals->second_max(), weight));
    ++counts[QuarterOctave(weight)];
  }
  if (!counts.empty()) totals->set_second_min(least);
  for (const auto& [bucket, count] : counts) {
    totals->add_bucket(bucket);
    totals->add_count(count);
  }
}

Groups GroupsOf(
    const v1::ProcessTable& table, const TableView& tables,
    const std::function<int(uint32_t)>& kind_of) {  // column -> 1 weight, 2 events, 0 neither
  Groups groups;
  for (uint32_t column : table.estimated()) groups.estimated |= kind_of(column) == 1;
  const auto add = [&](const v1::ProcessRow& row, uint64_t* weight, uint64_t* events) {
    for (int i = 0; i < row.values_size(); ++i) {
      const int kind = kind_of(table.columns(i));
      if (kind == 1) *weight += row.values(i);
      if (kind == 2) *events += row.values(i);
    }
  };
  uint64_t other_weight = 0, other_events = 0;
  add(table.other(), &other_weight, &other_events);
  for (int by = 0; by < 3; ++by) {
    Listed& list = groups.list[by];
    for (const v1::ProcessRow& row : table.rows()) {
      std::string text = by == 2 ? tables.String(row.cgroup()) : tables.String(row.exe());
      if (by == 0 && row.irq()) text = "[irq]";
      if (by == 0 && !row.irq() && row.exe() == 0) text = "[" + tables.String(row.comm()) + "]";
      const uint64_t id = by == 1 ? row.uid() : storage::DigestText(text);
      if (by != 1) groups.text[by][id] = text;
      uint64_t weight = 0;
      add(row, &weight, &list.rows[id].count);
      list.rows[id].low += weight;
      list.total += weight;
    }
    for (auto& [id, bound] : list.rows) bound.high = bound.low + other_weight;
    list.total += other_weight;
    list.threshold = other_weight;
    list.other = other_events;
  }
  return groups;
}

VitalChild VitalOf(const v1::Vital& vital, const v1::SummaryBody& body, uint64_t sequence,
                   const v1::VitalDescriptor& descriptor) {
  const TableView tables(body.tables());
  VitalChild child;
  child.totals.set_id(vital.id());
  child.totals.set_state(vital.state());
  child.totals.set_quantum(vital.quantum());
  *child.totals.mutable_losses() = vital.losses();
  for (const v1::SubSeries& sub : vital.subs()) {
    v1::SubTotals* totals = child.totals.add_subs();
    totals->set_events(sub.events());
    totals->set_weight(sub.weight());
    AddSeconds(sub, totals);
    child.labels.total += sub.weight();
  }
  uint64_t lows = 0;
  unsigned __int128 widths = 0;
  std::map<uint64_t, std::map<uint32_t, uint64_t>> subs;
  for (const v1::FoldedSample& sample : vital.samples()) {
    Label one;
    one.label.exe = tables.String(sample.exe());
    one.label.uid = sample.uid();
    one.label.irq = sample.irq();
    for (int i = 0; i < sample.label_size(); ++i) {
      one.label.values.push_back(tables.Value(descriptor.label(i), sample.label(i)));
    }
    const uint64_t id = ExactId(one.label);
    Bound& bound = child.labels.rows[id];
    bound.low = std::max(bound.low, sample.low());
    bound.high = std::max(bound.high, sample.high());
    bound.count += sample.samples();
    subs[id][sample.sub()] += sample.samples();
    Exemplar exemplar;
    exemplar.digest = ExemplarDigest(id, body.epoch().start_unix_ns(), sequence, sample.exemplar());
    exemplar.message.set_epoch_start_ns(body.epoch().start_unix_ns());
    exemplar.message.set_epoch_sequence(sequence);
    v1::Sample* kept = exemplar.message.mutable_sample();
    *kept = sample.exemplar();
    kept->clear_comm();
    kept->clear_cgroup();
    kept->clear_detail();
    kept->clear_ran_instead();
    kept->clear_waker();
    kept->clear_holder();
    exemplar.comm = tables.String(sample.exemplar().comm());
    exemplar.cgroup = tables.String(sample.exemplar().cgroup());
    for (int i = 0; i < sample.exemplar().detail_size(); ++i) {
      exemplar.detail.push_back(tables.Value(descriptor.detail(i), sample.exemplar().detail(i)));
    }
    if (sample.stack() != 0) exemplar.stack = tables.Stack(sample.stack());
    auto [it, fresh] = child.facts.try_emplace(id, one);
    if (fresh || exemplar.digest < it->second.exemplar->digest) {
      it->second.exemplar = exemplar;
    }
  }
  for (auto& [id, bound] : child.labels.rows) {
    lows += bound.low;
    widths += Minus(bound.high, bound.low);
    for (const auto& [sub, samples] : subs[id]) {
      if (samples > child.facts[id].sub_samples) {
        child.facts[id].sub = sub;
        child.facts[id].sub_samples = samples;
      }
    }
  }
  child.labels.threshold = Minus(child.labels.total, lows);
  for (auto& [id, bound] : child.labels.rows) {
    const unsigned __int128 width = Minus(bound.high, bound.low);
    const unsigned __int128 room = std::min<unsigned __int128>(child.labels.threshold, widths);
    bound.estimate = bound.low + (widths == 0 ? 0 : static_cast<uint64_t>(width * room / widths));
  }
  if (vital.sketch().layout() == v1::CELL_LAYOUT_VOTED) {
    child.labels.threshold = std::min(child.labels.threshold, vital.sketch().unlisted_high());
  } else if (vital.sketch().load_exponents_size() != 0) {
    const uint32_t e = vital.sketch().load_exponents(vital.sketch().load_exponents_size() - 1);
    child.labels.threshold =
        std::min<uint64_t>(child.labels.threshold, e >= 63 ? UINT64_MAX : (uint64_t{2} << e) - 1);
  }
  child.labels.other = vital.folded_away().samples();

  std::map<uint32_t, int> kinds;
  for (int sub = 0; sub < descriptor.subs_size(); ++sub) {
    if (descriptor.subs(sub).idle()) continue;
    const uint32_t column = 64 + vital.id() * 32 + static_cast<uint32_t>(sub) * 2;
    kinds[column] = 2;
    kinds[column + 1] = 1;
  }
  const auto kind_of = [&](uint32_t column) {
    auto it = kinds.find(column);
    return it == kinds.end() ? 0 : it->second;
  };
  bool any = false;
  for (uint32_t column : body.processes().columns()) any |= kind_of(column) == 1;
  if (any) child.groups = GroupsOf(body.processes(), tables, kind_of);
  return child;
}

Child ChildOf(const OracleEpoch& epoch, const v1::Schema& schema) {
  const v1::SummaryBody& body = epoch.body;
  const TableView tables(body.tables());
  Child child;
  child.start_ns = body.epoch().start_unix_ns();
  child.window.set_latest_ns(child.start_ns);
  child.window.set_watched_ns(body.epoch().watched_ns());
  child.window.set_covered_ns(body.epoch().end_mono_ns() - body.epoch().start_mono_ns());
  child.window.set_epochs(1);
  child.window.set_partial_epochs(body.epoch().kind() == v1::EPOCH_KIND_PARTIAL ? 1 : 0);
  child.window.set_schema_id(schema.id());
  *child.window.mutable_losses() = body.losses();
  for (const v1::Histogram& histogram : body.histograms()) {
    *child.window.add_histograms() = histogram;
    child.subjects.push_back(tables.String(histogram.subject()));
  }
  for (const v1::Vital& vital : body.vitals()) {
    for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
      if (descriptor.id() != vital.id()) continue;
      child.vitals[vital.id()] = VitalOf(vital, body, epoch.sequence, descriptor);
    }
  }
  const auto run = [](uint32_t column) { return column == v1::PROCESS_COLUMN_RUN_NS ? 1 : 0; };
  for (uint32_t column : body.processes().columns()) {
    if (run(column) == 1) child.run_time = GroupsOf(body.processes(), tables, run);
  }
  return child;
}

std::optional<Groups> StoredGroups(const google::protobuf::RepeatedPtrField<v1::GroupTable>& stored,
                                   const TableView& tables) {
  if (stored.empty()) return std::nullopt;
  Groups groups;
  for (const v1::GroupTable& table : stored) {
    const int by = table.by() - 1;
    Listed& list = groups.list[by];
    for (const v1::GroupRow& row : table.rows()) {
      const uint64_t id = by == 1 ? row.key() : storage::DigestText(tables.String(row.key()));
      if (by != 1) groups.text[by][id] = tables.String(row.key());
      list.rows[id] = {row.low(), row.high(), row.events()};
    }
    list.total = table.total();
    list.threshold = table.threshold();
    list.other = table.other_events();
    groups.estimated |= table.estimated();
  }
  return groups;
}

Child ChildOf(const OracleWindow& stored, const v1::Schema& schema) {
  const TableView tables(stored.window.tables());
  Child child;
  child.start_ns = stored.window.latest_ns();
  child.window = stored.window;
  for (const v1::Histogram& histogram : stored.window.histograms()) {
    child.subjects.push_back(tables.String(histogram.subject()));
  }
  for (const v1::VitalTotals& totals : stored.window.vitals()) {
    child.vitals[totals.id()].totals = totals;
  }
  for (const auto& [id, vital] : stored.vitals) {
    VitalChild& one = child.vitals[id];
    const v1::VitalDescriptor& descriptor = *storage::DescriptorOf(schema, id);
    for (const v1::RollupLabel& row : vital.labels()) {
      Label label;
      label.label.exe = tables.String(row.exe());
      label.label.uid = row.uid();
      label.label.irq = row.irq();
      for (int i = 0; i < row.label_size(); ++i) {
        label.label.values.push_back(tables.Value(descriptor.label(i), row.label(i)));
      }
      const uint64_t id_of_label = ExactId(label.label);
      one.labels.rows[id_of_label] = {row.low(), row.high(), row.samples(), row.estimate()};
      label.sub = row.sub();
      label.sub_samples = row.sub_samples();
      if (!row.has_exemplar()) {
        one.facts[id_of_label] = label;
        continue;
      }
      Exemplar exemplar;
      exemplar.message = row.exemplar();
      exemplar.digest = ExemplarDigest(id_of_label, row.exemplar().epoch_start_ns(),
                                       row.exemplar().epoch_sequence(), row.exemplar().sample());
      if (row.exemplar().stack() != 0) exemplar.stack = tables.Stack(row.exemplar().stack());
      exemplar.comm = tables.String(row.exemplar().sample().comm());
      exemplar.cgroup = tables.String(row.exemplar().sample().cgroup());
      for (int i = 0; i < row.exemplar().sample().detail_size(); ++i) {
        exemplar.detail.push_back(
            tables.Value(descriptor.detail(i), row.exemplar().sample().detail(i)));
      }
      label.exemplar = exemplar;
      one.facts[id_of_label] = label;
    }
    one.labels.total = vital.total();
    one.labels.threshold = vital.threshold();
    one.labels.other = vital.other_samples();
    one.groups = StoredGroups(vital.groups(), tables);
  }
  child.run_time = StoredGroups(stored.window.run_time(), tables);
  return child;
}

// ---- writing, with tables in order of first use ----

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
