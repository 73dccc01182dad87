#include <algorithm>
#include <optional>

#include "storage/rollup/window_model.h"

namespace telltale::storage {
namespace {

void ReadGroups(const google::protobuf::RepeatedPtrField<v1::GroupTable>& stored, uint32_t vital,
                const TableView& tables, const ModelParts& parts,
                std::array<GroupModel, kGroupings>* groups) {
  for (const v1::GroupTable& table : stored) {
    const int by = static_cast<int>(table.by()) - 1;
    if (by < 0 || by >= kGroupings || !parts.WantsGroups(by)) continue;
    GroupModel& group = (*groups)[by];
    group.list.labels.reserve(static_cast<size_t>(table.rows_size()));
    for (const v1::GroupRow& row : table.rows()) {
      uint64_t id = row.key();
      if (by != kByUid) {
        const std::string_view text = tables.Text(row.key());
        id = DigestText(text);
        if (parts.WantsText(vital, static_cast<GroupIndex>(by), id)) {
          group.text.emplace(id, text);
        }
      }
      group.list.labels.push_back({id, row.low(), row.high(), row.events()});
    }
    group.list.total = table.total();
    group.list.threshold = table.threshold();
    group.list.other_samples = table.other_events();
    group.estimated = table.estimated();
  }
}

SubModel ReadSub(const v1::SubTotals& sub, bool distribution) {
  SubModel model;
  model.events = sub.events();
  model.weight = sub.weight();
  if (!distribution) return model;
  if (sub.bucket_size() != 0) model.second_min = sub.second_min();
  model.second_max = sub.second_max();
  model.seconds.r = kSecondsParts;
  model.seconds.bucket.assign(sub.bucket().begin(), sub.bucket().end());
  model.seconds.count.assign(sub.count().begin(), sub.count().end());
  return model;
}

uint64_t DigestOf(const v1::RollupExemplar& stored, uint64_t exact_id) {
  return ExemplarDigest(exact_id, stored.epoch_start_ns(), stored.epoch_sequence(),
                        stored.sample());
}

PortableExemplar ReadExemplar(const v1::RollupExemplar& stored, uint64_t exact_id,
                              const v1::VitalDescriptor* descriptor, const TableView& tables) {
  PortableExemplar exemplar;
  exemplar.digest = DigestOf(stored, exact_id);
  exemplar.epoch_start_ns = stored.epoch_start_ns();
  exemplar.epoch_sequence = stored.epoch_sequence();
  exemplar.has_stack = stored.stack() != 0;
  exemplar.stack = tables.Stack(stored.stack());
  exemplar.comm = tables.String(stored.sample().comm());
  exemplar.cgroup = tables.String(stored.sample().cgroup());
  for (int i = 0; i < stored.sample().detail_size(); ++i) {
    const bool described = descriptor != nullptr && i < descriptor->detail_size();
    exemplar.detail.push_back(described
                                  ? tables.Value(descriptor->detail(i), stored.sample().detail(i))
                                  : PortableValue(uint64_t{stored.sample().detail(i)}));
  }
  exemplar.numbers = stored.sample();
  exemplar.numbers.clear_comm();
  exemplar.numbers.clear_cgroup();
  exemplar.numbers.clear_detail();
  return exemplar;
}

void ReadVital(const v1::RollupVital& stored, uint32_t vital, const v1::VitalDescriptor* descriptor,
               const TableView& tables, const ModelParts& parts, VitalModel* model) {
  model->labels.labels.reserve(static_cast<size_t>(stored.labels_size()));
  for (const v1::RollupLabel& row : stored.labels()) {
    const LabelView label = LabelViewOf(row, descriptor, tables);
    const uint64_t id = ExactId(label);
    // Windows that were written before estimates were kept have none: then what is proven.
    model->labels.labels.push_back(
        {id, row.low(), row.high(), row.samples(), std::max(row.estimate(), row.low())});
    if (parts.facts) {
      std::optional<uint64_t> digest;
      if (row.has_exemplar()) digest = DigestOf(row.exemplar(), id);
      if (!parts.facts(vital, id, digest)) continue;
    }
    LabelFacts facts;
    facts.label = Owned(label);
    if (parts.distributions) facts.stable_id = StableId(facts.label, descriptor);
    facts.sub = row.sub();
    facts.sub_samples = row.sub_samples();
    if (row.has_exemplar() &&
        (!parts.exemplar || parts.exemplar(vital, id, DigestOf(row.exemplar(), id)))) {
      facts.exemplar = ReadExemplar(row.exemplar(), id, descriptor, tables);
    }
    model->facts[id] = std::move(facts);
  }
  model->labels.total = stored.total();
  model->labels.threshold = stored.threshold();
  model->labels.other_samples = stored.other_samples();
  model->has_groups = stored.groups_size() != 0;
  ReadGroups(stored.groups(), vital, tables, parts, &model->groups);
}

}  // namespace

WindowModel FromRows(const v1::RollupWindow& window, const TableView& tables,
                     std::span<const std::pair<uint8_t, v1::RollupVital>> vitals,
                     const v1::Schema& schema, const ModelParts& parts) {
  WindowModel model;
  model.latest_ns = window.latest_ns();
  model.watched_ns = window.watched_ns();
  model.covered_ns = window.covered_ns();
  model.epochs = window.epochs();
  model.partial_epochs = window.partial_epochs();
  model.schema_id = window.schema_id();
  for (const v1::VitalTotals& totals : window.vitals()) {
    if (!parts.Wants(totals.id())) continue;
    VitalModel& vital = model.vitals[totals.id()];
    vital.state = totals.state();
    vital.quantum = totals.quantum();
    for (const v1::SubTotals& sub : totals.subs())
      vital.subs.push_back(ReadSub(sub, parts.distributions));
    for (const v1::Loss& loss : totals.losses()) vital.losses[loss.reason()] = loss;
  }
  for (const auto& [id, stored] : vitals) {
    if (!parts.Wants(id)) continue;
    ReadVital(stored, id, DescriptorOf(schema, id), tables, parts, &model.vitals[id]);
  }
  for (const v1::Histogram& stored : window.histograms()) {
    if (!parts.distributions) break;
    HistogramModel histogram;
    histogram.unit = stored.unit();
    histogram.values.r = stored.r();
    histogram.values.bucket.assign(stored.bucket().begin(), stored.bucket().end());
    histogram.values.count.assign(stored.count().begin(), stored.count().end());
    histogram.values.sum = stored.sum();
    histogram.entries = stored.entries();
    histogram.exits = stored.exits();
    histogram.share_time = static_cast<unsigned __int128>(stored.share_ppm()) * model.covered_ns;
    model.histograms[{stored.layer(), stored.operation(), stored.subject_kind(),
                      tables.String(stored.subject())}] = std::move(histogram);
  }
  model.histograms_dropped = window.histograms_dropped();
  for (const v1::Loss& loss : window.losses()) model.losses[loss.reason()] = loss;
  if (parts.run_time) {
    model.has_run_time = window.run_time_size() != 0;
    ReadGroups(window.run_time(), 0, tables, parts, &model.run_time);
  }
  for (const v1::UnreadablePart& part : window.unreadable()) {
    model.unreadable.push_back({part.start_ns(), part.end_ns(), part.rows()});
  }
  return model;
}

}  // namespace telltale::storage
