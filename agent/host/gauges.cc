#include "agent/host/gauges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/proc_file.h"

namespace telltale::agent {
namespace {

constexpr size_t kMaxText = 1 << 20;
constexpr size_t kMaxOrders = 32;
// Beyond any host; keeps sums and products of readings within 64 bits.
constexpr uint64_t kMaxReading = uint64_t{1} << 47;

uint64_t Reading(std::optional<uint64_t> value) { return std::min(value.value_or(0), kMaxReading); }

// "1.25" -> 125
uint32_t TakeCenti(std::string_view& text) {
  const uint64_t whole = Reading(TakeNumber(text));
  uint64_t centi = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    for (int digit = 0; digit < 2; ++digit) {
      const bool is_digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
      centi = centi * 10 + (is_digit ? static_cast<uint64_t>(text[0] - '0') : 0);
      if (is_digit) text.remove_prefix(1);
    }
  }
  return static_cast<uint32_t>(std::min<uint64_t>(whole * 100 + centi, UINT32_MAX));
}

uint64_t Since(uint64_t before, uint64_t now) { return now > before ? now - before : 0; }

}  // namespace

void ParseMeminfo(std::string_view text, v1::Gauges* gauges) {
  ForEachLine(text, [gauges](std::string_view line) {
    const std::string_view key = TakeWord(line);
    const uint64_t bytes = Reading(TakeNumber(line)) * 1024;
    if (key == "MemTotal:") gauges->set_memory_total_bytes(bytes);
    if (key == "MemFree:") gauges->set_memory_free_bytes(bytes);
    if (key == "MemAvailable:") gauges->set_memory_available_bytes(bytes);
    if (key == "Cached:") gauges->set_page_cache_bytes(bytes);
    if (key == "SwapTotal:") gauges->set_swap_total_bytes(bytes);
    if (key == "SwapFree:") gauges->set_swap_free_bytes(bytes);
  });
}

void ParseBuddyinfo(std::string_view text, v1::Gauges* gauges) {
  std::vector<uint64_t> blocks;
  ForEachLine(text, [&blocks](std::string_view line) {  // "Node 0, zone   DMA32      1 2 3 ..."
    const size_t zone = line.find("zone");
    if (zone == std::string_view::npos) return;
    line.remove_prefix(zone + 4);
    TakeWord(line);
    for (size_t order = 0; order < kMaxOrders; ++order) {
      const auto count = TakeNumber(line);
      if (!count) return;
      if (blocks.size() <= order) blocks.resize(order + 1, 0);
      blocks[order] = std::min(blocks[order] + Reading(count), kMaxReading);
    }
  });
  gauges->mutable_free_blocks()->Assign(blocks.begin(), blocks.end());
}

void ParseLoadavg(std::string_view text, v1::Gauges* gauges) {  // "0.52 0.58 0.59 1/467 12345"
  gauges->set_load1_centi(TakeCenti(text));
  gauges->set_load5_centi(TakeCenti(text));
  gauges->set_load15_centi(TakeCenti(text));
  gauges->set_tasks_running(static_cast<uint32_t>(Reading(TakeNumber(text))));
  if (text.starts_with('/')) text.remove_prefix(1);
  gauges->set_tasks(static_cast<uint32_t>(Reading(TakeNumber(text))));
}

CpuTicks ParseStat(std::string_view text) {
  CpuTicks cpu;
  ForEachLine(text, [&cpu](std::string_view line) {
    const std::string_view key = TakeWord(line);
    if (!key.starts_with("cpu")) return;
    if (key.size() > 3) {
      ++cpu.cpus_online;
      return;
    }
    for (uint64_t& ticks : cpu.ticks) ticks = Reading(TakeNumber(line));
  });
  return cpu;
}

std::array<uint64_t, 2> ParsePressure(std::string_view text) {
  std::array<uint64_t, 2> us{};
  ForEachLine(text, [&us](std::string_view line) {  // "some avg10=0.00 ... total=123"
    const size_t total = line.find("total=");
    if (total == std::string_view::npos) return;
    const bool full = line.starts_with("full");
    line.remove_prefix(total + 6);
    us[full ? 1 : 0] = Reading(TakeNumber(line));
  });
  return us;
}

ProcessUse ParseProcessStat(std::string_view text) {
  // The name in parentheses may hold anything: fields count from the last parenthesis.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  text.remove_prefix(name_end + 1);
  ProcessUse use;
  for (int field = 3; field <= 24; ++field) {
    const std::string_view word = TakeWord(text);
    std::string_view digits = word;
    if (field == 14 || field == 15) use.ticks += Reading(TakeNumber(digits));
    if (field == 24) use.rss_pages = Reading(TakeNumber(digits));
  }
  return use;
}

GaugeReader::GaugeReader(Options options) : options_(std::move(options)), last_(ReadCounters()) {}

std::string GaugeReader::Text(const std::string& path) const {
  absl::StatusOr<std::string> text = ReadBounded(options_.root + path, kMaxText);
  return text.ok() ? *std::move(text) : "";
}

GaugeReader::Counters GaugeReader::ReadCounters() const {
  Counters now;
  now.cpu = ParseStat(Text("/proc/stat"));
  constexpr const char* kPressure[] = {"/proc/pressure/cpu", "/proc/pressure/memory",
                                       "/proc/pressure/io"};
  for (size_t i = 0; i < std::size(kPressure); ++i) {
    const std::string text = Text(kPressure[i]);
    now.has_psi |= !text.empty();
    const auto [some, full] = ParsePressure(text);
    now.psi_us[2 * i] = some;
    now.psi_us[2 * i + 1] = full;
  }
  const auto pids = options_.agent_pids ? options_.agent_pids() : std::vector<uint32_t>();
  for (const uint32_t pid : pids) {
    now.agent[pid] = ParseProcessStat(Text(absl::StrCat("/proc/", pid, "/stat")));
  }
  return now;
}

v1::Gauges GaugeReader::Read() {
  v1::Gauges gauges;
  ParseMeminfo(Text("/proc/meminfo"), &gauges);
  ParseBuddyinfo(Text("/proc/buddyinfo"), &gauges);
  ParseLoadavg(Text("/proc/loadavg"), &gauges);
  const Counters now = ReadCounters();
  const uint64_t ns_per_tick = 1'000'000'000 / options_.clock_ticks;
  for (size_t i = 0; i < now.cpu.ticks.size(); ++i) {
    // The kernel lets idle and iowait run backwards at times.
    const uint64_t ticks = std::min(Since(last_.cpu.ticks[i], now.cpu.ticks[i]), kMaxReading >> 16);
    gauges.add_cpu_ns(ticks * ns_per_tick);
  }
  if (now.has_psi) {
    for (size_t i = 0; i < now.psi_us.size(); ++i) {
      gauges.add_psi_us(Since(last_.psi_us[i], now.psi_us[i]));
    }
  }
  gauges.set_cpus_online(now.cpu.cpus_online);
  uint64_t agent_ticks = 0, agent_pages = 0;
  for (const auto& [pid, use] : now.agent) {
    const auto before = last_.agent.find(pid);
    agent_ticks += Since(before == last_.agent.end() ? 0 : before->second.ticks, use.ticks);
    agent_pages += use.rss_pages;
  }
  gauges.set_agent_cpu_ns(std::min(agent_ticks, kMaxReading >> 16) * ns_per_tick);
  gauges.set_agent_rss_bytes(std::min(agent_pages, kMaxReading >> 16) * options_.page_size);
  last_ = now;
  return gauges;
}

}  // namespace telltale::agent
