// backup, restore, verify and salvage as an operator uses them: of a collector that runs and of one
// that does not, and what they say about a damaged store.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/collector_process.h"
#include "tests/support/damage.h"
#include "tests/support/ingest_bench.h"
#include "tests/support/program.h"
#include "tests/support/raw_agent.h"

namespace telltale::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kEpochs = 40;

// Holds a data directory as a verify does that reads its copy.
class ReadingVerify {
 public:
  explicit ReadingVerify(const std::string& data)
      : directory_(open(data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        holds_(flock(directory_, LOCK_EX | LOCK_NB) == 0) {}
  ~ReadingVerify() { close(directory_); }
  ReadingVerify(const ReadingVerify&) = delete;
  ReadingVerify& operator=(const ReadingVerify&) = delete;
  bool holds() const { return holds_; }

 private:
  const int directory_;
  const bool holds_;
};

// Whether a process holds a directory so; seen without taking it, which would be in its way.
bool HoldsADirectory(pid_t pid) {
  const std::string locks = ReadAll("/proc/locks");
  for (const absl::string_view line : absl::StrSplit(locks, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() > 4 && words[1] == "FLOCK" && words[4] == absl::StrCat(pid)) return true;
  }
  return false;
}

class StoreCommandsTest : public ::testing::Test {
 protected:
  void Send(CollectorProcess& collector, uint64_t from, uint64_t to) {
    RawAgent agent(collector.address(), pki_.ca(), node_);
    ASSERT_TRUE(agent.Write(Hello({})) && agent.Write(SchemaMessage()));
    for (uint64_t sequence = from; sequence <= to; ++sequence) {
      const uint64_t end = start_ + sequence * 60 * kSecond;
      ASSERT_TRUE(agent.Write(Summary({}, sequence, BodyEnding(end, sequence * 1'000'000))));
      const auto verdict = agent.ReadVerdict();
      ASSERT_TRUE(verdict.has_value() && verdict->kind() == v1::Verdict::STORED);
    }
  }
  // What the collector answers about these epochs, as it says it; from the epochs themselves, since
  // windows are computed when there is time.
  std::string Answers(const CollectorProcess& collector) {
    std::string all;
    const std::string from = "@" + std::to_string(start_ / kSecond);
    const std::string to = "@" + std::to_string(start_ / kSecond + kEpochs * 60);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"top", "--by", "exe", "--tier", "raw"},
          {"top", "--tier", "raw"},
          {"note"}}) {
      std::vector<std::string> asked = words;
      asked.insert(asked.end(), {"--from", from, "--to", to, "-o", "json"});
      const ProgramRun run = As(viewer_, collector, asked);
      EXPECT_EQ(run.exit_code, 0) << run.output;
      all += run.output;
    }
    return all;
  }
  ProgramRun As(const IssuedFiles& who, const CollectorProcess& collector,
                std::vector<std::string> words) {
    words.insert(words.end(), {"--collector", collector.address(), "--ca", pki_.ca(), "--cert",
                               who.cert, "--key", who.key});
    return RunTelltale(words);
  }
  ProgramRun Backup(const std::string& to) const {
    return RunCollector({"backup", to, "--data", data_});
  }
  size_t CopiesBegun(const CollectorProcess& collector) const {
    const std::string log = collector.log(), begun = "backup: to " + copy_ + " begins";
    size_t times = 0;
    for (size_t at = 0; (at = log.find(begun, at)) != std::string::npos; ++at) ++times;
    return times;
  }
  static ProgramRun Verify(const std::string& data) {
    return RunCollector({"verify", "--data", data});
  }
  static ProgramRun Salvage(const std::string& data) {
    return RunCollector({"salvage", "--data", data});
  }

  const TempDir scratch_;
  Pki pki_{scratch_.path(), "ca"};
  const IssuedFiles own_ = pki_.Issue("collector", "DNS:localhost,IP:127.0.0.1");
  const IssuedFiles node_ = pki_.Issue("web-1", "URI:telltale://node/web-1");
  const IssuedFiles viewer_ = pki_.Issue("eve", "URI:telltale://viewer/eve");
  const IssuedFiles operator_ = pki_.Issue("olga", "URI:telltale://operator/olga");
  const uint64_t start_ = LastMinute() - 86'400 * kSecond;
  const std::string data_ = scratch_.path() + "/data";
  const std::string copy_ = data_ + "/verify.part";  // that verify makes of a running collector's
  const std::string backup_ = scratch_.path() + "/backup";
};

