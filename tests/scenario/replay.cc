// Shows recorded innocent epochs to the collector's filters and incidents, as the epochs of many
// nodes: drawn again with noise (tests/fleetsim/redraw.h), on a clock of their own. Not the network
// and not the store: filters, log and incidents are the collector's. Prints what they said as JSON,
// and to standard error how far it is.
//
// usage: scenario_replay SPOOL_DIRECTORY NODES HOURS [SEED]
//        scenario_replay --versions   the filters of this build and their versions, as JSON

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/config.h"
#include "collector/filter/detect/detectors.h"
#include "collector/filter/filter_runner.h"
#include "collector/filter/fleet/fleet_watch.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/incident_match.h"
#include "nlohmann/json.hpp"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "storage/placement.h"
#include "tests/fleetsim/noise.h"
#include "tests/fleetsim/recording.h"
#include "tests/fleetsim/redraw.h"

namespace telltale::scenario {
namespace {

constexpr uint32_t kEpochS = 60;
constexpr uint64_t kEpochNs = kEpochS * 1'000'000'000ull;
constexpr uint64_t kBeginNs = 497'000ull * 3600 * 1'000'000'000;  // on the hour
constexpr uint64_t kLearnEpochs = 60;  // what the filters that speak of a day's past want to see

constexpr uint64_t kIncidents = 100'000;  // more than there will be

// A load's user has a number that no other has: run gives them from a million on. Whose subject is
// a process or several of a user is about these, whomever else its sentence names.
template <typename Said>
bool NamesALoad(const Said& said) {
  constexpr std::string_view kUser = "uid ";
  const std::string& of =
      said.subject().find(kUser) == std::string::npos ? said.text() : said.subject();
  const size_t at = of.find(kUser);
  return at != std::string::npos && std::atol(of.c_str() + at + kUser.size()) >= 1'000'000;
}

// What the rules said of processes of the loads, node by node, before it is grouped.
class Diagnoses {
 public:
  explicit Diagnoses(const filter::AnomalyLog* log) : log_(log) {}

  // Takes in what the log has since.
  absl::Status Advance() {
    while (true) {
      const auto some = log_->After(cursor_, 1'000);
      if (!some.ok()) return some.status();
      if (some->empty()) return absl::OkStatus();
      for (const v1::Anomaly& anomaly : *some) {
        cursor_ = anomaly.cursor();
        if (anomaly.rule() == 0 || !NamesALoad(anomaly)) continue;
        const std::string program = incident::ProgramOfSubject(anomaly.subject());
        auto& [count, text] = told_[absl::StrCat(anomaly.filter(), ": ", program)];
        if (count++ == 0) text = absl::StrCat(anomaly.text(), " [", anomaly.evidence(), "]");
      }
    }
  }

  // By "filter: program": how often, and the first sentence.
  nlohmann::json ToJson() const {
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [what, told] : told_)
      all[what] = {{"count", told.first}, {"first", told.second}};
    return all;
  }

 private:
  const filter::AnomalyLog* log_;
  std::string cursor_ = "0";
  std::map<std::string, std::pair<uint64_t, std::string>> told_;
};

// As the collector's filter side tells its incidents.
bool GoesOn(const filter::FilterRunner& runner, const v1::StoredSymptom& symptom,
            const filter::NodeNames& nodes) {
  return runner.IsOpen(symptom.filter(), nodes, [&](const filter::OpenAnomaly& open) {
    return open.vital == symptom.vital() && open.sub == symptom.sub() &&
           incident::ProgramOfSubject(open.subject) == symptom.program();
  });
}

// The epochs of a fleet up to now; each is made when it is asked for, and the one that will be
// asked for next by another thread meanwhile.
class DrawnFleet : public filter::EpochSource {
 public:
  DrawnFleet(const fleetsim::Recording* recording, uint32_t nodes, uint64_t seed)
      : redraw_(recording, {}) {
    for (uint32_t number = 1; number <= nodes; ++number) {
      fleetsim::NodeTraits& node = nodes_[number];
      node.name = absl::StrCat("drawn-", number);
      node.number = number;
      node.seed = fleetsim::Mix(seed, number);
      node.incarnation = node.boot_id = std::string(16, 'x');
      node.agent_start_unix_ns = kBeginNs;
    }
  }

