// The rules of Chopstix 3.2 that speak of the node: ungratified I/O (3), kernel bottleneck (4), low
// memory (6).

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collector/filter/detect/rule.h"
#include "collector/filter/detect/rules.h"
#include "storage/rollup/portable.h"

namespace telltale::filter {
namespace {

// Less is done than was issued: requests that failed, or hang. Bytes still in flight at the cut are
// a burst's, so the shortfall must be there in two epochs; or requests were answered with an error.
// Of a disk that hangs soon nothing more is asked, so it is a case of its own that requests are out
// all the time and none comes back, no flush either. How many are out is told of all disks
// together: one that hangs while another answers is not seen. Flushes move no bytes, so none is
// sampled: one that fails is not seen.
class UngratifiedIo : public Rule {
 public:
  static constexpr const char* kVitals[] = {"disk_io", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_ungratified_io",
      .version = 8,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_LABELS | TELLTALE_NEEDS_SAMPLES,
      .about = "disk requests of which less is done than was asked",
      .vitals = kVitals,
      .rule = 3,
      .make = Make<UngratifiedIo>};
  using Rule::Rule;

 private:
  static constexpr double kShort = 0.2;        // of what was issued
  static constexpr double kBytes = 256e3;      // per second
  static constexpr uint32_t kAskedDetail = 2;  // place of `asked` among the details
  static constexpr uint32_t kErrorDetail = 5;  // and of `error`
  static constexpr uint32_t kDeviceValue = 2;  // place of `device` in the label
  static constexpr double kAllWatched = 0.95;  // of the epoch, to say that nothing came back
  static constexpr uint64_t kHang = 3;         // key of the case, beside those of the kinds
  static constexpr double kNoneFails = 1'000;  // deviations: farther than a rate gets

  // The heaviest kind of request that came back with an error.
  struct Failure {
    uint64_t error = 0;  // 0: none did
    std::string who;
    uint64_t device = 0;
    double bytes = 0;      // of the one request that is known to have failed
    uint64_t samples = 0;  // of its kind
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    std::vector<Case> cases;
    const int64_t out = StandsStill(epoch);
    if (out > 0) cases.push_back(Hang(epoch, out));
    // From its second epoch on the hang says it all. In the first it may be one epoch of several of
    // which less is done than asked.
    if (out > 0 && still_since_ns_ != 0) return cases;
    const struct {
      const char *issued, *done, *word;
      uint64_t key;
    } kinds[] = {{"read_issued", "read_done", "reads", 1},
                 {"write_issued", "write_done", "writes", 2}};
    for (const auto& kind : kinds) {
      const auto issued = epoch.Rate("disk_io", kind.issued),
                 done = epoch.Rate("disk_io", kind.done);
      if (!issued.has_value() || !done.has_value()) continue;
      const double missing = *issued - *done;
      const Failure failure = Error(epoch, kind.issued, kind.done);
      if (failure.error == 0 && (missing < kBytes || missing < kShort * *issued)) continue;
      Case found{{0, kind.key}, absl::StrCat("disk ", kind.word), {}};
      found.found.vital = "disk_io";
      found.found.sub = kind.done;
      found.found.cause = "ungratified I/O: bad blocks, a full or a lost disk";
      found.found.next = "telltale samples --vital disk_io";
      if (failure.error != 0) {
        SayFails(epoch, kind.word, failure, *issued, found.found);
      } else {
        SayShort(kind.word, *issued, *done, found.found);
      }
      cases.push_back(std::move(found));
    }
    return cases;
  }

  static void SayShort(const char* word, double issued, double done, Finding& found) {
    found.value = done;
    found.expected = issued;
    found.deviation = std::max(kBytes / 6, issued / 20);
    found.evidence =
        absl::StrCat(RateText(issued, "bytes"), " asked, ", RateText(done, "bytes"), " done");
    found.text = absl::StrCat("disk ", word, " are not answered: ", found.evidence);
    found.against = "a queue that grows for a minute looks the same";
    found.facts.Figure("asked", issued, "bytes/s").Figure("done", done, "bytes/s");
  }