TEST_F(StoreCommandsTest, ABackupOfARunningCollectorVerifiesAndAnswersLikeIt) {
  std::string answers;
  {
    CollectorProcess collector(data_, pki_, own_);
    ASSERT_TRUE(collector.Start()) << collector.log();
    Send(collector, 1, kEpochs);
    const ProgramRun noted = As(operator_, collector,
                                {"note", "deploy 1.2", "--node", "web-1", "--at",
                                 "@" + std::to_string(start_ / kSecond + 600)});
    ASSERT_EQ(noted.exit_code, 0) << noted.output;
    const ProgramRun made = Backup(backup_);
    ASSERT_EQ(made.exit_code, 0) << made.output;
    EXPECT_THAT(made.output, HasSubstr("of the running collector's"));
    EXPECT_THAT(made.output, HasSubstr("verify --data " + backup_));
    answers = Answers(collector);
    EXPECT_THAT(answers, HasSubstr("deploy 1.2"));
    EXPECT_EQ(collector.Stop(), 0);
  }
  const ProgramRun verified = Verify(backup_);
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  EXPECT_THAT(verified.output, HasSubstr("epochs    40 of 1 nodes"));
  EXPECT_THAT(verified.output, HasSubstr("good\n"));

  const std::string restored = scratch_.path() + "/restored";
  const ProgramRun restore = RunCollector({"restore", backup_, "--data", restored});
  ASSERT_EQ(restore.exit_code, 0) << restore.output;
  EXPECT_EQ(Verify(restored).exit_code, 0);
  CollectorProcess again(restored, pki_, own_);
  ASSERT_TRUE(again.Start()) << again.log();
  EXPECT_EQ(Answers(again), answers);
  EXPECT_EQ(again.Stop(), 0);
  EXPECT_EQ(Verify(backup_).exit_code, 0) << "the backup is as it was";

  const ProgramRun over = RunCollector({"restore", backup_, "--data", restored});
  EXPECT_EQ(over.exit_code, 1);
  EXPECT_THAT(over.output, HasSubstr("there is a store already"));
}

