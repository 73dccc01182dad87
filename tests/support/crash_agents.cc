#include "tests/support/crash_agents.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "storage/store.h"
#include "storage/verify.h"
#include "tests/support/plain_http.h"

namespace telltale::testing {
namespace {

// An epoch is 5 s; with six agents each lives some of them.
constexpr uint64_t kLongestPauseMs = 1'500, kLongestAwayMs = 1'500;

// Nothing is left to send and the present process has cut an epoch of its own.
bool Settled(const AgentProcess& agent) {
  const auto status = agent.Status();
  return status.is_object() && status["uplink"]["state"] == "connected" &&
         status["uplink"]["pending"] == 0 && status["spool"]["lostRanges"] == 0 &&
         status["sensor"]["epochs"] > 0 && status["uplink"]["stored"] > 0;
}

}  // namespace

void CrashAgents::Tally::Add(const Tally& other) {
  agents += other.agents;
  sensors += other.sensors;
  uplinks += other.uplinks;
  collectors += other.collectors;
  epochs += other.epochs;
  partial += other.partial;
  lost += other.lost;
  cut += other.cut;
  counted += other.counted;
  seen += other.seen;
  found += other.found;
}

CrashAgents::CrashAgents()
    : collector_(data_, pki_, pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1"),
                 absl::StrCat("127.0.0.1:", FreePort())) {
  for (int i = 1; i <= kAgents; ++i) {
    const std::string name = absl::StrCat("node-", i);
    auto agent = std::make_unique<AgentProcess>(scratch_.path(), name, pki_.ca(),
                                                pki_.Issue(name, "URI:telltale://node/" + name));
    auto witness = std::make_unique<SpoolWitness>(agent.get());
    victims_.push_back({std::move(agent), std::move(witness)});
  }
}

bool CrashAgents::Start() {
  started_ = collector_.Start();
  if (!started_) return false;
  for (const Victim& victim : victims_) victim.agent->Start(collector_.address());
  return true;
}

// Time passes, and somebody looks into the spools.
void CrashAgents::Live(uint64_t ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  do {
    for (const Victim& victim : victims_) victim.witness->Look();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < until);
}

// False: it is between two lives.
bool CrashAgents::KillChild(const Victim& victim, const std::string& name) {
  const pid_t pid = victim.agent->ChildPid(name);
  if (pid == 0 || victim.agent->Status().is_null()) return false;
  return kill(pid, SIGKILL) == 0;
}

std::string CrashAgents::Kill(uint64_t moment, bool collector_too) {
  if (!started_ && !Start()) return "the collector does not start: " + collector_.log();
  std::mt19937_64 random(moment);
  Live(random() % kLongestPauseMs);
  const Victim& victim = victims_[random() % kAgents];
  const uint64_t what = random() % 5;
  if (collector_too) {
    collector_.Kill();
    ++tally_.collectors;
    Live(random() % kLongestAwayMs);
  }
  if (what == 0 && KillChild(victim, "telltale-sensor")) {
    ++tally_.sensors;
  } else if (what == 1 && KillChild(victim, "telltale-uplink")) {
    ++tally_.uplinks;
  } else {
    victim.agent->Kill();
    ++tally_.agents;
    victim.witness->Look();
    victim.agent->Start(collector_.address());
  }
  if (!collector_too) return "";
  Live(random() % kLongestAwayMs);
  return collector_.Start() ? "" : "the collector does not start again: " + collector_.log();
}

std::string CrashAgents::Finish() {
  const auto all_settled = [this] {
    for (const Victim& victim : victims_) victim.witness->Look();
    return std::all_of(victims_.begin(), victims_.end(),
                       [](const Victim& victim) { return Settled(*victim.agent); });
  };
  const bool settled = Await(all_settled, 90);
  for (const Victim& victim : victims_) victim.agent->Signal(SIGTERM);
  for (const Victim& victim : victims_) {
    const int code = victim.agent->AwaitEnd();
    if (!settled || code != 0) {
      return absl::StrCat(victim.agent->name(), settled ? "" : ": has not sent all it has",
                          ": ended with ", code, "\n", victim.agent->log());
    }
    victim.witness->Look();
  }
  if (collector_.Stop() != 0) return "the collector does not stop well: " + collector_.log();

  const auto store = storage::Store::Open({.path = data_ + "/store", .read_only = true});
  if (!store.ok()) return store.status().ToString();
  const auto report = storage::Verify(**store, {});
  if (!report.ok()) return report.status().ToString();
  std::string wrong;
  for (const storage::VerifyFault& fault : report->faults) {
    absl::StrAppend(&wrong, fault.place, ": ", fault.what, "\n");
  }
  for (const Victim& victim : victims_) {
    const SpoolWitness::Stored stored = victim.witness->HoldAgainst(**store);
    wrong += stored.wrong;
    tally_.epochs += stored.epochs;
    tally_.partial += stored.partial;
    tally_.lost += stored.lost;
    tally_.cut += stored.cut;
    tally_.counted += stored.counted;
    tally_.seen += victim.witness->seen().size();
    tally_.found += stored.found;
  }
  return wrong;
}

}  // namespace telltale::testing
