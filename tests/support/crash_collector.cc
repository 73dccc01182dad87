#include "tests/support/crash_collector.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/store.h"
#include "storage/verify.h"
#include "tests/support/ingest_bench.h"

namespace telltale::testing {
namespace {

constexpr uint64_t kInFlight = 16;
// Twenty days hold 28,800 epochs of a minute: so many a trial stay in the past however fast the
// host, for as many trials as one directory serves.
constexpr uint64_t kMostPerTrial = 250;

// Each epoch has a weight of its own, so that the sum tells which were counted.
uint64_t WeightOf(uint64_t sequence) { return 1'000'000 + sequence; }

v1::AgentMessage Epoch(const std::string& node, uint64_t sequence) {
  static const uint64_t first = LastMinute() - 20 * 86'400 * kSecond;
  return Summary({.node = node}, sequence,
                 BodyEnding(first + sequence * 60 * kSecond, WeightOf(sequence)));
}

}  // namespace

CrashCollector::CrashCollector() {
  for (int i = 1; i <= kAgents; ++i) {
    Agent agent;
    agent.node = absl::StrCat("web-", i);
    agent.own = pki_.Issue(agent.node, absl::StrCat("URI:telltale://node/", agent.node));
    agents_.push_back(std::move(agent));
  }
}

uint64_t CrashCollector::acked() const {
  uint64_t sum = 0;
  for (const Agent& agent : agents_) sum += agent.acked.size();
  return sum;
}
uint64_t CrashCollector::between() const {
  uint64_t sum = 0;
  for (const Agent& agent : agents_) sum += agent.between;
  return sum;
}

// Sends unsettled epochs and new ones until the stream breaks; only the unsettled until they are
// settled.
void CrashCollector::Stream(Agent& agent, bool only_unsettled) {
  RawAgent client(collector_.address(), pki_.ca(), agent.own);
  if (!client.Write(Hello({.node = agent.node})) || !client.Write(SchemaMessage())) return;
  const std::set<uint64_t> again(agent.unsettled.begin(), agent.unsettled.end());
  for (const uint64_t sequence : agent.unsettled) {
    if (!client.Write(Epoch(agent.node, sequence))) return;
  }
  const uint64_t end = agent.next + kMostPerTrial;
  while (!only_unsettled || !agent.unsettled.empty()) {
    while (!only_unsettled && agent.unsettled.size() < kInFlight && agent.next < end) {
      agent.unsettled.push_back(agent.next);
      if (!client.Write(Epoch(agent.node, agent.next++))) return;
    }
    const auto verdict = client.ReadVerdict();
    if (!verdict.has_value()) return;
    const bool repeat = verdict->kind() == v1::Verdict::REPEAT;
    if (verdict->kind() != v1::Verdict::STORED &&
        !(repeat && again.contains(verdict->sequence()))) {
      agent.wrong = verdict->ShortDebugString();
      return;
    }
    if (repeat) ++agent.between;
    agent.acked.insert(verdict->sequence());
    std::erase(agent.unsettled, verdict->sequence());
  }
}

std::string CrashCollector::Check(const std::string& data, bool exactly) const {
  const auto store =
      storage::Store::Open({.path = data + "/store", .memory_bytes = 32 << 20, .read_only = true});
  if (!store.ok()) return store.status().ToString();
  const auto report = storage::Verify(**store, {});
  if (!report.ok()) return report.status().ToString();
  if (report->fault_count != 0) {
    return absl::StrCat(report->faults[0].place, ": ", report->faults[0].what);
  }
  if (!exactly) return "";
  for (const Agent& agent : agents_) {
    const auto record = (*store)->nodes().Find(agent.node);
    if (!record.has_value()) return agent.acked.empty() ? "" : agent.node + " is not known";
    storage::Incarnation incarnation;
    incarnation.fill('a');
    uint64_t weight = 0;
    for (const uint64_t sequence : agent.acked) {
      weight += WeightOf(sequence);
      if (!(*store)->summaries().Received(record->number(), incarnation, sequence)) {
        return absl::StrCat(agent.node, ": acked ", sequence, " is lost");
      }
    }
    const storage::NodeCounters counters = (*store)->summaries().Counters(record->number());
    const auto cpu = counters.subs.find({1, 0});
    const uint64_t counted = cpu == counters.subs.end() ? 0 : cpu->second.weight;
    if (counters.epochs != agent.acked.size() || counted != weight || counters.apart != 0) {
      return absl::StrCat(agent.node, ": counts ", counters.epochs, " epochs of weight ", counted,
                          ", acknowledged were ", agent.acked.size(), " of ", weight);
    }
  }
  return "";
}

std::string CrashCollector::Run(uint64_t moment, bool while_backing_up) {
  const std::string backup = scratch_.path() + "/backup";
  std::filesystem::remove_all(backup);
  if (!collector_.Start()) return "it does not start: " + collector_.log();
  std::vector<std::thread> threads;
  for (Agent& agent : agents_) {
    threads.emplace_back([this, &agent] { Stream(agent, /*only_unsettled=*/false); });
  }
  std::optional<ProgramRun> backed_up;
  std::thread backing_up;
  if (while_backing_up) {
    backing_up = std::thread([&] {
      backed_up = RunCollector({"backup", backup, "--data", data_});
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(moment * 7919 % 200));
  collector_.Kill();
  for (std::thread& thread : threads) thread.join();
  if (backing_up.joinable()) backing_up.join();

  if (backed_up.has_value()) {
    const bool whole = std::filesystem::exists(backup + "/store");
    // A stopped collector's store the command copies itself.
    if (backed_up->exit_code == 0 && !whole) return "a backup was reported whole and is not there";
    if (whole) {
      if (std::string wrong = Check(backup, /*exactly=*/false); !wrong.empty()) {
        return "backup: " + wrong;
      }
      ++backups_;
    }
  }
  if (!collector_.Start()) return "it does not start again: " + collector_.log();
  for (Agent& agent : agents_) Stream(agent, /*only_unsettled=*/true);
  if (collector_.Stop() != 0) return "it does not stop well: " + collector_.log();
  for (const Agent& agent : agents_) {
    if (!agent.wrong.empty()) return absl::StrCat(agent.node, ": ", agent.wrong);
    if (!agent.unsettled.empty()) {
      return absl::StrCat(agent.node, ": ", agent.unsettled.size(), " never got a verdict");
    }
  }
  return Check(data_, /*exactly=*/true);
}

}  // namespace telltale::testing
