#include "collector/query/host_answer.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/coverage_builder.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualHosts = 20, kMaxHosts = 1000;

// What one epoch says of one quantity.
struct Reading {
  std::string_view name, unit;
  double value = 0;
};

double Number(uint64_t value) { return static_cast<double>(value); }

// Order of v1.Gauges.cpu_ns.
enum CpuState { kUser, kNice, kSystem, kIdle, kIowait, kIrq, kSoftirq, kSteal, kCpuStates };

void AddMemory(const v1::Gauges& gauges, std::vector<Reading>* out) {
  if (gauges.memory_total_bytes() == 0) return;
  out->push_back({"memory available", "bytes", Number(gauges.memory_available_bytes())});
  out->push_back({"memory free", "bytes", Number(gauges.memory_free_bytes())});
  out->push_back({"page cache", "bytes", Number(gauges.page_cache_bytes())});
  if (gauges.swap_total_bytes() == 0) return;
  const uint64_t free = std::min(gauges.swap_free_bytes(), gauges.swap_total_bytes());
  out->push_back({"swap used", "bytes", Number(gauges.swap_total_bytes() - free)});
}

// A kernel without pressure information leaves the column empty.
void AddPressure(const v1::Gauges& gauges, double length_s, std::vector<Reading>* out) {
  constexpr std::array<std::string_view, 6> kNames = {"some wait for a cpu",  "all wait for a cpu",
                                                      "some wait for memory", "all wait for memory",
                                                      "some wait for I/O",    "all wait for I/O"};
  constexpr size_t kAllForCpu = 1;  // the kernel has it as 0 for a whole host
  if (gauges.psi_us_size() != static_cast<int>(kNames.size()) || length_s <= 0) return;
  for (size_t i = 0; i < kNames.size(); ++i) {
    const double share = Number(gauges.psi_us(static_cast<int>(i))) * 1e-6 / length_s;
    if (i != kAllForCpu) out->push_back({kNames[i], "share", std::min(share, 1.0)});
  }
}

void AddProcessors(const v1::Gauges& gauges, std::vector<Reading>* out) {
  const auto& ns = gauges.cpu_ns();
  if (ns.size() != kCpuStates) return;
  const double all = std::accumulate(ns.begin(), ns.end(), 0.0);
  if (all <= 0) return;
  const auto share = [&](double part_ns) { return part_ns / all; };
  out->push_back({"cpu user", "share", share(Number(ns[kUser]) + Number(ns[kNice]))});
  out->push_back({"cpu system", "share", share(Number(ns[kSystem]))});
  out->push_back({"cpu interrupts", "share", share(Number(ns[kIrq]) + Number(ns[kSoftirq]))});
  out->push_back({"cpu idle, waits for I/O", "share", share(Number(ns[kIowait]))});
  out->push_back({"cpu idle", "share", share(Number(ns[kIdle]))});
  out->push_back({"cpu stolen", "share", share(Number(ns[kSteal]))});
}

std::vector<Reading> ReadingsOf(const v1::Gauges& gauges, double length_s) {
  std::vector<Reading> readings;
  AddMemory(gauges, &readings);
  AddPressure(gauges, length_s, &readings);
  if (gauges.tasks() > 0) {
    readings.push_back({"load, 1 min", "tasks", gauges.load1_centi() * 0.01});
    readings.push_back({"tasks that run", "tasks", Number(gauges.tasks_running())});
    readings.push_back({"tasks", "tasks", Number(gauges.tasks())});
  }
  AddProcessors(gauges, &readings);
  return readings;
}

// One host's levels while epochs come in, ascending by time.
class HostSum {
 public:
  void Add(const StoredEpoch& epoch) {
    const v1::Gauges& gauges = epoch.body->gauges();
    const double end_s = Seconds(epoch.span.end_ns);
    const double length_s = Seconds(epoch.span.end_ns - epoch.span.start_ns);
    for (const Reading& reading : ReadingsOf(gauges, length_s)) AddTo(reading, end_s, length_s);
    if (gauges.cpus_online() > 0) host_.set_cpus(gauges.cpus_online());
    if (gauges.memory_total_bytes() == 0) return;
    host_.set_memory_bytes(Number(gauges.memory_total_bytes()));
    host_.set_swap_bytes(Number(gauges.swap_total_bytes()));
    const double share =
        Number(gauges.memory_available_bytes()) / Number(gauges.memory_total_bytes());
    if (host_.tightest_s() > 0 && share >= available_share_) return;
    available_share_ = share;
    host_.set_tightest_s(end_s);
    host_.mutable_free_blocks()->Assign(gauges.free_blocks().begin(), gauges.free_blocks().end());
  }

