// A small fleet against a real collector, with all that goes wrong in a large one: connections that
// break all at once, nodes that come and go, clocks that are off, agents that misbehave. Whatever
// was acknowledged is there once, and nobody suffers for what others do.

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/collector_process.h"
#include "tests/support/program.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

constexpr int kHonest = 42;
constexpr int kEpochs = 3;

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string pki = directory_.path() + "/pki";
    ASSERT_EQ(RunTelltale({"pki", "init", "--dir", pki}).exit_code, 0);
    ASSERT_EQ(RunTelltale({"pki", "issue", "--dir", pki, "--role", "collector", "--name",
                           "collector", "--dns", "localhost"})
                  .exit_code,
              0);
    StartCollector();
  }

  void StartCollector() {
    const std::string pki = directory_.path() + "/pki";
    collector_.Start(
        TELLTALE_COLLECTOR_PROGRAM,
        {"--listen-grpc", "127.0.0.1:0", "--listen-https", "127.0.0.1:0", "--data", data_,
         "--tls-ca", pki + "/ca.crt", "--tls-cert", pki + "/collector-collector.crt", "--tls-key",
         pki + "/collector-collector.key"});
    ASSERT_TRUE(Await([this] { return !ReadAll(data_ + "/ports").empty(); })) << collector_.log();
  }

  std::string Address() const {
    const std::string ports = ReadAll(data_ + "/ports");
    const size_t begin = ports.find("grpc=") + 5;
    return "localhost:" + ports.substr(begin, ports.find('\n') - begin);
  }

  // Runs a fleet to its end and reads its report.
  void RunFleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--pki", directory_.path() + "/pki", "--collector", Address(), "-o", "json"});
    const std::string log = directory_.path() + "/fleet.log";
    std::filesystem::remove(log);  // of a fleet before it
    Program fleet(log);
    fleet.Start(TELLTALE_FLEETSIM_PROGRAM, arguments);
    ASSERT_TRUE(Await([&fleet] { return fleet.Ended(); }, 110)) << fleet.log();
    const std::string said = fleet.log();
    const size_t begin = said.find("{\n");
    ASSERT_NE(begin, std::string::npos) << said;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(said.substr(begin), &report_).ok())
        << said;
    exit_code_ = fleet.exit_code();
    said_ = said;
  }

  double Figure(const std::string& key) const {
    const auto found = report_.fields().find(key);
    if (found != report_.fields().end()) return found->second.number_value();
    ADD_FAILURE() << key << " is not in the report:\n" << said_;
    return -1;
  }

  const TempDir directory_;
  const std::string data_ = directory_.path() + "/data";
  Program collector_{directory_.path() + "/collector.log"};
  google::protobuf::Struct report_;
  std::string said_;
  int exit_code_ = -1;
};

TEST_F(FleetTest, WhatWasAckedIsThereOnceWhateverOthersDo) {
  RunFleet({"--nodes",         "50",
            "--epoch",         "3s",
            "--epochs",        std::to_string(kEpochs),
            "--warmup",        "0",
            "--storm-at",      "4s",
            "--garbage",       "2",
            "--oversize",      "2",
            "--flood",         "2",
            "--slow-readers",  "2",
            "--slow",          "2s",
            "--skew",          "120s",
            "--verify",        "50",
            "--collector-pid", std::to_string(collector_.pid()),
            "--disk",          directory_.path()});
  EXPECT_EQ(exit_code_, 0) << said_;
  EXPECT_EQ(Figure("connected_most"), 50) << said_;
  EXPECT_EQ(Figure("drained"), 1) << said_;
  EXPECT_EQ(Figure("verified_wrong"), 0) << said_;
  EXPECT_EQ(Figure("verified_nodes"), 50);
  EXPECT_EQ(Figure("verified_sums"), kHonest);
  EXPECT_LE(Figure("verified_acked"), Figure("verified_received"));
  // All that honest nodes cut, and perhaps what slow readers and floods did.
  EXPECT_GE(Figure("verified_acked"), kHonest * kEpochs) << said_;
  EXPECT_LE(Figure("verified_acked"), (kHonest + 4) * kEpochs) << said_;
  EXPECT_EQ(Figure("good_refused"), 0) << said_;
  EXPECT_EQ(Figure("good_kept_apart"), 0) << said_;
  EXPECT_EQ(Figure("good_too_late"), 0) << said_;
  EXPECT_GT(Figure("garbage_refused"), 0) << said_;
  EXPECT_EQ(Figure("garbage_stored"), 0) << said_;
  EXPECT_EQ(Figure("oversize_stored"), 0) << said_;
  EXPECT_GT(Figure("flood_repeats"), 0) << said_;
  EXPECT_GT(Figure("storm_reconnected"), kHonest / 2) << said_;
  EXPECT_GE(Figure("other_builds_share"), 10) << said_;
  EXPECT_GE(Figure("private_stacks_share"), 20) << said_;
  EXPECT_LT(Figure("private_stacks_share"), 50) << said_;
  EXPECT_GT(Figure("acks_measured"), 0) << said_;
  EXPECT_GT(Figure("collector_cores"), 0) << said_;
  EXPECT_GT(Figure("fsync_p99_ms"), 0) << said_;
}

