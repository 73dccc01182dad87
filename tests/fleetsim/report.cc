#include "tests/fleetsim/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace telltale::fleetsim {
namespace {

constexpr double kMsPerUs = 1e-3, kMbPerKb = 1.0 / 1024;
constexpr size_t kProblemsShown = 8;

struct Line {
  std::string key, words, unit;
  std::optional<double> value;  // none: not known
  int digits = 0;
};

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Whether what the clocks say of acks is the collector's doing.
bool LatencyClaim(const RunFigures& figures) {
  return figures.collector_known && figures.cpu.share() < kMostShare;
}

std::vector<Line> Lines(RunFigures& figures) {
  std::vector<Line> lines;
  const auto add = [&lines](const char* key, const char* words, double value, const char* unit = "",
                            int digits = 0) {
    lines.push_back({key, words, unit, value, digits});
  };
  const auto add_known = [&](bool known, const char* key, const char* words, double value,
                             const char* unit, int digits) {
    if (known) {
      add(key, words, value, unit, digits);
    } else {
      lines.push_back({key, words, unit, std::nullopt, 0});
    }
  };
  Tally& tally = figures.tally;
  const auto whole = [](uint64_t value) { return static_cast<double>(value); };
  add("nodes", "nodes", whole(figures.nodes));
  add("connected_most", "most connected at once", whole(figures.connected_most));
  add("connect_s", "until all were connected", figures.connect_s, "s", 1);
  add("epochs_cut", "epochs cut", whole(tally.cut));
  add("epochs_settled", "epochs settled", whole(tally.settled));
  add("drained", "all of honest nodes settled (1: yes)", figures.drained ? 1 : 0);
  for (size_t i = 0; i < kBehaviours; ++i) {
    const Answers& answers = tally.answers[i];
    if (answers.sent == 0) continue;
    const std::string name = BehaviourName(static_cast<Behaviour>(i));
    const auto one = [&](const char* key, uint64_t value) {
      lines.push_back({absl::StrCat(name, "_", key),
                       absl::StrCat(absl::StrReplaceAll(name, {{"_", " "}}), ": ",
                                    absl::StrReplaceAll(key, {{"_", " "}})),
                       "", whole(value), 0});
    };
    one("sent", answers.sent);
    one("stored", answers.stored);
    one("repeats", answers.repeats);
    one("refused", answers.refused);
    one("too_late", answers.too_late);
    one("retry_after", answers.retried);
    one("kept_apart", answers.apart);
  }
  const bool acks = !tally.ack_us.empty();
  for (const auto& [key, words, share] :
       {std::tuple{"ack_p50_ms", "ack, sent to durable: p50", 0.5},
        {"ack_p90_ms", "p90", 0.9},
        {"ack_p99_ms", "p99", 0.99},
        {"ack_max_ms", "longest", 1.0}}) {
    add_known(acks, key, words, Quantile(tally.ack_us, share) * kMsPerUs, "ms", 1);
  }
  add("acks_measured", "acks measured, before any storm", whole(tally.ack_us.size()));
  add("connects", "connections begun", whole(tally.connects));
  add("lost_streams", "streams that ended unasked", whole(tally.lost_streams));
  add("departures", "nodes left", whole(tally.departures));
  const bool stormed = !tally.reconnect_ms.empty();
  add_known(stormed, "storm_back_p50_s", "after a storm, back: p50",
            Quantile(tally.reconnect_ms, 0.5) * 1e-3, "s", 1);
  add_known(stormed, "storm_back_max_s", "the last", Quantile(tally.reconnect_ms, 1) * 1e-3, "s",
            1);
  const bool storm_acks = !tally.storm_ack_us.empty();
  add_known(storm_acks, "storm_ack_p99_ms", "acks from then on: p99",
            Quantile(tally.storm_ack_us, 0.99) * kMsPerUs, "ms", 1);
  add_known(storm_acks, "storm_ack_max_ms", "longest", Quantile(tally.storm_ack_us, 1) * kMsPerUs,
            "ms", 1);
  add("storm_reconnected", "came back after a storm", whole(tally.reconnect_ms.size()));
  add("sent_mb", "messages sent", whole(tally.sent_bytes) / (1 << 20), "MB", 1);
  const double drawn = Ratio(whole(tally.summary_bytes), whole(tally.summary_epochs));
  add("epoch_bytes", "an epoch, compressed", drawn, "bytes");
  add("recorded_epoch_bytes", "as recorded", figures.recorded_bytes, "bytes");
  add("entropy_ratio", "entropy of an epoch against the recording", drawn / figures.recorded_bytes,
      "", 3);
  add("stacks_per_node", "distinct stacks of a node",
      Ratio(whole(tally.stacks_of_nodes), whole(tally.nodes_with_stacks)));
  add("private_stacks_share", "of them no other node has",
      100 * Ratio(whole(tally.private_stacks), whole(tally.stacks_of_nodes)), "%", 1);
  add("stacks_of_fleet", "of the fleet", whole(tally.fleet_stacks.size()));
  add("other_builds_share", "nodes with other build ids",
      100 * Ratio(whole(figures.other_builds), whole(figures.nodes)), "%", 1);
  const bool disk = !figures.fsync_us.empty();
  add_known(disk, "fsync_p50_ms", "durable write on that disk: p50",
            Quantile(figures.fsync_us, 0.5) * kMsPerUs, "ms", 2);
  add_known(disk, "fsync_p99_ms", "p99", Quantile(figures.fsync_us, 0.99) * kMsPerUs, "ms", 2);
  const bool known = figures.collector_known;
  add("measured_s", "measured", figures.cpu.seconds, "s", 1);
  add_known(known, "collector_cores", "CPU of the collector", figures.cpu.collector, "cores", 3);
  add("simulator_cores", "of the simulator", figures.cpu.own, "cores", 3);
  add("machine_cores", "of the whole machine", figures.cpu.machine, "cores", 3);
  add_known(known, "both_share", "both, of the machine", 100 * figures.cpu.share(), "%", 1);
  add_known(known, "collector_connect_cores", "of the collector while all connected",
            figures.connect_cpu.collector, "cores", 3);
  add_known(known, "collector_rss_mb", "memory of the collector",
            whole(figures.collector.now_kb) * kMbPerKb, "MB", 0);
  add_known(known, "collector_rss_most_mb", "at most", whole(figures.collector.most_kb) * kMbPerKb,
            "MB", 0);
  add("simulator_rss_mb", "of the simulator", whole(figures.own.now_kb) * kMbPerKb, "MB", 0);
  if (figures.verification) {
    const Verification& checked = *figures.verification;
    add("verified_nodes", "nodes whose epochs were counted", checked.nodes_counted);
    add("verified_sums", "nodes whose sums were compared", checked.nodes_summed);
    add("verified_acked", "epochs acknowledged", whole(checked.acked));
    add("verified_received", "the collector has", whole(checked.received));
    add("verified_wrong", "differences", whole(checked.wrong.size()));
  }
  return lines;
}

std::string ClaimWords(const RunFigures& figures) {
  if (!figures.collector_known)
    return "no latency claim: give --collector-pid to tell who used the machine";
  return absl::StrFormat("%s: both sides used %.0f %% of the machine, limit %.0f %%",
                         LatencyClaim(figures) ? "latencies may be claimed" : "no latency claim",
                         100 * figures.cpu.share(), 100 * kMostShare);
}

std::vector<std::pair<std::string, uint64_t>> Problems(const RunFigures& figures) {
  std::vector<std::pair<std::string, uint64_t>> problems(figures.problems.begin(),
                                                         figures.problems.end());
  std::ranges::stable_sort(problems, std::ranges::greater(),
                           &std::pair<std::string, uint64_t>::second);
  if (problems.size() > kProblemsShown) problems.resize(kProblemsShown);
  return problems;
}

std::string JsonString(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string TableText(RunFigures& figures) {
  std::string text;
  for (const Line& line : Lines(figures)) {
    const std::string value =
        line.value ? absl::StrFormat("%.*f", line.digits, *line.value) : "not known";
    absl::StrAppendFormat(&text, "%-44s %14s %s\n", line.words, value, line.value ? line.unit : "");
  }
  absl::StrAppend(&text, ClaimWords(figures), "\n");
  if (figures.synthetic)
    absl::StrAppend(&text, "epochs were made up: give --recordings for figures to keep\n");
  if (figures.stretched) {
    absl::StrAppend(&text,
                    "the recordings' epochs have another length and were stretched: entropy is "
                    "compared all the same\n");
  }
  for (const auto& [problem, times] : Problems(figures)) {
    absl::StrAppend(&text, "honest nodes heard ", times, " x: ", problem, "\n");
  }
  if (figures.verification) {
    for (const std::string& line : figures.verification->wrong)
      absl::StrAppend(&text, "WRONG ", line, "\n");
  }
  return text;
}

std::string JsonText(RunFigures& figures) {
  std::string text = "{\n";
  for (const Line& line : Lines(figures)) {
    absl::StrAppend(&text, "  ", JsonString(line.key), ": ",
                    line.value ? absl::StrFormat("%.*f", line.digits, *line.value) : "null", ",\n");
  }
  absl::StrAppend(&text, "  \"latency_claim\": ", LatencyClaim(figures) ? "true" : "false",
                  ",\n  \"latency_claim_words\": ", JsonString(ClaimWords(figures)),
                  ",\n  \"synthetic\": ", figures.synthetic ? "true" : "false",
                  ",\n  \"stretched\": ", figures.stretched ? "true" : "false",
                  ",\n  \"problems\": {");
  const char* comma = "";
  for (const auto& [problem, times] : Problems(figures)) {
    absl::StrAppend(&text, comma, JsonString(problem), ": ", times);
    comma = ", ";
  }
  absl::StrAppend(&text, "},\n  \"wrong\": [");
  comma = "";
  if (figures.verification) {
    for (const std::string& line : figures.verification->wrong) {
      absl::StrAppend(&text, comma, JsonString(line));
      comma = ", ";
    }
  }
  return text + "]\n}\n";
}

}  // namespace telltale::fleetsim