  uint64_t epochs = 0;  // of each node, so far

  std::vector<filter::NodeHead> Nodes() const override {
    std::vector<filter::NodeHead> heads;
    for (const auto& [number, node] : nodes_) {
      heads.push_back({number, node.name, epochs, kEpochS, kBeginNs, kBeginNs + epochs * kEpochNs});
      heads.back().machine = "x86_64";
    }
    return heads;
  }

  absl::Status ForEach(uint32_t node, uint64_t from_ns, uint64_t to_ns,
                       const Visitor& visit) const override {
    const uint64_t first = from_ns <= kBeginNs ? 0 : (from_ns - kBeginNs + kEpochNs - 1) / kEpochNs;
    for (uint64_t i = first; i < epochs; ++i) {
      if (kBeginNs + i * kEpochNs >= to_ns) break;
      Make(node, i);
      filter::SourceEpoch epoch;
      epoch.span = storage::PlaceEpoch(body_.epoch());
      epoch.sequence = i + 1;
      epoch.body = &body_;
      epoch.schema = &redraw_.AnySchema();
      if (!visit(epoch)) break;
    }
    return absl::OkStatus();
  }

  bool Hour(uint32_t, uint64_t, const HourVisitor&) const override { return false; }

 private:
  using Which = std::pair<uint32_t, uint64_t>;  // node, number of its epoch

  // Filter after filter asks for the same one, the runner node after node.
  void Make(uint32_t node, uint64_t number) const {
    const Which asked{node, number};
    if (made_ == asked) return;
    body_ = next_.valid() && coming_ == asked ? next_.get() : Draw(asked);
    made_ = asked;
    coming_ = node < nodes_.rbegin()->first ? Which{node + 1, number} : Which{1, number + 1};
    next_ = std::async(std::launch::async, [this, which = coming_] { return Draw(which); });
  }

  v1::SummaryBody Draw(Which which) const {
    const uint64_t number = which.second;
    fleetsim::CutEpoch cut;
    cut.sequence = number + 1;
    cut.start_unix_ns = kBeginNs + number * kEpochNs;
    cut.end_unix_ns = cut.start_unix_ns + kEpochNs;
    cut.start_mono_ns = (number + 1) * kEpochNs;
    cut.length_s = kEpochS;
    return redraw_.DrawBody(nodes_.at(which.first), cut);
  }

