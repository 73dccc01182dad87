// Who owns what: rows by user and by cgroup weigh what the processes of that user or cgroup weigh,
// whether they are read from epochs or from windows, and with the rest they are the vital's total.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sketch/vital_ids.h"
#include "tests/support/query_store.h"

namespace telltale::query {
namespace {

using ::telltale::testing::QueryStore;

constexpr uint64_t kHour = 3600;
constexpr double kNodes = 2, kEpochs = 60;  // of an hour

struct Row {
  const char* cgroup;
  uint32_t pid, uid;
  uint64_t calls;
};
// Each user has processes in both cgroups, so that their sums differ from those of the cgroups.
constexpr Row kRows[] = {
    {"/web", 11, 1001, 40}, {"/db", 12, 1001, 10}, {"/web", 13, 1002, 5}, {"/db", 14, 1002, 22}};
// A third user and cgroup do as much in every epoch but have a row in every second one only.
constexpr Row kSometimes = {"/cron", 15, 1003, 8};
constexpr uint64_t kTotal = 100;  // calls of an epoch; what is not in rows is in the table's other

// Makes system calls the only thing processes are asked about.
void MakeRows(uint64_t sequence, v1::SummaryBody& body) {
  std::vector<Row> rows(std::begin(kRows), std::end(kRows));
  if (sequence % 2 == 0) rows.push_back(kSometimes);
  v1::Tables& tables = *body.mutable_tables();
  v1::ProcessTable& table = *body.mutable_processes();
  table.Clear();
  table.add_columns(v1::PROCESS_COLUMN_FIRST_VITAL + TELLTALE_SYSCALL * 32);
  table.add_columns(v1::PROCESS_COLUMN_FIRST_VITAL + TELLTALE_SYSCALL * 32 + 1);
  uint64_t rest = kTotal;
  for (const Row& row : rows) {
    tables.add_strings(row.cgroup);
    v1::ProcessRow& made = *table.add_rows();
    made.set_exe(1);  // one program, whoever runs it
    made.set_comm(1);
    made.set_pid(row.pid);
    made.set_uid(row.uid);
    made.set_cgroup(static_cast<uint32_t>(tables.strings_size()));
    made.set_instances(1);
    for (int column = 0; column < 2; ++column) made.add_values(row.calls);
    rest -= row.calls;
  }
  for (int column = 0; column < 2; ++column) table.mutable_other()->add_values(rest);
  for (v1::Vital& vital : *body.mutable_vitals()) {
    if (vital.id() != TELLTALE_SYSCALL) continue;
    vital.clear_samples();
    vital.mutable_sketch()->set_total(kTotal);
    for (v1::SubSeries& sub : *vital.mutable_subs()) {
      sub.set_weight(0);
      sub.set_events(0);
      sub.clear_second_weight();
    }
    vital.mutable_subs(0)->set_weight(kTotal);
    vital.mutable_subs(0)->set_events(kTotal);
  }
}

class OwnedStore {
 public:
  OwnedStore() {
    store_.set_change(MakeRows);
    store_.Put(0, kHour);
    store_.set_now(25 * kHour);
    store_.RollUp();
  }
  v1::TopTable Top(v1::Tier tier, v1::Dimension by, uint32_t limit) {
    auto request = store_.Asked<v1::TopRequest>(0, kHour, tier);
    request.set_vital("syscall");
    request.set_by(by);
    request.set_limit(limit);
    const auto answer = store_.engine().Top(request, {});
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok() || answer->tables_size() != 1) return {};
    EXPECT_EQ(answer->coverage().tier(), tier);
    return answer->tables(0);
  }