  // Of a disk that works none fails, so one that does is far from usual, however few bytes it has.
  // What came back with an error counts as done: how much is done says nothing.
  static void SayFails(const RuleEpoch& epoch, const char* word, const Failure& failure,
                       double issued, Finding& found) {
    found.value = std::max(1.0, failure.bytes) / epoch.seconds();
    found.deviation = found.value / kNoneFails;
    found.subject = failure.who;
    found.device = DiskName(epoch, failure.device);
    found.text = absl::StrCat(word, " of ", DiskText(epoch, failure.device), " fail with ",
                              ErrorText(failure.error),
                              failure.who.empty() ? "" : absl::StrCat(", those of ", failure.who));
    found.evidence = absl::StrCat(
        failure.samples == 1
            ? "the one that was sampled failed"
            : absl::StrCat("the largest of ", failure.samples, " that were sampled failed"),
        ", of ", BytesText(failure.bytes), "; ", RateText(issued, "bytes"), " asked");
    found.against = "a request that may fail, as a look beyond the end of a disk";
    found.facts.Name("error", ErrorText(failure.error))
        .Name("asked_by", failure.who)
        .Figure("failed", failure.bytes, "bytes")
        .Figure("asked", issued, "bytes/s");
  }

  // Requests that are out, where some are all the time and none came back; else 0. What was looked
  // at now and then may have missed those that did.
  static int64_t StandsStill(const RuleEpoch& epoch) {
    const telltale_filter_vital* vital = epoch.Vital("disk_io");
    if (vital == nullptr || vital->estimated != 0 || vital->backlog_seconds == 0) return 0;
    if (static_cast<double>(vital->watched_ns) < kAllWatched * 1e9 * epoch.whole_seconds()) {
      return 0;
    }
    for (const char* done : {"read_done", "write_done", "flush_done"}) {
      const int sub = RuleEpoch::SubOf(*vital, done);
      if (sub >= 0 && TELLTALE_FILTER_AT(telltale_filter_sub, vital->subs, sub)->events > 0) {
        return 0;
      }
    }
    const int64_t* end = vital->backlog + vital->backlog_seconds;
    return *std::min_element(vital->backlog, end) > 0 ? end[-1] : 0;
  }

  Case Hang(const RuleEpoch& epoch, int64_t out) const {
    const uint64_t since_ns = still_since_ns_ != 0 ? still_since_ns_ : epoch.epoch().start_ns;
    const double seconds = static_cast<double>(epoch.epoch().end_ns - since_ns) / 1e9;
    const std::string disk = AskedOf(epoch).value_or(asked_);
    Case found{{0, kHang}, "disk requests", {}};
    found.found.vital = "disk_io";
    found.found.expected = kBytes;  // with less than that a disk may just have nothing to do
    found.found.deviation = kBytes / 20;
    found.found.text = absl::StrCat("nothing has come back from ",
                                    disk.empty() ? "any disk" : absl::StrCat("disk ", disk),
                                    " for ", LastingText(seconds), ", ", out,
                                    out == 1 ? " request is out" : " requests are out");
    found.found.evidence =
        absl::StrCat("requests are out in every second, ", out, " at the end, and none came back");
    found.found.against =
        "one request that takes minutes, as a discard of a whole disk, looks the "
        "same";
    found.found.cause = "ungratified I/O: a disk, or the way to it, hangs";
    found.found.device = disk;
    found.found.next = "telltale stacks --vital blocking/disk";
    found.found.facts.Figure("still", seconds, "s")
        .Figure("requests", static_cast<double>(out), "1");
    return found;
  }

