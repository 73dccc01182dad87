#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sketch/saturating.h"
#include "sketch/sketch.h"
#include "storage/rollup/window_model.h"

namespace telltale::storage {
namespace {

using sketch::SaturatingAdd;

SubModel FromSub(const v1::SubSeries& sub, bool distribution) {
  SubModel model;
  model.events = sub.events();
  model.weight = sub.weight();
  if (!distribution) return model;
  std::vector<uint64_t> dense(sketch::BucketCount(kSecondsParts), 0);
  uint64_t sum = 0;
  for (uint64_t weight : sub.second_weight()) {
    model.second_min = std::min(model.second_min, weight);
    model.second_max = std::max(model.second_max, weight);
    ++dense[sketch::BucketOf(weight, kSecondsParts)];
    sum = SaturatingAdd(sum, weight);
  }
  model.seconds = sketch::Sparse(dense, kSecondsParts, sum);
  return model;
}

PortableExemplar MakeExemplar(const v1::FoldedSample& sample, const v1::VitalDescriptor* descriptor,
                              const TableView& tables, uint64_t digest, uint64_t epoch_start_ns,
                              uint64_t sequence) {
  PortableExemplar exemplar;
  exemplar.digest = digest;
  exemplar.epoch_start_ns = epoch_start_ns;
  exemplar.epoch_sequence = sequence;
  exemplar.has_stack = sample.stack() != 0;
  exemplar.stack = tables.Stack(sample.stack());
  exemplar.comm = tables.String(sample.exemplar().comm());
  exemplar.cgroup = tables.String(sample.exemplar().cgroup());
  exemplar.numbers = sample.exemplar();
  for (int i = 0; descriptor != nullptr && i < descriptor->detail_size() &&
                  i < sample.exemplar().detail_size();
       ++i) {
    exemplar.detail.push_back(tables.Value(descriptor->detail(i), sample.exemplar().detail(i)));
  }
  exemplar.numbers.clear_comm();
  exemplar.numbers.clear_cgroup();
  exemplar.numbers.clear_detail();
  exemplar.numbers.clear_ran_instead();
  exemplar.numbers.clear_waker();
  exemplar.numbers.clear_holder();
  return exemplar;
}

// One label may come as several entries (by sub-series and stack); its bounds stand in each of
// them.
void FillLabels(const v1::Vital& vital, const v1::VitalDescriptor* descriptor,
                const TableView& tables, uint64_t epoch_start_ns, uint64_t sequence,
                const ModelParts& parts, VitalModel* model) {
  struct Entry {
    uint64_t id = 0;
    const v1::FoldedSample* sample = nullptr;
  };
  std::vector<Entry> entries;
  entries.reserve(static_cast<size_t>(vital.samples_size()));
  for (const v1::FoldedSample& sample : vital.samples()) {
    entries.push_back({ExactId(LabelViewOf(sample, descriptor, tables)), &sample});
  }
  std::ranges::stable_sort(entries, {}, &Entry::id);
  uint64_t lows = 0;
  std::vector<std::pair<uint32_t, uint64_t>> samples_of;  // by sub-series, of one label
  for (auto entry = entries.begin(); entry != entries.end();) {
    sketch::LabelWeight& weight = model->labels.labels.emplace_back();
    weight.id = entry->id;
    const v1::FoldedSample* exemplar = nullptr;
    uint64_t digest = 0;
    samples_of.clear();
    for (; entry != entries.end() && entry->id == weight.id; ++entry) {
      const v1::FoldedSample& sample = *entry->sample;
      weight.low = std::max(weight.low, sample.low());
      weight.high = std::max(weight.high, sample.high());
      weight.samples = SaturatingAdd(weight.samples, sample.samples());
      auto of_sub =
          std::ranges::find(samples_of, sample.sub(), &std::pair<uint32_t, uint64_t>::first);
      if (of_sub == samples_of.end()) of_sub = samples_of.insert(of_sub, {sample.sub(), 0});
      of_sub->second = SaturatingAdd(of_sub->second, sample.samples());
      const uint64_t own = ExemplarDigest(weight.id, epoch_start_ns, sequence, sample.exemplar());
      if (exemplar == nullptr || own < digest) {
        exemplar = &sample;
        digest = own;
      }
    }
    lows = SaturatingAdd(lows, weight.low);
    if (parts.facts && !parts.facts(vital.id(), weight.id, digest)) continue;
    LabelFacts& facts = model->facts[weight.id];
    facts.label = LabelOf(*exemplar, descriptor, tables);
    if (parts.distributions) facts.stable_id = StableId(facts.label, descriptor);
    std::ranges::sort(samples_of);
    for (const auto& [sub, samples] : samples_of) {
      if (samples > facts.sub_samples) {
        facts.sub = sub;
        facts.sub_samples = samples;
      }
    }
    if (parts.exemplar && !parts.exemplar(vital.id(), weight.id, digest)) continue;
    facts.exemplar = MakeExemplar(*exemplar, descriptor, tables, digest, epoch_start_ns, sequence);
  }
  sketch::DivideTotal(model->labels);
  model->labels.threshold = EpochThreshold(vital, model->labels.total, lows);
  model->labels.other_samples = vital.folded_away().samples();
}

// Which columns of the process table add up to a group's weight and events.
struct Columns {
  std::vector<int> weight;
  std::vector<int> events;
  bool estimated = false;
};

std::string ExeName(const v1::ProcessRow& row, const TableView& tables) {
  if (row.irq()) return "[irq]";
  if (row.exe() != 0) return tables.String(row.exe());
  return absl::StrCat("[", tables.String(row.comm()), "]");
}

// What each row of a process table is grouped by: the same for all vitals. Made when first asked
// for.
struct RowGroups {
  std::array<std::vector<uint64_t>, kGroupings> id;
  std::array<std::vector<std::string>, kGroupings> text;  // none by uid

