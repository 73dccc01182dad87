// An agent whose spool's disk is full or hangs: it is said while it lasts and of the epochs that
// were in memory only, and afterwards everything is as before.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/spool/record.h"
#include "proto/codec.h"
#include "storage/store.h"
#include "tests/support/agent_process.h"
#include "tests/support/collector_process.h"

namespace telltale::testing {
namespace {

constexpr uint64_t kHeld = 3;

// A file system of its own, so that it can be full.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    mkdir(path.c_str(), 0755);
    mounted_ = mount("telltale-test", path.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void Fill() const {
    std::ofstream file(Filler(), std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void MakeRoom() const { unlink(Filler().c_str()); }

 private:
  std::string Filler() const { return path_ + "/filler"; }
  const std::string path_;
  bool mounted_ = false;
};

TEST(AgentDiskTest, AFullDiskLosesNothingAndIsReported) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
  const TempDir scratch;
  const SmallDisk disk(scratch.path() + "/db-1.spool");
  if (!disk.mounted()) GTEST_SKIP() << "needs to mount a tmpfs: " << strerror(errno);
  Pki pki(scratch.path(), "ca");
  const std::string data = scratch.path() + "/data";
  CollectorProcess collector(data, pki, pki.Issue("collector", "DNS:localhost,IP:127.0.0.1"));
  AgentProcess agent(scratch.path(), "db-1", pki.ca(),
                     pki.Issue("db-1", "URI:telltale://node/db-1"));
  const auto number = [&agent](const char* part, const char* name) -> uint64_t {
    const auto status = agent.Status();
    return status.is_object() ? status[part][name].get<uint64_t>() : 0;
  };
  const auto problem = [&agent] {
    const auto status = agent.Status();
    return status.is_object() ? status["spool"]["problem"].get<std::string>() : "no answer";
  };
  ASSERT_TRUE(collector.Start()) << collector.log();
  agent.Start(collector.address());
  ASSERT_TRUE(Await([&] { return number("uplink", "stored") >= 1; })) << agent.log();

  // Nobody takes them: what the disk does not take either stays in memory.
  disk.Fill();
  collector.Signal(SIGSTOP);
  const bool held = Await([&] { return number("spool", "heldInMemory") >= kHeld; }, 90);
  const std::string said = problem();
  collector.Signal(SIGCONT);
  ASSERT_TRUE(held) << agent.Status().dump(2) << agent.log();
  EXPECT_NE(said.find("No space left"), std::string::npos) << said;
  // The disk is full still: they go from memory to the collector.
  EXPECT_TRUE(Await([&] { return number("spool", "heldInMemory") == 0; })) << agent.log();
  EXPECT_FALSE(problem().empty());

  disk.MakeRoom();
  const uint64_t before = number("uplink", "stored");
  EXPECT_TRUE(Await([&] { return problem().empty() && number("uplink", "stored") > before + 1; }))
      << agent.log();
  EXPECT_EQ(agent.Logged("spool: writing works again"), 1) << agent.log();
  EXPECT_EQ(agent.Stop(), 0) << agent.log();
  EXPECT_EQ(collector.Stop(), 0) << collector.log();

  auto store = storage::Store::Open({.path = data + "/store"});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto node = (*store)->reader().Node("db-1");
  ASSERT_TRUE(node.has_value());
  const auto ledger = (*store)->reader().Ledgers(node->number()).front().second;
  EXPECT_EQ(ledger.lost_count(), 0u);
  EXPECT_EQ(ledger.received_through(), ledger.highest());
  uint64_t unspooled = 0, most_in_memory = 0;
  std::map<uint64_t, bool> marks;
  std::vector<uint64_t> starts;  // sequences of the epochs that tell of the agent's start
  const v1::Schema schema = proto::BuiltinSchema();
  const absl::Status read =
      (*store)->reader().ForEachRaw(node->number(), 0, UINT64_MAX, [&](const storage::RawRow& row) {
        const auto decoded = proto::DecodeSummary(row.summary, schema);
        EXPECT_TRUE(decoded.ok()) << decoded.status();
        if (!decoded.ok()) return true;
        marks[row.key.sequence] = decoded->body->epoch().unspooled();
        for (const v1::DiscreteEvent& event : decoded->body->events()) {
          if (event.type() == v1::EVENT_TYPE_AGENT_START) starts.push_back(row.key.sequence);
        }
        unspooled += decoded->body->epoch().unspooled() ? 1 : 0;
        most_in_memory =
            std::max<uint64_t>(most_in_memory, decoded->body->gauges().unspooled_summaries());
        return true;
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(marks.size(), ledger.highest());
  EXPECT_EQ(starts, std::vector<uint64_t>{marks.begin()->first});
  EXPECT_GE(unspooled, kHeld);
  EXPECT_GE(most_in_memory, kHeld - 1) << "the next summaries say how many were in memory";
  EXPECT_FALSE(marks.begin()->second);
  EXPECT_FALSE(marks.rbegin()->second);
  // The replay sensor plays four CPUs, which is implausible on a smaller host, and remarked on.
  uint64_t remarked = 0;
  for (const v1::Remark& remark : node->remarks()) {
    if (remark.kind() == v1::REMARK_KIND_SPOOL) {
      remarked += remark.count();
    } else {
      std::printf("also remarked: %s\n", remark.text().c_str());
    }
  }
  EXPECT_EQ(remarked, unspooled);
}

// A pipe nobody reads stands where a record is to be written: opening it waits, as for a file
// server that is gone.
TEST(AgentDiskTest, AHungDiskIsSaidWhileItHangsAndOfTheNodeOnceItsEpochsCome) {
  const TempDir scratch;
  Pki pki(scratch.path(), "ca");
  const std::string data = scratch.path() + "/data";
  CollectorProcess collector(data, pki, pki.Issue("collector", "DNS:localhost,IP:127.0.0.1"));
  AgentProcess agent(scratch.path(), "db-1", pki.ca(),
                     pki.Issue("db-1", "URI:telltale://node/db-1"));
  const auto spool = [&agent] {
    const auto status = agent.Status();
    return status.is_object() ? status["spool"] : nlohmann::json::object();
  };
  const auto waiting = [&spool] { return spool().value("waitingForDisk", uint64_t{0}); };
  ASSERT_TRUE(collector.Start()) << collector.log();
  agent.Start(collector.address());
  ASSERT_TRUE(Await([&] { return spool().value("nextSequence", uint64_t{0}) >= 2; }))
      << agent.log();

  // Not the next one: that may be on its way.
  const uint64_t hung = spool().value("nextSequence", uint64_t{0}) + 1;
  const std::string pipe = absl::StrCat(agent.spool(), "/", agent::RecordFileName(hung), ".tmp");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0) << strerror(errno);
  ASSERT_TRUE(Await([&] { return waiting() >= 5; }, 90)) << agent.log();
  const std::string said = spool().value("problem", "");
  EXPECT_NE(said.find("spool: write in " + agent.spool() + ": under way for "), std::string::npos)
      << said;
  EXPECT_EQ(agent.Logged("the disk hangs; "), 1) << agent.log();

  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0) << strerror(errno);
  std::string drained(1 << 20, '\0');
  EXPECT_TRUE(Await([&] {
    while (read(reader, drained.data(), drained.size()) > 0) {
    }
    return waiting() == 0 && spool().value("problem", "?").empty();
  })) << agent.log();
  close(reader);
  EXPECT_EQ(agent.Stop(), 0) << agent.log();
  EXPECT_EQ(collector.Stop(), 0) << collector.log();

  auto store = storage::Store::Open({.path = data + "/store"});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto node = (*store)->reader().Node("db-1");
  ASSERT_TRUE(node.has_value());
  const auto ledger = (*store)->reader().Ledgers(node->number()).front().second;
  EXPECT_EQ(ledger.lost_count(), 0u);
  EXPECT_EQ(ledger.received_through(), ledger.highest());
  const auto remark = std::ranges::find(node->remarks(), v1::REMARK_KIND_SPOOL, &v1::Remark::kind);
  ASSERT_NE(remark, node->remarks().end());
  // The one that hung, and of those behind it whichever waited for more than ten seconds.
  EXPECT_GE(remark->count(), 2u);
  EXPECT_LT(remark->count(), ledger.highest());
}

}  // namespace
}  // namespace telltale::testing
