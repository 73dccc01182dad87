#include "absl/strings/str_cat.h"
#include "proto/validate.h"
#include "sketch/epoch.h"
#include "sketch/time_units.h"

namespace telltale::proto {
namespace {

constexpr uint64_t kMaxStackEnd = 63;
constexpr uint64_t kMaxNameOutcome = 63;
constexpr uint64_t kMaxLossReason = 63;
constexpr size_t kMaxLosses = 256;
constexpr size_t kMaxGaugeValues = 64;
constexpr size_t kMaxHostNames = 4'096;
constexpr uint64_t kMaxPartLevel = 255;
constexpr uint64_t kMaxBudgetPpm = 1'000'000;

absl::Status Range(const FieldPath& at, const char* field, uint64_t start, uint64_t end,
                   const Limits& limits) {
  if (end <= start) {
    return at.Refuse(field, end, absl::StrCat("must be after the start, ", start));
  }
  const uint64_t limit = limits.max_epoch_s * kNsPerS;
  if (end - start > limit) {
    return at.Refuse(
        field, end,
        absl::StrCat("must be at most ", limit, " ns after the start, is ", end - start));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateIdentity(const FieldPath& at, const v1::Identity& identity) {
  if (!ValidNodeName(identity.node())) {
    return at.RefuseText("node", identity.node(), "must be 1 to 128 of [a-zA-Z0-9._-]");
  }
  if (identity.incarnation().size() != kIncarnationBytes) {
    return at.Refuse("incarnation length", identity.incarnation().size(), "must be 16 bytes");
  }
  if (identity.sequence() == 0) return at.Refuse("sequence", 0, "must be at least 1");
  return absl::OkStatus();
}

absl::Status ValidateEpoch(const FieldPath& at, const v1::Epoch& epoch, const Limits& limits) {
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("end_unix_ns", epoch.end_unix_ns(), kMaxUnixNs, "the year 2100"));
  TELLTALE_RETURN_IF_ERROR(
      Range(at, "end_unix_ns", epoch.start_unix_ns(), epoch.end_unix_ns(), limits));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("end_mono_ns", epoch.end_mono_ns(), kMaxUnixNs, "130 years of uptime"));
  TELLTALE_RETURN_IF_ERROR(
      Range(at, "end_mono_ns", epoch.start_mono_ns(), epoch.end_mono_ns(), limits));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("watched_ns", epoch.watched_ns(),
                                     epoch.end_mono_ns() - epoch.start_mono_ns(),
                                     "length of the epoch in ns"));
  if (epoch.kind() <= 0) return at.RefuseSigned("kind", epoch.kind(), "must be stated");
  if (!sketch::DividesMinute(epoch.length_s())) {
    return at.Refuse("length_s", epoch.length_s(), "must divide a minute");
  }
  const auto most = static_cast<int64_t>(kMaxUnixNs);
  if (epoch.clock_offset_ns() > most || epoch.clock_offset_ns() < -most) {
    return at.RefuseSigned("clock_offset_ns", epoch.clock_offset_ns(),
                           "must be within 130 years either way");
  }
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("clock_error_ns", epoch.clock_error_ns(), kMaxUnixNs, "130 years"));
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("agent_start_unix_ns", epoch.agent_start_unix_ns(), kMaxUnixNs, "the year 2100"));
  if (epoch.boot_id().size() != kBootIdBytes) {
    return at.Refuse("boot_id length", epoch.boot_id().size(), "must be 16 bytes");
  }
  return at.Text("scope", epoch.scope(), limits.string_bytes);
}

// Reasons that are not known here count too, but not without bound: they become counters of the
// node and series of /metrics.
absl::Status ValidateLoss(const FieldPath& at, const v1::Loss& loss) {
  if (loss.reason() <= 0) return at.RefuseSigned("reason", loss.reason(), "must be stated");
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("reason", static_cast<uint64_t>(loss.reason()), kMaxLossReason, "limit"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("events", loss.events(), kMaxTotal, "limit"));
  return at.AtMost("weight", loss.weight(), kMaxTotal, "limit");
}