  void Make(const v1::ProcessTable& table, const TableView& tables) {
    if (!id[kByUid].empty()) return;
    for (const v1::ProcessRow& row : table.rows()) {
      id[kByUid].push_back(row.uid());
      text[kByExe].push_back(ExeName(row, tables));
      text[kByCgroup].push_back(tables.String(row.cgroup()));
      for (const GroupIndex by : {kByExe, kByCgroup}) id[by].push_back(DigestText(text[by].back()));
    }
  }
};

void FillGroups(const v1::ProcessTable& table, const Columns& columns, uint32_t vital,
                const TableView& tables, const ModelParts& parts, RowGroups& of_rows,
                std::array<GroupModel, kGroupings>* groups) {
  of_rows.Make(table, tables);
  const auto sum = [](const v1::ProcessRow& row, const std::vector<int>& places) {
    uint64_t total = 0;
    for (int place : places) {
      if (place < row.values_size()) total = SaturatingAdd(total, row.values(place));
    }
    return total;
  };
  const uint64_t other = sum(table.other(), columns.weight);
  for (int by = 0; by < kGroupings; ++by) {
    if (!parts.WantsGroups(by)) continue;
    GroupModel& group = (*groups)[by];
    group.estimated = columns.estimated;
    std::map<uint64_t, sketch::LabelWeight> sums;
    for (int i = 0; i < table.rows_size(); ++i) {
      const v1::ProcessRow& row = table.rows(i);
      const auto place = static_cast<size_t>(i);
      const uint64_t id = of_rows.id[by][place];
      if (by != kByUid && parts.WantsText(vital, static_cast<GroupIndex>(by), id)) {
        group.text.try_emplace(id, of_rows.text[by][place]);
      }
      sketch::LabelWeight& weight = sums[id];
      weight.id = id;
      weight.low = SaturatingAdd(weight.low, sum(row, columns.weight));
      weight.samples = SaturatingAdd(weight.samples, sum(row, columns.events));
    }
    for (auto& [id, weight] : sums) {
      group.list.total = SaturatingAdd(group.list.total, weight.low);
      weight.high = SaturatingAdd(weight.low, other);  // processes without a row may belong to it
      group.list.labels.push_back(weight);
    }
    group.list.total = SaturatingAdd(group.list.total, other);
    group.list.threshold = other;
    group.list.other_samples = sum(table.other(), columns.events);
  }
}

Columns VitalColumns(const v1::ProcessTable& table, const v1::VitalDescriptor& descriptor) {
  Columns columns;
  for (int sub = 0; sub < descriptor.subs_size(); ++sub) {
    if (descriptor.subs(sub).idle()) continue;
    const uint32_t events =
        v1::PROCESS_COLUMN_FIRST_VITAL + descriptor.id() * 32 + static_cast<uint32_t>(sub) * 2;
    for (int place = 0; place < table.columns_size(); ++place) {
      if (table.columns(place) == events) columns.events.push_back(place);
      if (table.columns(place) == events + 1) columns.weight.push_back(place);
    }
    for (uint32_t estimated : table.estimated()) {
      if (estimated == events + 1) columns.estimated = true;
    }
  }
  return columns;
}

void FillHistograms(const v1::SummaryBody& body, const TableView& tables, uint64_t length_ns,
                    WindowModel* model) {
  for (const v1::Histogram& histogram : body.histograms()) {
    if (!sketch::AllowedParts(histogram.r())) continue;
    HistogramModel one;
    one.unit = histogram.unit();
    one.values.r = histogram.r();
    one.values.bucket.assign(histogram.bucket().begin(), histogram.bucket().end());
    one.values.count.assign(histogram.count().begin(), histogram.count().end());
    one.values.sum = histogram.sum();
    one.entries = histogram.entries();
    one.exits = histogram.exits();
    one.share_time = static_cast<unsigned __int128>(histogram.share_ppm()) * length_ns;
    HistogramKey key{histogram.layer(), histogram.operation(), histogram.subject_kind(),
                     tables.String(histogram.subject())};
    auto [it, fresh] = model->histograms.try_emplace(std::move(key), std::move(one));
    if (fresh) continue;
    // A node that sends one key twice means their sum.
    HistogramModel& known = it->second;
    sketch::Merge(sketch::Histogram{histogram.r(),
                                    {histogram.bucket().begin(), histogram.bucket().end()},
                                    {histogram.count().begin(), histogram.count().end()},
                                    histogram.sum()},
                  known.values);
    known.entries = SaturatingAdd(known.entries, histogram.entries());
    known.exits = SaturatingAdd(known.exits, histogram.exits());
  }
}

void FillLosses(const google::protobuf::RepeatedPtrField<v1::Loss>& losses,
                std::map<int, v1::Loss>* into) {
  for (const v1::Loss& loss : losses) {
    v1::Loss& sum = (*into)[loss.reason()];
    sum.set_reason(loss.reason());
    sum.set_events(SaturatingAdd(sum.events(), loss.events()));
    sum.set_weight(SaturatingAdd(sum.weight(), loss.weight()));
  }
}

}  // namespace

uint64_t EpochThreshold(const v1::Vital& vital, uint64_t total, uint64_t lows) {
  const uint64_t unproven = sketch::FlooredSubtract(total, lows);
  if (vital.sketch().layout() == v1::CELL_LAYOUT_VOTED) {
    return std::min(vital.sketch().unlisted_high(), unproven);
  }
  const auto& exponents = vital.sketch().load_exponents();
  if (exponents.empty()) return unproven;
  return sketch::LargestCellBound({exponents.data(), static_cast<size_t>(exponents.size())},
                                  unproven);
}

WindowModel FromSummary(const v1::SummaryBody& body, const v1::Schema& schema,
                        const EpochSpan& span, uint64_t sequence, const ModelParts& parts) {
  WindowModel model;
  model.latest_ns = span.start_ns;
  model.watched_ns = span.watched_ns;
  model.covered_ns = span.end_ns - span.start_ns;
  model.epochs = 1;
  model.partial_epochs = span.partial ? 1 : 0;
  model.schema_id = schema.id();
  const TableView tables(body.tables());
  RowGroups of_rows;
  for (const v1::Vital& vital : body.vitals()) {
    if (vital.id() == 0 || vital.id() > UINT8_MAX || !parts.Wants(vital.id())) continue;
    const v1::VitalDescriptor* descriptor = DescriptorOf(schema, vital.id());
    VitalModel& one = model.vitals[vital.id()];
    one.state = vital.state();
    one.quantum = vital.quantum();
    for (const v1::SubSeries& sub : vital.subs()) {
      one.subs.push_back(FromSub(sub, parts.distributions));
      one.labels.total = SaturatingAdd(one.labels.total, sub.weight());
    }
    FillLosses(vital.losses(), &one.losses);
    FillLabels(vital, descriptor, tables, span.start_ns, sequence, parts, &one);
    if (descriptor == nullptr) continue;
    const Columns columns = VitalColumns(body.processes(), *descriptor);
    one.has_groups = !columns.weight.empty();
    if (one.has_groups) {
      FillGroups(body.processes(), columns, vital.id(), tables, parts, of_rows, &one.groups);
    }
  }
  if (parts.distributions) FillHistograms(body, tables, model.covered_ns, &model);
  FillLosses(body.losses(), &model.losses);
  if (!parts.run_time) return model;
  Columns run_time;
  for (int place = 0; place < body.processes().columns_size(); ++place) {
    if (body.processes().columns(place) == v1::PROCESS_COLUMN_RUN_NS) {
      run_time.weight.push_back(place);
    }
  }
  for (uint32_t estimated : body.processes().estimated()) {
    if (estimated == v1::PROCESS_COLUMN_RUN_NS) run_time.estimated = true;
  }
  model.has_run_time = !run_time.weight.empty();
  if (model.has_run_time) {
    FillGroups(body.processes(), run_time, 0, tables, parts, of_rows, &model.run_time);
  }
  return model;
}

}  // namespace telltale::storage
