// What the collector keeps in the catalog, over damaged blocks: notes, tokens, audit, anomaly log,
// incidents and silences go on with what can be read, and say what they lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/access/access_keys.h"
#include "collector/access/audit_log.h"
#include "collector/access/token_book.h"
#include "collector/filter/anomaly_log.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/silence_book.h"
#include "collector/marks/mark_book.h"
#include "storage/derived.h"
#include "storage/keys.h"
#include "tests/support/damaged_catalog.h"

namespace telltale {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'700'000'000'000'000'000;
constexpr uint64_t kRows = 1000;

class BooksDamageTest : public ::testing::Test {
 protected:
  static uint64_t Now() { return kNow; }
  // Eight hexadecimal digits, ascending.
  static std::string Id(uint64_t number) {
    return absl::StrCat(absl::Hex(number, absl::kZeroPad8));
  }
  storage::DerivedStore States() { return {&disk_.history(), &disk_.catalog()}; }
  std::string State(const std::string& name) { return storage::FilterStateKey(name); }
  static auto BookOf(storage::DerivedStore* states, filter::AnomalyLog* log) {
    incident::IncidentBookOptions options;
    options.store = states;
    options.log = log;
    return incident::IncidentBook::Open(options);
  }

  testing::DamagedCatalog disk_;
};

TEST_F(BooksDamageTest, NotesThatCannotBeReadAreLostAndToldTheOthersStand) {
  std::map<std::string, std::string> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    v1::StoredMark mark;
    mark.set_id(Id(i));
    mark.set_time_ns(kNow + i);
    mark.set_text(disk_.Noise(200));
    rows['\x0f' + storage::EncodeU64(kNow + i) + mark.id()] = mark.SerializeAsString();
  }
  disk_.Put(rows);
  disk_.Damage(0.45, 0.55);
  const auto book = marks::MarkBook::Open(&disk_.catalog(), Now,
                                          [](const std::string&) { return absl::OkStatus(); });
  ASSERT_TRUE(book.ok()) << book.status();
  const std::vector<v1::Mark> marks = (*book)->Between(0, 1e12);
  EXPECT_LT(marks.size(), kRows * 95 / 100);
  EXPECT_GT(marks.size(), kRows * 70 / 100);
  EXPECT_EQ(marks.front().id(), Id(0));
  EXPECT_EQ(marks.back().id(), Id(kRows - 1));
  EXPECT_THAT(disk_.catalog().Losses(),
              ElementsAre(AllOf(HasSubstr("notes cannot be read"), HasSubstr("table of notes"))));
  EXPECT_NEAR(static_cast<double>(disk_.catalog().Unreadable()),
              static_cast<double>(kRows - marks.size()), 0.1 * kRows);
}

TEST_F(BooksDamageTest, ATokenThatCannotBeReadOpensNothing) {
  std::map<std::string, std::string> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    v1::StoredToken token;
    token.set_id(Id(i));
    token.set_name(disk_.Noise(100));
    token.set_expires_ns(2 * kNow);
    rows[access::TokenKey(token.id())] = token.SerializeAsString();
  }
  disk_.Put(rows);
  disk_.Damage(0.45, 0.55);
  const auto book = access::TokenBook::Open(&disk_.catalog(), Now);
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_LT((*book)->List().size(), kRows);
  EXPECT_GT((*book)->List().size(), kRows / 2);
  EXPECT_THAT(disk_.catalog().Losses(), ElementsAre(HasSubstr("is refused and needs another")));
}