absl::Status ValidateEvent(const FieldPath& at, const v1::DiscreteEvent& event,
                           const BodyContext& context) {
  if (event.type() <= 0) return at.RefuseSigned("type", event.type(), "must be stated");
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("time_ms", event.time_ms(), context.length_ms, "length of the epoch in ms"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("exe", event.exe(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("comm", event.comm(), context.strings, "strings"));
  TELLTALE_RETURN_IF_ERROR(at.AtMost("cgroup", event.cgroup(), context.strings, "strings"));
  return at.AtMost("text", event.text(), context.strings, "strings");
}

absl::Status ValidateGauges(const FieldPath& at, const v1::Gauges& gauges) {
  const auto column = [&at](const char* name, const auto& values) -> absl::Status {
    TELLTALE_RETURN_IF_ERROR(at.AtMost(name, values.size(), kMaxGaugeValues, "values"));
    for (const uint64_t value : values) {
      TELLTALE_RETURN_IF_ERROR(at.AtMost(name, value, kMaxTotal, "limit"));
    }
    return absl::OkStatus();
  };
  TELLTALE_RETURN_IF_ERROR(column("free_blocks", gauges.free_blocks()));
  TELLTALE_RETURN_IF_ERROR(column("cpu_ns", gauges.cpu_ns()));
  TELLTALE_RETURN_IF_ERROR(column("psi_us", gauges.psi_us()));
  TELLTALE_RETURN_IF_ERROR(column("part_cpu_ns", gauges.part_cpu_ns()));
  if (gauges.part_level_size() != gauges.part_cpu_ns_size()) {
    return at.Refuse("part_level", static_cast<uint64_t>(gauges.part_level_size()),
                     absl::StrCat("must be as many as part_cpu_ns, ", gauges.part_cpu_ns_size()));
  }
  for (const uint32_t level : gauges.part_level()) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost("part_level", level, kMaxPartLevel, "limit"));
  }
  TELLTALE_RETURN_IF_ERROR(
      at.AtMost("budget_ppm", gauges.budget_ppm(), kMaxBudgetPpm, "the whole host"));
  const std::pair<const char*, uint64_t> single[] = {
      {"memory_total_bytes", gauges.memory_total_bytes()},
      {"memory_free_bytes", gauges.memory_free_bytes()},
      {"memory_available_bytes", gauges.memory_available_bytes()},
      {"page_cache_bytes", gauges.page_cache_bytes()},
      {"swap_total_bytes", gauges.swap_total_bytes()},
      {"swap_free_bytes", gauges.swap_free_bytes()},
      {"agent_cpu_ns", gauges.agent_cpu_ns()},
      {"agent_rss_bytes", gauges.agent_rss_bytes()},
      {"sensor_map_bytes", gauges.sensor_map_bytes()},
      {"spool_bytes", gauges.spool_bytes()},
  };
  for (const auto& [name, value] : single) {
    TELLTALE_RETURN_IF_ERROR(at.AtMost(name, value, kMaxTotal, "limit"));
  }
  return absl::OkStatus();
}

absl::Status ValidateHostNames(const FieldPath& at, const v1::HostNames& names,
                               const BodyContext& context) {
  const auto column = [&](const char* what, int numbers, const auto& texts) -> absl::Status {
    if (numbers != texts.size()) {
      return at.Refuse(what, static_cast<uint64_t>(texts.size()),
                       absl::StrCat("must be as many as the numbers, ", numbers));
    }
    TELLTALE_RETURN_IF_ERROR(at.AtMost(what, numbers, kMaxHostNames, "limit"));
    for (const uint32_t text : texts) {
      TELLTALE_RETURN_IF_ERROR(at.AtMost(what, text, context.strings, "strings"));
    }
    return absl::OkStatus();
  };
  TELLTALE_RETURN_IF_ERROR(column("user", names.uid_size(), names.user()));
  return column("disk", names.device_size(), names.disk());
}

// As above.
absl::Status ValidateUserStacks(const FieldPath& at, const v1::UserStacks& stacks) {
  if (stacks.end_size() != stacks.samples_size()) {
    return at.Refuse("samples", stacks.samples_size(),
                     absl::StrCat("must be as many as end, ", stacks.end_size()));
  }
  int previous = v1::STACK_END_NONE;
  for (int i = 0; i < stacks.end_size(); ++i) {
    const int end = stacks.end(i);
    if (end <= previous) {
      return at.RefuseSigned("end", end, absl::StrCat("must be above the one before, ", previous));
    }
    TELLTALE_RETURN_IF_ERROR(at.AtMost("end", static_cast<uint64_t>(end), kMaxStackEnd, "limit"));
    TELLTALE_RETURN_IF_ERROR(at.AtMost("samples", stacks.samples(i), kMaxTotal, "limit"));
    previous = end;
  }
  return absl::OkStatus();
}