  // The one disk that requests were issued to, as samples tell; "": it was not one, or it has no
  // name. nullopt: none was asked.
  static std::optional<std::string> AskedOf(const RuleEpoch& epoch) {
    const telltale_filter_vital* vital = epoch.Vital("disk_io");
    std::set<uint64_t> devices;
    for (const telltale_filter_label* label : epoch.Labels("disk_io")) {
      for (const char* issued : {"read_issued", "write_issued"}) {
        if (static_cast<int>(label->sub) != RuleEpoch::SubOf(*vital, issued)) continue;
        if (label->values > kDeviceValue) devices.insert(label->value[kDeviceValue]);
      }
    }
    if (devices.empty()) return std::nullopt;
    return devices.size() == 1 ? DiskName(epoch, *devices.begin()) : "";
  }

  void PassHole(double) override { still_since_ns_ = 0; }
  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>&) override {
    if (const auto asked = AskedOf(epoch); asked.has_value()) asked_ = *asked;
    if (StandsStill(epoch) == 0) {
      still_since_ns_ = 0;
    } else if (still_since_ns_ == 0) {
      still_since_ns_ = epoch.epoch().start_ns;
    }
  }
  void SaveUsual(StateWriter& to) const override {
    to.Put(still_since_ns_);
    to.Text(asked_);
  }
  void LoadUsual(StateReader& from) override {
    still_since_ns_ = from.Get<uint64_t>();
    asked_ = from.Text();
  }

  uint64_t still_since_ns_ = 0;  // start of the first epoch in which nothing came back; 0: it does
  std::string asked_;            // disk that was asked last; "": it was not one, or is not known

  // Requests end in an interrupt: whose they are is told by who asks most of the same device.
  static Failure Error(const RuleEpoch& epoch, const char* issued, const char* done) {
    const telltale_filter_vital& vital = *epoch.Vital("disk_io");
    const int issued_sub = RuleEpoch::SubOf(vital, issued), sub = RuleEpoch::SubOf(vital, done);
    for (const telltale_filter_label* label : epoch.Labels("disk_io")) {
      const telltale_filter_sample* sample = label->exemplar;
      if (static_cast<int>(label->sub) != sub || sample == nullptr) continue;
      if (sample->details <= kErrorDetail || sample->detail[kErrorDetail] == 0) continue;
      const uint64_t device = label->values > kDeviceValue ? label->value[kDeviceValue] : 0;
      Failure failure{.error = sample->detail[kErrorDetail],
                      .who = label->exe,
                      .device = device,
                      .bytes = static_cast<double>(sample->detail[kAskedDetail]),
                      .samples = label->samples};
      if (!failure.who.empty()) return failure;
      for (const telltale_filter_label* asked : epoch.Labels("disk_io")) {
        if (static_cast<int>(asked->sub) != issued_sub || asked->values <= kDeviceValue) continue;
        if (label->values <= kDeviceValue || asked->exe[0] == '\0') continue;
        if (asked->value[kDeviceValue] != device) continue;
        failure.who = asked->exe;
        break;
      }
      return failure;
    }
    return {};
  }
};

// The CPUs are busy and it is the kernel that uses them, while processes wait for them. A thread of
// the kernel's own is named before a process that spends up to twice as much there: a process is
// often only held up by what such a thread does.
class KernelBottleneck : public Rule {
 public:
  static constexpr const char* kVitals[] = {"cpu", "sched_delay", "softirq", "syscall", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_kernel_bottleneck",
      .version = 6,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES,
      .about = "the kernel takes the CPUs and processes wait for them",
      .vitals = kVitals,
      .rule = 4,
      .make = Make<KernelBottleneck>};
  using Rule::Rule;

