#include "tests/support/crash_disk.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/codec.h"
#include "storage/placement.h"
#include "storage/verify.h"
#include "tests/support/disk_journal.h"

namespace telltale::testing {
namespace {

namespace fs = std::filesystem;
using storage::kDayNs;
using storage::kHourNs;
using Agents = std::array<CrashDisk::Agent, kCrashNodes>;

constexpr int kChildTimeoutMs = 300'000;  // for a child that hangs; a busy host takes long
constexpr uint64_t kSentAgain = 3;        // acknowledged ones, too

// Of each thread of a process, a paragraph: its name, what it waits for in the kernel, and, to
// root, its stack there.
std::string ThreadsOf(pid_t process) {
  std::string text;
  std::error_code error;
  const fs::directory_iterator threads(absl::StrCat("/proc/", process, "/task"), error);
  for (const auto& thread : threads) {
    for (const char* what : {"comm", "wchan", "stack"}) {
      std::ifstream file(thread.path() / what);
      absl::StrAppend(&text, std::string(std::istreambuf_iterator<char>(file), {}));
      if (!text.ends_with('\n')) text += '\n';
    }
  }
  return text;
}

uint64_t CpuWeight(const v1::SummaryBody& body) {
  uint64_t weight = 0;
  for (const v1::Vital& vital : body.vitals()) {
    if (vital.id() != 1) continue;
    for (const v1::SubSeries& sub : vital.subs()) weight += sub.weight();
  }
  return weight;
}

uint64_t NowOf(const Agents& agents) {
  uint64_t last = 0;
  for (const CrashDisk::Agent& agent : agents) last = std::max(last, agent.next);
  return CrashEpochStart(last) + 2 * kHourNs;
}

std::string VerifyText(storage::Store& store, bool nothing_pending) {
  const auto report = storage::Verify(store, {});
  if (!report.ok()) return report.status().ToString();
  if (report->fault_count != 0) {
    return absl::StrCat(report->fault_count, " faults, first ", report->faults[0].place, ": ",
                        report->faults[0].what);
  }
  if (nothing_pending && report->pending != 0) {
    return absl::StrCat(report->pending, " rows wait for their computation");
  }
  return "";
}

class Checker {
 public:
  Checker(const Agents& agents, storage::Store& store, uint16_t floor)
      : agents_(agents), store_(store), floor_(floor) {}

  // Everything in `acked` of a node and no more.
  std::string Node(uint32_t node, const std::set<uint64_t>& acked, bool exactly) {
    const CrashDisk::Agent& agent = agents_[node - 1];
    std::set<uint64_t> readable;
    std::string wrong;
    const absl::Status read =
        store_.reader().ForEachRaw(node, 0, UINT64_MAX, [&](const storage::RawRow& row) {
          if (!readable.insert(row.key.sequence).second) {
            wrong = absl::StrCat("sequence ", row.key.sequence, " is read twice");
          }
          return wrong.empty();
        });
    if (!read.ok()) return read.ToString();
    if (!wrong.empty()) return wrong;
    const auto& reader = store_.reader();
    for (const uint64_t sequence : acked) {
      const bool expired = storage::DayOf(CrashEpochStart(sequence)) < floor_;
      const bool there = expired
                             ? store_.summaries().Received(node, CrashIncarnation(node), sequence)
                             : readable.contains(sequence);
      if (!there) return absl::StrCat("acked ", sequence, " is lost");
      ++found_;
    }
    if (!exactly) return "";
    const storage::NodeCounters counters = reader.Counters(node);
    counted_ += counters.epochs;
    if (counters.epochs != acked.size()) {
      return absl::StrCat("counts ", counters.epochs, " epochs, acknowledged were ", acked.size());
    }
    uint64_t weight = 0;
    for (const auto& [sub, sum] : counters.subs) weight += sub.first == 1 ? sum.weight : 0;
    if (weight != agent.cpu_weight) {
      return absl::StrCat("counts ", weight, " of cpu, acknowledged was ", agent.cpu_weight);
    }
    return Gaps(node);
  }

  // Of all nodes so far.
  std::vector<CrashReport> Findings() const {
    std::vector<CrashReport> findings = explained_;
    findings.push_back({CrashReport::kFound, 0, found_});
    findings.push_back({CrashReport::kCounted, 0, counted_});
    return findings;
  }