TEST_F(StoreCommandsTest, ARunningCollectorIsVerifiedByACopyThatIsGoneAfterwards) {
  CollectorProcess collector(data_, pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Send(collector, 1, kEpochs);
  fs::create_directories(copy_ + "/store/rocks");  // as a killed one leaves it
  std::ofstream(copy_ + "/store/rocks/000009.sst") << "half";
  for (const uint64_t more : {0, 1}) {
    Send(collector, kEpochs + 1, kEpochs + more);
    const ProgramRun verified = Verify(data_);
    EXPECT_EQ(verified.exit_code, 0) << verified.output;
    EXPECT_THAT(verified.output,
                AllOf(HasSubstr("of the running collector's"),
                      HasSubstr("epochs    " + std::to_string(kEpochs + more) + " of 1 nodes"),
                      HasSubstr("good\n")));
    EXPECT_FALSE(fs::exists(copy_));
  }
  EXPECT_EQ(collector.Stop(), 0);
  EXPECT_EQ(Verify(data_).exit_code, 0);
}

TEST_F(StoreCommandsTest, AnInterruptedVerifyTakesItsCopyAway) {
  CollectorProcess collector(data_, pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Send(collector, 1, kEpochs);
  // In the middle of reading, if it is not faster than the signal.
  bool interrupted = false;
  for (int i = 0; i < 50 && !interrupted; ++i) {
    Program verify(scratch_.path() + "/verify-" + std::to_string(i));
    verify.Start(CollectorProgram(), {"verify", "--data", data_});
    ASSERT_TRUE(Await([&] { return fs::exists(copy_ + "/store") || verify.Ended(); }));
    verify.Signal(SIGINT);
    const int code = verify.AwaitEnd();
    EXPECT_FALSE(fs::exists(copy_)) << verify.log();
    interrupted = code == 1;
    // One that comes after all was read ends it as well, and takes nothing from the report.
    EXPECT_THAT(code, AnyOf(0, 1, 128 + SIGINT));
    EXPECT_THAT(verify.log(), HasSubstr(interrupted ? "stopped" : "good\n"));
  }
  EXPECT_TRUE(interrupted);

  // Before the collector has even heard of it, which then makes nothing.
  const size_t copies = CopiesBegun(collector);
  collector.Signal(SIGSTOP);
  Program verify(scratch_.path() + "/verify");
  verify.Start(CollectorProgram(), {"verify", "--data", data_});
  ASSERT_TRUE(Await([&] { return HoldsADirectory(verify.pid()); }));
  verify.Signal(SIGTERM);
  EXPECT_EQ(verify.AwaitEnd(), 1);
  EXPECT_THAT(verify.log(), HasSubstr("stopped"));
  collector.Signal(SIGCONT);
  const ProgramRun next = Verify(data_);
  EXPECT_EQ(next.exit_code, 0) << next.output;
  EXPECT_EQ(CopiesBegun(collector), copies + 1) << collector.log();
  EXPECT_EQ(collector.Stop(), 0);
}

TEST_F(StoreCommandsTest, SignalsThatAVerifyWasStartedToIgnoreDoNotStopIt) {
  CollectorProcess collector(data_, pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Send(collector, 1, kEpochs);
  collector.Signal(SIGSTOP);  // so that they come before it has read anything
  Program verify(scratch_.path() + "/verify");
  verify.Start("/bin/sh",
               {"-c", "trap '' INT HUP; exec " + CollectorProgram() + " verify --data " + data_});
  ASSERT_TRUE(Await([&] { return HoldsADirectory(verify.pid()); }));
  verify.Signal(SIGHUP);
  verify.Signal(SIGINT);
  collector.Signal(SIGCONT);
  EXPECT_EQ(verify.AwaitEnd(), 0);
  EXPECT_THAT(verify.log(), HasSubstr("good\n"));
  EXPECT_EQ(collector.Stop(), 0);
}

TEST_F(StoreCommandsTest, OnlyACopyThatNobodyReadsIsRemovedAtTheStart) {
  CollectorProcess collector(data_, pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Send(collector, 1, 1);
  EXPECT_EQ(collector.Stop(), 0);
  fs::create_directories(copy_ + "/store/rocks");
  {
    const ReadingVerify reading(data_);
    ASSERT_TRUE(reading.holds());
    ASSERT_TRUE(collector.Start()) << collector.log();
    EXPECT_TRUE(fs::exists(copy_ + "/store/rocks"));
    const ProgramRun second = Verify(data_);
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.output, HasSubstr("another verify reads its copy " + copy_));
    EXPECT_TRUE(fs::exists(copy_ + "/store/rocks"));
    EXPECT_EQ(collector.Stop(), 0);
  }
  ASSERT_TRUE(collector.Start()) << collector.log();
  EXPECT_FALSE(fs::exists(copy_));
  EXPECT_EQ(collector.Stop(), 0);
}

TEST_F(StoreCommandsTest, AVerifyThatCannotAskSaysWhyAndWhatElseCanBeDone) {
  CollectorProcess collector(data_, pki_, own_);
  ASSERT_TRUE(collector.Start()) << collector.log();
  Send(collector, 1, 1);
  // Something stands in the socket's place that takes no such connection.
  fs::remove(data_ + "/control");
  const int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  (data_ + "/control").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const ProgramRun verified = Verify(data_);
  close(other);
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.output, AllOf(HasSubstr("another process holds this data directory"),
                                     HasSubstr("/control: connect: "),
                                     HasSubstr("verify an earlier backup, or stop the collector")));
  EXPECT_EQ(collector.Stop(), 0);
}

TEST_F(StoreCommandsTest, AStoppedCollectorsStoreIsBackedUpByTheCommandItself) {
  {
    CollectorProcess collector(data_, pki_, own_);
    ASSERT_TRUE(collector.Start()) << collector.log();
    Send(collector, 1, 10);
    collector.Kill();
  }
  const ProgramRun made = Backup(backup_);
  ASSERT_EQ(made.exit_code, 0) << made.output;
  EXPECT_THAT(made.output, HasSubstr("of the stopped collector's"));
  const ProgramRun verified = Verify(backup_);
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  EXPECT_THAT(verified.output, HasSubstr("epochs    10 of 1 nodes"));

  const ProgramRun twice = Backup(backup_);
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.output, HasSubstr("has store in it, want an empty directory"));
}

TEST_F(StoreCommandsTest, ADamagedFileIsNamedAndTheBackupBringsTheStoreBack) {
  {
    CollectorProcess collector(data_, pki_, own_);
    ASSERT_TRUE(collector.Start()) << collector.log();
    Send(collector, 1, kEpochs);
    ASSERT_EQ(Backup(backup_).exit_code, 0);
    EXPECT_EQ(collector.Stop(), 0);
  }
  // Of the copy: the original may share its files with it.
  const std::string copy = scratch_.path() + "/copy";
  ASSERT_EQ(RunCollector({"restore", backup_, "--data", copy}).exit_code, 0);
  ASSERT_EQ(Verify(copy).exit_code, 0);
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(copy + "/store/rocks")) {
    const bool table = entry.path().extension() == ".sst" || entry.path().extension() == ".blob";
    if (table && (largest.empty() || entry.file_size() > fs::file_size(largest))) {
      largest = entry.path();
    }
  }
  ASSERT_FALSE(largest.empty());
  {
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(largest) / 3));
    file.write("\xff\x00\xff\x00\xff\x00\xff\x00", 8);
  }
  const ProgramRun damaged = Verify(copy);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.output, HasSubstr(largest.filename().string()));
  EXPECT_THAT(damaged.output, Not(HasSubstr("good\n")));

  fs::remove_all(copy + "/store");
  ASSERT_EQ(RunCollector({"restore", backup_, "--data", copy}).exit_code, 0);
  EXPECT_EQ(Verify(copy).exit_code, 0);
}

