#include "agent/epoch/sample_folder.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/epoch/wait_site.h"
#include "agent/vitals/vitals.h"

namespace telltale::agent {
namespace {

constexpr uint32_t kNoLabel = ~uint32_t{0};
constexpr uint64_t kKernelHalf = uint64_t{1} << 63;  // canonical kernel addresses have the top bit

std::string_view CommOf(const std::array<char, 16>& comm) {
  return {comm.data(), strnlen(comm.data(), comm.size())};
}

ProcessRef RefOf(const RawSample& s) { return {s.tgid, s.start_ns, s.exe, s.cgroup_id, s.parent}; }

uint64_t ZigZag(uint64_t raw) {
  return (raw << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(raw) >> 63);
}

// Text of the endpoint a kAddress field points to; empty if there is none.
std::string AddressText(const RawSample& sample, uint64_t index_plus_1) {
  if (index_plus_1 == 0 || index_plus_1 > sample.addresses.size()) return {};
  const RawAddress& address = sample.addresses[index_plus_1 - 1];
  if (address.family != 4 && address.family != 6) return {};
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

}  // namespace

std::string UnknownExeName(const ExeId& exe) {
  return absl::StrCat("(unknown ", exe.device >> 20, ",", exe.device & 0xfffff, ":", exe.inode,
                      ")");
}

SampleFolder::SampleFolder(const Options& options, Resolver& resolver, NameBook& names)
    : options_(options), resolver_(resolver), names_(names), epoch_(options.tables) {}

FoldedEpoch SampleFolder::Take() {
  if (const uint64_t n = epoch_.tables.turned_away(); n != 0) {
    Lose(0, v1::LOSS_REASON_ROW_LIMIT, n, 0);
  }
  FoldedEpoch taken = std::move(epoch_);
  epoch_ = FoldedEpoch(options_.tables);
  label_index_.clear();
  entry_index_.clear();
  event_index_.clear();
  entries_of_vital_.fill(0);
  return taken;
}

void SampleFolder::OnSample(const RawSample& sample) {
  const sketch::Vital* vital = FindVital(sample.vital);
  if (vital == nullptr || sample.sub >= vital->subs.size()) {
    Lose(0, v1::LOSS_REASON_ROW_LIMIT, 1, 0);
    return;
  }
  epoch_.sampled.Add(sample);
  const ProcessRef process = sample.in_irq ? ProcessRef{} : RefOf(sample);
  const uint32_t label = LabelIndex(sample, *vital, process);
  if (label == kNoLabel) return Lose(sample.vital, v1::LOSS_REASON_ROW_LIMIT, 1, sample.weight);
  epoch_.labels[label].samples += 1;
  epoch_.labels[label].sampled_weight += sample.weight;

  const EntryKey key{label, StackOf(sample, process), sample.sub, sample.open};
  auto it = entry_index_.find(key);
  if (it == entry_index_.end()) {
    if (entries_of_vital_[sample.vital] >= options_.entries_per_vital) {
      return Lose(sample.vital, v1::LOSS_REASON_ROW_LIMIT, 1, sample.weight);
    }
    ++entries_of_vital_[sample.vital];
    FoldedEntry entry;
    std::tie(entry.label, entry.stack, entry.sub, entry.open) = key;
    entry.first_ns = entry.last_ns = sample.mono_ns;
    entry.exemplar = Exemplar(sample, *vital, process);
    it = entry_index_.emplace(key, static_cast<uint32_t>(epoch_.entries.size())).first;
    epoch_.entries.push_back(std::move(entry));
  }
  FoldedEntry& entry = epoch_.entries[it->second];
  entry.samples += 1;
  entry.sampled_weight += sample.weight;
  entry.first_ns = std::min(entry.first_ns, sample.mono_ns);
  entry.last_ns = std::max(entry.last_ns, sample.mono_ns);
  const bool heavier =
      sample.weight > entry.exemplar.weight ||
      (sample.weight == entry.exemplar.weight && sample.mono_ns < entry.exemplar.mono_ns);
  if (heavier) entry.exemplar = Exemplar(sample, *vital, process);
}

uint32_t SampleFolder::LabelIndex(const RawSample& sample, const sketch::Vital& vital,
                                  const ProcessRef& process) {
  FoldedLabel label;
  label.vital = sample.vital;
  label.irq = sample.in_irq;
  label.exe = ExeOf(process);
  label.uid = sample.in_irq ? 0 : sample.uid;
  label.fields = WireValues(vital.label, sample.label, sample, process);
  const LabelKey key{label.vital, label.irq, label.exe, label.uid, label.fields};
  auto it = label_index_.find(key);
  if (it == label_index_.end()) {
    if (epoch_.labels.size() >= options_.labels) return kNoLabel;
    it = label_index_.emplace(key, static_cast<uint32_t>(epoch_.labels.size())).first;
    epoch_.labels.push_back(std::move(label));
  }
  FoldedLabel& known = epoch_.labels[it->second];
  if (std::ranges::find(known.hashes, sample.label_hash) == known.hashes.end()) {
    if (known.hashes.size() < options_.hashes_per_label) {
      known.hashes.push_back(sample.label_hash);
    } else {
      known.more_hashes = true;
    }
  }
  return it->second;
}

template <size_t N>
std::array<uint64_t, N> SampleFolder::WireValues(std::span<const sketch::Field> fields,
                                                 const std::array<uint64_t, N>& raw,
                                                 const RawSample& sample,
                                                 const ProcessRef& process) {
  std::array<uint64_t, N> values{};
  for (size_t i = 0; i < std::min(fields.size(), N); ++i) {
    values[i] = WireValue(fields[i], raw[i], sample, process);
  }
  return values;
}

uint64_t SampleFolder::WireValue(const sketch::Field& field, uint64_t raw, const RawSample& sample,
                                 const ProcessRef& process) {
  switch (field.kind) {
    case sketch::FieldKind::kIp:
      if (raw == 0) return 0;
      if (raw >= kKernelHalf) {
        const CodeLocation location = resolver_.Kernel(raw);
        return location.file ? Frame(process, location) : 0;
      }
      return Frame(process, resolver_.User(process, raw, sample.mono_ns));
    case sketch::FieldKind::kSigned:
      return ZigZag(raw);
    case sketch::FieldKind::kSyscall: {
      const auto nr = static_cast<int32_t>(raw);  // -1: not in a system call
      return nr < 0 ? 0 : static_cast<uint64_t>(nr) + 1;
    }
    case sketch::FieldKind::kAddress:
      return epoch_.tables.String(AddressText(sample, raw));
    // Kinds with a range: a value beyond it would make the whole body invalid.
    case sketch::FieldKind::kEnum:
      return field.values.empty() ? 0 : std::min<uint64_t>(raw, field.values.size() - 1);
    case sketch::FieldKind::kPid:
      return static_cast<uint32_t>(raw);
    case sketch::FieldKind::kPort:
      return static_cast<uint16_t>(raw);
    case sketch::FieldKind::kOrder:
      return std::min<uint64_t>(raw, 63);
    default:
      return raw;
  }
}

v1::NameOutcome SampleFolder::LearnName(const ProcessRef& process, const CodeLocation& location) {
  if (!location.file) return v1::NAME_OUTCOME_GONE;
  if (const v1::NameOutcome known = names_.Known(location)) return known;
  const FunctionName name = resolver_.Name(process, location);
  names_.Learn(location, name);
  return name.outcome;
}

uint32_t SampleFolder::Frame(const ProcessRef& process, const CodeLocation& location) {
  LearnName(process, location);
  return epoch_.tables.Frame(location);
}

uint32_t SampleFolder::StackOf(const RawSample& sample, const ProcessRef& process) {
  FoldStack stack;
  FoldKernelPart(sample.stack, &stack);
  FoldUserPart(sample, process, &stack);
  // Stacks the kernel could not read are counted by the sensor; here those whose kernel addresses
  // cannot be placed (hidden, or of a module loaded since).
  if (stack.kernel_end == v1::STACK_END_UNREADABLE && sample.stack.kernel_errno == 0) {
    Lose(sample.vital, v1::LOSS_REASON_STACK_UNREADABLE, 1, sample.weight);
  }
  if (stack.user_end == v1::STACK_END_NO_MAPPING) {
    Lose(sample.vital, v1::LOSS_REASON_PROCESS_GONE, 1, sample.weight);
  }
  if (stack.user_end != v1::STACK_END_NONE) ++epoch_.user_stacks[stack.user_end];
  return epoch_.tables.Stack(std::move(stack));
}

void SampleFolder::FoldKernelPart(const RawStack& raw, FoldStack* stack) {
  if (!raw.kernel_wanted && raw.kernel.empty()) return;
  stack->kernel_end = raw.kernel_errno != 0 ? v1::STACK_END_UNREADABLE
                      : raw.kernel_cut      ? v1::STACK_END_DEPTH
                                            : v1::STACK_END_COMPLETE;
  for (size_t i = 0; i < raw.kernel.size(); ++i) {
    // A caller's frame holds the return address, which may be the next function's first byte.
    const CodeLocation location = resolver_.Kernel(raw.kernel[i] - (i == 0 ? 0 : 1));
    const uint32_t frame = location.file ? Frame({}, location) : 0;
    if (frame == 0) {
      stack->kernel_end = v1::STACK_END_UNREADABLE;
      return;
    }
    stack->kernel.push_back(frame);
  }
}

void SampleFolder::FoldUserPart(const RawSample& sample, const ProcessRef& process,
                                FoldStack* stack) {
  const RawStack& raw = sample.stack;
  if (!raw.user_wanted && raw.user.empty()) return;
  if (raw.user_errno != 0) {
    stack->user_end = raw.user_errno == EOPNOTSUPP || raw.user_errno == -EOPNOTSUPP
                          ? v1::STACK_END_OTHER_TASK
                          : v1::STACK_END_UNREADABLE;
  } else {
    stack->user_end = static_cast<v1::StackEnd>(raw.user_end);
  }
  bool any_file = false;
  std::vector<CodeLocation> locations;
  for (size_t i = 0; i < raw.user.size(); ++i) {
    locations.push_back(resolver_.User(process, raw.user[i] - (i == 0 ? 0 : 1), sample.mono_ns));
    any_file |= locations.back().file != nullptr;
  }
  if (!raw.user.empty() && !any_file) stack->user_end = v1::STACK_END_NO_MAPPING;
  for (const CodeLocation& location : locations) {
    // Among frames that lie in files, one that does not is no frame: the chain broke before it.
    uint32_t frame = 0;
    if (!any_file || location.file) {
      ++epoch_.user_frames[LearnName(process, location)];
      frame = epoch_.tables.Frame(location);
    }
    if (frame == 0) {
      stack->user_end = raw.user_end == UserEnd::kFramePointers ? v1::STACK_END_NO_FRAME_POINTERS
                                                                : v1::STACK_END_BAD_PLACE;
      return;
    }
    stack->user.push_back(frame);
  }
}

FoldedExemplar SampleFolder::Exemplar(const RawSample& sample, const sketch::Vital& vital,
                                      const ProcessRef& process) {
  FoldedExemplar e;
  e.mono_ns = sample.mono_ns;
  e.weight = sample.weight;
  e.cell_before = sample.cell_before;
  e.cell_after = sample.cell_after;
  if (sample.start_ns != 0 && sample.mono_ns > sample.start_ns) {
    e.age_ms = (sample.mono_ns - sample.start_ns) / 1'000'000;
  }
  e.cpu = sample.cpu;
  e.tgid = sample.tgid;
  e.tid = sample.tid;
  e.comm = epoch_.tables.String(CommOf(sample.comm));
  e.cgroup = process.tgid == 0 ? 0 : epoch_.tables.String(resolver_.CgroupPath(process));
  e.duty_ppm = sample.duty_ppm == 1'000'000 ? 0 : sample.duty_ppm;
  e.t_log2 = sample.t_log2;
  e.detail = WireValues(vital.detail, sample.detail, sample, process);
  e.ran_instead = Peer(sample.ran_instead);
  e.waker = Peer(sample.waker);
  e.holder = Peer(sample.holder);
  if (sample.vital == TELLTALE_BLOCKING || sample.vital == TELLTALE_LOCK) {
    e.wait_site = epoch_.tables.String(WaitSite(sample.stack));
  }
  return e;
}

// Leaf first: what all waits have in common is below what tells them apart.
std::string SampleFolder::WaitSite(const RawStack& stack) {
  std::vector<std::string> names;
  for (size_t i = 0; i < stack.kernel.size() && i < kWaitFrames; ++i) {
    const CodeLocation location = resolver_.Kernel(stack.kernel[i] - (i == 0 ? 0 : 1));
    if (location.file) names.push_back(resolver_.Name({}, location).text);
  }
  return WaitSiteOf(names);
}

FoldedPeer SampleFolder::Peer(const RawPeer& peer) {
  if (peer.tid == 0 && peer.comm[0] == '\0') return {};
  FoldStack stack;
  FoldKernelPart(peer.stack, &stack);
  return {peer.tgid, peer.tid, epoch_.tables.String(CommOf(peer.comm)),
          epoch_.tables.Stack(std::move(stack)), peer.start_ns};
}

uint32_t SampleFolder::ExeOf(const ProcessRef& process) {
  if (process.exe.inode == 0) return 0;
  const std::string path = resolver_.ExePath(process);
  return epoch_.tables.String(path.empty() ? UnknownExeName(process.exe) : path);
}

void SampleFolder::OnEvent(const RawEvent& event) {
  if (event.kind == RawEventKind::kExec) resolver_.OnExec(event);
  const ProcessRef process{event.tgid, event.start_ns, event.exe, event.cgroup_id};
  FoldedEvent folded;
  folded.type = static_cast<v1::EventType>(event.kind);
  folded.exe = ExeOf(process);
  folded.comm = epoch_.tables.String(CommOf(event.comm));
  folded.cgroup = epoch_.tables.String(resolver_.CgroupPath(process));
  folded.uid = event.uid;
  folded.exit_code = event.exit_code >> 8 & 0xff;  // of the wait status
  folded.exit_signal = event.exit_signal;
  // The path asked for is news only where it is not the executable's own (a script, a link).
  if (event.kind == RawEventKind::kExec) folded.text = epoch_.tables.String(event.path);
  if (folded.text == folded.exe) folded.text = 0;
  const EventKey key{static_cast<uint32_t>(event.kind),
                     folded.exe,
                     folded.comm,
                     folded.cgroup,
                     folded.uid,
                     folded.exit_code,
                     folded.exit_signal,
                     folded.text};
  auto it = event_index_.find(key);
  if (it == event_index_.end()) {
    if (epoch_.events.size() >= options_.events)
      return Lose(0, v1::LOSS_REASON_ROW_LIMIT, event.count, 0);
    folded.pid = event.tgid;
    folded.first_ns = event.mono_ns;
    it = event_index_.emplace(key, static_cast<uint32_t>(epoch_.events.size())).first;
    epoch_.events.push_back(folded);
  }
  FoldedEvent& known = epoch_.events[it->second];
  known.count += event.count;
  known.first_ns = std::min(known.first_ns, event.mono_ns);
}

void SampleFolder::Lose(uint8_t vital, v1::LossReason reason, uint64_t events, uint64_t weight) {
  LossCount& count = epoch_.losses[{vital, reason}];
  count.events += events;
  count.weight += weight;
}

}  // namespace telltale::agent
