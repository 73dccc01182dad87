// One filter on one node, shown epochs that a test makes up as summaries: what the collector
// stores, through the view it makes of them.

#ifndef TELLTALE_TESTS_UNIT_FILTER_WATCH_H_
#define TELLTALE_TESTS_UNIT_FILTER_WATCH_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/epoch_view.h"
#include "collector/filter/telltale_filter.h"
#include "proto/codec.h"
#include "storage/keys.h"

namespace telltale::filter {

class Watch {
 public:
  static constexpr uint64_t kSecond = 1'000'000'000;
  struct Told {
    std::string vital, sub, subject, text, evidence, against, cause, cgroup, device, site, next;
    std::string facts;  // "waits: 96 1; holder: writer"
    uint64_t start_ns, end_ns;
    bool open;
    double value, expected, severity;
    uint64_t learned;
    bool operator==(const Told&) const = default;
  };

  // `scope`: the cgroup that is watched; empty: the whole host.
  explicit Watch(const telltale_filter* filter, std::vector<telltale_filter_option> options = {},
                 std::string scope = "")
      : filter_(filter), options_(std::move(options)), scope_(std::move(scope)) {
    host_.struct_size = sizeof host_;
    host_.abi = TELLTALE_FILTER_ABI;
    host_.context = this;
    host_.node = "a";
    host_.machine = "x86_64";
    host_.scope = scope_.c_str();
    host_.anomaly = [](void* context, const telltale_filter_anomaly* a) {
      const auto text = [](const char* of) { return std::string(of == nullptr ? "" : of); };
      // Whatever a filter says comes with what speaks for it, and against.
      EXPECT_NE(text(a->evidence), "") << a->text;
      EXPECT_NE(text(a->against), "") << a->text;
      Watch& self = *static_cast<Watch*>(context);
      EXPECT_TRUE(self.filter_->rule == 0 || !text(a->next).empty()) << a->text;
      EXPECT_TRUE(self.filter_->rule == 0 || a->open == 0 || a->fact_count > 0) << a->text;
      EXPECT_LE(a->fact_count, uint32_t{TELLTALE_FILTER_FACTS}) << a->text;
      self.told.push_back({a->vital, a->sub, text(a->subject), text(a->text), text(a->evidence),
                           text(a->against), text(a->cause), text(a->cgroup), text(a->device),
                           text(a->site), text(a->next), FactsText(*a), a->start_ns, a->end_ns,
                           a->open != 0, a->value, a->expected, a->severity, a->learned_epochs});
    };
    host_.point = [](void* context, const telltale_filter_point* point) {
      static_cast<Watch*>(context)
          ->points[std::string(point->series) + " " + point->vital + point->sub] = point->value;
    };
    host_.mark = [](void* context, const telltale_filter_mark* mark) {
      static_cast<Watch*>(context)->marks.push_back(mark->text);
    };
    host_.hour = [](void* context, uint64_t start_ns,
                    void (*show)(void*, const telltale_filter_epoch*), void* argument) {
      Watch& self = *static_cast<Watch*>(context);
      const auto hour = self.hours.find(start_ns);
      if (hour == self.hours.end()) return 1;
      show(argument, EpochView({&hour->second, &self.schema_}, start_ns, *self.filter_).get());
      return 0;
    };
    instance_ = filter_->create(&host_, options_.data(), static_cast<uint32_t>(options_.size()));
    Clear();
  }
  ~Watch() { filter_->destroy(instance_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A machine with hardware counters; before anything is said of an epoch.
  void CountMisses() {
    counts_misses_ = true;
    Clear();
  }
  // The next epoch: until Show all vitals are watched and count nothing.
  v1::Vital& Vital(const std::string& name) {
    const auto descriptor = std::ranges::find(schema_.vitals(), name, &v1::VitalDescriptor::name);
    return *std::ranges::find(*body.mutable_vitals(), descriptor->id(), &v1::Vital::id);
  }
  const v1::VitalDescriptor& Descriptor(const std::string& name) const {
    return *std::ranges::find(schema_.vitals(), name, &v1::VitalDescriptor::name);
  }
  int Sub(const std::string& vital, const std::string& sub) const {
    const auto& subs = Descriptor(vital).subs();
    return static_cast<int>(std::ranges::find(subs, sub, &v1::SubDescriptor::name) - subs.begin());
  }
  // Base units per second.
  void Rate(const std::string& vital, const std::string& sub, double rate) {
    const double unit = Descriptor(vital).unit() == v1::UNIT_NANOSECONDS ? 1e9 : 1;
    v1::SubSeries& series = *Vital(vital).mutable_subs(Sub(vital, sub));
    series.set_weight(static_cast<uint64_t>(std::max(rate, 0.0) * unit * length_s));
    series.set_events(series.weight() / 1000 + 1);
  }
  uint32_t Share(const std::string& vital, const std::string& sub, bool weight) const {
    return TELLTALE_PROCESS_SHARE(Descriptor(vital).id(), static_cast<uint32_t>(Sub(vital, sub)),
                                  weight);
  }
  // Columns are per second, what is a state at the cut as it is.
  void Process(uint32_t pid, const std::string& exe, const std::map<uint32_t, double>& columns) {
    v1::ProcessRow& row = *body.mutable_processes()->add_rows();
    row.set_pid(pid);
    row.set_exe(String(exe));
    row.set_comm(String(exe.substr(exe.rfind('/') + 1)));
    row.set_start_mono_ns(pid * kSecond);
    row.set_instances(1);
    for (const auto& [column, value] : columns) columns_.insert({column, 0});
    values_.push_back(columns);
  }
  // So many without a row, and what they did together.
  void Others(uint64_t processes, const std::map<uint32_t, double>& columns) {
    body.mutable_processes()->set_other_processes(processes);
    for (const auto& [column, value] : columns) columns_.insert({column, 0});
    others_ = columns;
  }
  v1::FoldedSample& Label(const std::string& vital, const std::string& sub, const std::string& exe,
                          double rate) {
    const double unit = Descriptor(vital).unit() == v1::UNIT_NANOSECONDS ? 1e9 : 1;
    v1::FoldedSample& sample = *Vital(vital).add_samples();
    sample.set_exe(String(exe));
    sample.set_sub(static_cast<uint32_t>(Sub(vital, sub)));
    sample.set_samples(3);
    sample.set_low(static_cast<uint64_t>(rate * unit * length_s));
    sample.set_high(sample.low() * 2);
    for (int i = 0; i < Descriptor(vital).label_size(); ++i) sample.add_label(0);
    for (int i = 0; i < Descriptor(vital).detail_size(); ++i) {
      sample.mutable_exemplar()->add_detail(0);
    }
    return sample;
  }
  void Exit(uint32_t pid, const std::string& exe, uint32_t code, uint32_t signal) {
    v1::DiscreteEvent& event = *body.add_events();
    event.set_type(v1::EVENT_TYPE_EXIT);
    event.set_pid(pid);
    event.set_exe(String(exe));
    event.set_exit_code(code);
    event.set_exit_signal(signal);
  }
  uint32_t String(const std::string& text) {
    auto& strings = *body.mutable_tables()->mutable_strings();
    const auto known = std::ranges::find(strings, text);
    if (known != strings.end()) return static_cast<uint32_t>(known - strings.begin()) + 1;
    *strings.Add() = text;
    return static_cast<uint32_t>(strings.size());
  }

  void Show() {
    for (const auto& [column, place] : columns_) body.mutable_processes()->add_columns(column);
    for (int i = 0; i < body.processes().rows_size(); ++i) {
      for (const auto& [column, place] : columns_) {
        const auto value = values_[static_cast<size_t>(i)].find(column);
        const bool level =
            column == TELLTALE_PROCESS_RSS_BYTES || column == TELLTALE_PROCESS_THREADS ||
            column == TELLTALE_PROCESS_OPEN_FILES || column == TELLTALE_PROCESS_OWN_BYTES;
        body.mutable_processes()->mutable_rows(i)->add_values(
            value == values_[static_cast<size_t>(i)].end()
                ? 0
                : static_cast<uint64_t>(value->second * (level ? 1 : length_s)));
      }
    }
    for (const auto& [column, place] : columns_) {
      const auto value = others_.find(column);
      body.mutable_processes()->mutable_other()->add_values(
          value == others_.end() ? 0 : static_cast<uint64_t>(value->second * length_s));
    }
    SourceEpoch epoch;
    epoch.span.start_ns = now;
    epoch.span.end_ns = now + length_s * kSecond;
    epoch.span.watched_ns = (length_s - unwatched_s) * kSecond;
    epoch.body = &body;
    epoch.schema = &schema_;
    ASSERT_EQ(filter_->epoch(instance_, EpochView(epoch, *filter_).get()), 0);
    now = epoch.span.end_ns;
    Clear();
    Rest();
  }

  std::string Save() const {
    std::string bytes(filter_->save(instance_, nullptr, 0), '\0');
    filter_->save(instance_, bytes.data(), bytes.size());
    return bytes;
  }
  bool Load(const std::string& bytes) {
    return filter_->load(instance_, bytes.data(), bytes.size()) == 0;
  }
  telltale_filter_learning Learned() const {
    telltale_filter_learning learning = {};
    learning.struct_size = sizeof learning;
    filter_->learning(instance_, &learning);
    return learning;
  }

  v1::SummaryBody body;
  std::vector<Told> told;
  std::vector<std::string> marks;
  std::map<std::string, double> points;  // last of each series and vital
  std::map<uint64_t, v1::RollupWindow> hours;
  uint64_t length_s = 60;
  uint64_t unwatched_s = 0;  // of it
  uint64_t no_room = 0;      // as its instances told
  uint64_t now = 480'000 * storage::kHourNs;

 private:
  static std::string FactsText(const telltale_filter_anomaly& anomaly) {
    std::string text;
    for (uint32_t i = 0; i < anomaly.fact_count; ++i) {
      const auto& fact = *TELLTALE_FILTER_AT(telltale_filter_fact, anomaly.facts, i);
      const bool figure = fact.unit[0] != '\0';
      absl::StrAppend(&text, text.empty() ? "" : "; ", fact.name, ": ",
                      figure ? absl::StrFormat("%.3g %s", fact.value, fact.unit) : fact.text);
    }
    return text;
  }
  // As the collector has it between two epochs: what is known is what was saved.
  void Rest() {
    const std::string state = Save();
    if (state.empty()) return;
    if (filter_->learning != nullptr) no_room += Learned().no_room;
    filter_->destroy(instance_);
    instance_ = filter_->create(&host_, options_.data(), static_cast<uint32_t>(options_.size()));
    ASSERT_TRUE(Load(state)) << filter_->name;
  }
  void Clear() {
    body.Clear();
    columns_.clear();
    values_.clear();
    others_.clear();
    body.mutable_epoch()->set_kind(v1::EPOCH_KIND_FULL);
    body.mutable_gauges()->set_cpus_online(4);
    body.mutable_gauges()->set_memory_total_bytes(16e9);
    body.mutable_gauges()->set_memory_available_bytes(8e9);
    for (const v1::VitalDescriptor& descriptor : schema_.vitals()) {
      v1::Vital& vital = *body.add_vitals();
      vital.set_id(descriptor.id());
      const bool there = counts_misses_ || descriptor.name() != "llc";
      vital.set_state(there ? v1::VITAL_STATE_ACTIVE : v1::VITAL_STATE_UNAVAILABLE);
      if (!there) continue;
      for (int i = 0; i < descriptor.subs_size(); ++i) vital.add_subs();
    }
  }

  const telltale_filter* const filter_;
  const std::vector<telltale_filter_option> options_;
  const std::string scope_;
  const v1::Schema schema_ = proto::BuiltinSchema();
  telltale_filter_host host_ = {};
  void* instance_ = nullptr;
  bool counts_misses_ = false;
  std::map<uint32_t, int> columns_;
  std::vector<std::map<uint32_t, double>> values_;
  std::map<uint32_t, double> others_;
};

}  // namespace telltale::filter

#endif  // TELLTALE_TESTS_UNIT_FILTER_WATCH_H_