TEST_F(BooksDamageTest, AnAuditWhoseEndIsLostGivesNoNumberTwice) {
  std::map<std::string, std::string> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    v1::StoredAuditEntry entry;
    entry.set_time_ns(kNow + i);
    entry.set_action(disk_.Noise(200));
    rows[access::AuditKey(access::AuditKind::kDone, i)] = entry.SerializeAsString();
  }
  disk_.Put(rows);
  disk_.Damage(0.9, 1.0);
  const auto log = access::AuditLog::Open(&disk_.catalog(), [] { return kNow + 10 * kRows; });
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)->Done("olga", "", "note", "x").ok());
  uint64_t last = 0;
  ASSERT_TRUE(disk_.catalog()
                  .Begin()
                  ->ScanOver(
                      access::AuditPrefix(access::AuditKind::kDone),
                      storage::PrefixEnd(access::AuditPrefix(access::AuditKind::kDone)),
                      [&](std::string_view key, std::string_view) {
                        last = *storage::DecodeU64(key.substr(2));
                        return true;
                      },
                      [](const storage::DamagedRange&) {})
                  .ok());
  EXPECT_GE(last, kRows);
  v1::ListAuditRequest request;
  request.set_limit(50);
  const auto listed = (*log)->List(request);
  ASSERT_TRUE(listed.ok()) << listed.status();
  std::vector<std::string> actions;
  for (const v1::AuditEntry& entry : listed->entries()) actions.push_back(entry.action());
  EXPECT_THAT(actions, Contains("note"));
  EXPECT_THAT(actions, Contains(HasSubstr("entries that cannot be read")));
}

// An anomaly log of kRows entries, and its head.
class LogDamageTest : public BooksDamageTest {
 protected:
  LogDamageTest() {
    std::map<std::string, std::string> rows;
    for (uint64_t number = 1; number <= kRows; ++number) {
      v1::LoggedAnomaly entry;
      entry.set_number(number);
      entry.set_node("web-1");
      entry.set_filter("ewma");
      entry.mutable_anomaly()->set_start_ns(number);
      entry.mutable_anomaly()->set_text(disk_.Noise(200));
      rows[State(absl::StrCat("anomaly-log/", number))] = entry.SerializeAsString();
    }
    v1::AnomalyLogHead head;
    head.set_number(kRows);
    rows[State("anomaly-log/head")] = head.SerializeAsString();
    disk_.Put(rows);
  }
};

TEST_F(LogDamageTest, EntriesThatCannotBeReadAreLeftOutAndFollowersGoOnBehindThem) {
  disk_.Damage(0.45, 0.55);
  storage::DerivedStore states = States();
  // Some of the lost ones are recent, some are not.
  const auto log = filter::AnomalyLog::Open({.store = &states, .kept = 4096, .recent = kRows / 2});
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(disk_.catalog().Losses(), ElementsAre(HasSubstr("entries of the anomaly log")));
  v1::FilterAnomaly more;
  more.set_start_ns(kNow);
  ASSERT_TRUE(*(*log)->Append("ewma", 1, "web-1", more));
  ASSERT_TRUE((*log)->Publish().ok());
  const auto all = (*log)->After("0", 10 * kRows);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_LT(all->size(), kRows * 95 / 100);
  EXPECT_GT(all->size(), kRows * 70 / 100);
  EXPECT_EQ(all->front().cursor(), "1");
  EXPECT_EQ(all->back().cursor(), absl::StrCat(kRows + 1));

  incident::IncidentBookOptions options;
  options.store = &states;
  options.log = log->get();
  const auto book = incident::IncidentBook::Open(std::move(options));
  ASSERT_TRUE(book.ok()) << book.status();
  const absl::Status grouped = (*book)->Advance(kNow);
  EXPECT_TRUE(grouped.ok()) << grouped;
}

TEST_F(LogDamageTest, WithoutItsHeadNoNumberIsGiven) {
  disk_.Damage(0.99, 1.0);
  storage::DerivedStore states = States();
  const auto log = filter::AnomalyLog::Open({.store = &states, .kept = 4096});
  EXPECT_TRUE(absl::IsDataLoss(log.status())) << log.status();
  EXPECT_THAT(std::string(log.status().message()),
              AllOf(HasSubstr("another's number"), HasSubstr("telltale-collector restore")));
}

