#include "collector/filter/epoch_view.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "storage/keys.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

constexpr uint32_t kAlwaysPpm = 1'000'000;
constexpr std::string_view kDiskIo = "disk_io";

// As agents call them, by TELLTALE_REQUEST_*.
struct RequestKind {
  std::string_view operation;  // of the histogram
  std::string_view done;       // sub-series of those that ended
};
constexpr RequestKind kRequestKinds[TELLTALE_REQUEST_KINDS] = {
    {"read", "read_done"}, {"write", "write_done"}, {"flush", "flush_done"}};

// -1: none is called so.
template <typename Fields>
int FieldAt(const Fields& fields, std::string_view name) {
  for (int i = 0; i < fields.size(); ++i) {
    if (fields.Get(i).name() == name) return i;
  }
  return -1;
}

std::string_view SubName(const v1::VitalDescriptor& descriptor, uint32_t sub) {
  return sub < static_cast<uint32_t>(descriptor.subs_size())
             ? std::string_view(descriptor.subs(static_cast<int>(sub)).name())
             : std::string_view();
}

const v1::Histogram* DiskHistogram(const v1::SummaryBody& body, std::string_view operation) {
  for (const v1::Histogram& histogram : body.histograms()) {
    if (histogram.layer() == v1::LAYER_DISK && histogram.operation() == operation &&
        histogram.subject_kind() == v1::SUBJECT_KIND_NONE) {
      return &histogram;
    }
  }
  return nullptr;
}

// Zero-terminated, unlike a view of a name.
const char* UnitText(v1::Unit unit) {
  switch (unit) {
    case v1::UNIT_NANOSECONDS:
      return "ns";
    case v1::UNIT_BYTES:
      return "bytes";
    case v1::UNIT_PAGES:
      return "pages";
    case v1::UNIT_CALLS:
      return "calls";
    case v1::UNIT_SIGNALS:
      return "signals";
    case v1::UNIT_MISSES:
      return "misses";
    case v1::UNIT_SEGMENTS:
      return "segments";
    default:
      return "";
  }
}

bool Wanted(const telltale_filter& filter, const std::string& vital) {
  if (filter.vitals == nullptr) return true;
  for (const char* const* name = filter.vitals; *name != nullptr; ++name) {
    if (vital == *name) return true;
  }
  return false;
}

// A summary that does not tell: an agent at its budget gave the events it did not look at as lost,
// and nothing else of the vital.
bool OnlyLost(const v1::Vital& vital) {
  const bool silent = std::ranges::all_of(vital.subs(), [](const v1::SubSeries& sub) {
    return sub.events() == 0 && sub.weight() == 0;
  });
  return silent && std::ranges::any_of(vital.losses(), [](const v1::Loss& loss) {
           return loss.reason() == v1::LOSS_REASON_DUTY && loss.events() > 0;
         });
}

uint64_t WatchedOf(const v1::Vital& vital, uint64_t watched_ns) {
  if (vital.state() == v1::VITAL_STATE_UNAVAILABLE || OnlyLost(vital)) return 0;
  return watched_ns - std::min(watched_ns, vital.unwatched_ns());
}

}  // namespace

const std::vector<uint64_t>& StableIds::Of(const v1::Vital& vital,
                                           const v1::VitalDescriptor& descriptor,
                                           const v1::Tables& tables) {
  const auto [it, fresh] = of_.try_emplace(&vital);
  if (!fresh) return it->second;
  const storage::TableView view(tables);
  for (const v1::FoldedSample& folded : vital.samples()) {
    it->second.push_back(
        storage::StableId(storage::LabelOf(folded, &descriptor, view), &descriptor));
  }
  return it->second;
}

