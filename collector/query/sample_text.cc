#include "collector/query/sample_text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/container.h"
#include "collector/query/field_text.h"

namespace telltale::query {
namespace {

// `mono_ns`: when the event was, on the node's monotonic clock.
void ShowPeer(const v1::Peer& peer, uint64_t mono_ns, const StackNames& names,
              v1::PeerAnswer* out) {
  out->set_comm(names.String(peer.comm()));
  out->set_pid(peer.pid());
  out->set_tid(peer.tid());
  if (peer.start_mono_ns() != 0 && peer.start_mono_ns() < mono_ns) {
    out->set_process_age_s(Seconds(mono_ns - peer.start_mono_ns()));
  }
  for (v1::Frame& frame : names.Kernel(peer.stack())) *out->add_stack() = std::move(frame);
}

// What a request has only once it is done.
bool OfTheEnd(const v1::FieldDescriptor& field) {
  return field.name() == "done" || field.name() == "latency";
}

}  // namespace

v1::SampleAnswer ShowSample(const StoredEpoch& epoch, const v1::VitalDescriptor& descriptor,
                            const v1::FoldedSample& sample, const EntryEstimate& estimate,
                            const storage::NodeRecord& node, const StackNames& names) {
  const double factor = BaseFactor(descriptor.unit());
  const v1::Sample& kept = sample.exemplar();
  const double start_s = Seconds(epoch.span.start_ns);
  v1::SampleAnswer out;
  out.set_node(node.name());
  out.set_vital(descriptor.name());
  if (static_cast<int>(sample.sub()) < descriptor.subs_size()) {
    out.set_sub(descriptor.subs(static_cast<int>(sample.sub())).name());
  }
  out.set_time_s(start_s + Seconds(kept.time_ns()));
  out.set_exe(sample.irq() ? "[irq]" : names.String(sample.exe()));
  out.set_comm(names.String(kept.comm()));
  out.set_pid(kept.pid());
  out.set_tid(kept.tid());
  out.set_uid(sample.uid());
  if (!sample.irq()) out.set_user(absl::StrCat(sample.uid()));
  out.set_cgroup(names.String(kept.cgroup()));
  Container container = ContainerOf(out.cgroup());
  out.set_container(std::move(container.id));
  out.set_pod_uid(std::move(container.pod_uid));
  out.set_cpu(kept.cpu());
  out.set_unit(std::string(BaseUnitName(descriptor.unit())));
  out.set_weight(static_cast<double>(kept.weight()) * factor);
  out.set_low(estimate.low * factor);
  out.set_high(estimate.high * factor);
  out.set_samples(static_cast<uint32_t>(std::min<uint64_t>(sample.samples(), UINT32_MAX)));
  const std::string& machine = node.info().machine();
  for (int i = 0; i < std::min(descriptor.label_size(), sample.label_size()); ++i) {
    const std::string text = FieldText(descriptor.label(i), sample.label(i), names, machine);
    if (text.empty()) continue;
    v1::NamedValue* value = out.add_label();
    // Tasks are told apart by what the kernel calls pid: of a thread its own number.
    const bool thread = descriptor.label(i).kind() == v1::FIELD_KIND_PID &&
                        sample.label(i) == kept.tid() && kept.tid() != kept.pid();
    value->set_name(thread ? "thread" : descriptor.label(i).name());
    value->set_value(text);
  }
  const bool open_end = absl::EndsWith(out.sub(), "_issued");  // nothing is known of its end yet
  for (int i = 0; i < std::min(descriptor.detail_size(), kept.detail_size()); ++i) {
    const std::string text = FieldText(descriptor.detail(i), kept.detail(i), names, machine);
    if (text.empty() || (open_end && OfTheEnd(descriptor.detail(i)) && kept.detail(i) == 0)) {
      continue;
    }
    v1::NamedValue* value = out.add_detail();
    value->set_name(descriptor.detail(i).name());
    value->set_value(text);
  }
  for (v1::Frame& frame : names.Kernel(sample.stack())) *out.add_kernel_stack() = std::move(frame);
  for (v1::Frame& frame : names.User(sample.stack())) *out.add_user_stack() = std::move(frame);
  if (const v1::Stack* stack = names.Stack(sample.stack())) {
    out.set_kernel_stack_end(StackEndText(stack->kernel_end()));
    out.set_user_stack_end(StackEndText(stack->user_end()));
  }
  out.set_open(sample.open());
  out.set_first_s(start_s + sample.first_ms() * 1e-3);
  out.set_last_s(start_s + sample.last_ms() * 1e-3);
  out.set_t(kept.t_log2() < 32 ? 1u << kept.t_log2() : 0);
  out.set_watched_share(kept.duty_ppm() * 1e-6);
  out.set_process_age_s(static_cast<double>(kept.process_age_ms()) * 1e-3);
  const uint64_t mono_ns = epoch.body->epoch().start_mono_ns() + kept.time_ns();
  if (kept.has_ran_instead()) {
    ShowPeer(kept.ran_instead(), mono_ns, names, out.mutable_ran_instead());
  }
  if (kept.has_waker()) ShowPeer(kept.waker(), mono_ns, names, out.mutable_waker());
  if (kept.has_holder()) ShowPeer(kept.holder(), mono_ns, names, out.mutable_holder());
  return out;
}

}  // namespace telltale::query
