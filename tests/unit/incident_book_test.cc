// What belongs together, who may say so, and that a restart changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/incident/incident_book.h"
#include "storage/memory_catalog.h"
#include "storage/memory_history.h"

namespace telltale::incident {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kBegin = 1'790'000'000 * kSecond;

class IncidentBookTest : public ::testing::Test {
 protected:
  IncidentBookTest() : store_(&history_, &catalog_) { Restart(); }

  void Restart() {
    book_.reset();
    log_ = *filter::AnomalyLog::Open({.store = &store_, .kept = 64, .recent = 64});
    auto book = IncidentBook::Open({.store = &store_, .log = log_.get(), .kept = 8});
    ASSERT_TRUE(book.ok()) << book.status();
    book_ = *std::move(book);
  }

  // Found at the end of this minute.
  void Find(uint64_t minute, const std::string& node, const std::string& filter,
            const std::string& vital, const std::string& subject = "", uint32_t rule = 0,
            double severity = 7) {
    v1::FilterAnomaly anomaly;
    anomaly.set_vital(vital);
    anomaly.set_sub("x");
    anomaly.set_subject(subject);
    anomaly.set_start_ns(kBegin + minute * kMinute);
    anomaly.set_found_ns(kBegin + (minute + 1) * kMinute);
    anomaly.set_end_ns(anomaly.found_ns());
    anomaly.set_rule(rule);
    anomaly.set_severity_milli(static_cast<int64_t>(severity * 1e3));
    anomaly.set_text(filter + " of " + vital + " " + subject);
    ASSERT_TRUE(log_->Append(filter, 1, node, anomaly).ok());
    Look(minute);
  }
  void Look(uint64_t minute) { EXPECT_TRUE(book_->Advance(kBegin + (minute + 1) * kMinute).ok()); }

