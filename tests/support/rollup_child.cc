#include "tests/support/rollup_child.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace telltale::testing::oracle {
namespace {

using storage::ExactId;
using storage::ExemplarDigest;
using storage::TableView;

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

}  // namespace

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

}  // namespace telltale::testing::oracle
