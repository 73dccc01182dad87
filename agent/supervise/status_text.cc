#include "agent/supervise/status_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/vitals/vitals.h"
#include "proto/codec.h"
#include "sketch/time_units.h"

namespace telltale::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTextBytes = 400;

const char* StateName(VitalState state) {
  switch (state) {
    case VitalState::kActive:
      return "active";
    case VitalState::kDegraded:
      return "degraded";
    case VitalState::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

std::string VitalName(uint8_t id) {
  const sketch::Vital* vital = FindVital(id);
  return vital == nullptr ? absl::StrCat("vital ", id) : std::string(vital->name);
}

Json VitalsOf(const std::vector<VitalStatus>& vitals) {
  Json list = Json::array();
  for (const VitalStatus& vital : vitals) {
    list.push_back({{"vital", VitalName(vital.id)},
                    {"state", StateName(vital.state)},
                    {"hook", proto::SanitizeText(vital.hook, kTextBytes)},
                    {"reason", proto::SanitizeText(vital.reason, kTextBytes)}});
  }
  return list;
}

std::string TableOf(const Json& vitals) {
  const std::string columns[] = {"vital", "state", "hook", "reason"};
  size_t width[4];
  for (int i = 0; i < 4; ++i) {
    width[i] = columns[i].size();
    for (const Json& row : vitals) {
      width[i] = std::max(width[i], row.at(columns[i]).get<std::string>().size());
    }
  }
  const auto line = [&](const std::string cells[4]) {
    std::string text = absl::StrFormat("%-*s  %-*s  %-*s  %s", width[0], cells[0], width[1],
                                       cells[1], width[2], cells[2], cells[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line(columns);
  for (const Json& row : vitals) {
    std::string cells[4];
    for (int i = 0; i < 4; ++i) cells[i] = row.at(columns[i]).get<std::string>();
    text += line(cells);
  }
  return text;
}

// Whole seconds, rounded up; 0: none is due.
uint64_t NextAttemptS(const AgentStatus& status) {
  const uint64_t at_ns = status.uplink.next_attempt_ns;
  if (at_ns == 0) return 0;
  return at_ns <= status.mono_ns ? 1 : (at_ns - status.mono_ns - 1) / kNsPerS + 1;
}

// "connected to collector:7410", "no stream to collector:7410, next try in 3 s".
std::string UplinkText(const Json& uplink) {
  const auto state = uplink.at("state").get<std::string>();
  const auto collector = uplink.at("collector").get<std::string>();
  if (state != "waiting") return absl::StrCat(state, " to ", collector);
  const auto next_s = uplink.at("nextAttemptInS").get<uint64_t>();
  return absl::StrCat("no stream to ", collector,
                      next_s > 0 ? absl::StrCat(", next try in ", next_s, " s") : "");
}

std::string Plural(const Json& part, const char* name, const char* noun) {
  const auto count = part.at(name).get<uint64_t>();
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// ", 3 times without a CPU of this host (1.7 s)".
std::string StarvedText(const Json& sensor) {
  if (sensor.at("starvedTimes").get<uint64_t>() == 0) return "";
  return absl::StrFormat(", %s without a CPU of this host (%.1f s)",
                         Plural(sensor, "starvedTimes", "time"),
                         sensor.at("starvedMs").get<double>() / 1e3);
}

std::string ClockText(const Json& clock) {
  if (!clock.at("known").get<bool>()) return "offset to the collector not known yet";
  const double offset_ms = clock.at("offsetMs").get<double>();
  return absl::StrFormat("%.3f ms %s the collector's, known to +- %.3f ms", std::abs(offset_ms),
                         offset_ms < 0 ? "ahead of" : "behind", clock.at("errorMs").get<double>());
}

}  // namespace

std::string SourceText(const SourceStatus& source) {
  std::string text = absl::StrCat(source.name, ": ", StateName(source.state));
  for (const std::string& part : {source.hook, source.reason}) {
    const std::string shown = proto::SanitizeText(part, kTextBytes);
    if (!shown.empty()) absl::StrAppend(&text, ": ", shown);
  }
  return text;
}

std::string CheckJson(const CheckedSensor& checked) {
  Json json = {{"vitals", VitalsOf(checked.vitals)},
               {"sources", Json::array()},
               {"userStacks", checked.user_stacks},
               {"scope", checked.scope}};
  for (const SourceStatus& source : checked.sources) {
    json["sources"].push_back({{"name", source.name},
                               {"state", StateName(source.state)},
                               {"hook", proto::SanitizeText(source.hook, kTextBytes)},
                               {"reason", proto::SanitizeText(source.reason, kTextBytes)}});
  }
  return json.dump(2) + "\n";
}

std::string CheckPage(const CheckedSensor& checked) {
  std::string page = TableOf(VitalsOf(checked.vitals));
  for (const SourceStatus& source : checked.sources) {
    absl::StrAppend(&page, SourceText(source), "\n");
  }
  absl::StrAppend(&page, "user stacks: ", checked.user_stacks, "\n");
  if (!checked.scope.empty()) {
    absl::StrAppend(&page, "scope: only tasks of ", checked.scope, " and below it\n");
  }
  return page;
}

std::string StatusJson(const AgentStatus& status) {
  const DiskWriter::Stats& spool = status.spool;
  Json json;
  json["version"] = status.version;
  json["node"] = status.node;
  json["incarnation"] = absl::BytesToHexString(status.incarnation);
  json["configFile"] = status.config_file;
  json["uptimeS"] = status.uptime_s;
  json["epochS"] = status.epoch_s;
  json["sensor"] = {{"kind", status.sensor},
                    {"scope", status.scope},
                    {"epochs", status.loop.epochs},
                    {"failedCuts", status.loop.failed_cuts},
                    {"starvedTimes", status.starvation.rescues + status.starvation.refused},
                    {"starvedMs", status.starvation.starved_ns / kNsPerMs},
                    {"problem", proto::SanitizeText(status.loop.problem, kTextBytes)}};
  json["clock"] = {{"known", status.loop.clock_error_ns != 0},
                   {"offsetMs", static_cast<double>(status.loop.clock_offset_ns) / 1e6},
                   {"errorMs", static_cast<double>(status.loop.clock_error_ns) / 1e6}};
  json["spool"] = {{"records", spool.records},
                   {"bytes", spool.bytes},
                   {"oldestSequence", spool.oldest_sequence},
                   {"nextSequence", spool.next_sequence},
                   {"heldInMemory", spool.held},
                   {"waitingForDisk", spool.waiting},
                   {"hungForS", spool.hung_s},
                   {"lostRanges", spool.lost_ranges},
                   {"droppedFull", spool.counts.dropped_full},
                   {"droppedCorrupt", spool.counts.dropped_corrupt},
                   {"droppedInMemory", spool.lost_in_memory},
                   {"namesLeftOut", spool.names_left_out},
                   {"problem", proto::SanitizeText(spool.problem, kTextBytes)}};
  json["uplink"] = {{"collector", status.collector},
                    {"state", status.uplink.state},
                    {"pending", status.uplink.pending},
                    {"inFlight", status.uplink.in_flight},
                    {"stored", status.uplink.stored},
                    {"apart", status.uplink.apart},
                    {"tooLate", status.uplink.too_late},
                    {"refused", status.uplink.refused},
                    {"namesLeftOut", status.uplink.names_left_out},
                    {"nextAttemptInS", NextAttemptS(status)},
                    {"problem", proto::SanitizeText(status.uplink.error, kTextBytes)}};
  json["vitals"] = VitalsOf(status.vitals);
  return json.dump(2) + "\n";
}

absl::StatusOr<std::string> StatusPage(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError("status: what answered on the socket is no agent");
  }
  try {
    std::string page;
    const auto add = [&page](const char* what, const std::string& value) {
      absl::StrAppend(&page, absl::StrFormat("%-10s %s\n", what, value));
    };
    const auto problem = [](const Json& part) {
      const auto said = part.at("problem").get<std::string>();
      return said.empty() ? "" : absl::StrCat("; ", said);
    };
    const auto number = [](const Json& part, const char* name) {
      return absl::StrCat(part.at(name).get<uint64_t>());
    };
    const Json &spool = json.at("spool"), &uplink = json.at("uplink"), &clock = json.at("clock");
    const Json& sensor = json.at("sensor");
    add("node", absl::StrCat(json.at("node").get<std::string>(), ", agent ",
                             json.at("incarnation").get<std::string>().substr(0, 8), ", up ",
                             number(json, "uptimeS"), " s, version ",
                             json.at("version").get<std::string>()));
    add("sensor",
        absl::StrCat(sensor.at("kind").get<std::string>(), " on ",
                     sensor.at("scope").get<std::string>(), ", epochs of ", number(json, "epochS"),
                     " s, ", number(sensor, "epochs"), " cut, ", number(sensor, "failedCuts"),
                     " failed", StarvedText(sensor), problem(sensor)));
    const uint64_t apart = uplink.at("apart").get<uint64_t>();
    add("uplink",
        absl::StrCat(
            UplinkText(uplink), ", ", number(uplink, "stored"), " stored",
            apart > 0 ? absl::StrCat(" (", apart, " of them KEPT APART, in no answer)") : "", ", ",
            number(uplink, "pending"), " to send, ", number(uplink, "inFlight"), " in flight, ",
            number(uplink, "tooLate"), " too late, ", number(uplink, "refused"), " refused",
            problem(uplink)));
    add("spool",
        absl::StrCat(
            Plural(spool, "records", "epoch"), ", ", Plural(spool, "bytes", "byte"), ", ",
            spool.at("heldInMemory").get<uint64_t>() + spool.at("waitingForDisk").get<uint64_t>(),
            " in memory only, ", Plural(spool, "lostRanges", "lost range"), " to declare",
            problem(spool)));
    add("clock", ClockText(clock));
    return page + "\n" + TableOf(json.at("vitals"));
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("status: the answer is of another version: ", error.what()));
  }
}

}  // namespace telltale::agent