  // Lowest share of memory that was available; 1: not known.
  double available_share() const { return available_share_; }
  bool empty() const { return levels_.empty(); }

  v1::HostLevels Finish(std::string node) && {
    host_.set_node(std::move(node));
    for (const LevelSum& sum : levels_) {
      v1::HostLevel& level = *host_.add_levels() = sum.level;
      if (sum.length_s > 0) level.set_mean(sum.value_s / sum.length_s);
    }
    return std::move(host_);
  }

 private:
  struct LevelSum {
    v1::HostLevel level;
    double value_s = 0, length_s = 0;
  };

  void AddTo(const Reading& reading, double end_s, double length_s) {
    auto at = std::find_if(levels_.begin(), levels_.end(),
                           [&](const LevelSum& sum) { return sum.level.name() == reading.name; });
    const bool first = at == levels_.end();
    if (first) at = levels_.emplace(levels_.end());
    v1::HostLevel& level = at->level;
    if (first) {
      level.set_name(std::string(reading.name));
      level.set_unit(std::string(reading.unit));
    }
    if (first || reading.value < level.low()) {
      level.set_low(reading.value);
      level.set_low_s(end_s);
    }
    if (first || reading.value > level.high()) {
      level.set_high(reading.value);
      level.set_high_s(end_s);
    }
    level.set_last(reading.value);
    at->value_s += reading.value * length_s;
    at->length_s += length_s;
  }

  v1::HostLevels host_;
  std::vector<LevelSum> levels_;
  double available_share_ = 1;
};

}  // namespace

absl::StatusOr<v1::HostLevelsAnswer> AnswerHost(const v1::HostLevelsRequest& request,
                                                const Context& context) {
  if (request.limit() > kMaxHosts) {
    return absl::InvalidArgumentError(absl::StrCat("host: limit ", request.limit(), " is above ",
                                                   kMaxHosts, "; narrow the nodes instead"));
  }
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  const VitalBook book(*selection, context);
  CoverageBuilder coverage(*selection, context);
  std::map<uint32_t, HostSum> sums;
  LeftOut damaged;
  absl::Status status = ForEachEpoch(
      *selection, context,
      [&](const StoredEpoch& epoch) {
        coverage.AddEpoch(epoch, book, {});
        sums[epoch.node].Add(epoch);
      },
      &damaged);
  if (!status.ok()) return status;
  coverage.AddDamaged(damaged);
  coverage.NoteRawFloor();
  std::vector<std::pair<const storage::NodeRecord*, HostSum*>> hosts;
  for (const storage::NodeRecord& node : selection->nodes) {
    const auto sum = sums.find(node.number());
    if (sum != sums.end() && !sum->second.empty()) hosts.emplace_back(&node, &sum->second);
  }
  std::sort(hosts.begin(), hosts.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->available_share(), std::string_view(a.first->name())) <
           std::pair(b.second->available_share(), std::string_view(b.first->name()));
  });
  const size_t most =
      std::min<size_t>(hosts.size(), request.limit() == 0 ? kUsualHosts : request.limit());
  v1::HostLevelsAnswer answer;
  for (size_t i = 0; i < most; ++i) {
    *answer.add_hosts() = std::move(*hosts[i].second).Finish(hosts[i].first->name());
  }
  answer.set_left_out(static_cast<uint32_t>(hosts.size() - most));
  absl::StatusOr<v1::Coverage> finished = coverage.Finish(v1::TIER_RAW, most > 0);
  if (!finished.ok()) return finished.status();
  *answer.mutable_coverage() = *std::move(finished);
  return answer;
}

}  // namespace telltale::query
