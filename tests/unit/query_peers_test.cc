// Whether what a diagnosis tells of is only on its node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "collector/query/peers.h"
#include "tests/unit/query_fixture.h"

namespace telltale::query {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PeersTest : public ::testing::Test {
 protected:
  // A node whose CPUs run x for so many tenths of the ten seconds from 1000 on, and y for one more.
  uint32_t Add(const std::string& name, const std::string& role, uint64_t tenths,
               uint32_t cpus = 1) {
    const uint32_t node = source_.AddNode(name);
    v1::NodeInfo& info = *source_.Node(node).mutable_info();
    info.set_kernel_release("6.1");
    info.set_cpus_online(cpus);
    if (!role.empty()) {
      v1::Label& label = *info.add_labels();
      label.set_key("role");
      label.set_value(role);
    }
    BodyMaker maker;
    maker.Vital(TELLTALE_CPU, {(tenths + 1) * kS, 0, 0});
    maker.Columns({ShareColumn(TELLTALE_CPU, 0)});
    maker.Process("/bin/x", 7, 0, {tenths * kS});
    maker.Process("/bin/y", 8, 0, {kS});
    maker.body().mutable_processes()->mutable_other()->add_values(0);
    source_.AddEpoch(node, 1000, 10, maker.body());
    return node;
  }
  std::string Text(const std::string& node, const std::string& program = "x") {
    v1::IncidentSymptom symptom;
    symptom.set_node(node);
    symptom.set_vital("cpu");
    symptom.set_program(program);
    symptom.set_first_s(1000);
    symptom.set_last_s(1010);
    const auto text = PeersText(MakeEngine(source_, 1200), symptom, {});
    EXPECT_TRUE(text.ok()) << text.status();
    return text.value_or("");
  }

  FakeSource source_;
};

TEST_F(PeersTest, SaysThatAProgramDoesItHereOnly) {
  Add("web-1", "web", 9);
  Add("web-2", "web", 1);
  Add("web-3", "web", 2);
  Add("web-4", "web", 1);
  Add("db-1", "db", 9);
  EXPECT_EQ(Text("web-1"),
            "only here: cpu of x is 0.90 CPUs, of its 3 peers (role web) the median 0.10 CPUs, "
            "the most 0.20 CPUs");
  // All of the CPU, of all programs.
  EXPECT_THAT(Text("web-1", ""), StartsWith("only here: cpu is 1.00 CPUs, of its 3 peers"));
}

TEST_F(PeersTest, SaysThatThePeersAreAlike) {
  for (int node = 1; node <= 3; ++node) Add(absl::StrCat("web-", node), "web", 8);
  Add("web-4", "web", 9);
  EXPECT_THAT(Text("web-4"), StartsWith("its peers are alike: cpu of x is 0.90 CPUs"));
}

TEST_F(PeersTest, NodesWithoutARoleArePeersByKernelAndCpus) {
  Add("a", "", 9);
  Add("b", "", 1);
  Add("c", "", 5, /*cpus=*/4);
  source_.Node(Add("d", "", 5)).mutable_info()->set_kernel_release("5.15");
  source_.Node(Add("e", "", 5)).mutable_info()->set_scope("cgroup /x");
  EXPECT_EQ(Text("a"),
            "only here: cpu of x is 0.90 CPUs, of its 1 peer (kernel 6.1, 1 CPU) the median "
            "0.10 CPUs, the most 0.10 CPUs");
}

TEST_F(PeersTest, ReckonsWithThePeersCpus) {
  Add("web-1", "web", 4, /*cpus=*/4);
  Add("web-2", "web", 1, /*cpus=*/1);
  EXPECT_EQ(Text("web-1"),
            "its peers are alike: cpu of x is 0.40 CPUs, of its 1 peer (role web) the median "
            "0.40 CPUs, the most 0.40 CPUs, reckoned for 4 CPUs");
}

TEST_F(PeersTest, OfAThousandItReadsAHundred) {
  Add("web-0", "web", 9);
  for (int node = 1; node <= 1000; ++node) Add(absl::StrCat("web-", node), "web", 1);
  EXPECT_THAT(Text("web-0"), HasSubstr("of its 100 peers (role web; 1000 in all)"));
}

TEST_F(PeersTest, SaysNothingWhereThereIsNothingToCompare) {
  Add("web-1", "web", 9);
  EXPECT_EQ(Text("web-1"), "");
  // A peer of which nothing was watched then.
  source_.Node(source_.AddNode("web-2"))
      .mutable_info()
      ->mutable_labels()
      ->CopyFrom(source_.Node(1).info().labels());
  EXPECT_EQ(Text("web-1"), "");
  EXPECT_EQ(Text("gone"), "");
  Add("web-3", "web", 1);
  EXPECT_EQ(Text("web-1", "z"), "");
}

}  // namespace
}  // namespace telltale::query