 private:
  static constexpr double kBusy = 0.8, kKernel = 0.6, kUser = 0.25;  // of all CPUs
  static constexpr double kDelayed = 0.25;                           // threads a CPU
  static constexpr double kOwn = 0.5;        // of what the heaviest process spends in the kernel
  static constexpr double kManyCalls = 1e5;  // per second and CPU: small ones

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    const auto user = epoch.Rate("cpu", "user"), kernel = epoch.Rate("cpu", "kernel"),
               irq = epoch.Rate("cpu", "irq"), woken = epoch.Rate("sched_delay", "woken"),
               preempted = epoch.Rate("sched_delay", "preempted");
    const double cpus = epoch.epoch().cpus;
    if (!user || !kernel || !irq || !woken || !preempted || cpus <= 0) return {};
    const double inside = *kernel + *irq, delayed = *woken + *preempted;
    if (*user + inside < kBusy * cpus || inside < kKernel * cpus || *user > kUser * cpus) return {};
    if (delayed < kDelayed * cpus) return {};
    const bool interrupts = *irq > *kernel;
    const Inside most = MostInside(epoch);
    Case found{{0, 0}, "[kernel]", {}, {"sched_delay"}};
    found.found.vital = "cpu";
    found.found.sub = "kernel";
    found.found.value = inside;
    found.found.deviation = cpus / 20;
    found.found.text = absl::StrCat(
        "the kernel takes ", absl::StrFormat("%.3g of %.0f", inside, cpus),
        " CPUs and processes wait for them", interrupts ? "; most of it is [irq]" : WhoText(most));
    found.found.evidence =
        absl::StrCat(absl::StrFormat("user %.3g, kernel %.3g, irq %.3g CPUs; %.3g threads queued",
                                     *user, *kernel, *irq, delayed),
                     QueuedText(epoch));
    found.found.against = AgainstText(epoch, cpus);
    found.found.cause = "kernel bottleneck";
    found.found.facts.Figure("user", *user, "CPUs")
        .Figure("kernel", *kernel, "CPUs")
        .Figure("irq", *irq, "CPUs")
        .Figure("queued", delayed, "threads")
        .Name("most", interrupts ? "[irq]" : most.Name());
    found.found.next = "telltale flame --vital cpu/kernel";
    return {std::move(found)};
  }

  // What no process did, but interrupts.
  static bool IsInterrupts(const telltale_filter_process& process) {
    return process.exe[0] == '\0' && std::string_view(process.comm) == "[irq]";
  }

  // Of a process that nobody could look at in time the executable is not known either. A thread of
  // the kernel has no memory, runs no code of its own and is nobody's but root's.
  static bool IsOfTheKernel(const RuleEpoch& epoch, const telltale_filter_process& process) {
    return process.exe[0] == '\0' && !IsInterrupts(process) && process.uid == 0 &&
           epoch.Of(process, TELLTALE_PROCESS_RSS_BYTES) == 0 &&
           epoch.Of(process, TELLTALE_PROCESS_USER_NS) == 0;
  }

  static std::string NameOf(const telltale_filter_process& process) {
    return IsInterrupts(process) ? process.comm : ProcessText(process);
  }

  // Who is in the kernel most: a thread of its own, and whoever it is, a process that calls it or
  // interrupts too.
  struct Inside {
    const telltale_filter_process *own = nullptr, *most = nullptr;
    double own_cpus = 0, most_cpus = 0;