TEST_F(StoreCommandsTest, ASalvagedStoreVerifiesAndItsAnswersSayWhatTheyLack) {
  {
    CollectorProcess collector(data_, pki_, own_);
    ASSERT_TRUE(collector.Start()) << collector.log();
    Send(collector, 1, kEpochs);
    const ProgramRun running = Salvage(data_);
    EXPECT_EQ(running.exit_code, 1);
    EXPECT_THAT(running.output, HasSubstr("stop the collector first"));
    EXPECT_EQ(collector.Stop(), 0);
  }
  const std::string file = DamageRows(data_ + "/store/rocks", "raw", 0.3, 0.5);
  ASSERT_NE(file, "");
  const ProgramRun damaged = Verify(data_);
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.output, HasSubstr("telltale-collector salvage --data " + data_));

  const ProgramRun salvaged = Salvage(data_);
  ASSERT_EQ(salvaged.exit_code, 0) << salvaged.output;
  EXPECT_THAT(salvaged.output, AllOf(HasSubstr(file + " of raw"), HasSubstr("LOST   raw"),
                                     HasSubstr("40 acknowledged epochs are lost")));
  const ProgramRun verified = Verify(data_);
  EXPECT_EQ(verified.exit_code, 0) << verified.output;
  EXPECT_THAT(verified.output, AllOf(HasSubstr("salvaged  40 rows of raw"), HasSubstr("good\n")));
  EXPECT_THAT(Salvage(data_).output, HasSubstr("nothing was changed"));

  CollectorProcess again(data_, pki_, own_);
  ASSERT_TRUE(again.Start()) << again.log();
  EXPECT_THAT(Answers(again), HasSubstr("40 stored epochs could not be opened"));
  Send(again, kEpochs + 1, kEpochs + 3);
  EXPECT_THAT(As(operator_, again, {"audit"}).output,
              AllOf(HasSubstr("telltale-collector salvage"), HasSubstr(file)));
  EXPECT_EQ(again.Stop(), 0);
}

TEST_F(StoreCommandsTest, WhatMakesNoSenseIsSaidInOneLine) {
  ProgramRun run = RunCollector({"backup"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.output, HasSubstr("backup needs DIR"));
  run = RunCollector({"verify", "somewhere"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.output, HasSubstr("unknown argument somewhere"));
  run = RunCollector({"restor", "x"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.output, HasSubstr("did you mean restore?"));
  run = Verify(scratch_.path() + "/nothing");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("there is no store in this directory"));
  run = RunCollector({"restore", scratch_.path() + "/nothing", "--data", data_});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("there is no store in this directory"));
  EXPECT_FALSE(fs::exists(data_));
  run = Backup(backup_);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("there is no store in this directory"));
}

TEST_F(StoreCommandsTest, ABackupOfANewerFormatIsNotRestored) {
  fs::create_directories(backup_ + "/store/rocks");
  std::ofstream(backup_ + "/store/VERSION") << "telltale-store 99\n";
  const ProgramRun run = RunCollector({"restore", backup_, "--data", data_});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("written in format 99"));
  EXPECT_FALSE(fs::exists(data_));
}

}  // namespace
}  // namespace telltale::testing