EpochView::EpochView(const SourceEpoch& epoch, const telltale_filter& filter)
    : body_(*epoch.body), ids_(epoch.ids != nullptr ? epoch.ids : &own_ids_) {
  epoch_.struct_size = sizeof epoch_;
  epoch_.kind = static_cast<uint32_t>(body_.epoch().kind());
  epoch_.start_ns = epoch.span.start_ns;
  epoch_.end_ns = epoch.span.end_ns;
  epoch_.watched_ns = epoch.span.watched_ns;
  for (const v1::Loss& loss : body_.losses()) epoch_.lost_events += loss.events();
  for (const v1::Vital& vital : body_.vitals()) {
    for (const v1::Loss& loss : vital.losses()) epoch_.lost_events += loss.events();
    const v1::VitalDescriptor* descriptor = storage::DescriptorOf(*epoch.schema, vital.id());
    if (descriptor == nullptr || !Wanted(filter, descriptor->name())) continue;
    telltale_filter_vital& view = AddVital(*descriptor, vital.state());
    view.watched_ns = WatchedOf(vital, epoch_.watched_ns);
    view.estimated = vital.estimated() ? 1 : 0;
    if ((filter.needs & TELLTALE_NEEDS_TOTALS) != 0 && view.watched_ns > 0) {
      AddSubs(vital.subs(), *descriptor, view);
      AddSeconds(vital);
      view.backlog_seconds = static_cast<uint32_t>(vital.backlog_size());
      view.backlog = vital.backlog().data();
    }
    if ((filter.needs & (TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES)) != 0) {
      AddLabels(vital, *descriptor, (filter.needs & TELLTALE_NEEDS_SAMPLES) != 0, view);
    }
  }
  epoch_.vital_count = static_cast<uint32_t>(vitals_.size());
  epoch_.vitals = vitals_.data();
  if ((filter.needs & TELLTALE_NEEDS_PROCESSES) != 0) AddProcesses(body_.processes());
  if ((filter.needs & TELLTALE_NEEDS_EVENTS) != 0) AddEvents();
  AddMemory(body_.gauges());
  AddDisks(body_.host_names());
  for (const v1::Vital& vital : body_.vitals()) {
    const v1::VitalDescriptor* descriptor = storage::DescriptorOf(*epoch.schema, vital.id());
    if (descriptor == nullptr || descriptor->name() != kDiskIo) continue;
    if (Wanted(filter, descriptor->name())) AddLatencies(vital, *descriptor);
  }
}

EpochView::EpochView(const SourceHour& hour, uint64_t start_ns, const telltale_filter& filter)
    : body_(v1::SummaryBody::default_instance()), ids_(&own_ids_) {
  epoch_.struct_size = sizeof epoch_;
  epoch_.kind = TELLTALE_EPOCH_WINDOW;
  epoch_.start_ns = start_ns;
  epoch_.end_ns = start_ns + storage::kHourNs;
  epoch_.watched_ns = hour.window->watched_ns();
  for (const v1::Loss& loss : hour.window->losses()) epoch_.lost_events += loss.events();
  for (const v1::VitalTotals& vital : hour.window->vitals()) {
    const v1::VitalDescriptor* descriptor = storage::DescriptorOf(*hour.schema, vital.id());
    if (descriptor == nullptr || !Wanted(filter, descriptor->name())) continue;
    telltale_filter_vital& view = AddVital(*descriptor, vital.state());
    // A window does not say for how long a vital was away in it: with a part missing its rate is
    // unknown.
    if (vital.state() == v1::VITAL_STATE_UNAVAILABLE) continue;
    view.watched_ns = epoch_.watched_ns;
    AddSubs(vital.subs(), *descriptor, view);
  }
  epoch_.vital_count = static_cast<uint32_t>(vitals_.size());
  epoch_.vitals = vitals_.data();
}

telltale_filter_vital& EpochView::AddVital(const v1::VitalDescriptor& descriptor,
                                           v1::VitalState state) {
  telltale_filter_vital& view = vitals_.emplace_back();
  view = {};
  view.struct_size = sizeof view;
  view.id = descriptor.id();
  view.name = descriptor.name().c_str();
  view.unit = UnitText(descriptor.unit());
  view.state = static_cast<uint32_t>(state);
  return view;
}

template <typename Subs>
void EpochView::AddSubs(const Subs& counted, const v1::VitalDescriptor& descriptor,
                        telltale_filter_vital& view) {
  auto& subs = subs_.emplace_back();
  const int count = std::min(counted.size(), descriptor.subs_size());
  for (int i = 0; i < count; ++i) {
    telltale_filter_sub& sub = subs.emplace_back();
    sub = {};
    sub.struct_size = sizeof sub;
    sub.index = static_cast<uint32_t>(i);
    sub.name = descriptor.subs(i).name().c_str();
    sub.events = counted.Get(i).events();
    sub.weight = counted.Get(i).weight();
    sub.idle = descriptor.subs(i).idle() ? 1 : 0;
  }
  view.sub_count = static_cast<uint32_t>(subs.size());
  view.subs = subs.data();
}