    bool IsOwn() const { return own != nullptr && own != most && own_cpus >= kOwn * most_cpus; }
    std::string Name() const {
      return most == nullptr ? "" : IsOwn() ? ProcessText(*own) : NameOf(*most);
    }
  };
  static Inside MostInside(const RuleEpoch& epoch) {
    Inside inside;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double cpus = epoch.Of(*process, TELLTALE_PROCESS_SYSTEM_NS) / 1e9;
      if (cpus > inside.most_cpus) {
        inside.most = process;
        inside.most_cpus = cpus;
      }
      if (IsOfTheKernel(epoch, *process) && cpus > inside.own_cpus) {
        inside.own = process;
        inside.own_cpus = cpus;
      }
    }
    return inside;
  }

  static std::string WhoText(const Inside& inside) {
    if (inside.most == nullptr) return "";
    if (inside.IsOwn()) {
      return absl::StrCat("; its own ", inside.Name(),
                          absl::StrFormat(" takes %.3g of them, ", inside.own_cpus),
                          NameOf(*inside.most), absl::StrFormat(" %.3g", inside.most_cpus));
    }
    return absl::StrCat("; most of it is ", inside.Name(),
                        absl::StrFormat(", %.3g CPUs", inside.most_cpus));
  }

  static std::string QueuedText(const RuleEpoch& epoch) {
    const telltale_filter_process* most = nullptr;
    double most_queued = 0;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double queued = epoch.Of(*process, TELLTALE_PROCESS_QUEUE_NS) / 1e9;
      if (queued > most_queued) most = process;
      most_queued = std::max(most_queued, queued);
    }
    if (most == nullptr) return "";
    return absl::StrCat(", most of all ", ProcessText(*most),
                        absl::StrFormat(" with %.3g", most_queued));
  }

  static std::string AgainstText(const RuleEpoch& epoch, double cpus) {
    const telltale_filter_vital* vital = epoch.Vital("syscall");
    if (vital == nullptr) return "a load of many small calls is all kernel and no fault";
    double calls = 0;
    for (uint32_t s = 0; s < vital->sub_count; ++s) {
      calls += static_cast<double>(TELLTALE_FILTER_AT(telltale_filter_sub, vital->subs, s)->events);
    }
    calls /= static_cast<double>(vital->watched_ns) / 1e9;
    return absl::StrCat(absl::StrFormat("%.0f system calls a second: ", calls),
                        calls >= kManyCalls * cpus
                            ? "a load of many small calls is all kernel and no fault"
                            : "too few to be many small ones, but some that copy much are all "
                              "kernel as well");
  }
};

// Processes wait for pages to come back from disk, and there is little memory left: of the node, or
// of the cgroup of a process that has to free some before it gets any. Whether swap is used up as
// well tells how near the end is: then what runs out next is killed. Who reads its pages back is
// the victim; who took the memory is another one as often as not: the process that grew most within
// half an hour or so, before memory was low or since, or, where none grew by much, the largest. One
// that was started meanwhile grew from nothing; one that was there and had no row had at most what
// all those without a row had together, so it grew at least by the rest. After half an hour without
// epochs nobody knows who grew when, and it begins anew.
class LowMemory : public Rule {
 public:
  static constexpr const char* kVitals[] = {"user_page", "blocking", "reclaim", nullptr};
  static constexpr DetectorFacts kFacts = {
      .name = "rule_low_memory",
      .version = 10,
      .needs = TELLTALE_NEEDS_TOTALS | TELLTALE_NEEDS_PROCESSES,
      .about = "low memory and swap, against plenty",
      .vitals = kVitals,
      .rule = 6,
      .make = Make<LowMemory>};
  using Rule::Rule;

 private:
  static constexpr double kFaults = 50;             // major ones per second, of one process
  static constexpr double kAvailable = 0.1;         // of all memory; with more it is plenty
  static constexpr double kReclaims = 5;            // per second, of a process in its cgroup
  static constexpr double kSwapLeft = 0.1;          // of all swap; with less it is used up
  static constexpr double kGrew = 0.05;             // of all that was taken: by much
  static constexpr double kUsualMemory = 1.0 / 32;  // a minute
  static constexpr uint32_t kAway = 60;             // epochs without a row; then it is another life
  static constexpr size_t kFollowed = 1'024;
  static constexpr double kMinute = 60, kLongHole = 30 * kMinute;  // seconds
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  struct Usual {
    double resident = 0;   // bytes, moving average
    uint32_t away = 0;     // epochs without a row
    bool at_most = false;  // it had that or less when it was first followed
  };

