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
// host, for as many trials, a quarter of them late, as one directory serves.
constexpr uint64_t kMostPerTrial = 250, kMostPerLateTrial = 1'000;
constexpr uint64_t kSoonMs = 200, kLateMs = 4'000;
constexpr uint64_t kBackupMs = 40;  // from its first file; the stores here are small

// Each epoch has a weight of its own, so that the sum tells which were counted.
uint64_t WeightOf(uint64_t sequence) { return 1'000'000 + sequence; }

v1::AgentMessage Epoch(const std::string& node, uint64_t sequence) {
  static const uint64_t first = LastMinute() - 20 * 86'400 * kSecond;
  return Summary({.node = node}, sequence,
                 BodyEnding(first + sequence * 60 * kSecond, WeightOf(sequence)));
}

// Empty: the store has all of it, and if `exactly` nothing else. Adds what it found.
std::string CheckNode(storage::Store& store, const std::string& node,
                      const std::set<uint64_t>& acked, bool exactly, uint64_t& found,
                      uint64_t& counted_epochs) {
  const auto record = store.nodes().Find(node);
  if (!record.has_value()) return acked.empty() ? "" : node + " is not known";
  storage::Incarnation incarnation;
  incarnation.fill('a');
  uint64_t weight = 0;
  for (const uint64_t sequence : acked) {
    weight += WeightOf(sequence);
    if (!store.summaries().Received(record->number(), incarnation, sequence)) {
      return absl::StrCat(node, ": acked ", sequence, " is lost");
    }
    ++found;
  }
  if (!exactly) return "";
  const storage::NodeCounters counters = store.summaries().Counters(record->number());
  counted_epochs += counters.epochs;
  const auto cpu = counters.subs.find({1, 0});
  const uint64_t counted = cpu == counters.subs.end() ? 0 : cpu->second.weight;
  if (counters.epochs != acked.size() || counted != weight || counters.apart != 0) {
    return absl::StrCat(node, ": counts ", counters.epochs, " epochs of weight ", counted,
                        ", acknowledged were ", acked.size(), " of ", weight);
  }
  return "";
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

void CrashCollector::Tally::Add(const Tally& other) {
  acked += other.acked;
  between += other.between;
  backups += other.backups;
  torn_backups += other.torn_backups;
  computed += other.computed;
  torn_rollups += other.torn_rollups;
  longest_ms = std::max(longest_ms, other.longest_ms);
  found += other.found;
  counted += other.counted;
}

CrashCollector::Tally CrashCollector::tally() const {
  Tally tally = tally_;
  for (const Agent& agent : agents_) {
    tally.acked += agent.acked.size();
    tally.between += agent.between;
  }
  return tally;
}

// Sends unsettled epochs and `most` new ones until the stream breaks; only the unsettled until they
// are settled.
void CrashCollector::Stream(Agent& agent, bool only_unsettled, uint64_t most) {
  RawAgent client(collector_.address(), pki_.ca(), agent.own);
  if (!client.Write(Hello({.node = agent.node})) || !client.Write(SchemaMessage())) return;
  const std::set<uint64_t> again(agent.unsettled.begin(), agent.unsettled.end());
  for (const uint64_t sequence : agent.unsettled) {
    if (!client.Write(Epoch(agent.node, sequence))) return;
  }
  const uint64_t end = agent.next + most;
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

CrashCollector::Sequences CrashCollector::Acked() const {
  Sequences acked;
  for (const Agent& agent : agents_) acked.push_back(agent.acked);
  return acked;
}

CrashCollector::Found CrashCollector::Check(const std::string& data, const Sequences& acked,
                                            bool exactly) const {
  const auto store =
      storage::Store::Open({.path = data + "/store", .memory_bytes = 32 << 20, .read_only = true});
  if (!store.ok()) return {store.status().ToString()};
  const auto report = storage::Verify(**store, {});
  if (!report.ok()) return {report.status().ToString()};
  Found found{.recomputed = report->recomputed, .pending = report->pending};
  if (report->fault_count != 0) {
    found.wrong = absl::StrCat(report->faults[0].place, ": ", report->faults[0].what);
  }
  for (size_t i = 0; i < agents_.size() && found.wrong.empty(); ++i) {
    found.wrong =
        CheckNode(**store, agents_[i].node, acked[i], exactly, found.acked, found.counted);
  }
  return found;
}

std::string CrashCollector::Run(const Trial& trial) {
  const std::string backup = scratch_.path() + "/backup";
  std::filesystem::remove_all(backup);
  if (!collector_.Start()) return "it does not start: " + collector_.log();
  const auto begun = std::chrono::steady_clock::now();
  const Sequences acked_before = Acked();  // all that a backup must have
  std::vector<std::thread> threads;
  for (Agent& agent : agents_) {
    threads.emplace_back([this, &agent, &trial] {
      Stream(agent, /*only_unsettled=*/false, trial.late ? kMostPerLateTrial : kMostPerTrial);
    });
  }
  const auto sleep = [](uint64_t ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  };
  if (trial.late) sleep(trial.moment * 104'729 % kLateMs);
  std::optional<ProgramRun> backed_up;
  std::thread backing_up;
  if (trial.backing_up) {
    backing_up = std::thread([&] {
      backed_up = RunCollector({"backup", backup, "--data", data_});
    });
  }
  if (trial.backing_up) Await([&] { return std::filesystem::exists(backup); }, 5);
  sleep(trial.moment * 7919 % (trial.backing_up ? kBackupMs : kSoonMs));
  collector_.Kill();
  const auto lived = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  tally_.longest_ms = std::max(tally_.longest_ms, static_cast<uint64_t>(lived.count()));
  for (std::thread& thread : threads) thread.join();
  if (backing_up.joinable()) backing_up.join();

  if (backed_up.has_value()) {
    const bool whole = std::filesystem::exists(backup + "/store");
    // A stopped collector's store the command copies itself.
    if (backed_up->exit_code == 0 && !whole) return "a backup was reported whole and is not there";
    if (whole) {
      if (const Found found = Check(backup, acked_before, /*exactly=*/false);
          !found.wrong.empty()) {
        return "backup: " + found.wrong;
      }
      ++tally_.backups;
    } else {
      ++tally_.torn_backups;
    }
  }

  if (trial.late) {
    const Found left = Check(data_, Acked(), /*exactly=*/false);
    if (!left.wrong.empty()) return "what the kill left: " + left.wrong;
    const uint64_t computed = left.recomputed - std::min(left.recomputed, recomputed_);
    tally_.computed += computed;
    if (computed > 0 && left.pending > 0) ++tally_.torn_rollups;
  }
  if (!collector_.Start()) return "it does not start again: " + collector_.log();
  for (Agent& agent : agents_) Stream(agent, /*only_unsettled=*/true, 0);
  if (collector_.Stop() != 0) return "it does not stop well: " + collector_.log();
  for (const Agent& agent : agents_) {
    if (!agent.wrong.empty()) return absl::StrCat(agent.node, ": ", agent.wrong);
    if (!agent.unsettled.empty()) {
      return absl::StrCat(agent.node, ": ", agent.unsettled.size(), " never got a verdict");
    }
  }
  const Found found = Check(data_, Acked(), /*exactly=*/true);
  recomputed_ = found.recomputed;
  tally_.found = found.acked;
  tally_.counted = found.counted;
  return found.wrong;
}

}  // namespace telltale::testing