// As above.
absl::Status ValidateUserFrames(const FieldPath& at, const v1::UserFrames& frames) {
  if (frames.outcome_size() != frames.frames_size()) {
    return at.Refuse("frames", frames.frames_size(),
                     absl::StrCat("must be as many as outcome, ", frames.outcome_size()));
  }
  int previous = v1::NAME_OUTCOME_UNSPECIFIED;
  for (int i = 0; i < frames.outcome_size(); ++i) {
    const int outcome = frames.outcome(i);
    if (outcome <= previous) {
      return at.RefuseSigned("outcome", outcome,
                             absl::StrCat("must be above the one before, ", previous));
    }
    TELLTALE_RETURN_IF_ERROR(
        at.AtMost("outcome", static_cast<uint64_t>(outcome), kMaxNameOutcome, "limit"));
    TELLTALE_RETURN_IF_ERROR(at.AtMost("frames", frames.frames(i), kMaxTotal, "limit"));
    previous = outcome;
  }
  return absl::OkStatus();
}

absl::Status ValidateBody(const v1::SummaryBody& body, const v1::Schema* schema,
                          const Limits& limits, bool samples) {
  const FieldPath root("summary");
  TELLTALE_RETURN_IF_ERROR(ValidateEpoch(FieldPath(root, "epoch"), body.epoch(), limits));
  TELLTALE_RETURN_IF_ERROR(ValidateTables(FieldPath(root, "tables"), body.tables(), limits));

  const uint64_t length_ns = body.epoch().end_mono_ns() - body.epoch().start_mono_ns();
  const BodyContext context{
      .limits = limits,
      .schema = schema,
      .strings = static_cast<size_t>(body.tables().strings_size()),
      .frames = static_cast<size_t>(body.tables().frame_mapping_size()),
      .stacks = static_cast<size_t>(body.tables().stacks_size()),
      .length_ms = (length_ns + kNsPerMs - 1) / kNsPerMs,
      .seconds = static_cast<size_t>((length_ns + kNsPerS - 1) / kNsPerS + 1),
      .samples = samples,
  };

  uint32_t previous = 0;
  for (int i = 0; i < body.vitals_size(); ++i) {
    const FieldPath at(root, "vitals", i);
    const uint32_t id = body.vitals(i).id();
    TELLTALE_RETURN_IF_ERROR(at.AtMost("id", id, kMaxVital, "highest id"));
    if (id <= previous) {
      return at.Refuse("id", id, absl::StrCat("must be above the one before, ", previous));
    }
    previous = id;
    TELLTALE_RETURN_IF_ERROR(ValidateVital(at, body.vitals(i), context));
  }

  TELLTALE_RETURN_IF_ERROR(
      root.AtMost("histograms", body.histograms_size(), limits.histograms, "limit"));
  for (int i = 0; i < body.histograms_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(
        ValidateHistogram(FieldPath(root, "histograms", i), body.histograms(i), context));
  }
  TELLTALE_RETURN_IF_ERROR(
      ValidateProcesses(FieldPath(root, "processes"), body.processes(), context));

  TELLTALE_RETURN_IF_ERROR(root.AtMost("events", body.events_size(), limits.events, "limit"));
  uint32_t previous_ms = 0;
  for (int i = 0; i < body.events_size(); ++i) {
    const FieldPath at(root, "events", i);
    TELLTALE_RETURN_IF_ERROR(ValidateEvent(at, body.events(i), context));
    if (body.events(i).time_ms() < previous_ms) {
      return at.Refuse("time_ms", body.events(i).time_ms(),
                       absl::StrCat("must not be before the one before, ", previous_ms));
    }
    previous_ms = body.events(i).time_ms();
  }
  TELLTALE_RETURN_IF_ERROR(ValidateUserStacks(FieldPath(root, "user_stacks"), body.user_stacks()));
  TELLTALE_RETURN_IF_ERROR(ValidateUserFrames(FieldPath(root, "user_frames"), body.user_frames()));
  TELLTALE_RETURN_IF_ERROR(
      ValidateHostNames(FieldPath(root, "host_names"), body.host_names(), context));
  TELLTALE_RETURN_IF_ERROR(ValidateGauges(FieldPath(root, "gauges"), body.gauges()));
  TELLTALE_RETURN_IF_ERROR(root.AtMost("losses", body.losses_size(), kMaxLosses, "limit"));
  for (int i = 0; i < body.losses_size(); ++i) {
    TELLTALE_RETURN_IF_ERROR(ValidateLoss(FieldPath(root, "losses", i), body.losses(i)));
  }
  return absl::OkStatus();
}

}  // namespace telltale::proto