  std::vector<Case> Look(const RuleEpoch& epoch) const override {
    const telltale_filter_epoch& of = epoch.epoch();
    if (of.memory_total_bytes == 0) return {};
    const double available =
        static_cast<double>(of.memory_available_bytes) / static_cast<double>(of.memory_total_bytes);
    const bool in_cgroup = available > kAvailable;
    const telltale_filter_process* most = nullptr;
    double most_faults = kFaults;
    for (const telltale_filter_process* process : epoch.Processes()) {
      const double faults = epoch.Of(*process, TELLTALE_PROCESS_FAULTS_MAJOR);
      if (faults <= most_faults) continue;
      // How long it takes says little: clean pages are freed at once, and read again.
      if (in_cgroup && epoch.Of(*process, "reclaim", "cgroup", false) < kReclaims) continue;
      most = process;
      most_faults = faults;
    }
    if (most == nullptr) return {};
    const std::string text = ProcessText(*most);
    const Taker taker = TakerOf(epoch, *most, in_cgroup);
    // Of the node or the cgroup: who faults most changes from epoch to epoch.
    Case found{{0, in_cgroup ? storage::DigestText(most->cgroup) : 0}, ProgramOf(*most), {}};
    found.by_accounts = true;
    found.found.vital = "user_page";
    found.found.sub = "major";
    found.found.subject = text;
    found.found.value = most_faults;
    found.found.deviation = kFaults / 6;
    found.found.text = absl::StrCat(
        text, " reads its pages back from disk, ", absl::StrFormat("%.3g", most_faults),
        " times a second: ",
        in_cgroup ? absl::StrCat("the memory of its cgroup is used up",
                                 most->cgroup[0] == '\0' ? "" : " ", most->cgroup)
                  : absl::StrCat("memory is low, ",
                                 BytesText(static_cast<double>(of.memory_available_bytes)),
                                 " available", SwapIsUsedUp(of) ? ", and swap is used up" : ""),
        TakerText(epoch, taker, *most));
    found.found.evidence = absl::StrCat(
        PercentText(available), " of memory available, ", SwapText(of),
        "; it frees memory of its cgroup ",
        absl::StrFormat("%.3g", epoch.Of(*most, "reclaim", "cgroup", false)), " times a second");
    found.found.against =
        absl::StrCat(AgainstText(of, in_cgroup),
                     "a program that maps large files and reads them once faults like this");
    if (in_cgroup) {
      found.found.cgroup = most->cgroup;
      found.besides.push_back("reclaim");
    }
    found.found.cause = in_cgroup          ? "low memory in a cgroup"
                        : SwapIsUsedUp(of) ? "low memory and no swap left"
                                           : "low memory";
    found.found.next = "telltale top --vital user_page/major";
    found.found.facts.Figure("faults", most_faults, "1/s")
        .Figure("available", static_cast<double>(of.memory_available_bytes), "bytes")
        .Figure("swap_free", static_cast<double>(of.swap_free_bytes), "bytes")
        .Figure("swap", static_cast<double>(of.swap_total_bytes), "bytes")
        .Name("taker", taker.who == nullptr ? "" : ProcessText(*taker.who))
        .FigureIf(taker.grew > 0, "taker_grew", taker.grew, "bytes");
    return {std::move(found)};
  }

  static bool SwapIsUsedUp(const telltale_filter_epoch& of) {
    return of.swap_total_bytes > 0 && static_cast<double>(of.swap_free_bytes) <
                                          kSwapLeft * static_cast<double>(of.swap_total_bytes);
  }

  static std::string AgainstText(const telltale_filter_epoch& of, bool in_cgroup) {
    if (in_cgroup) {
      return absl::StrCat("the node itself has plenty, ",
                          BytesText(static_cast<double>(of.memory_available_bytes)),
                          " available; ");
    }
    const bool none = of.swap_total_bytes > 0 && of.swap_free_bytes == of.swap_total_bytes;
    return none ? "nothing is in swap: what comes back are pages of files; " : "";
  }

  static std::string SwapText(const telltale_filter_epoch& of) {
    if (of.swap_total_bytes == 0) return "there is no swap";
    return absl::StrCat(BytesText(static_cast<double>(of.swap_free_bytes)), " of ",
                        BytesText(static_cast<double>(of.swap_total_bytes)), " swap free");
  }