  std::vector<v1::Incident> All() {
    v1::ListIncidentsRequest request;
    request.set_resolved(true);
    const auto answer = book_->List(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return {answer->incidents().begin(), answer->incidents().end()};
  }
  absl::StatusOr<v1::Incident> Change(uint64_t number, v1::IncidentAction action,
                                      const std::string& note = "") {
    v1::ChangeIncidentRequest request;
    request.set_number(number);
    request.set_action(action);
    request.set_note(note);
    return book_->Change(request, "operator/alice", kBegin + 5 * kMinute);
  }

  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  std::unique_ptr<filter::AnomalyLog> log_;
  std::unique_ptr<IncidentBook> book_;
};

TEST_F(IncidentBookTest, TheSameSymptomOnManyNodesIsOneIncident) {
  for (int i = 0; i < 50; ++i) {
    Find(static_cast<uint64_t>(i) / 10, "web-" + std::to_string(i), "new_label", "cpu",
         "/usr/bin/miner");
  }
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(All()[0].node_count(), 50u);
  EXPECT_EQ(All()[0].anomalies(), 50u);
}

TEST_F(IncidentBookTest, SymptomsOfOneProgramOnOneNodeAreOneAndItsDiagnosisIsTheTitle) {
  Find(0, "db-1", "ewma", "blocking", "", 0, 90);
  Find(1, "db-1", "rule_blocked", "blocking", "postgres (pid 812, uid 26)", 5);
  Find(2, "db-1", "vanished", "cpu", "/usr/lib/postgres");
  ASSERT_EQ(All().size(), 1u);
  EXPECT_THAT(All()[0].title(), HasSubstr("rule_blocked of blocking postgres"));
  EXPECT_EQ(All()[0].symptoms_size(), 3);
}

TEST_F(IncidentBookTest, TwoFaultsAtOnceAreTwoIncidents) {
  Find(0, "db-1", "rule_busy_loop", "cpu", "app (pid 7, uid 0)", 1);
  Find(0, "db-1", "leak", "user_page", "cache (pid 9, uid 0)", 2);
  Find(0, "web-1", "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  EXPECT_EQ(All().size(), 3u);
}

TEST_F(IncidentBookTest, WhatComesElevenMinutesLaterIsAnother) {
  Find(0, "db-1", "ewma", "cpu");
  Find(10, "db-1", "ewma", "cpu");
  EXPECT_EQ(All().size(), 1u);
  Find(21, "db-1", "ewma", "cpu");
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(IncidentBookTest, AnHourWithoutNewsResolvesIt) {
  Find(0, "db-1", "ewma", "cpu");
  Look(59);
  EXPECT_EQ(All()[0].state(), "open");
  Look(61);
  EXPECT_EQ(All()[0].state(), "resolved");
  EXPECT_THAT(All()[0].notes(0).text(), HasSubstr("nothing new for an hour"));
}

TEST_F(IncidentBookTest, PeopleAcknowledgeResolveAndReopenWithNotes) {
  Find(0, "db-1", "ewma", "cpu");
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE, "disk on order").ok());
  EXPECT_EQ(All()[0].state(), "acknowledged");
  EXPECT_EQ(All()[0].notes(0).who(), "operator/alice");
  EXPECT_EQ(All()[0].notes(0).text(), "acknowledged: disk on order");
  EXPECT_TRUE(absl::IsFailedPrecondition(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).status()));
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_RESOLVE).ok());
  Find(1, "db-1", "ewma", "cpu");
  EXPECT_EQ(All().size(), 2u) << "what is resolved takes no more in";
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_REOPEN).ok());
  EXPECT_EQ(All()[1].state(), "open");
  EXPECT_TRUE(absl::IsInvalidArgument(Change(1, v1::INCIDENT_ACTION_NOTE).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Change(1, v1::INCIDENT_ACTION_NOTE, std::string(1'001, 'x')).status()));
  EXPECT_TRUE(absl::IsNotFound(Change(9, v1::INCIDENT_ACTION_RESOLVE).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Change(1, v1::INCIDENT_ACTION_UNSPECIFIED).status()));
}

TEST_F(IncidentBookTest, ARestartNeitherLosesNorDoublesAnything) {
  Find(0, "db-1", "ewma", "cpu");
  Find(1, "web-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  ASSERT_TRUE(Change(2, v1::INCIDENT_ACTION_ACKNOWLEDGE, "known").ok());
  std::string before, after;
  for (const v1::Incident& incident : All()) before += incident.SerializeAsString();
  Restart();
  Look(2);
  for (const v1::Incident& incident : All()) after += incident.SerializeAsString();
  EXPECT_EQ(before, after);
  Find(2, "db-1", "ewma", "cpu");
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(IncidentBookTest, KeepsTheLatestAndCountsAnomaliesThatLeftTheLog) {
  for (uint64_t i = 0; i < 20; ++i) Find(i * 20, "db-1", "ewma", "cpu");
  EXPECT_EQ(All().size(), 8u);
  EXPECT_EQ(All()[0].number(), 20u);
  Restart();
  EXPECT_EQ(All().size(), 8u);
  // More than the log keeps, between two looks.
  book_.reset();
  for (uint64_t i = 0; i < 100; ++i) {
    v1::FilterAnomaly anomaly;
    anomaly.set_vital("cpu");
    anomaly.set_start_ns(kBegin + (1'000 + i) * kMinute);
    ASSERT_TRUE(log_->Append("ewma", 1, "db-1", anomaly).ok());
  }
  Restart();
  Look(1'100);
  EXPECT_GE(book_->List({})->missed_anomalies(), 36u);
}

TEST(ProgramOfSubjectTest, IsTheSameForOtherProcessesAndPaths) {
  EXPECT_EQ(ProgramOfSubject("postgres (pid 812, uid 26)"), "postgres");
  EXPECT_EQ(ProgramOfSubject("cc1plus x 12 (uid 0)"), "cc1plus");
  EXPECT_EQ(ProgramOfSubject("/usr/lib/postgres"), "postgres");
  EXPECT_EQ(ProgramOfSubject(""), "");
}

}  // namespace
}  // namespace telltale::incident