 private:
  // Every number that never came is missing or lost in the ledger, and its time a gap.
  std::string Gaps(uint32_t node) {
    const CrashDisk::Agent& agent = agents_[node - 1];
    const auto ledgers = store_.reader().Ledgers(node);
    if (ledgers.size() != 1) return absl::StrCat(ledgers.size(), " ledgers, want 1");
    const storage::SequenceLedger& ledger = ledgers[0].second;
    for (uint64_t sequence = ledger.settled_through() + 1; sequence <= ledger.highest();
         ++sequence) {
      const bool received = agent.acked.contains(sequence);
      const bool lost = agent.lost.contains(sequence);
      if (ledger.Received(sequence) != received || ledger.DeclaredLost(sequence) != lost) {
        return absl::StrCat(
            "ledger: epoch ", sequence, " is ", ledger.Received(sequence) ? "" : "not ",
            "received and ", ledger.DeclaredLost(sequence) ? "" : "not ", "lost, but was ",
            received ? "" : "not ", "acknowledged and ", lost ? "" : "not ", "declared");
      }
      if (!received) explained_.push_back({CrashReport::kExplained, node, sequence});
      const uint64_t start = CrashEpochStart(sequence);
      if (storage::DayOf(start) < floor_) continue;
      const auto view = store_.reader().Coverage(node, start, start + 60 * storage::kSecondNs);
      if (!view.ok()) return view.status().ToString();
      if (received != view->gaps.empty()) {
        return absl::StrCat("coverage: epoch ", sequence, " was ", received ? "" : "not ",
                            "acknowledged, its minute has ", view->gaps.size(), " gaps");
      }
      if (lost && view->gaps[0].cause != storage::Gap::Cause::kDeclaredLost) {
        return absl::StrCat("coverage: the loss of epoch ", sequence, " does not explain its gap");
      }
    }
    return "";
  }

