#include "collector/filter/detect/detector.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace telltale::filter {

struct DetectorInstance {
  const DetectorFacts* facts;
  telltale_filter_host host;
  std::vector<std::pair<std::string, double>> options;
  std::unique_ptr<Detector> detector;
  mutable std::string muted;  // what the last telltale_filter_learning points to

  void Renew() {
    detector.reset(facts->make(host));
    for (const auto& [name, value] : options) detector->Option(name, value);
  }
};

namespace {

constexpr uint8_t kLayout = 1;
constexpr int kFailed = 1;

DetectorInstance& Of(void* instance) { return *static_cast<DetectorInstance*>(instance); }

int Epoch(void* instance, const telltale_filter_epoch* epoch) {
  try {
    Of(instance).detector->Epoch(*epoch);
    return 0;
  } catch (...) {  // none may cross the interface
    return kFailed;
  }
}

void Destroy(void* instance) { delete &Of(instance); }

size_t Save(void* instance, void* bytes, size_t capacity) {
  StateWriter to;
  to.Put(kLayout);
  Of(instance).detector->Save(to);
  if (to.bytes().size() <= capacity) std::memcpy(bytes, to.bytes().data(), to.bytes().size());
  return to.bytes().size();
}

int Load(void* instance, const void* bytes, size_t size) {
  DetectorInstance& self = Of(instance);
  StateReader from({static_cast<const char*>(bytes), size});
  if (from.Get<uint8_t>() == kLayout && self.detector->Load(from) && from.at_end()) return 0;
  self.Renew();
  return kFailed;
}

void HowFar(const void* instance, telltale_filter_learning* learning) {
  const auto& self = *static_cast<const DetectorInstance*>(instance);
  const Learned learned = self.detector->HowFar();
  learning->learned_epochs = learned.of;
  learning->needed_epochs = learned.needed;
  if (TELLTALE_FILTER_HAS(learning, telltale_filter_learning, unit)) learning->unit = learned.unit;
  if (!TELLTALE_FILTER_HAS(learning, telltale_filter_learning, muted)) return;
  self.muted = learned.muted;
  learning->muted = self.muted.c_str();
  if (!TELLTALE_FILTER_HAS(learning, telltale_filter_learning, no_room)) return;
  learning->no_room = learned.no_room;
}

}  // namespace

void Detector::Option(const std::string&, double) {}

void Detector::Emit(const Finding& finding) const {
  telltale_filter_anomaly anomaly = {};
  anomaly.struct_size = sizeof anomaly;
  anomaly.open = finding.open ? 1 : 0;
  anomaly.vital = finding.vital.c_str();
  anomaly.sub = finding.sub.c_str();
  anomaly.start_ns = finding.start_ns;
  anomaly.end_ns = finding.end_ns;
  anomaly.value = finding.value;
  anomaly.expected = finding.expected;
  anomaly.deviation = finding.deviation;
  anomaly.severity =
      finding.deviation > 0 ? (finding.value - finding.expected) / finding.deviation : 0;
  anomaly.learned_epochs = finding.learned_epochs;
  anomaly.text = finding.text.c_str();
  anomaly.subject = finding.subject.c_str();
  anomaly.evidence = finding.evidence.c_str();
  anomaly.against = finding.against.c_str();
  anomaly.cause = finding.cause.c_str();
  anomaly.next = finding.next.c_str();
  anomaly.cgroup = finding.cgroup.c_str();
  anomaly.device = finding.device.c_str();
  anomaly.site = finding.site.c_str();
  std::vector<telltale_filter_fact> facts;
  for (const Fact& fact : finding.facts.all()) {
    facts.push_back({.struct_size = sizeof(telltale_filter_fact),
                     .name = fact.name,
                     .value = fact.value,
                     .unit = fact.unit,
                     .text = fact.text.c_str()});
  }
  anomaly.fact_count = static_cast<uint32_t>(facts.size());
  anomaly.facts = facts.data();
  host_.anomaly(host_.context, &anomaly);
}

void Detector::Point(const char* series, const char* vital, uint64_t time_ns, double value) const {
  telltale_filter_point point = {};
  point.struct_size = sizeof point;
  point.series = series;
  point.vital = vital;
  point.sub = "";
  point.time_ns = time_ns;
  point.value = value;
  host_.point(host_.context, &point);
}

void Detector::Mark(const std::string& vital, uint64_t start_ns, uint64_t end_ns,
                    const std::string& text) const {
  telltale_filter_mark mark = {};
  mark.struct_size = sizeof mark;
  mark.vital = vital.c_str();
  mark.sub = "";
  mark.start_ns = start_ns;
  mark.end_ns = end_ns;
  mark.text = text.c_str();
  host_.mark(host_.context, &mark);
}

telltale_filter MakeFilter(const DetectorFacts& facts,
                           void* (*create)(const telltale_filter_host*,
                                           const telltale_filter_option*, uint32_t)) {
  telltale_filter filter = {};
  filter.struct_size = sizeof filter;
  filter.abi = TELLTALE_FILTER_ABI;
  filter.name = facts.name;
  filter.version = facts.version;
  filter.needs = facts.needs;
  filter.about = facts.about;
  filter.vitals = facts.vitals;
  filter.create = create;
  filter.epoch = Epoch;
  filter.destroy = Destroy;
  filter.save = Save;
  filter.load = Load;
  filter.learning = HowFar;
  filter.history_epochs = facts.history_epochs;
  filter.rule = facts.rule;
  return filter;
}

void* CreateInstance(const DetectorFacts& facts, const telltale_filter_host* host,
                     const telltale_filter_option* options, uint32_t option_count) {
  auto instance = std::make_unique<DetectorInstance>();
  instance->facts = &facts;
  instance->host = *host;
  for (uint32_t i = 0; i < option_count; ++i) {
    instance->options.emplace_back(options[i].name, options[i].value);
  }
  instance->Renew();
  return instance.release();
}

}  // namespace telltale::filter
