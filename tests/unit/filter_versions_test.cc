// A version of a filter is what it says of given epochs: the record, stored outputs and runs over
// the past rest on it. Each built-in filter is shown the same days, and what it says of them is
// held against what its version is known to say (tests/golden/filter_versions.txt). Who changes
// that on purpose makes it another version and runs this test with TELLTALE_REWRITE=1, which
// changes lines of other versions only. After a change of the days or of the digest the lines of
// all are others: empty the file first.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "collector/filter/detect/detectors.h"
#include "collector/formats/next_command.h"
#include "storage/rollup/portable.h"
#include "tests/unit/filter_watch.h"

namespace telltale::filter {
namespace {

constexpr char kGolden[] = "tests/golden/filter_versions.txt";
constexpr int kEpochs = 260;

// What is always there, and from epoch 150 on a fault for each filter. A sixth of each epoch was
// not watched.
void Show(Watch& watch, int i) {
  const bool fault = i >= 150 && i < 200;
  watch.unwatched_s = 10;
  watch.Rate("cpu", "user", (fault ? 0.3 : i < 220 ? 1 : 2.5) + 0.01 * (i * 37 % 11));
  watch.Rate("cpu", "kernel", fault ? 3.5 : 0.1);
  watch.Rate("sched_delay", "woken", fault ? 3 : 0.01);
  watch.Rate("disk_io", "write_issued", i % 15 == 7 ? 80e6 : 2e6);
  watch.Rate("disk_io", "write_done", fault ? 1e6 : i % 15 == 7 ? 80e6 : 2e6);
  if (i % 15 == 7) watch.Label("cpu", "user", "/usr/bin/backup", 0.3);
  watch.Label("cpu", "user", i < 180 ? "/usr/bin/app" : "/usr/bin/new", 0.9);
  if (fault) watch.body.mutable_gauges()->set_memory_available_bytes(4e8);
  watch.Process(6, "/usr/bin/spins",
                {{TELLTALE_PROCESS_RUN_NS, fault ? 0.99e9 : 0.1e9},
                 {TELLTALE_PROCESS_RSS_BYTES, 1e8 + i * 1e6},
                 {TELLTALE_PROCESS_OPEN_FILES, 20.0 + 4 * i}});
  if (fault) watch.Label("cpu", "user", "/usr/bin/spins", 0.9);
  watch.Process(7, "/usr/bin/app", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
  if (fault) {
    watch.Process(8, "/usr/bin/held",
                  {{TELLTALE_PROCESS_QUEUE_NS, 0.9e9}, {TELLTALE_PROCESS_RUN_NS, 0.02e9}});
    watch.Process(9, "/usr/bin/waits",
                  {{watch.Share("blocking", "lock", true), 0.7e9},
                   {watch.Share("blocking", "lock", false), 1.6},
                   {watch.Share("lock", "mutex", true), 0.7e9},
                   {watch.Share("lock", "mutex", false), 1.6}});
    watch.Process(10, "/usr/bin/writer",
                  {{watch.Share("blocking", "disk", true), 0.9e9},
                   {watch.Share("blocking", "disk", false), 5}});
    v1::FoldedSample& wait = watch.Label("blocking", "lock", "/usr/bin/waits", 0.6);
    wait.mutable_exemplar()->set_pid(9);
    wait.mutable_exemplar()->mutable_waker()->set_pid(10);
    watch.Process(11, "/usr/bin/fails",
                  {{TELLTALE_PROCESS_RUN_NS, 0.9e9},
                   {watch.Share("syscall", "failed", false), 5e4},
                   {watch.Share("syscall", "ok", false), 10}});
    watch.Process(12, "/usr/bin/faults", {{TELLTALE_PROCESS_FAULTS_MAJOR, 400}});
    watch.Process(15, "", {{TELLTALE_PROCESS_SYSTEM_NS, 2e9}});
    watch.body.mutable_processes()->mutable_rows()->rbegin()->set_comm(watch.String("kswapd0"));
    watch.Process(16, "/usr/bin/hog",
                  {{TELLTALE_PROCESS_RSS_BYTES, 8e9}, {TELLTALE_PROCESS_SYSTEM_NS, 2.5e9}});
    watch.Exit(1000 + static_cast<uint32_t>(i), "/usr/bin/crashes", 0, 6);
  }
  watch.Process(13, "/usr/bin/grows",
                {{TELLTALE_PROCESS_RUN_NS, fault ? 0.6e9 : 0.05e9},
                 {TELLTALE_PROCESS_FAULTS_MINOR, fault ? 9e3 : 100}});
  if (i < 170) watch.Process(14, "/usr/bin/gone", {{TELLTALE_PROCESS_RUN_NS, 0.1e9}});
  watch.Show();
}

// In so many sentences, and a digest of them.
std::string SaidBy(const telltale_filter* filter) {
  Watch watch(filter, {{"new_label_learn", 60}});
  for (int i = 0; i < kEpochs; ++i) Show(watch, i);
  std::string all;
  for (const Watch::Told& told : watch.told) {
    absl::StrAppend(&all, told.vital, "|", told.sub, "|", told.subject, "|", told.text, "|",
                    told.cause, "|", told.start_ns, "|", told.end_ns, "|", told.open, "|");
    absl::StrAppend(&all, told.evidence, "|", told.against, "|", told.next, "|", told.cgroup, "\n");
  }
  for (const auto& [series, value] : watch.points) {
    absl::StrAppend(&all, series, " ", absl::StrFormat("%.3g", value), "\n");
  }
  return absl::StrFormat("%d %d %016x", watch.told.size(), watch.points.size(),
                         storage::DigestText(all));
}

std::map<std::string, std::string> Known() {
  std::map<std::string, std::string> known;  // by name and version
  std::ifstream file(kGolden);
  std::string name, version, said;
  while (file >> name >> version && std::getline(file >> std::ws, said)) {
    known[name + " " + version] = said;
  }
  return known;
}

TEST(FilterVersionsTest, WhatAFilterSaysChangesWithItsVersionOnly) {
  const std::map<std::string, std::string> known = Known();
  std::string now;
  for (const telltale_filter* filter : BuiltinFilters()) {
    const std::string version = absl::StrCat(filter->name, " ", filter->version);
    const std::string said = SaidBy(filter);
    const auto of = known.find(version);
    if (of != known.end()) {
      EXPECT_EQ(said, of->second) << version << " says other things of the same epochs: it is "
                                  << "another version";
    }
    absl::StrAppend(&now, version, " ", of == known.end() ? said : of->second, "\n");
  }
  if (std::getenv("TELLTALE_REWRITE") != nullptr) std::ofstream(kGolden) << now;
  std::stringstream file;
  file << std::ifstream(kGolden).rdbuf();
  EXPECT_EQ(file.str(), now) << "run this test with TELLTALE_REWRITE=1 and look at the difference";
}

// Who reads them by program has their names from there.
TEST(FilterVersionsTest, EachFactOfADiagnosisIsOnThePage) {
  std::vector<std::string> lines;
  std::ifstream page("deploy/docs/diagnosis.md");
  for (std::string line; std::getline(page, line);) lines.push_back(line);
  std::set<std::string> with_facts;
  for (const telltale_filter* filter : BuiltinFilters()) {
    Watch watch(filter);
    for (int i = 0; i < kEpochs; ++i) Show(watch, i);
    std::set<std::string> facts;
    for (const Watch::Told& told : watch.told) {
      for (const std::string& fact :
           std::vector<std::string>(absl::StrSplit(told.facts, "; ", absl::SkipEmpty()))) {
        facts.insert(fact.substr(0, fact.find(':')));
      }
    }
    for (const char* of_all : {"watched", "pid", "program", "user"}) facts.erase(of_all);
    if (!facts.empty()) with_facts.insert(filter->name);
    for (const std::string& fact : facts) {
      EXPECT_TRUE(
          std::ranges::any_of(lines,
                              [&](const std::string& line) {
                                return line.starts_with("| `") &&
                                       line.find(absl::StrCat("`", filter->name, "`")) < 40 &&
                                       line.find(absl::StrCat("`", fact, "`")) != std::string::npos;
                              }))
          << fact << " of " << filter->name;
    }
  }
  EXPECT_GE(with_facts.size(), 10u) << absl::StrJoin(with_facts, " ");
}

// The program itself, with keys and where nobody listens: it asks only if what was typed makes
// sense.
class Typed {
 public:
  static constexpr int kUsage = 2, kNobodyThere = 3;
  Typed() { EXPECT_EQ(ExitCode(absl::StrCat(" pki init --dir ", keys_)), 0); }
  ~Typed() { std::filesystem::remove_all(keys_); }
  int operator()(const std::string& command) const {
    constexpr std::string_view kName = "telltale";
    if (!command.starts_with(kName)) return -1;
    return ExitCode(absl::StrCat(command.substr(kName.size()), " --collector 127.0.0.1:1 --ca ",
                                 keys_, "/ca.crt --cert ", keys_, "/ca.crt --key ", keys_,
                                 "/ca.key"));
  }

 private:
  static int ExitCode(const std::string& words) {
    const int status =
        std::system(absl::StrCat(TELLTALE_PROGRAM, words, " >/dev/null 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::string keys_ = absl::StrCat(::testing::TempDir(), "proposed_commands_", getpid());
};

// The vital that a command asks for, or a sub-series of one; others only the collector would
// refuse.
bool HasVital(const std::string& command) {
  constexpr std::string_view kFlag = " --vital ";
  const size_t at = command.find(kFlag);
  if (at == std::string::npos) return true;
  std::string named = command.substr(at + kFlag.size());
  named = named.substr(0, named.find(' '));
  const v1::Schema schema = proto::BuiltinSchema();
  for (const v1::VitalDescriptor& vital : schema.vitals()) {
    if (named == vital.name()) return true;
    for (const v1::SubDescriptor& sub : vital.subs()) {
      if (named == absl::StrCat(vital.name(), "/", sub.name())) return true;
    }
  }
  return false;
}

TEST(FilterVersionsTest, WhatADiagnosisProposesIsACommand) {
  const Typed typed;
  ASSERT_EQ(typed("telltale stacks --vital cpu --of 812"), Typed::kUsage);
  std::set<std::string> proposed;
  for (const telltale_filter* filter : BuiltinFilters()) {
    Watch watch(filter, {{"new_label_learn", 60}});
    for (int i = 0; i < kEpochs; ++i) Show(watch, i);
    for (const Watch::Told& told : watch.told) {
      if (!told.next.empty()) proposed.insert(told.next);
    }
  }
  EXPECT_GE(proposed.size(), 10u);
  for (const std::string& command : proposed) {
    EXPECT_TRUE(HasVital(command)) << command;
    EXPECT_EQ(typed(formats::CompletedCommand(command, "db-1", 1e9, 1e9 + 60)), Typed::kNobodyThere)
        << command;
  }
}

// Else a change of what it says would go unseen here.
TEST(FilterVersionsTest, EachThatSpeaksOfWhatANodeDoesSpeaksOfTheseEpochs) {
  for (const telltale_filter* filter : BuiltinFilters()) {
    if (std::string_view(filter->name) == "seasonal") continue;  // asks for weeks
    EXPECT_FALSE(SaidBy(filter).starts_with("0 0 ")) << filter->name;
  }
}

}  // namespace
}  // namespace telltale::filter
