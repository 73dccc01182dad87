#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/body_text.h"
#include "proto/codec.h"
#include "proto/convert.h"
#include "proto/dump.h"
#include "proto/schema.h"
#include "sketch/histogram.h"

namespace telltale::proto {
namespace {

template <typename... Parts>
void Line(std::string& out, const Parts&... parts) {
  absl::StrAppend(&out, parts..., "\n");
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string SignedDuration(int64_t ns) {
  return ns < 0 ? absl::StrCat("-", ShowDuration(-static_cast<uint64_t>(ns)))
                : ShowDuration(static_cast<uint64_t>(ns));
}

std::string SubName(const v1::VitalDescriptor& vital, uint32_t sub) {
  if (sub >= static_cast<uint32_t>(vital.subs_size())) return absl::StrCat("sub ", sub);
  return SanitizeText(vital.subs(static_cast<int>(sub)).name(), kShownBytes);
}

template <typename Losses>
void DumpLosses(const Losses& losses, v1::Unit unit, const char* indent, std::string& out) {
  for (const v1::Loss& loss : losses) {
    Line(out, indent, "lost: ", EnumWord(loss.reason()), " ", ShowNumber(loss.events()),
         " events, ",
         unit == v1::UNIT_UNSPECIFIED ? absl::StrCat("weight ", ShowNumber(loss.weight()))
                                      : ShowWeight(unit, loss.weight()));
  }
}

void DumpEpoch(const v1::Epoch& epoch, std::string& out) {
  const uint64_t length = epoch.end_mono_ns() - epoch.start_mono_ns();
  Line(out, "epoch ", ShowTime(epoch.start_unix_ns()), " + ", ShowDuration(length), ", ",
       EnumWord(epoch.kind()), ", configured ", epoch.length_s(), " s, watched ",
       Percent(epoch.watched_ns(), length));
  Line(out, "  clock ",
       epoch.clock_error_ns() == 0
           ? "offset unknown"
           : absl::StrCat("offset ", SignedDuration(epoch.clock_offset_ns()), " +- ",
                          ShowDuration(epoch.clock_error_ns())),
       ", hlc ", ShowTime((epoch.hlc() >> 16) * 1'000'000), " #", epoch.hlc() & 0xffff);
  Line(out, "  boot ", ShowHex(epoch.boot_id()), ", agent since ",
       ShowTime(epoch.agent_start_unix_ns()), ", scope ",
       epoch.scope().empty() ? "host" : SanitizeText(epoch.scope(), kShownBytes),
       epoch.unspooled() ? ", not spooled: was in memory only" : "");
}

void DumpPeer(const char* role, bool present, const v1::Peer& peer, const BodyText& text,
              std::string& out) {
  if (!present) return;
  Line(out, "        ", role, " ", text.String(peer.comm()), " pid ", peer.pid(), " tid ",
       peer.tid());
  for (const std::string& frame : text.Stack(peer.stack())) Line(out, "            ", frame);
}

void DumpSample(const v1::FoldedSample& folded, const v1::VitalDescriptor& vital,
                const BodyText& text, std::string& out) {
  const v1::Sample& sample = folded.exemplar();
  Line(out, "    ", ShowWeight(vital.unit(), folded.sampled_weight()), " sampled ",
       ShowNumber(folded.samples()), " x, weighs ", ShowWeight(vital.unit(), folded.low()), " to ",
       ShowWeight(vital.unit(), folded.high()), ", ", SubName(vital, folded.sub()),
       folded.open() ? ", open" : "", folded.irq() ? ", [irq]" : "", ", ", folded.first_ms(),
       " to ", folded.last_ms(), " ms");
  std::string label;
  for (int i = 0; i < std::min(folded.label_size(), vital.label_size()); ++i) {
    absl::StrAppend(&label, " ", SanitizeText(vital.label(i).name(), kShownBytes), "=",
                    text.Value(vital.label(i), folded.label(i)));
  }
  Line(out, "        ", text.String(folded.exe()), " uid ", folded.uid(), label);
  std::string detail;
  for (int i = 0; i < std::min(sample.detail_size(), vital.detail_size()); ++i) {
    absl::StrAppend(&detail, " ", SanitizeText(vital.detail(i).name(), kShownBytes), "=",
                    text.Value(vital.detail(i), sample.detail(i)));
  }
  Line(out, "        one of ", ShowWeight(vital.unit(), sample.weight()), " at ",
       ShowDuration(sample.time_ns()), ", cpu ", sample.cpu(), " pid ", sample.pid(), " tid ",
       sample.tid(), " ", text.String(sample.comm()), " in ", text.String(sample.cgroup()),
       ", cell ", ShowNumber(sample.cell_before()), " to ", ShowNumber(sample.cell_after()),
       ", t 2^", sample.t_log2(), detail);
  if (sample.wait_site() != 0) {
    Line(out, "        waits in ", text.String(sample.wait_site()));
  }
  for (const std::string& frame : text.Stack(folded.stack())) Line(out, "            ", frame);
  DumpPeer("ran instead:", sample.has_ran_instead(), sample.ran_instead(), text, out);
  DumpPeer("woken by:", sample.has_waker(), sample.waker(), text, out);
  DumpPeer("held by:", sample.has_holder(), sample.holder(), text, out);
}

void DumpVital(const v1::Vital& vital, const v1::VitalDescriptor& descriptor, const BodyText& text,
               std::string& out) {
  const v1::Unit unit = descriptor.unit();
  Line(out, SanitizeText(descriptor.name(), kShownBytes), " ", EnumWord(vital.state()),
       ", quantum ", ShowWeight(unit, vital.quantum()), ", t 2^", vital.t_log2());
  for (int i = 0; i < vital.subs_size(); ++i) {
    const v1::SubSeries& sub = vital.subs(i);
    Line(out, "  ", SubName(descriptor, static_cast<uint32_t>(i)), ": ", ShowNumber(sub.events()),
         " events, ", ShowWeight(unit, sub.weight()));
    if (sub.second_weight_size() == 0) continue;
    std::string seconds;
    for (const uint64_t weight : sub.second_weight()) absl::StrAppend(&seconds, " ", weight);
    Line(out, "    seconds", seconds);
  }
  const v1::SketchDigest& sketch = vital.sketch();
  Line(out, "  sketch ", sketch.rows(), " x ", sketch.columns(), ", ",
       ShowWeight(unit, sketch.total()), ", about ", ShowNumber(sketch.distinct()), " labels",
       sketch.layout() == v1::CELL_LAYOUT_VOTED
           ? absl::StrCat("; a label without samples weighs at most ",
                          ShowWeight(unit, sketch.unlisted_high()))
           : "");
  if (vital.backlog_size() != 0) {
    std::string backlog;
    for (const int64_t value : vital.backlog()) absl::StrAppend(&backlog, " ", value);
    Line(out, "  backlog", backlog);
  }
  for (const v1::KnobChange& change : vital.knobs()) {
    Line(out, "  at ", change.time_ms(), " ms ", EnumWord(change.knob()), " ",
         ShowNumber(change.from()), " to ", ShowNumber(change.to()));
  }
  if (vital.unwatched_ns() > 0) {
    Line(out, "  not counted for ", vital.unwatched_ns() / 1'000'000, " ms, to stay in the budget");
  }
  if (vital.estimated()) Line(out, "  estimated: watched in part, to stay in the budget");
  DumpLosses(vital.losses(), unit, "  ", out);
  Line(out, "  samples: ", vital.samples_size(), " entries; folded away ",
       ShowNumber(vital.folded_away().entries()), " entries, ",
       ShowNumber(vital.folded_away().samples()), " samples, ",
       ShowWeight(unit, vital.folded_away().sampled_weight()));
  for (const v1::FoldedSample& sample : vital.samples()) DumpSample(sample, descriptor, text, out);
}

void DumpHistogram(const v1::Histogram& histogram, const BodyText& text, std::string& out) {
  sketch::Histogram values{.r = histogram.r(), .bucket = {}, .count = {}, .sum = histogram.sum()};
  const bool readable = sketch::AllowedParts(histogram.r());
  for (int i = 0; i < std::min(histogram.bucket_size(), histogram.count_size()); ++i) {
    if (!readable || histogram.bucket(i) >= sketch::BucketCount(histogram.r())) continue;
    values.bucket.push_back(histogram.bucket(i));
    values.count.push_back(histogram.count(i));
  }
  const auto quantile = [&](double q) {
    return ShowWeight(histogram.unit(), static_cast<uint64_t>(sketch::Quantile(values, q)));
  };
  Line(out, "  ", EnumWord(histogram.layer()), "/",
       SanitizeText(histogram.operation(), kShownBytes),
       histogram.subject() != 0 ? absl::StrCat(" of ", text.String(histogram.subject())) : "", ": ",
       ShowNumber(histogram.exits()), " ended of ", ShowNumber(histogram.entries()), " begun, sum ",
       ShowWeight(histogram.unit(), histogram.sum()), ", p50 ", quantile(0.5), ", p90 ",
       quantile(0.9), ", p99 ", quantile(0.99), ", on ", Percent(histogram.share_ppm(), 1'000'000));
}

std::string ColumnName(uint32_t column, const v1::Schema& schema) {
  if (column < v1::PROCESS_COLUMN_FIRST_VITAL) {
    return EnumWord(static_cast<v1::ProcessColumn>(column));
  }
  const uint32_t offset = column - v1::PROCESS_COLUMN_FIRST_VITAL;
  const uint32_t vital = offset / 32, sub = offset % 32 / 2;
  const v1::VitalDescriptor* descriptor = FindDescriptor(schema, vital);
  const bool named = descriptor != nullptr && sub < static_cast<uint32_t>(descriptor->subs_size());
  const std::string name =
      named ? SanitizeText(descriptor->name(), kShownBytes) + "/" +
                  SanitizeText(descriptor->subs(static_cast<int>(sub)).name(), kShownBytes)
            : absl::StrCat("vital ", vital, "/", sub);
  return absl::StrCat(name, offset % 2 == 0 ? " events" : " weight");
}

void DumpProcesses(const v1::ProcessTable& table, const v1::Schema& schema, const BodyText& text,
                   std::string& out) {
  const auto row = [&](const std::string& who, const v1::ProcessRow& process) {
    std::string values;
    for (int i = 0; i < std::min(process.values_size(), table.columns_size()); ++i) {
      if (process.values(i) == 0) continue;
      absl::StrAppend(&values, " ", ColumnName(table.columns(i), schema), "=", process.values(i));
    }
    Line(out, "  ", who, ":", values);
  };
  if (table.whole_from_run_ns() != 0) {
    Line(out, "  who ran for ", ShowDuration(table.whole_from_run_ns()),
         " or more has no value left out");
  }
  for (const v1::ProcessRow& process : table.rows()) {
    row(absl::StrCat(
            process.irq() ? "[irq]" : text.String(process.exe()), " (", text.String(process.comm()),
            ") uid ", process.uid(), process.pid() != 0 ? absl::StrCat(" pid ", process.pid()) : "",
            process.instances() > 1 ? absl::StrCat(" x ", ShowNumber(process.instances())) : "",
            " in ", text.String(process.cgroup()),
            process.policy() != 0 ? absl::StrCat(" policy ", process.policy()) : "",
            process.throttled_cgroup() != 0
                ? absl::StrCat(" throttled in ", text.String(process.throttled_cgroup()), " ",
                               ShowNumber(process.throttled_periods()), " periods, ",
                               ShowDuration(process.throttled_ns()))
                : ""),
        process);
  }
  if (table.has_other()) {
    row(absl::StrCat("other, ", ShowNumber(table.other_processes()), " processes"), table.other());
  }
}

void DumpEvent(const v1::DiscreteEvent& event, const BodyText& text, std::string& out) {
  std::string line = absl::StrCat("  ", event.time_ms(), " ms ", EnumWord(event.type()));
  if (event.count() > 1) absl::StrAppend(&line, " x ", ShowNumber(event.count()));
  if (event.pid() != 0) absl::StrAppend(&line, " pid ", event.pid());
  absl::StrAppend(&line, " ", text.String(event.exe()), " (", text.String(event.comm()), ") uid ",
                  event.uid(), " in ", text.String(event.cgroup()));
  if (event.type() == v1::EVENT_TYPE_EXIT) {
    absl::StrAppend(&line, ", status ", event.exit_code(), ", signal ", event.exit_signal());
  }
  if (event.value() != 0) absl::StrAppend(&line, ", value ", event.value());
  if (event.text() != 0) absl::StrAppend(&line, ", ", text.String(event.text()));
  Line(out, line);
}

template <typename Values, typename Show>
std::string Named(const char* const* names, size_t count, const Values& values, Show show) {
  std::string text;
  for (int i = 0; i < values.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", static_cast<size_t>(i) < count ? names[i] : "?", " ",
                    show(values.Get(i)));
  }
  return text.empty() ? "-" : text;
}

void DumpHostNames(const v1::HostNames& names, const BodyText& text, std::string& out) {
  std::string line = "names:";
  for (int i = 0; i < std::min(names.uid_size(), names.user_size()); ++i) {
    absl::StrAppend(&line, " uid ", names.uid(i), " ", text.String(names.user(i)));
  }
  for (int i = 0; i < std::min(names.device_size(), names.disk_size()); ++i) {
    absl::StrAppend(&line, " disk ", names.device(i) >> 20, ":", names.device(i) & 0xfffff, " ",
                    text.String(names.disk(i)));
  }
  Line(out, line);
}

void DumpGauges(const v1::Gauges& gauges, std::string& out) {
  static constexpr const char* kCpu[] = {"user",   "nice", "system",  "idle",
                                         "iowait", "irq",  "softirq", "steal"};
  static constexpr const char* kPsi[] = {"cpu some",    "cpu full", "memory some",
                                         "memory full", "io some",  "io full"};
  const auto load = [](uint32_t centi) {
    return absl::StrFormat("%d.%02d", centi / 100, centi % 100);
  };
  Line(out, "gauges");
  Line(out, "  memory ", ShowBytes(gauges.memory_total_bytes()), ", free ",
       ShowBytes(gauges.memory_free_bytes()), ", available ",
       ShowBytes(gauges.memory_available_bytes()), ", page cache ",
       ShowBytes(gauges.page_cache_bytes()), ", swap ", ShowBytes(gauges.swap_free_bytes()),
       " free of ", ShowBytes(gauges.swap_total_bytes()));
  std::string blocks;
  for (const uint64_t count : gauges.free_blocks()) absl::StrAppend(&blocks, " ", count);
  Line(out, "  free blocks by page order", blocks);
  Line(out, "  load ", load(gauges.load1_centi()), " ", load(gauges.load5_centi()), " ",
       load(gauges.load15_centi()), ", tasks ", ShowNumber(gauges.tasks()), ", running ",
       ShowNumber(gauges.tasks_running()), ", CPUs online ", gauges.cpus_online());
  Line(out, "  cpu ", Named(kCpu, std::size(kCpu), gauges.cpu_ns(), ShowDuration));
  Line(out, "  stalled ", Named(kPsi, std::size(kPsi), gauges.psi_us(), [](uint64_t us) {
         return ShowDuration(us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX);
       }));
  Line(out, "  agent cpu ", ShowDuration(gauges.agent_cpu_ns()), ", rss ",
       ShowBytes(gauges.agent_rss_bytes()), ", maps ", ShowBytes(gauges.sensor_map_bytes()),
       ", spool ", ShowNumber(gauges.spool_summaries()), " summaries, ",
       ShowBytes(gauges.spool_bytes()), ", ", ShowNumber(gauges.unspooled_summaries()),
       " in memory only, last cut ", ShowDuration(uint64_t{gauges.cut_us()} * 1000));
  std::string parts;
  for (int i = 0; i < std::min(gauges.part_cpu_ns_size(), gauges.part_level_size()); ++i) {
    absl::StrAppend(&parts, i == 0 ? "" : ", ", EnumWord(static_cast<v1::SensorPart>(i)), " ",
                    ShowDuration(gauges.part_cpu_ns(i)));
    if (gauges.part_level(i) != 0) absl::StrAppend(&parts, " level ", gauges.part_level(i));
  }
  Line(out, "  budget ",
       gauges.budget_ppm() == 0 ? "none" : absl::StrFormat("%g %%", gauges.budget_ppm() / 10'000.0),
       ", parts of the agent ", parts.empty() ? "not reckoned" : parts);
}

void DumpUserStacks(const v1::UserStacks& stacks, std::string& out) {
  std::string ends;
  for (int i = 0; i < std::min(stacks.end_size(), stacks.samples_size()); ++i) {
    absl::StrAppend(&ends, i == 0 ? "" : ", ", ShowNumber(stacks.samples(i)), " ",
                    EnumWord(static_cast<v1::StackEnd>(stacks.end(i))));
  }
  Line(out, "user stacks: ", ends.empty() ? "-" : ends);
  Line(out, "  ", ShowNumber(stacks.unwound()), " unwound, ", ShowNumber(stacks.frames()),
       " frames in ", ShowDuration(stacks.unwind_ns()), "; tables ",
       ShowNumber(stacks.tables_built()), " built, ", ShowNumber(stacks.tables_loaded()),
       " loaded, ", ShowNumber(stacks.tables_damaged()), " damaged, ",
       ShowNumber(stacks.tables_unsaved()), " not saved, ", ShowBytes(stacks.table_bytes()),
       " in memory");
}

void DumpUserFrames(const v1::UserFrames& frames, std::string& out) {
  std::string outcomes;
  for (int i = 0; i < std::min(frames.outcome_size(), frames.frames_size()); ++i) {
    absl::StrAppend(&outcomes, i == 0 ? "" : ", ", ShowNumber(frames.frames(i)), " ",
                    EnumWord(static_cast<v1::NameOutcome>(frames.outcome(i))));
  }
  Line(out, "user frames: ", outcomes.empty() ? "-" : outcomes);
}

}  // namespace

std::string DumpBody(const v1::SummaryBody& body, const v1::Schema& schema,
                     const SymbolSource& symbols) {
  const BodyText text(body, symbols);
  std::string out;
  DumpEpoch(body.epoch(), out);
  for (const v1::Vital& vital : body.vitals()) {
    const v1::VitalDescriptor* descriptor = FindDescriptor(schema, vital.id());
    v1::VitalDescriptor unknown;
    unknown.set_name(absl::StrCat("vital ", vital.id()));
    DumpVital(vital, descriptor != nullptr ? *descriptor : unknown, text, out);
  }
  Line(out, "histograms: ", body.histograms_size());
  for (const v1::Histogram& histogram : body.histograms()) DumpHistogram(histogram, text, out);
  Line(out, "processes: ", body.processes().rows_size(), " rows");
  DumpProcesses(body.processes(), schema, text, out);
  Line(out, "events: ", body.events_size());
  for (const v1::DiscreteEvent& event : body.events()) DumpEvent(event, text, out);
  if (body.has_host_names()) DumpHostNames(body.host_names(), text, out);
  if (body.has_gauges()) DumpGauges(body.gauges(), out);
  if (body.has_user_stacks()) DumpUserStacks(body.user_stacks(), out);
  if (body.has_user_frames()) DumpUserFrames(body.user_frames(), out);
  Line(out, "losses: ", body.losses_size());
  DumpLosses(body.losses(), v1::UNIT_UNSPECIFIED, "  ", out);
  return out;
}

}  // namespace telltale::proto