  // Who took the memory, among those that share what is short with the victim.
  struct Taker {
    const telltale_filter_process* who = nullptr;  // no row tells
    double grew = 0;                               // bytes; 0: none grew by much, it is the largest
  };
  Taker TakerOf(const RuleEpoch& epoch, const telltale_filter_process& victim,
                bool in_cgroup) const {
    const telltale_filter_process *largest = nullptr, *grown = nullptr;
    double most = 0, most_grown = 0, taken = 0;
    for (const telltale_filter_process* process : epoch.Processes()) {
      if (process->pid == 0) continue;
      if (in_cgroup && std::string_view(process->cgroup) != victim.cgroup) continue;
      const double resident = Resident(epoch, *process);
      taken += resident;
      if (resident > most) largest = process;
      most = std::max(most, resident);
      const double grew = Grew(epoch, *process, resident);
      if (grew > most_grown) grown = process;
      most_grown = std::max(most_grown, grew);
    }
    if (grown != nullptr && most_grown >= kGrew * taken) return {grown, most_grown};
    return {largest};
  }

  // "; hog (pid 90, user root) grew by 9 GB to 12 GB", "was started and has 12 GB". "": no row
  // tells.
  std::string TakerText(const RuleEpoch& epoch, const Taker& taker,
                        const telltale_filter_process& victim) const {
    if (taker.who == nullptr) return "";
    const std::string has = BytesText(Resident(epoch, *taker.who));
    const bool itself = taker.who == &victim;
    if (taker.grew <= 0) {
      return itself ? absl::StrCat("; it is the largest process itself, with ", has)
                    : absl::StrCat("; the largest process is ", ProcessText(*taker.who), " with ",
                                   has);
    }
    const std::string who = itself ? "it" : ProcessText(*taker.who);
    if (IsNew(*taker.who)) {
      return absl::StrCat("; ", who, " was started ", itself ? "itself " : "", "and has ", has);
    }
    return absl::StrCat("; ", who, " grew ", itself ? "itself, " : "",
                        UsualOf(epoch, *taker.who).at_most ? "by at least " : "by ",
                        BytesText(taker.grew), " to ", has);
  }

  // Started after all that were there in the epochs remembered.
  bool IsNew(const telltale_filter_process& process) const {
    return newest_ns_ != 0 && process.start_ns > newest_ns_ && !usual_.contains(Who(process));
  }

  // What processes of one program share is in the memory of each: one that is new, or new among the
  // rows, took what it has beyond the largest that was there before it.
  double SharedWithOthers(const RuleEpoch& epoch, const telltale_filter_process& process) const {
    double most = 0;
    for (const telltale_filter_process* other : epoch.Processes()) {
      if (other->pid == 0 || other == &process || IsNew(*other) || process.exe[0] == '\0') continue;
      if (std::string_view(other->exe) != process.exe) continue;
      most = std::max(most, Resident(epoch, *other));
    }
    return most;
  }

  // Bytes, since half an hour or so.
  double Grew(const RuleEpoch& epoch, const telltale_filter_process& process,
              double resident) const {
    return resident - UsualOf(epoch, process).resident;
  }

  // What is remembered of it, or what is known of one that is seen for the first time.
  Usual UsualOf(const RuleEpoch& epoch, const telltale_filter_process& process) const {
    const auto usual = usual_.find(Who(process));
    if (usual != usual_.end()) return usual->second;
    const double resident = Resident(epoch, process), shared = SharedWithOthers(epoch, process);
    if (IsNew(process)) return {.resident = std::min(resident, shared)};
    const double most = std::max(shared, unlisted_);
    return most >= resident ? Usual{.resident = resident}
                            : Usual{.resident = most, .at_most = true};
  }

  void PassHole(double seconds) override {
    if (seconds >= kLongHole) Forget();
  }

