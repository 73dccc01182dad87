// Silent nodes and outliers among peers, on synthetic epochs in a real store of memory, with and
// without what they look for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "collector/filter/anomaly_list.h"
#include "collector/filter/fleet/fleet_watch.h"
#include "collector/filter/telltale_filter.h"
#include "proto/codec.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"
#include "telltale/v1/store.pb.h"

namespace telltale::filter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;
constexpr uint64_t kBegin = 480'000 * storage::kHourNs;

class FleetTest : public ::testing::Test, public EpochSource {
 protected:
  FleetTest() : store_(&history_, &catalog_) {
    log_ = *AnomalyLog::Open({.store = &store_});
    Restart();
  }
  void Restart() { watch_ = std::make_unique<FleetWatch>(this, &store_, log_.get(), now_); }

  NodeHead& Add(const std::string& name, const std::string& role = "") {
    NodeHead& node = nodes_.emplace_back();
    node.number = static_cast<uint32_t>(nodes_.size());
    node.name = name;
    node.epochs = 100;
    node.role = role;
    node.kernel_release = "6.1.0";
    node.state = v1::NODE_STATE_REPORTING;
    Hear(node);
    return node;
  }
  void Hear(NodeHead& node) const {
    node.last_epoch_ns = now_;
    node.last_received_ns = now_;
  }
  // Minutes in which all report but those named.
  void Pass(int minutes, const std::set<std::string>& but = {}) {
    for (int i = 0; i < minutes; ++i) {
      now_ += kMinute;
      for (NodeHead& node : nodes_) {
        if (!but.contains(node.name)) Hear(node);
      }
      ASSERT_TRUE(watch_->Look(now_).ok());
    }
  }
  std::vector<v1::Anomaly> Found(uint64_t from_ns = 0) {
    AnomalyQuery query;
    query.from_ns = from_ns;
    query.to_ns = now_ + kMinute;
    query.node_name = [this](uint32_t node) { return nodes_[node - 1].name; };
    const auto page = ListAnomalies(&store_, FleetWatch::Identities(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    return page->anomalies;
  }

  std::vector<NodeHead> Nodes() const override { return nodes_; }
  absl::Status ForEach(uint32_t node, uint64_t from_ns, uint64_t,
                       const Visitor& visit) const override {
    ++reads_;
    if (unreadable_.contains(node)) return absl::UnavailableError("the disk is away");
    ShowMinute(node, from_ns, visit);
    return absl::OkStatus();
  }
  void ShowMinute(uint32_t node, uint64_t from_ns, const Visitor& visit) const {
    static const v1::Schema schema = proto::BuiltinSchema();
    v1::SummaryBody body;
    body.mutable_epoch()->set_kind(v1::EPOCH_KIND_FULL);
    body.mutable_gauges()->set_cpus_online(cpus_.contains(node) ? cpus_.at(node) : 4);
    for (const v1::VitalDescriptor& descriptor : schema.vitals()) {
      v1::Vital& vital = *body.add_vitals();
      vital.set_id(descriptor.id());
      vital.set_state(v1::VITAL_STATE_ACTIVE);
      for (int i = 0; i < descriptor.subs_size(); ++i) vital.add_subs();
      if (descriptor.name() != "cpu") continue;
      const double cpus = body.gauges().cpus_online();
      const double busy = busy_.contains(node) ? busy_.at(node) : 0.2 + 0.002 * node;
      vital.mutable_subs(0)->set_weight(static_cast<uint64_t>(busy * cpus * 60e9));
    }
    if (programs_.contains(node)) {
      *body.mutable_tables()->add_strings() = programs_.at(node);
      body.mutable_processes()->add_columns(TELLTALE_PROCESS_RUN_NS);
      v1::ProcessRow& row = *body.mutable_processes()->add_rows();
      row.set_pid(7);
      row.set_exe(1);
      row.add_values(30'000'000'000);
    }
    SourceEpoch epoch;
    epoch.span = {.start_ns = from_ns, .end_ns = from_ns + kMinute, .watched_ns = kMinute};
    epoch.body = &body;
    epoch.schema = &schema;
    visit(epoch);
  }
  bool Hour(uint32_t, uint64_t, const HourVisitor&) const override { return false; }

  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  mutable uint64_t reads_ = 0;
  std::set<uint32_t> unreadable_;
  std::map<uint32_t, std::string> programs_;  // that run most, by node
  uint64_t now_ = kBegin;
  std::vector<NodeHead> nodes_;
  std::map<uint32_t, double> busy_;    // of each CPU, by node
  std::map<uint32_t, uint32_t> cpus_;  // by node
  std::unique_ptr<AnomalyLog> log_;
  std::unique_ptr<FleetWatch> watch_;
};

TEST_F(FleetTest, ANodeThatSaysNothingMoreIsSilentUntilItIsBack) {
  Add("a");
  Add("b");
  Pass(5);
  EXPECT_TRUE(Found().empty());
  const uint64_t last = now_;
  Pass(5, {"a"});
  EXPECT_TRUE(Found().empty());
  Pass(1, {"a"});
  ASSERT_EQ(Found().size(), 1u);
  v1::Anomaly silent = Found()[0];
  EXPECT_EQ(silent.node(), "a");
  EXPECT_EQ(silent.filter(), "silence");
  EXPECT_TRUE(silent.open());
  EXPECT_EQ(silent.start_s(), static_cast<double>(last / kSecond));
  EXPECT_THAT(silent.text(), HasSubstr("nothing of it for 360 s"));
  EXPECT_THAT(silent.evidence(), HasSubstr("1 of 2 nodes report"));
  EXPECT_TRUE(watch_->IsOpen("silence", {"a"}, "node", ""));
  Pass(10, {"a"});
  EXPECT_EQ(Found().size(), 1u) << "told once";
  Pass(1);
  silent = Found()[0];
  EXPECT_FALSE(silent.open());
  EXPECT_EQ(silent.end_s(), static_cast<double>(now_ / kSecond));
  EXPECT_EQ(log_->Counts().at({"silence", "node"}), 1u);
}

TEST_F(FleetTest, TheCollectorsOwnAbsenceAndAPlannedStopAreNoSilence) {
  Add("a");
  Pass(2);
  now_ += 60 * kMinute;  // it was off; agents come back within a few minutes
  Restart();
  Pass(4, {"a"});
  EXPECT_TRUE(Found().empty());
  Pass(5);
  now_ += 60 * kMinute;  // the machine slept under it
  Pass(4, {"a"});
  EXPECT_TRUE(Found().empty());
  Pass(1);
  nodes_[0].state = v1::NODE_STATE_STOPPED;
  Pass(30, {"a"});
  EXPECT_TRUE(Found().empty());
  nodes_[0].state = v1::NODE_STATE_REPORTING;
  Pass(10, {"a"});
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(FleetTest, WhatIsOpenSurvivesARestartAndIsListedAfterDays) {
  Add("a");
  Add("b");
  Pass(10, {"a"});
  ASSERT_EQ(Found().size(), 1u);
  ASSERT_TRUE(store_.Sync().ok());
  Restart();
  Pass(3 * 24 * 60, {"a"});
  ASSERT_EQ(Found().size(), 1u) << "found once";
  const auto recent = Found(now_ - 60 * kMinute);
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_TRUE(recent[0].open());
  Pass(1);
  EXPECT_FALSE(Found()[0].open());
  EXPECT_EQ(log_->Counts().at({"silence", "node"}), 1u);
}

// Outputs expire, what is open is kept for as long as it lasts.
TEST_F(FleetTest, TheEndOfASilenceThatExpiredIsNoNews) {
  Add("a");
  Add("b");
  Pass(10, {"a"});
  ASSERT_EQ(Found().size(), 1u);
  const std::string cursor = log_->NowCursor();
  ASSERT_TRUE(history_.DropRange(storage::Family::kDerived, "", "").ok());
  Pass(1);
  ASSERT_TRUE(log_->Publish().ok());
  EXPECT_FALSE(watch_->IsOpen("silence", {"a"}, "node", ""));
  EXPECT_EQ(log_->NowCursor(), cursor);
  EXPECT_TRUE(Found().empty());
}

TEST_F(FleetTest, TheSilenceOfAWholeLargeFleetSurvivesARestart) {
  for (int i = 0; i < 6'000; ++i) Add(absl::StrCat("a-node-of-the-large-fleet-", i));
  std::set<std::string> all;
  for (const NodeHead& node : nodes_) all.insert(node.name);
  Pass(6, all);
  ASSERT_TRUE(watch_->IsOpen("silence", {"a-node-of-the-large-fleet-5999"}, "node", ""));
  ASSERT_TRUE(store_.Sync().ok());
  Restart();
  EXPECT_TRUE(watch_->IsOpen("silence", {"a-node-of-the-large-fleet-5999"}, "node", ""));
}

// Its agent is stopped properly, started again, and cut off before its first epoch is over.
TEST_F(FleetTest, ASecondSilenceBehindTheSameEpochIsAnotherOne) {
  Add("a");
  Add("b");
  Pass(10, {"a"});
  ASSERT_EQ(log_->Counts().at({"silence", "node"}), 1u);
  for (uint64_t times = 2; times <= 3; ++times) {
    nodes_[0].state = v1::NODE_STATE_STOPPED;
    Pass(2, {"a"});
    nodes_[0].state = v1::NODE_STATE_REPORTING;
    if (times == 3) Restart();
    Pass(10, {"a"});
    EXPECT_EQ(log_->Counts().at({"silence", "node"}), times);
    EXPECT_TRUE(watch_->IsOpen("silence", {"a"}, "node", ""));
  }
  Pass(1);
  for (const v1::Anomaly& silent : Found()) EXPECT_FALSE(silent.open());
}

TEST_F(FleetTest, SaysHowFarItIsWithWhatItMustHaveSeen) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) Add(name);
  const auto learning = [&](const std::string& filter) {
    return std::ranges::count(watch_->Learning(), filter, &v1::FilterLearning::filter);
  };
  Pass(1);
  EXPECT_EQ(learning("silence"), 6);
  EXPECT_EQ(learning("peer_outlier"), 6);
  Pass(4);
  EXPECT_EQ(learning("silence"), 0);
  EXPECT_EQ(learning("peer_outlier"), 6) << "it looks at minutes that are over for three";
  Pass(5);
  EXPECT_EQ(learning("peer_outlier"), 0);
  Pass(10, {"a"});
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].learned_epochs(), nodes_[0].epochs);
}

TEST_F(FleetTest, SaysOfWhichNodesItCannotSpeakForWantOfPeers) {
  const auto said = [&] {
    std::vector<std::string> all;
    for (const v1::FilterLearning& of : watch_->Learning()) {
      if (of.filter() != "peer_outlier") continue;
      all.push_back(absl::StrCat(of.node(), " ", of.learned_epochs(), " of ", of.needed_epochs(),
                                 " ", of.unit()));
    }
    return all;
  };
  Add("cache-0", "cache");
  Add("cache-1", "cache");
  Pass(20);
  EXPECT_THAT(said(), ElementsAre("cache-0 1 of 5 peers", "cache-1 1 of 5 peers"));
  for (int i = 0; i < 6; ++i) Add(absl::StrCat("web-", i), "web");
  Pass(20);
  EXPECT_THAT(said(), ElementsAre("cache-0 1 of 5 peers", "cache-1 1 of 5 peers"));
  for (const v1::FilterInfo& info : watch_->Infos()) {
    EXPECT_EQ(info.nodes_learning(), info.name() == "peer_outlier" ? 2u : 0u) << info.name();
  }
  for (int i = 2; i < 6; ++i) Add(absl::StrCat("cache-", i), "cache");
  Pass(10);
  EXPECT_THAT(said(), ElementsAre());
}

TEST_F(FleetTest, MostNodesSilentAtOnceIsSaidToHaveOneReason) {
  for (const char* name : {"a", "b", "c", "d"}) Add(name);
  Pass(2);
  Pass(8, {"a", "b", "c"});
  ASSERT_EQ(Found().size(), 3u);
  EXPECT_THAT(Found()[0].against(), HasSubstr("one reason"));
}

TEST_F(FleetTest, ANodeUnlikeItsPeersIsToldAfterFiveMinutes) {
  for (int i = 0; i < 7; ++i) Add(absl::StrCat("web-", i), "web");
  Pass(20);
  EXPECT_TRUE(Found().empty());
  busy_[3] = 0.9;
  Pass(4);
  EXPECT_TRUE(Found().empty());
  Pass(1);
  ASSERT_EQ(Found().size(), 1u);
  const v1::Anomaly odd = Found()[0];
  EXPECT_EQ(odd.filter(), "peer_outlier");
  EXPECT_EQ(odd.node(), "web-2");
  EXPECT_THAT(odd.text(), HasSubstr("cpu/user is 900 ms/s a CPU, its 6 peers have 210 ms/s"));
  EXPECT_THAT(odd.evidence(), HasSubstr("(role web), in 5 minutes in a row"));
  EXPECT_TRUE(odd.open());
  ASSERT_TRUE(store_.Sync().ok());
  Restart();
  Pass(10);
  EXPECT_EQ(Found().size(), 1u);
  busy_.clear();
  Pass(15);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(Found()[0].open());
}

TEST_F(FleetTest, MinutesInWhichItWasNotComparedAreInNoRow) {
  for (int i = 0; i < 7; ++i) Add(absl::StrCat("web-", i), "web");
  Pass(20);
  busy_[3] = 0.9;
  Pass(3);
  nodes_[2].role = "db";  // which has no peers
  Pass(3);
  nodes_[2].role = "web";
  Pass(4);
  EXPECT_TRUE(Found().empty());
  Pass(1);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(FleetTest, WhatWasNotedWhenItWasShownIsNotReadAgain) {
  for (int i = 0; i < 8; ++i) Add(absl::StrCat("web-", i), "web");
  Pass(1);
  reads_ = 0;
  busy_[3] = 0.95;
  for (int minute = 0; minute < 12; ++minute) {
    const uint64_t from_ns = now_;
    for (const NodeHead& node : nodes_) {
      ShowMinute(node.number, from_ns, [&](const SourceEpoch& epoch) {
        watch_->Note(node.number, epoch);
        watch_->Note(node.number, epoch);  // a reader that waits for a hole to close
        return true;
      });
    }
    Pass(1);
  }
  EXPECT_LE(reads_, 8u * 3) << "of the minutes before anything was noted";
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].node(), "web-2");
}