TEST_F(BooksDamageTest, IncidentsAndSilencesThatCannotBeReadAreLostAndTheRestStands) {
  std::map<std::string, std::string> rows;
  for (uint64_t number = 1; number <= kRows; ++number) {
    v1::StoredIncident incident;
    incident.set_number(number);
    incident.set_change(number);
    incident.set_state(v1::INCIDENT_STATE_RESOLVED);
    incident.add_notes()->set_text(disk_.Noise(200));
    rows[State(absl::StrCat("incidents/", number))] = incident.SerializeAsString();
    // Behind the head and the silences.
    rows[State(absl::StrCat("incidents/t", number))] = disk_.Noise(200);
  }
  v1::IncidentHead head;
  head.set_number(kRows);
  head.set_change(kRows);
  rows[State("incidents/head")] = head.SerializeAsString();
  for (uint64_t i = 0; i < kRows / 2; ++i) {
    rows[State(absl::StrCat("incidents/i", i))] = disk_.Noise(200);
  }
  v1::StoredSilences silences;
  silences.add_silences()->set_id("1");
  rows[State("incidents/silences")] = silences.SerializeAsString();
  disk_.Put(rows);
  // Of 2.5 parts the first is incidents, then come the head, half a part, and the silences.
  disk_.Damage(0.1, 0.2);
  storage::DerivedStore states = States();
  const auto log = filter::AnomalyLog::Open({.store = &states});
  ASSERT_TRUE(log.ok()) << log.status();
  const auto book = BookOf(&states, log->get());
  ASSERT_TRUE(book.ok()) << book.status();
  v1::ListIncidentsRequest request;
  request.set_resolved(true);
  request.set_limit(1000);
  const auto listed = (*book)->List(request);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_LT(static_cast<uint64_t>(listed->incidents_size()), kRows * 9 / 10);
  EXPECT_GT(static_cast<uint64_t>(listed->incidents_size()), kRows / 2);
  EXPECT_THAT(disk_.catalog().Losses(), ElementsAre(HasSubstr("incidents cannot be read")));
  EXPECT_TRUE(incident::SilenceBook::Open(&states).ok());
  EXPECT_EQ(disk_.catalog().Losses().size(), 1u);
}

// What salvage could not read it marks as lost, also where nothing stood: of three incidents no
// thousands are lost.
TEST_F(BooksDamageTest, PlacesThatNoIncidentEverTookAreNoLostIncidents) {
  std::map<std::string, std::string> rows;
  for (uint64_t number = 1; number <= 3; ++number) {
    v1::StoredIncident incident;
    incident.set_number(number);
    incident.set_change(number);
    rows[State(absl::StrCat("incidents/", number))] = incident.SerializeAsString();
  }
  for (uint64_t place = 4; place < 4096; ++place) {
    rows[State(absl::StrCat("incidents/", place))] = "no incident";
  }
  v1::IncidentHead head;
  head.set_number(3);
  head.set_change(3);
  rows[State("incidents/head")] = head.SerializeAsString();
  disk_.Put(rows);
  storage::DerivedStore states = States();
  const auto log = filter::AnomalyLog::Open({.store = &states});
  ASSERT_TRUE(log.ok()) << log.status();
  const auto book = BookOf(&states, log->get());
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_EQ((*book)->List({})->incidents_size(), 3);
  EXPECT_TRUE(disk_.catalog().Losses().empty());
}

TEST_F(BooksDamageTest, ALostListOfSilencesIsTold) {
  std::map<std::string, std::string> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    rows[State(absl::StrCat("incidents/i", i))] = disk_.Noise(200);
    rows[State(absl::StrCat("incidents/t", i))] = disk_.Noise(200);
  }
  v1::StoredSilences silences;
  silences.add_silences()->set_id("1");
  rows[State("incidents/silences")] = silences.SerializeAsString();
  disk_.Put(rows);
  disk_.Damage(0.48, 0.52);
  storage::DerivedStore states = States();
  const auto book = incident::SilenceBook::Open(&states);
  ASSERT_TRUE(book.ok()) << book.status();
  EXPECT_THAT(disk_.catalog().Losses(), ElementsAre(HasSubstr("telltale silence")));
}

TEST_F(BooksDamageTest, AFilterIsNotGivenTheNumberOfOneThatCannotBeRead) {
  std::map<std::string, std::string> rows;
  for (uint32_t i = 0; i < kRows; ++i) {
    rows[storage::FilterNumberKey(disk_.Noise(100), 1)] = storage::EncodeU64(i + 1);
  }
  disk_.Put(rows);
  disk_.Damage(0.48, 0.52);
  storage::DerivedStore states = States();
  const auto number = states.FilterNumber("new", 2);
  EXPECT_TRUE(absl::IsDataLoss(number.status())) << number.status();
  EXPECT_THAT(std::string(number.status().message()), HasSubstr("another's number"));
}

}  // namespace
}  // namespace telltale
