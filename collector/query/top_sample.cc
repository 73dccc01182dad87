#include "collector/query/top_sample.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "storage/rollup/portable.h"

namespace telltale::query {
namespace {

// Index + 1 of the frame an event of one code address happened at; 0: the vital keeps none, or not
// here.
uint32_t ExactAddress(const v1::FoldedSample& sample, const v1::VitalDescriptor& descriptor) {
  if (!ByAddress(descriptor)) return 0;
  for (int i = 0; i < std::min(descriptor.detail_size(), sample.exemplar().detail_size()); ++i) {
    if (descriptor.detail(i).kind() == v1::FIELD_KIND_IP) {
      return static_cast<uint32_t>(sample.exemplar().detail(i));
    }
  }
  return 0;
}

struct Who {
  std::string exe, comm, cgroup, shown;
};

Who WhoOf(const v1::FoldedSample& sample, const StackNames& names) {
  Who who;
  who.exe = names.String(sample.exe());
  who.comm = names.String(sample.exemplar().comm());
  who.cgroup = names.String(sample.exemplar().cgroup());
  who.shown = sample.irq() ? "[irq]" : who.exe.empty() ? absl::StrCat("[", who.comm, "]") : who.exe;
  return who;
}

void FillStack(const v1::FoldedSample& sample, const v1::VitalDescriptor& descriptor,
               const StackNames& names, v1::TopRow& row) {
  if (!names.HasFrames(sample.stack())) {
    std::optional<v1::Frame> site = SampledSite(sample, descriptor, names);
    if (site.has_value() && row.stack().empty()) *row.add_stack() = *std::move(site);
    return;
  }
  row.clear_stack();
  for (v1::Frame& frame : names.Kernel(sample.stack())) *row.add_stack() = std::move(frame);
  for (v1::Frame& frame : names.User(sample.stack())) *row.add_stack() = std::move(frame);
  row.set_stack_id(names.StackId(sample.stack()));
}

}  // namespace

bool RowsAreStacks(v1::Dimension by, const v1::VitalDescriptor* descriptor) {
  if (by != v1::DIMENSION_SITE) return by == v1::DIMENSION_STACK;
  return descriptor == nullptr || !ByAddress(*descriptor);
}

v1::Frame SiteOfSample(const v1::FoldedSample& sample, const v1::VitalDescriptor& descriptor,
                       const StackNames& names) {
  if (const uint32_t frame = ExactAddress(sample, descriptor); frame > 0)
    return names.Frame(frame - 1);
  if (const v1::Stack* stack = names.Stack(sample.stack())) {
    const auto& user = stack->user();
    if (!user.empty()) {
      const size_t site = SiteAmong(static_cast<size_t>(user.size()), [&](size_t i) {
        return names.Binary(user.Get(static_cast<int>(i)));
      });
      return names.Frame(user.Get(static_cast<int>(site)));
    }
    if (!stack->kernel().empty()) return names.Frame(stack->kernel(0));
  }
  if (std::optional<v1::Frame> site = SampledSite(sample, descriptor, names)) return *site;
  v1::Frame none;
  none.set_name("(no code location)");
  return none;
}

std::optional<v1::Frame> SampledSite(const v1::FoldedSample& sample,
                                     const v1::VitalDescriptor& descriptor,
                                     const StackNames& names) {
  if (const uint32_t frame = ExactAddress(sample, descriptor); frame > 0) {
    return names.Frame(frame - 1);
  }
  const int fields = std::min(descriptor.label_size(), sample.label_size());
  for (int i = 0; i < fields; ++i) {
    if (descriptor.label(i).kind() == v1::FIELD_KIND_IP && sample.label(i) > 0) {
      return names.Frame(static_cast<uint32_t>(sample.label(i) - 1));
    }
  }
  for (int i = 0; i < fields; ++i) {
    if (descriptor.label(i).kind() != v1::FIELD_KIND_SYSCALL) continue;
    return CallFrame(names.Machine(), sample.label(i));
  }
  return std::nullopt;
}

Entries EntriesOf(const StoredEpoch& epoch, const v1::Vital& vital) {
  const v1::VitalDescriptor* descriptor = storage::DescriptorOf(*epoch.schema, vital.id());
  std::vector<EntryEstimate> estimates = EstimateEntries(vital);
  return {descriptor, estimates, EstimateStacks(vital, estimates),
          LabelIds(vital, descriptor, epoch.body->tables())};
}

void AddSamples(const StoredEpoch& epoch, const v1::Vital& vital, const Entries& entries,
                const std::string& node_name, StackNames& names, ProcessFilter& filter,
                TopTable& table, RowBounds& bounds) {
  const std::vector<EntryEstimate>& estimates =
      RowsAreStacks(table.by(), entries.descriptor) ? entries.of_stacks : entries.estimates;
  std::vector<RowBounds::Part> parts;
  for (int i = 0; i < vital.samples_size() && entries.descriptor != nullptr; ++i) {
    const v1::FoldedSample& sample = vital.samples(i);
    if (!table.choice().Counts(static_cast<int>(sample.sub()))) continue;
    const Who who = WhoOf(sample, names);
    const uint32_t pid = sample.exemplar().pid();
    if (!filter.Matches(pid, who.exe, who.comm)) continue;
    // Interrupt work has no user: uid 0 would claim root did it.
    const std::string uid = sample.irq() ? "" : absl::StrCat(sample.uid());
    std::string key, name;
    v1::Frame site;
    switch (table.by()) {
      case v1::DIMENSION_SITE:
        site = SiteOfSample(sample, *entries.descriptor, names);
        name = FrameText(site);
        key = absl::StrCat(name, "\n", who.shown);
        break;
      case v1::DIMENSION_STACK:
        site = SiteOfSample(sample, *entries.descriptor, names);
        name = FrameText(site);
        key = absl::StrCat(names.StackId(sample.stack()), "\n", who.shown,
                           names.HasFrames(sample.stack()) ? std::string() : name);
        break;
      case v1::DIMENSION_EXE:
        key = name = who.shown;
        break;
      case v1::DIMENSION_USER:
        key = uid;
        name = uid.empty() ? "[irq]" : absl::StrCat("uid ", uid);
        break;
      case v1::DIMENSION_CGROUP:
        key = who.cgroup;
        name = who.cgroup.empty() ? "(no cgroup)" : who.cgroup;
        break;
      default:
        key = absl::StrCat(epoch.node, "/", who.shown, "/", sample.irq() ? 0 : pid);
        name = sample.irq() || who.exe.empty() ? who.shown : BaseName(who.exe);
    }
    const EntryEstimate& estimate = estimates[static_cast<size_t>(i)];
    parts.push_back({key, entries.labels[static_cast<size_t>(i)], estimate});
    v1::TopRow& row = table.Add(key, estimate.value, 0, 0, [&](v1::TopRow& fresh) {
      fresh.set_name(name);
      const bool code = table.by() == v1::DIMENSION_SITE || table.by() == v1::DIMENSION_STACK;
      const bool process = table.by() == v1::DIMENSION_PROCESS;
      if (code || process || table.by() == v1::DIMENSION_EXE) fresh.set_exe(who.shown);
      if (process) {
        fresh.set_pid(sample.irq() ? 0 : pid);
        fresh.set_node(node_name);
        fresh.set_cgroup(who.cgroup);
      }
      if (process || table.by() == v1::DIMENSION_USER) {
        fresh.set_uid(sample.uid());
        fresh.set_user(uid);
      }
      if (table.by() == v1::DIMENSION_CGROUP) fresh.set_cgroup(who.cgroup);
    });
    row.set_samples(row.samples() + static_cast<uint32_t>(sample.samples()));
    if (sample.open()) row.set_open(true);
    if (table.Heaviest(key, estimate.value)) FillStack(sample, *entries.descriptor, names, row);
  }
  bounds.AddEpoch(vital, table.choice(), estimates, parts);
}

}  // namespace telltale::query