 private:
  QueryStore store_{static_cast<uint32_t>(kNodes)};
};

class QueryOwnersTest : public ::testing::TestWithParam<v1::Tier> {
 protected:
  v1::TopTable Top(v1::Dimension by, uint32_t limit) { return store_.Top(GetParam(), by, limit); }
  OwnedStore store_;
};

// What somebody does in an epoch: in rows that are in all epochs, in one that every second has.
struct Owner {
  std::string name;
  double always, sometimes;
};

void ExpectOwners(const v1::TopTable& table, const std::vector<Owner>& owners) {
  double rest = kNodes * kEpochs * kTotal;
  for (const Owner& owner : owners) {
    rest -= kNodes * kEpochs * (owner.always + owner.sometimes / 2);
  }
  ASSERT_EQ(table.rows_size(), static_cast<int>(owners.size())) << table.DebugString();
  double sum = 0;
  for (int i = 0; i < table.rows_size(); ++i) {
    const Owner& owner = owners[static_cast<size_t>(i)];
    const v1::TopRow& row = table.rows(i);
    const double known = kNodes * kEpochs * (owner.always + owner.sometimes / 2);
    EXPECT_EQ(row.name(), owner.name);
    EXPECT_DOUBLE_EQ(row.value(), known) << owner.name;
    EXPECT_DOUBLE_EQ(row.low(), known) << owner.name;
    // Whatever has no row may be anybody's.
    EXPECT_DOUBLE_EQ(row.high(), known + rest) << owner.name;
    EXPECT_DOUBLE_EQ(row.share(), known / (kNodes * kEpochs * kTotal)) << owner.name;
    sum += row.value();
  }
  EXPECT_DOUBLE_EQ(table.total(), kNodes * kEpochs * kTotal);
  EXPECT_DOUBLE_EQ(table.other(), rest);
  EXPECT_DOUBLE_EQ(sum + table.other(), table.total());
  EXPECT_DOUBLE_EQ(table.unlisted_most(), rest);
  EXPECT_FALSE(table.exact());
}

TEST_P(QueryOwnersTest, AUserHasWhatItsProcessesDidInWhateverCgroup) {
  const v1::TopTable table = Top(v1::DIMENSION_USER, 10);
  ExpectOwners(table, {{"uid 1001", 50, 0}, {"uid 1002", 27, 0}, {"uid 1003", 0, 8}});
  EXPECT_EQ(table.rows(0).uid(), 1001u);
  EXPECT_EQ(table.rows(1).uid(), 1002u);
  EXPECT_EQ(table.rows(1).user(), "1002");
}

TEST_P(QueryOwnersTest, ACgroupHasWhatItsProcessesDidWhoeverRanThem) {
  const v1::TopTable table = Top(v1::DIMENSION_CGROUP, 10);
  ExpectOwners(table, {{"/web", 45, 0}, {"/db", 32, 0}, {"/cron", 0, 8}});
  EXPECT_EQ(table.rows(0).cgroup(), "/web");
}

TEST_P(QueryOwnersTest, WhoIsNotAmongTheRowsAskedForIsInOther) {
  for (const auto& [by, first] :
       std::map<v1::Dimension, double>{{v1::DIMENSION_USER, 50}, {v1::DIMENSION_CGROUP, 45}}) {
    const v1::TopTable table = Top(by, 1);
    ASSERT_EQ(table.rows_size(), 1);
    EXPECT_DOUBLE_EQ(table.rows(0).value(), kNodes * kEpochs * first);
    EXPECT_DOUBLE_EQ(table.other(), kNodes * kEpochs * (kTotal - first));
    EXPECT_EQ(table.rows_after(), 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, QueryOwnersTest, ::testing::Values(v1::TIER_RAW, v1::TIER_1H),
                         [](const auto& tier) { return v1::Tier_Name(tier.param); });

// In epochs a process is a row of its own and says whose it is.
TEST(QueryOwnersOfProcessesTest, AProcessNamesItsUserAndItsCgroup) {
  const v1::TopTable table = OwnedStore().Top(v1::TIER_RAW, v1::DIMENSION_PROCESS, 20);
  ASSERT_EQ(table.rows_size(), static_cast<int>(kNodes) * 5);
  double sum = 0;
  for (const v1::TopRow& row : table.rows()) {
    sum += row.value();
    Row whose = kSometimes;
    for (const Row& made : kRows) {
      if (made.pid == row.pid()) whose = made;
    }
    EXPECT_EQ(row.pid(), whose.pid);
    EXPECT_EQ(row.uid(), whose.uid) << row.pid();
    EXPECT_EQ(row.cgroup(), whose.cgroup) << row.pid();
    const double epochs = whose.pid == kSometimes.pid ? kEpochs / 2 : kEpochs;
    EXPECT_DOUBLE_EQ(row.value(), epochs * static_cast<double>(whose.calls)) << row.pid();
    EXPECT_DOUBLE_EQ(row.high(), row.low()) << row.pid();
  }
  EXPECT_DOUBLE_EQ(sum + table.other(), table.total());
}

}  // namespace
}  // namespace telltale::query