void EpochView::AddSeconds(const v1::Vital& vital) {
  for (telltale_filter_sub& sub : subs_.back()) {
    const auto& seconds = vital.subs(static_cast<int>(sub.index)).second_weight();
    sub.seconds = static_cast<uint32_t>(seconds.size());
    sub.second_weight = seconds.data();
  }
}

void EpochView::AddLabels(const v1::Vital& vital, const v1::VitalDescriptor& descriptor,
                          bool samples, telltale_filter_vital& view) {
  auto& labels = labels_.emplace_back();
  const std::vector<uint64_t>& ids = ids_->Of(vital, descriptor, body_.tables());
  labels.reserve(ids.size());
  for (const v1::FoldedSample& folded : vital.samples()) {
    telltale_filter_label& label = labels.emplace_back();
    label = {};
    label.struct_size = sizeof label;
    label.uid = folded.uid();
    label.exe = Text(folded.exe());
    label.sub = folded.sub();
    label.values = static_cast<uint32_t>(folded.label_size());
    label.value = folded.label().data();
    label.samples = folded.samples();
    label.low = folded.low();
    label.high = folded.high();
    label.stable_id = ids[labels.size() - 1];
    label.exe_build = BuildOf(folded.exe());
    if (!samples) continue;
    const v1::Sample& kept = folded.exemplar();
    telltale_filter_sample& sample = samples_.emplace_back();
    sample = {};
    sample.struct_size = sizeof sample;
    sample.pid = kept.pid();
    sample.tid = kept.tid();
    sample.cpu = kept.cpu();
    sample.time_ns = kept.time_ns();
    sample.weight = kept.weight();
    sample.comm = Text(kept.comm());
    sample.cgroup = Text(kept.cgroup());
    sample.details = static_cast<uint32_t>(kept.detail_size());
    sample.detail = kept.detail().data();
    sample.waker_pid = kept.waker().pid();
    sample.waker_comm = Text(kept.waker().comm());
    sample.holder_pid = kept.holder().pid();
    sample.holder_tid = kept.holder().tid();
    sample.holder_comm = Text(kept.holder().comm());
    sample.wait_site = Text(kept.wait_site());
    sample.duty_ppm = kept.duty_ppm() == 0 ? kAlwaysPpm : kept.duty_ppm();
    label.exemplar = &sample;
  }
  // Agents send them by what was sampled of each stack, which says less of what a label weighs.
  std::ranges::stable_sort(labels, [](const auto& a, const auto& b) {
    return std::tie(b.low, b.high, a.stable_id) < std::tie(a.low, a.high, b.stable_id);
  });
  view.label_count = static_cast<uint32_t>(labels.size());
  view.labels = labels.data();
}

void EpochView::AddProcesses(const v1::ProcessTable& table) {
  for (const v1::ProcessRow& row : table.rows()) {
    // Rows are checked to have a value per column when the summary comes in.
    if (row.values_size() != table.columns_size()) continue;
    telltale_filter_process& process = processes_.emplace_back();
    process = {};
    process.struct_size = sizeof process;
    process.pid = row.pid();
    process.uid = row.uid();
    process.instances = std::max(row.instances(), 1U);
    process.exe = row.irq() ? "" : Text(row.exe());
    process.comm = row.irq() ? "[irq]" : Text(row.comm());
    process.cgroup = Text(row.cgroup());
    process.start_ns = row.start_mono_ns();
    process.value = row.values().data();
    process.user = UserOf(row.uid());
    process.policy = row.policy();
    process.real_time_priority = row.real_time_priority();
    process.throttled_cgroup = Text(row.throttled_cgroup());
    process.throttled_periods = row.throttled_periods();
    process.throttled_ns = row.throttled_ns();
  }
  epoch_.process_columns = static_cast<uint32_t>(table.columns_size());
  epoch_.process_column = table.columns().data();
  epoch_.process_count = static_cast<uint32_t>(processes_.size());
  epoch_.processes = processes_.data();
  epoch_.other_processes = table.other_processes();
  epoch_.whole_from_run_ns = table.whole_from_run_ns();
  if (table.other().values_size() == table.columns_size()) {
    epoch_.other_value = table.other().values().data();
  }
}

