#include "collector/filter/detect/rule.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/query/syscall_names.h"

namespace telltale::filter {
namespace {

constexpr double kMemory = 1.0 / 256;
constexpr double kHabit = 0.1;  // 27 epochs of never ending
constexpr double kForget = 1.0 / 1024;
constexpr uint32_t kHeld = 2, kMissed = 2;
constexpr uint32_t kHeldUnseen = 3;      // epochs, where less was watched than
constexpr double kWellWatched = 0.7;     // of them
constexpr double kNearlyWatched = 0.95;  // of them: what is missing need not be told
constexpr uint32_t kTaught = 8;  // epochs of a case; with the fourth of late a program has a habit
constexpr double kHole = 1.5;    // epochs: more than one is missing
constexpr size_t kPrograms = 512;
constexpr double kMillionth = 1e-6;
constexpr uint64_t kRoundedAway = 1'000;  // a row leaves out less than this part of all

// The kernel accounts for it also while no sensor counts.
bool IsOfTheWholeEpoch(uint32_t column) {
  switch (column) {
    case TELLTALE_PROCESS_RUN_NS:
    case TELLTALE_PROCESS_USER_NS:
    case TELLTALE_PROCESS_SYSTEM_NS:
    case TELLTALE_PROCESS_TASK_NS:
    case TELLTALE_PROCESS_SWITCHES_VOLUNTARY:
    case TELLTALE_PROCESS_SWITCHES_INVOLUNTARY:
    case TELLTALE_PROCESS_FAULTS_MINOR:
    case TELLTALE_PROCESS_FAULTS_MAJOR:
    case TELLTALE_PROCESS_READ_BYTES:
    case TELLTALE_PROCESS_WRITE_BYTES:
      return true;
    default:
      return false;
  }
}

}  // namespace

const telltale_filter_vital* RuleEpoch::Vital(const char* name) const {
  for (uint32_t v = 0; v < epoch_.vital_count; ++v) {
    const auto& vital = *TELLTALE_FILTER_AT(telltale_filter_vital, epoch_.vitals, v);
    if (std::strcmp(vital.name, name) == 0) return vital.watched_ns > 0 ? &vital : nullptr;
  }
  return nullptr;
}

int RuleEpoch::SubOf(const telltale_filter_vital& vital, const char* sub) {
  for (uint32_t s = 0; s < vital.sub_count; ++s) {
    const auto& of = *TELLTALE_FILTER_AT(telltale_filter_sub, vital.subs, s);
    if (std::strcmp(of.name, sub) == 0) return static_cast<int>(s);
  }
  return -1;
}

std::optional<double> RuleEpoch::Rate(const char* vital, const char* sub) const {
  const telltale_filter_vital* of = Vital(vital);
  const int index = of == nullptr ? -1 : SubOf(*of, sub);
  if (index < 0) return std::nullopt;
  const double unit = std::strcmp(of->unit, "ns") == 0 ? 1e9 : 1;
  const auto& counted = *TELLTALE_FILTER_AT(telltale_filter_sub, of->subs, index);
  return static_cast<double>(counted.weight) / unit / (static_cast<double>(of->watched_ns) / 1e9);
}

double RuleEpoch::Of(const telltale_filter_process& process, uint32_t column) const {
  const auto place = ColumnOf(epoch_, column);
  if (!place.has_value()) return 0;
  return static_cast<double>(process.value[*place]) / SecondsOf(column);
}

double RuleEpoch::SecondsOf(uint32_t column) const {
  return IsOfTheWholeEpoch(column) ? whole_seconds() : seconds();
}

bool RuleEpoch::IsWhole(const telltale_filter_process& process) const {
  if (!TELLTALE_FILTER_HAS(&epoch_, telltale_filter_epoch, whole_from_run_ns)) return false;
  const auto run = ColumnOf(epoch_, TELLTALE_PROCESS_RUN_NS);
  const uint64_t from = epoch_.whole_from_run_ns;
  return run.has_value() && from > 0 && process.value[*run] >= from;
}

double RuleEpoch::AtMost(const telltale_filter_process& process, uint32_t column) const {
  const auto place = ColumnOf(epoch_, column);
  if (!place.has_value() || process.value[*place] > 0 || IsWhole(process)) {
    return Of(process, column);
  }
  if (epoch_.other_value == nullptr) return std::numeric_limits<double>::infinity();
  uint64_t all = epoch_.other_value[*place];
  for (const telltale_filter_process* row : Processes()) all += row->value[*place];
  // In whole numbers, as agents compare.
  const uint64_t least_told = all / kRoundedAway;
  return least_told == 0 ? 0 : static_cast<double>(least_told - 1) / SecondsOf(column);
}

std::optional<uint32_t> RuleEpoch::ShareColumn(const char* vital, const char* sub,
                                               bool weight) const {
  const telltale_filter_vital* of = Vital(vital);
  const int index = of == nullptr ? -1 : SubOf(*of, sub);
  if (index < 0) return std::nullopt;
  return TELLTALE_PROCESS_SHARE(of->id, static_cast<uint32_t>(index), weight);
}

double RuleEpoch::Of(const telltale_filter_process& process, const char* vital, const char* sub,
                     bool weight) const {
  const auto column = ShareColumn(vital, sub, weight);
  return column.has_value() ? Of(process, *column) : 0;
}

double RuleEpoch::AtMost(const telltale_filter_process& process, const char* vital, const char* sub,
                         bool weight) const {
  const auto column = ShareColumn(vital, sub, weight);
  return column.has_value() ? AtMost(process, *column) : 0;
}

std::vector<const telltale_filter_process*> RuleEpoch::Processes() const {
  std::vector<const telltale_filter_process*> all;
  for (uint32_t i = 0; i < epoch_.process_count; ++i) {
    all.push_back(TELLTALE_FILTER_AT(telltale_filter_process, epoch_.processes, i));
  }
  return all;
}

const telltale_filter_process* RuleEpoch::Process(uint32_t pid) const {
  if (pid == 0) return nullptr;
  for (const telltale_filter_process* process : Processes()) {
    if (process->pid == pid) return process;
  }
  return nullptr;
}

std::vector<const telltale_filter_label*> RuleEpoch::Labels(const char* vital) const {
  std::vector<const telltale_filter_label*> all;
  const telltale_filter_vital* of = Vital(vital);
  for (uint32_t i = 0; of != nullptr && i < of->label_count; ++i) {
    all.push_back(TELLTALE_FILTER_AT(telltale_filter_label, of->labels, i));
  }
  return all;
}

void Rule::Option(const std::string& name, double value) {
  if (name == "learn" && value >= 0) learn_ = static_cast<uint64_t>(value);
}

void Rule::Epoch(const telltale_filter_epoch& epoch) {
  if (!IsUsual(epoch)) return;
  ++epochs_;
  const RuleEpoch seen(epoch);
  if (const double missing = MissingBefore(epoch); missing > kHole) {
    std::erase_if(open_, [](const auto& entry) { return !entry.second.told; });
    PassHole(missing * seen.whole_seconds());
  }
  last_end_ns_ = epoch.end_ns;
  std::set<std::string> held, teach;
  for (auto& [who, open] : open_) ++open.missed;
  for (Case& found : Look(seen)) {
    held.insert(found.program);
    const auto habit = habits_.find(found.program);
    const bool usual = habit != habits_.end() && habit->second > kHabit;
    const auto known = open_.find(found.who);
    // What goes on while it learns is how things are here.
    if (known == open_.end() && (usual || epochs_ <= learn_)) {
      teach.insert(found.program);
      continue;
    }
    if (known != open_.end() && known->second.missed == 0) continue;  // twice in one epoch
    Open& open = open_[found.who];
    if (open.missed > 1) open.held = 0;
    if (open.held == 0 && !open.told) open.start_ns = epoch.start_ns;
    if (!open.told) NoteCoverage(seen, found, open);
    open.missed = 0;
    ++open.held;
    if (open.taught < kTaught) {
      ++open.taught;
      teach.insert(found.program);
    }
    open.last_ns = epoch.end_ns;
    const bool well =
        static_cast<double>(open.watched_ns) >= kWellWatched * static_cast<double>(open.whole_ns);
    const uint32_t needed = found.at_once ? 1 : well ? kHeld : kHeldUnseen;
    if (open.told || open.held < needed) continue;
    open.told = true;
    open.vital = std::move(found.found.vital);
    open.sub = std::move(found.found.sub);
    open.subject = std::move(found.found.subject);
    open.value = found.found.value;
    open.expected = found.found.expected;
    open.deviation = found.found.deviation;
    open.text = std::move(found.found.text);
    open.evidence = absl::StrCat(found.found.evidence, CoverageText(open));
    open.against = std::move(found.found.against);
    open.cause = std::move(found.found.cause);
    open.next = std::move(found.found.next);
    open.cgroup = std::move(found.found.cgroup);
    open.device = std::move(found.found.device);
    open.site = std::move(found.found.site);
    open.learned = epochs_;
    FactList& facts = found.found.facts;
    if (const telltale_filter_process* process = seen.Process(found.who.first);
        process != nullptr && Who(*process) == found.who) {
      facts.Figure("pid", process->pid, "1")
          .Name("program", process->exe)
          .Name("user", process->user != nullptr && process->user[0] != '\0'
                            ? process->user
                            : absl::StrCat(process->uid));
    }
    facts.Figure("watched", seen.seconds(), "s");
    Tell(open, true, std::move(facts));
  }
  for (auto it = open_.begin(); it != open_.end();) {
    const bool over = it->second.missed >= kMissed || (it->second.missed > 0 && !it->second.told);
    if (over && it->second.told) Tell(it->second, false, {});
    it = over ? open_.erase(it) : std::next(it);
  }
  Learn(seen, held, teach);
  NoteUsual(seen, held);
}

double Rule::MissingBefore(const telltale_filter_epoch& epoch) const {
  if (last_end_ns_ == 0 || epoch.start_ns <= last_end_ns_) return 0;
  return static_cast<double>(epoch.start_ns - last_end_ns_) /
         static_cast<double>(epoch.end_ns - epoch.start_ns);
}

void Rule::NoteCoverage(const RuleEpoch& epoch, const Case& found, Open& open) {
  const telltale_filter_epoch& of = epoch.epoch();
  uint64_t watched_ns = of.watched_ns;
  const auto note = [&](const char* name, bool by_accounts) {
    const telltale_filter_vital* vital = epoch.Vital(name);
    if (vital == nullptr) return;
    watched_ns = std::min(watched_ns, vital->watched_ns);
    if (vital->estimated != 0 && !by_accounts) open.estimated.insert(name);
  };
  note(found.found.vital.c_str(), found.by_accounts);
  for (const char* name : found.besides) note(name, false);
  open.watched_ns += watched_ns;
  open.whole_ns += of.end_ns - of.start_ns;
  open.lost_events += of.lost_events;
}

std::string Rule::CoverageText(const Open& open) {
  const double watched = static_cast<double>(open.watched_ns);
  const double whole = static_cast<double>(open.whole_ns);
  std::string text;
  if (watched < kNearlyWatched * whole) {
    text = absl::StrFormat("; watched %.0f of %.0f s", watched / 1e9, whole / 1e9);
  }
  if (open.lost_events > 0) {
    absl::StrAppend(&text, text.empty() ? "; " : ", ", open.lost_events, " events or samples lost");
  }
  if (!open.estimated.empty()) {
    absl::StrAppend(&text, text.empty() ? "; " : ", ", absl::StrJoin(open.estimated, " and "),
                    open.estimated.size() == 1 ? " is an estimate" : " are estimates");
  }
  return text;
}

void Rule::PassHole(double) {}
void Rule::NoteUsual(const RuleEpoch&, const std::set<std::string>&) {}
void Rule::SaveUsual(StateWriter&) const {}
void Rule::LoadUsual(StateReader&) {}

void Rule::Learn(const RuleEpoch& epoch, const std::set<std::string>& held,
                 const std::set<std::string>& teach) {
  for (const std::string& program : held) {
    if (habits_.size() < kPrograms) {
      habits_.try_emplace(program, 0.0);
    } else if (!habits_.contains(program)) {
      ++no_room_;
    }
  }
  std::set<std::string> there = held;
  for (const telltale_filter_process* process : epoch.Processes()) {
    there.insert(ProgramOf(*process));
  }
  for (auto& [program, share] : habits_) {
    if (held.contains(program) && !teach.contains(program)) continue;
    // What is no executable is the node's own, and always there.
    if (!program.starts_with('/') || there.contains(program))
      share += kMemory * ((held.contains(program) ? 1 : 0) - share);
  }
  std::erase_if(habits_, [](const auto& habit) { return habit.second < kForget; });
}

void Rule::Tell(const Open& open, bool goes_on, FactList facts) const {
  Finding found;
  found.vital = open.vital;
  found.sub = open.sub;
  found.subject = open.subject;
  found.start_ns = open.start_ns;
  found.end_ns = open.last_ns;
  found.open = goes_on;
  found.value = open.value;
  found.expected = open.expected;
  found.deviation = open.deviation;
  found.learned_epochs = open.learned;
  found.text = open.text;
  found.evidence = open.evidence;
  found.against = open.against;
  found.cause = open.cause;
  found.next = open.next;
  found.cgroup = open.cgroup;
  found.device = open.device;
  found.site = open.site;
  found.facts = std::move(facts);
  Emit(found);
}

void Rule::Save(StateWriter& to) const {
  to.Put(epochs_);
  to.Put(last_end_ns_);
  to.Map(habits_, [&](double share) { to.Put(share); });
  to.Map(open_, [&](const Open& open) {
    to.Put(open.start_ns);
    to.Put(open.last_ns);
    to.Put(open.held);
    to.Put(open.missed);
    to.Put(open.taught);
    to.Put(open.watched_ns);
    to.Put(open.whole_ns);
    to.Put(open.lost_events);
    to.Texts(open.estimated);
    to.Put(static_cast<uint8_t>(open.told));
    to.Put(open.value);
    to.Put(open.expected);
    to.Put(open.deviation);
    to.Put(open.learned);
    for (const std::string* text :
         {&open.vital, &open.sub, &open.subject, &open.text, &open.evidence, &open.against,
          &open.cause, &open.next, &open.cgroup, &open.device, &open.site}) {
      to.Text(*text);
    }
  });
  SaveUsual(to);
}

bool Rule::Load(StateReader& from) {
  epochs_ = from.Get<uint64_t>();
  last_end_ns_ = from.Get<uint64_t>();
  from.Map(habits_, [&](double& share) { share = from.Get<double>(); });
  from.Map(open_, [&](Open& open) {
    open.start_ns = from.Get<uint64_t>();
    open.last_ns = from.Get<uint64_t>();
    open.held = from.Get<uint32_t>();
    open.missed = from.Get<uint32_t>();
    open.taught = from.Get<uint32_t>();
    open.watched_ns = from.Get<uint64_t>();
    open.whole_ns = from.Get<uint64_t>();
    open.lost_events = from.Get<uint64_t>();
    open.estimated = from.Texts();
    open.told = from.Get<uint8_t>() != 0;
    open.value = from.Get<double>();
    open.expected = from.Get<double>();
    open.deviation = from.Get<double>();
    open.learned = from.Get<uint64_t>();
    for (std::string* text :
         {&open.vital, &open.sub, &open.subject, &open.text, &open.evidence, &open.against,
          &open.cause, &open.next, &open.cgroup, &open.device, &open.site}) {
      *text = from.Text();
    }
  });
  LoadUsual(from);
  return from.ok();
}

Learned Rule::HowFar() const {
  Learned learned{.of = epochs_, .needed = learn_, .no_room = no_room_};
  for (const auto& [program, share] : habits_) {
    if (share > kHabit) absl::StrAppend(&learned.muted, program, "\n");
  }
  return learned;
}

std::pair<uint32_t, uint64_t> Who(const telltale_filter_process& process) {
  return {process.pid, process.start_ns};
}

std::string DiskName(const RuleEpoch& epoch, uint64_t device) {
  const telltale_filter_epoch& of = epoch.epoch();
  for (uint32_t i = 0; device != 0 && i < of.disk_count; ++i) {
    const auto& disk = *TELLTALE_FILTER_AT(telltale_filter_disk, of.disks, i);
    if (disk.device == device) return disk.name;
  }
  return "";
}

std::string DiskText(const RuleEpoch& epoch, uint64_t device) {
  const std::string name = DiskName(epoch, device);
  return name.empty() ? "a disk" : absl::StrCat("disk ", name);
}

double Resident(const RuleEpoch& epoch, const telltale_filter_process& process) {
  return epoch.Of(process, TELLTALE_PROCESS_RSS_BYTES) * epoch.seconds();
}

CallRate Calls(const RuleEpoch& epoch, const telltale_filter_process& process) {
  CallRate calls;
  for (const char* sub : {"ok", "failed"}) {
    calls.told += epoch.Of(process, "syscall", sub, false);
    calls.most += epoch.AtMost(process, "syscall", sub, false);
  }
  return calls;
}

std::string AtMostText(double told, double most) {
  return absl::StrFormat("%s%.3g", most > told ? "at most " : "", most);
}

double Took(const telltale_filter_sample& wait, uint32_t state_detail) {
  constexpr uint64_t kSeveral = 2;  // and open of several
  if (state_detail < wait.details && wait.detail[state_detail] >= kSeveral) return 0;
  return static_cast<double>(wait.weight) / 1e9 * wait.duty_ppm * kMillionth;
}

std::string OfEpoch(const RuleEpoch& epoch, double per_second) {
  const double seconds = epoch.seconds();
  return absl::StrFormat("%.3g s of %.0f s", per_second * seconds, seconds);
}

std::string LastingText(double seconds) {
  constexpr double kMinute = 60, kHour = 3'600;
  if (seconds < 2 * kMinute) return absl::StrFormat("%.0f s", seconds);
  if (seconds < 2 * kHour) return absl::StrFormat("%.0f min", seconds / kMinute);
  return absl::StrFormat("%.0f h", seconds / kHour);
}

std::string CallText(const char* machine, uint64_t number) {
  const std::string_view name = query::SyscallName(machine == nullptr ? "" : machine, number);
  return name.empty() ? absl::StrCat("system call ", number) : std::string(name);
}

std::string ErrorText(uint64_t error) {
  const char* name = error < 4096 ? strerrorname_np(static_cast<int>(error)) : nullptr;
  return name != nullptr ? name : absl::StrCat("error ", error);
}

}  // namespace telltale::filter