// A look comes each second, and each may fail.
TEST_F(FleetTest, AMinuteIsJudgedOnceHoweverOftenALookAtItFails) {
  for (int i = 0; i < 8; ++i) Add(absl::StrCat("web-", i), "web");
  Pass(2);
  busy_[3] = 0.95;
  unreadable_ = {8};  // the last that is looked at
  reads_ = 0;
  for (int minute = 0; minute < 2; ++minute) {
    for (const NodeHead& node : nodes_) {
      if (node.number == 8) continue;
      ShowMinute(node.number, now_, [&](const SourceEpoch& epoch) {
        watch_->Note(node.number, epoch);
        return true;
      });
    }
    now_ += kMinute;
    for (NodeHead& node : nodes_) Hear(node);
    for (int look = 0; look < 20; ++look) (void)watch_->Look(now_);
  }
  EXPECT_LE(reads_, 7u * 3 + 40) << "what was noted or read once is not read again";
  unreadable_.clear();
  Pass(2);
  EXPECT_TRUE(Found().empty()) << "four minutes of it were looked at, and each once";
  Pass(5);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(FleetTest, TheOutliersOfALargeFleetFitTheStoreAndSurviveARestart) {
  const std::string role(1'500, 'r');
  for (uint32_t i = 1; i <= 2'200; ++i) {
    Add(absl::StrCat("web-", i), role);
    busy_[i] = i <= 800 ? 0.9 : 0.2;
  }
  Pass(10);
  ASSERT_TRUE(watch_->IsOpen("peer_outlier", {"web-800"}, "cpu", "user"));
  EXPECT_FALSE(watch_->IsOpen("peer_outlier", {"web-801"}, "cpu", "user"));
  ASSERT_TRUE(store_.Sync().ok());
  Restart();
  EXPECT_TRUE(watch_->IsOpen("peer_outlier", {"web-800"}, "cpu", "user"));
}

TEST_F(FleetTest, AnOutlierThatIsGoneOrHasNoPeersAnyMoreGoesOnNoLonger) {
  for (int i = 0; i < 7; ++i) Add(absl::StrCat("web-", i), "web");
  const auto outliers = [&] {
    auto found = Found();
    std::erase_if(found, [](const v1::Anomaly& one) { return one.filter() != "peer_outlier"; });
    return found;
  };
  busy_[3] = 0.9;
  Pass(20);
  ASSERT_EQ(outliers().size(), 1u);
  Pass(10, {"web-2"});
  EXPECT_TRUE(watch_->IsOpen("peer_outlier", {"web-2"}, "cpu", "user")) << "it may come back";
  Pass(1);
  Pass(14, {"web-2"});
  EXPECT_TRUE(outliers()[0].open());
  Pass(10, {"web-2"});
  EXPECT_FALSE(watch_->IsOpen("peer_outlier", {"web-2"}, "cpu", "user"));
  EXPECT_FALSE(outliers()[0].open());
  Pass(20);
  ASSERT_EQ(outliers().size(), 2u) << "back, and unlike them again";
  // A role of its own.
  nodes_[2].role = "cache";
  Pass(40);
  for (const v1::Anomaly& one : outliers()) EXPECT_FALSE(one.open());
}

TEST_F(FleetTest, FewPeersAnotherRoleOrMoreCpusAreNoOutliers) {
  for (int i = 0; i < 5; ++i) Add(absl::StrCat("web-", i), "web");
  busy_[1] = 0.9;  // only four peers
  for (int i = 0; i < 6; ++i) Add(absl::StrCat("db-", i), "db");
  Add("batch", "batch");
  busy_[12] = 0.9;
  cpus_[7] = 64;  // as busy, on each of its CPUs, as the others
  Pass(30);
  EXPECT_TRUE(Found().empty()) << Found()[0].text();
}

TEST_F(FleetTest, AnAgentOfACgroupIsNoPeerOfOneOfAWholeHost) {
  for (int i = 0; i < 6; ++i) Add(absl::StrCat("web-", i), "web");
  NodeHead& scoped = Add("web-cgroup", "web");
  scoped.scope = "/kubepods/web";
  busy_[scoped.number] = 0.9;
  Pass(30);
  EXPECT_TRUE(Found().empty()) << Found()[0].text();
  scoped.scope.clear();
  Pass(12);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].node(), "web-cgroup");
}