void EpochView::AddEvents() {
  for (const v1::DiscreteEvent& told : body_.events()) {
    telltale_filter_event& event = events_.emplace_back();
    event = {};
    event.struct_size = sizeof event;
    event.type = static_cast<uint32_t>(told.type());
    event.time_ns = uint64_t{told.time_ms()} * 1'000'000;
    event.pid = told.pid();
    event.uid = told.uid();
    event.exit_code = told.exit_code();
    event.exit_signal = told.exit_signal();
    event.count = std::max(told.count(), 1U);
    event.exe = Text(told.exe());
    event.comm = Text(told.comm());
    event.cgroup = Text(told.cgroup());
    event.user = UserOf(told.uid());
  }
  epoch_.event_count = static_cast<uint32_t>(events_.size());
  epoch_.events = events_.data();
}

void EpochView::AddMemory(const v1::Gauges& gauges) {
  epoch_.cpus = gauges.cpus_online();
  epoch_.memory_total_bytes = gauges.memory_total_bytes();
  epoch_.memory_available_bytes = gauges.memory_available_bytes();
  epoch_.swap_total_bytes = gauges.swap_total_bytes();
  epoch_.swap_free_bytes = gauges.swap_free_bytes();
}

void EpochView::AddDisks(const v1::HostNames& names) {
  for (int i = 0; i < std::min(names.device_size(), names.disk_size()); ++i) {
    telltale_filter_disk& disk = disks_.emplace_back();
    disk = {};
    disk.struct_size = sizeof disk;
    disk.device = names.device(i);
    disk.name = Text(names.disk(i));
  }
  epoch_.disk_count = static_cast<uint32_t>(disks_.size());
  epoch_.disks = disks_.data();
}

void EpochView::AddLatencies(const v1::Vital& disk_io, const v1::VitalDescriptor& descriptor) {
  const int device = FieldAt(descriptor.label(), "device");
  const int latency = FieldAt(descriptor.detail(), "latency");
  if (device < 0 || latency < 0) return;
  std::set<uint64_t> devices;
  for (const v1::FoldedSample& folded : disk_io.samples()) {
    if (folded.label_size() > device) devices.insert(folded.label(device));
  }
  for (telltale_filter_disk& disk : disks_) {
    if (!devices.contains(disk.device)) continue;
    for (uint32_t kind = 0; kind < TELLTALE_REQUEST_KINDS; ++kind) {
      const auto is_one = [&](const v1::FoldedSample& folded) {
        return folded.label_size() > device && folded.label(device) == disk.device &&
               SubName(descriptor, folded.sub()) == kRequestKinds[kind].done &&
               folded.exemplar().detail_size() > latency;
      };
      const auto one = std::ranges::find_if(disk_io.samples(), is_one);
      const v1::Histogram* all = DiskHistogram(body_, kRequestKinds[kind].operation);
      if (devices.size() == 1 && all != nullptr && all->exits() > 0) {
        disk.requests[kind] = all->exits();
        disk.await_ns[kind] = all->sum() / all->exits();
      } else if (devices.size() > 1 && one != disk_io.samples().end()) {
        disk.requests[kind] = 1;
        disk.await_ns[kind] = one->exemplar().detail(latency);
        disk.sampled |= 1U << kind;
      }
    }
  }
}

const char* EpochView::UserOf(uint32_t uid) const {
  const v1::HostNames& names = body_.host_names();
  for (int i = 0; i < std::min(names.uid_size(), names.user_size()); ++i) {
    if (names.uid(i) == uid) return Text(names.user(i));
  }
  return "";
}

// By the mapping of the executable's own file, where a stack of the epoch goes through it.
uint64_t EpochView::BuildOf(uint32_t exe_plus_1) {
  if (exe_plus_1 == 0) return 0;
  if (builds_.empty()) {
    builds_[0] = 0;  // once
    for (const v1::Mapping& mapping : body_.tables().mappings()) {
      if (mapping.kind() != v1::MAPPING_KIND_FILE || mapping.build_id().empty()) continue;
      builds_[mapping.path()] = storage::DigestText(mapping.build_id());
    }
  }
  const auto build = builds_.find(exe_plus_1);
  return build == builds_.end() ? 0 : build->second;
}

const char* EpochView::Text(uint32_t index_plus_1) const {
  const auto& strings = body_.tables().strings();
  const int index = static_cast<int>(index_plus_1) - 1;
  return index < 0 || index >= strings.size() ? "" : strings.Get(index).c_str();
}

}  // namespace telltale::filter