// Half of those who leave say no goodbye, and what they had not been told of as stored they send
// again when they come back.
TEST_F(FleetTest, NodesThatComeAndGoLoseNothingAndCountNothingTwice) {
  RunFleet({"--nodes", "30", "--epoch", "4s", "--epochs", "4", "--warmup", "0", "--churn", "300",
            "--away", "1s", "--verify", "30"});
  EXPECT_EQ(exit_code_, 0) << said_;
  EXPECT_EQ(Figure("connected_most"), 30) << said_;
  EXPECT_GT(Figure("departures"), 30) << said_;
  EXPECT_GT(Figure("connects"), 30 + Figure("departures") / 2) << said_ << "they came back";
  EXPECT_EQ(Figure("drained"), 1) << said_;
  EXPECT_GT(Figure("epochs_cut"), 30) << said_;
  EXPECT_EQ(Figure("epochs_settled"), Figure("epochs_cut")) << said_;
  EXPECT_EQ(Figure("verified_acked"), Figure("epochs_cut")) << said_;
  EXPECT_EQ(Figure("verified_received"), Figure("epochs_cut")) << said_;
  EXPECT_EQ(Figure("verified_wrong"), 0) << said_;
  EXPECT_EQ(Figure("verified_sums"), 30) << said_;
  EXPECT_EQ(Figure("good_refused"), 0) << said_;
  EXPECT_EQ(Figure("good_kept_apart"), 0) << said_;
  EXPECT_EQ(Figure("good_too_late"), 0) << said_;
}

// Four nodes of forty send everything a hundred times, and a durable write takes half an epoch.
TEST_F(FleetTest, ASlowDiskSlowsAcksAndNotMemory) {
  const auto run = [this] {
    RunFleet({"--nodes", "40", "--epoch", "3s", "--epochs", "5", "--warmup", "0", "--flood", "4",
              "--verify", "40", "--collector-pid", std::to_string(collector_.pid())});
    EXPECT_EQ(exit_code_, 0) << said_;
    EXPECT_EQ(Figure("drained"), 1) << said_;
    EXPECT_EQ(Figure("verified_wrong"), 0) << said_;
    EXPECT_EQ(Figure("good_refused"), 0) << said_;
  };
  run();
  const double ms = Figure("ack_p50_ms"), memory_mb = Figure("collector_rss_most_mb");
  ASSERT_EQ(collector_.Stop(), 0);
  std::filesystem::remove_all(data_);
  setenv("LD_PRELOAD", TELLTALE_SLOW_SYNC, 1);
  const std::string takes = directory_.path() + "/sync-takes";
  setenv("TELLTALE_SYNC_TAKES", takes.c_str(), 1);
  StartCollector();
  unsetenv("LD_PRELOAD");
  std::ofstream(takes) << "1500\n";
  run();
  std::filesystem::remove(takes);
  EXPECT_GT(Figure("ack_p50_ms"), ms + 500) << said_;
  constexpr double kRoomMb = 32;
  EXPECT_LT(Figure("collector_rss_most_mb"), memory_mb + kRoomMb) << said_;
}

}  // namespace
}  // namespace telltale::testing
