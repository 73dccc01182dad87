// A collector that serves a fleet while filters crash, hang, flood and eat memory beside it: each
// is disabled with its reason, the good one goes on, and no node notices.

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/collector_process.h"
#include "tests/support/program.h"
#include "tests/support/temp_dir.h"

namespace telltale::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kNodes = 20, kEpochs = 3;
constexpr int kPatience = 200;  // of a test that fails, in seconds

TEST(FleetFiltersTest, ANodeDoesNotNoticeWhatFiltersDo) {
  const TempDir directory;
  const std::string pki = directory.path() + "/pki", data = directory.path() + "/data",
                    filters = directory.path() + "/filters.d";
  ASSERT_EQ(RunTelltale({"pki", "init", "--dir", pki}).exit_code, 0);
  for (const std::vector<std::string>& who :
       {std::vector<std::string>{"collector", "collector", "--dns", "localhost"},
        {"operator", "root"}}) {
    std::vector<std::string> issue = {"pki",    "issue", "--dir",  pki,
                                      "--role", who[0],  "--name", who[1]};
    issue.insert(issue.end(), who.begin() + 2, who.end());
    ASSERT_EQ(RunTelltale(issue).exit_code, 0);
  }
  std::filesystem::create_directory(filters);
  const auto install = [&](const std::string& trial) {
    const std::string path = filters + "/" + trial + ".so";
    std::filesystem::copy_file(TELLTALE_TRIAL_FILTERS "/trial-" + trial + ".so", path + ".new");
    chmod((path + ".new").c_str(), 0644);
    std::filesystem::rename(path + ".new", path);
  };
  std::vector<std::string> bad = {"crash", "hang", "flood"};
  std::string memory = "1GiB";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  bad.push_back("eater");  // a sanitizer has its memory before anybody counts it
  memory = "64MiB";
#endif
  for (const std::string& trial : bad) install(trial);
  install("good");

  Program collector(directory.path() + "/collector.log");
  collector.Start(TELLTALE_COLLECTOR_PROGRAM,
                  {"--listen-grpc", "127.0.0.1:0", "--listen-https", "127.0.0.1:0", "--data", data,
                   "--tls-ca", pki + "/ca.crt", "--tls-cert", pki + "/collector-collector.crt",
                   "--tls-key", pki + "/collector-collector.key", "--filters-dir", filters,
                   "--filters-memory-bytes", memory, "--filters-wait", "60s"});
  ASSERT_TRUE(Await([&] { return !ReadAll(data + "/ports").empty(); }, kPatience))
      << collector.log();
  const std::string ports = ReadAll(data + "/ports");
  const size_t begin = ports.find("grpc=") + 5;
  const std::string address = "localhost:" + ports.substr(begin, ports.find('\n') - begin);

  Program fleet(directory.path() + "/fleet.log");
  fleet.Start(TELLTALE_FLEETSIM_PROGRAM,
              {"--nodes", std::to_string(kNodes), "--epoch", "3s", "--epochs",
               std::to_string(kEpochs), "--warmup", "0", "--verify", std::to_string(kNodes),
               "--pki", pki, "--collector", address, "-o", "json"});
  EXPECT_TRUE(Await([&] { return fleet.Ended(); }, 110)) << fleet.log();
  EXPECT_EQ(fleet.exit_code(), 0) << fleet.log();
  google::protobuf::Struct report;
  const std::string said = fleet.log();
  ASSERT_NE(said.find("{\n"), std::string::npos) << said;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(said.substr(said.find("{\n")), &report).ok());
  const auto figure = [&](const std::string& key) {
    return report.fields().at(key).number_value();
  };
  EXPECT_EQ(figure("verified_wrong"), 0) << said;
  EXPECT_EQ(figure("verified_nodes"), kNodes) << said;
  EXPECT_GE(figure("verified_acked"), kNodes * kEpochs) << said;
  EXPECT_EQ(figure("good_refused"), 0) << said;

  const auto telltale = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--collector", address, "--ca", pki + "/ca.crt", "--cert",
                      pki + "/operator-root.crt", "--key", pki + "/operator-root.key"});
    return RunTelltale(arguments);
  };
  // Filters come after the store; what they were to see is there, so they come to it.
  std::string list;
  EXPECT_TRUE(Await(
      [&] {
        list = telltale({"filter", "list"}).output;
        for (const std::string& name : bad) {
          if (list.find("  " + name + ": ") == std::string::npos) return false;
        }
        return true;
      },
      kPatience))
      << list << collector.log();
  EXPECT_THAT(list, HasSubstr("  crash: crashed: signal 6"));
  EXPECT_THAT(list, HasSubstr("  hang: hung: "));
  EXPECT_THAT(list, HasSubstr("  flood: flooded: more than 256 marks in one epoch"));
  EXPECT_THAT(list, HasSubstr("; tried again at "));
  EXPECT_TRUE(Await(
      [&] {
        const std::string json = telltale({"filter", "list", "-o", "json"}).output;
        google::protobuf::Struct answer;
        if (!google::protobuf::util::JsonStringToMessage(json, &answer).ok()) return false;
        for (const auto& filter : answer.fields().at("filters").list_value().values()) {
          const auto& fields = filter.struct_value().fields();
          if (fields.at("name").string_value() != "good") continue;
          const auto epochs = fields.find("epochs");
          return fields.at("status").struct_value().fields().at("state").string_value() ==
                     "running" &&
                 epochs != fields.end() &&
                 std::stoull(epochs->second.string_value()) >= uint64_t{kNodes * kEpochs};
        }
        return false;
      },
      kPatience))
      << collector.log();

  const ProgramRun run = telltale({"filter", "run", "good", "--from", "-10m"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("the same as live"));
  const ProgramRun broken = telltale({"filter", "run", "flood", "--from", "-10m"});
  EXPECT_NE(broken.exit_code, 0);
  EXPECT_THAT(broken.output, HasSubstr("flooded: more than 256 marks"));
  EXPECT_THAT(telltale({"audit"}).output, HasSubstr("disabled: crashed: signal 6"));
  EXPECT_EQ(collector.Stop(), 0) << collector.log();
}

}  // namespace
}  // namespace telltale::testing