  void Forget() {
    usual_.clear();
    newest_ns_ = 0;
    unlisted_ = kUnknown;
  }

  // While memory is low, what is resident is not what is usual.
  void NoteUsual(const RuleEpoch& epoch, const std::set<std::string>& held) override {
    if (!held.empty() || !ColumnOf(epoch.epoch(), TELLTALE_PROCESS_RSS_BYTES).has_value()) return;
    // Where all are others, the node itself was started anew, and its clock with it.
    const auto rows = epoch.Processes();
    const auto is_known = [this](const auto* process) { return usual_.contains(Who(*process)); };
    if (!rows.empty() && !usual_.empty() && std::ranges::none_of(rows, is_known)) Forget();
    for (auto& [who, usual] : usual_) ++usual.away;
    const double weight = std::min(1.0, kUsualMemory * epoch.whole_seconds() / kMinute);
    std::vector<const telltale_filter_process*> others;
    for (const telltale_filter_process* process : rows) {
      if (process->pid == 0) continue;
      const auto known = usual_.find(Who(*process));
      if (known == usual_.end()) {
        others.push_back(process);
        continue;
      }
      known->second.away = 0;
      known->second.resident += weight * (Resident(epoch, *process) - known->second.resident);
    }
    std::erase_if(usual_, [](const auto& entry) { return entry.second.away > kAway; });
    uint64_t newest_ns = newest_ns_;
    for (const telltale_filter_process* process : others) {
      newest_ns = std::max(newest_ns, process->start_ns);
      Follow(epoch, *process);
    }
    newest_ns_ = newest_ns;
    const auto resident = ColumnOf(epoch.epoch(), TELLTALE_PROCESS_RSS_BYTES);
    const uint64_t* other = epoch.epoch().other_value;
    unlisted_ = other == nullptr ? kUnknown : static_cast<double>(other[*resident]);
  }

  // Of one that is new also before it has memory worth telling.
  void Follow(const RuleEpoch& epoch, const telltale_filter_process& process) {
    const double resident = Resident(epoch, process);
    const bool is_new = IsNew(process);
    if (resident <= 0 && !is_new) return;
    if (usual_.size() >= kFollowed && !ForgetOne()) return;
    usual_.try_emplace(Who(process), UsualOf(epoch, process));
  }

  // The one longest away, who is most likely gone. False: all are there.
  bool ForgetOne() {
    const auto longest =
        std::ranges::max_element(usual_, {}, [](const auto& entry) { return entry.second.away; });
    if (longest == usual_.end() || longest->second.away == 0) return false;
    usual_.erase(longest);
    return true;
  }

  void SaveUsual(StateWriter& to) const override {
    to.Put(newest_ns_);
    to.Put(unlisted_);
    to.Map(usual_, [&](const Usual& usual) {
      to.Put(usual.resident);
      to.Put(usual.away);
      to.Put(static_cast<uint8_t>(usual.at_most));
    });
  }
  void LoadUsual(StateReader& from) override {
    newest_ns_ = from.Get<uint64_t>();
    unlisted_ = from.Get<double>();
    from.Map(usual_, [&](Usual& usual) {
      usual.resident = from.Get<double>();
      usual.away = from.Get<uint32_t>();
      usual.at_most = from.Get<uint8_t>() != 0;
    });
  }

  std::map<std::pair<uint32_t, uint64_t>, Usual> usual_;  // by pid and start
  uint64_t newest_ns_ = 0;  // start of the last that was started of all these epochs; 0: not known
  double unlisted_ = kUnknown;  // bytes that those without a row had, in the last of these epochs
};

}  // namespace

const telltale_filter* UngratifiedIoFilter() { return FilterOf<UngratifiedIo>(); }
const telltale_filter* KernelBottleneckFilter() { return FilterOf<KernelBottleneck>(); }
const telltale_filter* LowMemoryFilter() { return FilterOf<LowMemory>(); }

}  // namespace telltale::filter