TEST_F(FleetTest, WithoutARoleKernelAndCpusMakePeers) {
  for (int i = 0; i < 12; ++i) {
    NodeHead& node = Add(absl::StrCat("n-", i));
    if (i >= 6) node.kernel_release = "5.10";
    if (i >= 6) busy_[node.number] = 0.8;
  }
  Pass(30);
  EXPECT_TRUE(Found().empty()) << Found()[0].text();
  busy_[1] = 0.8;  // unlike those of its kernel
  Pass(12);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].node(), "n-0");
  EXPECT_THAT(Found()[0].evidence(), HasSubstr("kernel 6.1.0, 4 CPUs"));
}

TEST_F(FleetTest, WithoutARoleTheProgramThatRunsMostMakesPeers) {
  for (int i = 0; i < 12; ++i) {
    const uint32_t node = Add(absl::StrCat("n-", i)).number;
    programs_[node] = i < 6 ? "/usr/sbin/nginx" : "/usr/lib/postgresql/bin/postgres";
    if (i >= 6) busy_[node] = 0.8;
  }
  Pass(30);
  EXPECT_TRUE(Found().empty()) << Found()[0].text();
  busy_[1] = 0.8;  // as busy as those of another program
  Pass(12);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].node(), "n-0");
  EXPECT_THAT(Found()[0].evidence(), HasSubstr("kernel 6.1.0, 4 CPUs, nginx"));
}

}  // namespace
}  // namespace telltale::filter