  const fleetsim::Redraw redraw_;
  std::map<uint32_t, fleetsim::NodeTraits> nodes_;
  // The runner is one thread.
  mutable Which made_{0, 0}, coming_{0, 0};
  mutable v1::SummaryBody body_;
  mutable std::future<v1::SummaryBody> next_;  // what is coming_; ends first
};

absl::StatusOr<nlohmann::json> Replay(const std::string& spool, uint32_t nodes, uint32_t hours,
                                      uint64_t seed) {
  const auto recording = fleetsim::Recording::Load({spool}, kEpochS);
  if (!recording.ok()) return recording.status();
  DrawnFleet fleet(&*recording, nodes, seed);
  storage::MemoryHistory history;
  storage::MemoryCatalog catalog;
  storage::DerivedStore store(&history, &catalog);
  auto log = filter::AnomalyLog::Open({.store = &store});
  if (!log.ok()) return log.status();
  const auto now_ns = [&fleet] { return kBeginNs + fleet.epochs * kEpochNs; };
  filter::FilterRunnerOptions options;
  options.source = &fleet;
  options.store = &store;
  options.log = log->get();
  options.filters = filter::BuiltinFilters();
  options.now_ns = now_ns;
  options.log_line = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  auto runner = filter::FilterRunner::Open(options);
  if (!runner.ok()) return runner.status();
  incident::IncidentBookOptions keeps;
  keeps.store = &store;
  keeps.log = log->get();
  keeps.kept = kIncidents;
  keeps.hints = absl::StrSplit(collector::Config().incidents_hints, ',', absl::SkipEmpty());
  keeps.goes_on = [&](const v1::StoredSymptom& symptom, const filter::NodeNames& on) {
    return GoesOn(**runner, symptom, on);
  };
  auto book = incident::IncidentBook::Open(std::move(keeps));
  if (!book.ok()) return book.status();
  Diagnoses diagnoses(log->get());
  const uint64_t all = kLearnEpochs + uint64_t{hours} * 3600 / kEpochS;
  for (fleet.epochs = 1; fleet.epochs <= all; ++fleet.epochs) {
    (*runner)->RunOnce();
    if (absl::Status taken = (*book)->Advance(now_ns()); !taken.ok()) return taken;
    if (absl::Status taken = diagnoses.Advance(); !taken.ok()) return taken;
    constexpr uint64_t kEpochsAnHour = 3600 / kEpochS;
    if (fleet.epochs % kEpochsAnHour == 0) {
      std::fprintf(stderr, "replayed %llu of %llu hours, the first of them for learning\n",
                   static_cast<unsigned long long>(fleet.epochs / kEpochsAnHour),
                   static_cast<unsigned long long>(all / kEpochsAnHour));
    }
  }
  fleet.epochs = all;

  nlohmann::json by_filter = nlohmann::json::object();
  uint64_t anomalies = 0;
  for (const auto& [key, count] : (*log)->Counts()) {
    by_filter[key.first] = by_filter.value(key.first, uint64_t{0}) + count;
    anomalies += count;
  }
  nlohmann::json versions = nlohmann::json::object();
  for (const filter::FilterIdentity& one : (*runner)->filters()) versions[one.name] = one.version;
  nlohmann::json titles = nlohmann::json::array();
  uint64_t number = 0;
  std::string cursor = "0";
  while (true) {
    const auto some = (*book)->After(cursor, 100);
    if (!some.ok()) return some.status();
    if (some->empty()) break;
    for (const v1::IncidentNews& news : *some) {
      cursor = news.cursor();
      const v1::Incident& incident = news.incident();
      if (incident.merged_into() != 0) continue;
      ++number;
      const auto load = std::ranges::find_if(incident.symptoms(), NamesALoad<v1::IncidentSymptom>);
      if (load == incident.symptoms().end()) continue;
      titles.push_back(load->filter() + ": " + load->text());
    }
  }
  return nlohmann::json{{"recorded_epochs", recording->epochs().size()},
                        {"nodes", nodes},
                        {"epoch_s", kEpochS},
                        {"node_hours", nodes * hours},
                        {"incidents", number},
                        {"hints", collector::Config().incidents_hints},
                        {"anomalies", anomalies},
                        {"by_filter", by_filter},
                        {"versions", versions},
                        {"diagnoses_of_loads", diagnoses.ToJson()},
                        {"of_loads", titles}};
}

nlohmann::json Versions() {
  nlohmann::json versions = nlohmann::json::object();
  for (const telltale_filter* filter : filter::BuiltinFilters()) {
    versions[filter->name] = filter->version;
  }
  for (const filter::FilterIdentity& fleet : filter::FleetWatch::Identities()) {
    versions[fleet.name] = fleet.version;
  }
  return versions;
}

}  // namespace
}  // namespace telltale::scenario

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--versions") {
    std::printf("%s\n", telltale::scenario::Versions().dump().c_str());
    return 0;
  }
  if (argc < 4) {
    std::fprintf(stderr, "usage: scenario_replay SPOOL_DIRECTORY NODES HOURS [SEED]\n");
    return 2;
  }
  const auto number = [&](int at) { return std::strtoul(argv[at], nullptr, 10); };
  const auto said =
      telltale::scenario::Replay(argv[1], static_cast<uint32_t>(number(2)),
                                 static_cast<uint32_t>(number(3)), argc > 4 ? number(4) : 1);
  if (!said.ok()) {
    std::fprintf(stderr, "scenario_replay: %s\n", said.status().ToString().c_str());
    return 1;
  }
  std::printf("%s\n", said->dump(1).c_str());
  return 0;
}