  const Agents& agents_;
  storage::Store& store_;
  const uint16_t floor_;
  uint64_t found_ = 0, counted_ = 0;
  std::vector<CrashReport> explained_;
};

// Of a child, for its parent.
int Complain(const std::string& dir, const std::string& what) {
  std::ofstream(dir + "/complaint") << what;
  return 1;
}

// As after a restart: the agents send what was not acknowledged, and some that was.
int SendAgain(const std::string& dir, const Agents& agents, int pipe) {
  const uint64_t now_ns = NowOf(agents);
  const auto opened =
      OpenCrashStore({.data = dir + "/data", .now_ns = [now_ns] { return now_ns; }});
  if (!opened.ok()) return Complain(dir, opened.status().ToString());
  storage::Store& store = **opened;
  for (uint32_t node = 1; node <= kCrashNodes; ++node) {
    if (!store.nodes().NumberOf(CrashNodeName(node)).ok()) return 3;
  }
  if (!store.summaries().PutSchema(1, proto::BuiltinSchema()).ok()) return 3;
  const uint16_t floor = store.summaries().RawFloor();
  std::vector<uint32_t> nodes;
  for (uint32_t node = 1; node <= kCrashNodes; ++node) {
    nodes.push_back(node);
    const CrashDisk::Agent& agent = agents[node - 1];
    const uint64_t from = agent.next > kSentAgain ? agent.next - kSentAgain : 1;
    for (uint64_t sequence = from; sequence < agent.next + 4; ++sequence) {
      CrashReport report{CrashReport::kAcked, node, sequence};
      if (CrashEpochKind(sequence) == CrashEpoch::kNever) continue;
      if (CrashEpochKind(sequence) == CrashEpoch::kDeclaredLost) {
        const uint64_t start = CrashEpochStart(sequence);
        const auto declared =
            store.summaries().DeclareLost(node, CrashIncarnation(node),
                                          {.first = sequence,
                                           .last = sequence,
                                           .reason = v1::Lost::SPOOL_FULL,
                                           .start_ns = start,
                                           .end_ns = start + 60 * storage::kSecondNs});
        if (!declared.ok()) return Complain(dir, declared.ToString());
        report.kind = CrashReport::kLost;
      } else {
        const MadeSummary made = MakeCrashEpoch(node, sequence);
        const storage::Incoming item{node, &made.summary, &made.body, true};
        const auto put = store.summaries().PutBatch({&item, 1});
        if (!put.ok()) return Complain(dir, put.status().ToString());
        const bool known = agent.acked.contains(sequence);
        const storage::Outcome outcome = (*put)[0];
        const bool expired = storage::DayOf(CrashEpochStart(sequence)) < floor;
        const bool right = outcome == storage::Outcome::kRepeat ||
                           (known ? expired && outcome == storage::Outcome::kTooLate
                                  : outcome == storage::Outcome::kStored);
        if (!known && outcome == storage::Outcome::kRepeat) {
          report.kind = CrashReport::kStoredBefore;
        }
        if (!right) {
          return Complain(dir,
                          absl::StrCat("node ", node, ": epoch ", sequence, known ? ", acked" : "",
                                       ", sent again, ",
                                       outcome == storage::Outcome::kStored
                                           ? "was taken for a new one"
                                           : absl::StrCat("outcome ", static_cast<int>(outcome))));
        }
      }
      if (write(pipe, &report, sizeof report) != sizeof report) return 3;
    }
  }
  const uint64_t over_ns = now_ns + 2 * kDayNs;
  while (true) {
    const auto done = store.roller().RunDue(nodes, over_ns, 1000);
    if (!done.ok()) return Complain(dir, done.status().ToString());
    if (*done == 0) break;
  }
  while (true) {
    const auto done = store.roller().RunLines(over_ns, 1000);
    if (!done.ok()) return Complain(dir, done.status().ToString());
    if (*done == 0) break;
  }
  const std::string wrong = VerifyText(store, /*nothing_pending=*/true);
  return wrong.empty() ? 0 : Complain(dir, wrong);
}

int CheckStore(const std::string& dir, const Agents& agents, int pipe) {
  const uint64_t now_ns = NowOf(agents);
  const auto opened = OpenCrashStore(
      {.data = dir + "/data", .now_ns = [now_ns] { return now_ns; }, .read_only = true});
  if (!opened.ok()) return Complain(dir, opened.status().ToString());
  Checker checker(agents, **opened, (*opened)->summaries().RawFloor());
  for (uint32_t node = 1; node <= kCrashNodes; ++node) {
    const std::string wrong = checker.Node(node, agents[node - 1].acked, /*exactly=*/true);
    if (!wrong.empty()) return Complain(dir, absl::StrCat("node ", node, ": ", wrong));
  }
  for (const CrashReport& finding : checker.Findings()) {
    if (write(pipe, &finding, sizeof finding) != sizeof finding) return 3;
  }
  const CrashReport floor{CrashReport::kRawFloor, 0, (*opened)->summaries().RawFloor()};
  return write(pipe, &floor, sizeof floor) == sizeof floor ? 0 : 3;
}

int CheckBackup(const std::string& dir, const Agents& agents) {
  const uint64_t now_ns = NowOf(agents);
  const auto opened = OpenCrashStore(
      {.data = dir + "/backup", .now_ns = [now_ns] { return now_ns; }, .read_only = true});
  if (!opened.ok()) return Complain(dir, opened.status().ToString());
  std::string wrong = VerifyText(**opened, /*nothing_pending=*/false);
  Checker checker(agents, **opened, (*opened)->summaries().RawFloor());
  for (uint32_t node = 1; node <= kCrashNodes && wrong.empty(); ++node) {
    wrong = checker.Node(node, agents[node - 1].backed, /*exactly=*/false);
  }
  return wrong.empty() ? 0 : Complain(dir, wrong);
}

}  // namespace

CrashDisk::CrashDisk() { fs::create_directories(dir_.path() + "/data"); }

const char* NameOf(CrashStep step) {
  static constexpr const char* kNames[kCrashSteps] = {
      "between its steps",    "opening the store",     "storing epochs", "computing windows",
      "building line blocks", "dropping expired days", "a backup",       "a flush",
      "a compaction"};
  return kNames[static_cast<size_t>(step)];
}
const char* NameOf(CrashFile file) {
  static constexpr const char* kNames[kCrashFiles] = {
      "no file", "the log", "a table file", "a manifest", "a file of the copy", "another file"};
  return kNames[static_cast<size_t>(file)];
}

uint64_t CrashTally::DeathsIn(CrashStep step) const {
  const auto& files = deaths[static_cast<size_t>(step)];
  return std::accumulate(files.begin(), files.end(), uint64_t{0});
}
uint64_t CrashTally::DeathsIn(CrashFile file) const {
  uint64_t sum = 0;
  for (const auto& files : deaths) sum += files[static_cast<size_t>(file)];
  return sum;
}

// Each number of a tally with the same of another one: `change` takes both.
template <typename Change>
void ForEachNumber(CrashTally& here, const CrashTally& there, const Change& change) {
  for (const auto number :
       {&CrashTally::trials, &CrashTally::power_cuts, &CrashTally::acked,
        &CrashTally::stored_before, &CrashTally::declared_lost, &CrashTally::missing,
        &CrashTally::computed, &CrashTally::refused, &CrashTally::expired, &CrashTally::backups,
        &CrashTally::found, &CrashTally::counted, &CrashTally::explained}) {
    change(here.*number, there.*number);
  }
  for (size_t step = 0; step < here.deaths.size(); ++step) {
    for (size_t file = 0; file < here.deaths[step].size(); ++file) {
      change(here.deaths[step][file], there.deaths[step][file]);
    }
  }
}

void CrashTally::Add(const CrashTally& other) {
  ForEachNumber(*this, other, [](uint64_t& here, uint64_t there) { here += there; });
}
CrashTally CrashTally::Since(const CrashTally& before) const {
  CrashTally since = *this;
  ForEachNumber(since, before, [](uint64_t& here, uint64_t there) { here -= there; });
  return since;
}

CrashTally CrashDisk::tally() const {
  CrashTally tally = tally_;
  for (const Agent& agent : agents_) {
    tally.acked += agent.acked.size();
    tally.declared_lost += agent.lost.size();
    tally.explained += agent.explained.size();
    tally.missing += agent.next - 1 - agent.acked.size() - agent.lost.size();
  }
  return tally;
}

void CrashDisk::Take(const CrashReport& report) {
  switch (report.kind) {
    case CrashReport::kDied:
      ++tally_.deaths[static_cast<size_t>(report.step)][static_cast<size_t>(report.file)];
      break;
    case CrashReport::kComputed:
      tally_.computed += report.number;
      break;
    case CrashReport::kRefused:
      ++tally_.refused;
      break;
    case CrashReport::kRawFloor:
      if (raw_floor_ != 0) tally_.expired += report.number - raw_floor_;
      raw_floor_ = report.number;
      break;
    case CrashReport::kFound:
      tally_.found = report.number;
      break;
    case CrashReport::kCounted:
      tally_.counted = report.number;
      break;
    case CrashReport::kExplained:
      agents_[report.node - 1].explained.insert(report.number);
      return;
    case CrashReport::kBackupBegun:
      for (Agent& agent : agents_) agent.backed = agent.acked;
      break;
    case CrashReport::kBackupDone:
      backup_done_ = true;
      break;
    case CrashReport::kStoredBefore:
      ++tally_.stored_before;
      break;
    case CrashReport::kAcked:
    case CrashReport::kLost:
      break;
  }
  if (report.node == 0) return;
  Agent& agent = agents_[report.node - 1];
  agent.next = std::max(agent.next, report.number + 1);
  if (report.kind == CrashReport::kLost) {
    agent.lost.insert(report.number);
  } else if (agent.acked.insert(report.number).second) {
    agent.cpu_weight += CpuWeight(SyntheticNode(CrashNodeName(report.node), report.node)
                                      .Body(report.number, CrashEpochStart(report.number), 60));
  }
}

int CrashDisk::InChild(const std::function<int(int pipe)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    _exit(body(ends[1]));
  }
  close(ends[1]);
  CrashReport report;
  pollfd readable{ends[0], POLLIN, 0};
  std::vector<CrashReport> reports;
  while (true) {
    if (poll(&readable, 1, kChildTimeoutMs) != 1) {
      std::fprintf(stderr, "crash: the child did nothing for %d s; its threads:\n%s",
                   kChildTimeoutMs / 1000, ThreadsOf(child).c_str());
      kill(child, SIGKILL);
      break;
    }
    if (read(ends[0], &report, sizeof report) != sizeof report) break;
    reports.push_back(report);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  for (const CrashReport& one : reports) Take(one);
  return status;
}

std::string CrashDisk::Run(const DiskTrial& trial) {
  const std::string dir = dir_.path();
  const std::string keep = dir + "/keep";
  fs::remove_all(dir + "/backup");
  fs::remove_all(dir + "/scratch");
  backup_done_ = false;
  ++tally_.trials;
  if (trial.power_cut) ++tally_.power_cuts;
  // A day of silence now and then, so that there is something to expire.
  const uint64_t skip = trial.during == CrashDuring::kRetention ? 12 : 0;
  CrashWork work{.dir = dir};
  uint64_t next = 0;  // all go on together
  for (const Agent& agent : agents_) next = std::max(next, agent.next + skip);
  for (Agent& agent : agents_) agent.next = next;
  work.next.fill(next);

  const int ended = InChild([&](int pipe) { return RunCrashWriter(work, trial, pipe); });
  if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGKILL) {
    return absl::StrCat("the writer ended by itself: ", WEXITSTATUS(ended));
  }
  if (trial.power_cut) {
    DiskJournal::CutPower(keep, trial.seed % 3 == 0 ? 0 : trial.seed);
  } else {
    DiskJournal::Settle(keep);
  }
  const auto good = [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; };
  fs::remove(dir + "/complaint");
  const auto wrong = [&dir](const char* where) {
    std::string what;
    std::getline(std::ifstream(dir + "/complaint"), what, '\0');
    return absl::StrCat(where, ": ", what.empty() ? "the child ended without a word" : what);
  };
  if (fs::exists(dir + "/backup/store")) {
    if (!good(InChild([&](int) { return CheckBackup(dir, agents_); }))) return wrong("the backup");
    ++tally_.backups;
  } else if (backup_done_) {
    return "the backup: was reported whole and is gone";
  }
  if (!good(InChild([&](int pipe) { return SendAgain(dir, agents_, pipe); }))) {
    return wrong("after sending again");
  }
  return good(InChild([&](int pipe) { return CheckStore(dir, agents_, pipe); }))
             ? ""
             : wrong("the check");
}

}  // namespace telltale::testing
