// What belongs together, who may say so, and that a restart changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "collector/incident/incident_answer.h"
#include "collector/incident/incident_book.h"
#include "collector/incident/incident_match.h"
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
    silences_ = *SilenceBook::Open(&store_);
    IncidentBookOptions options;
    options.store = &store_;
    options.log = log_.get();
    options.silences = silences_.get();
    options.goes_on = [this](const v1::StoredSymptom& symptom, const filter::NodeNames& nodes) {
      const auto well = [this](std::string_view node) { return well_.contains(node); };
      return going_on_.contains(symptom.program()) &&
             (nodes.empty() || !std::ranges::all_of(nodes, well));
    };
    options.held = [this](const v1::StoredSymptom& symptom, const filter::NodeNames&) {
      const auto news = news_ns_.find(symptom.program());
      return HeldOpen{going_on_.contains(symptom.program()),
                      news == news_ns_.end() ? 0 : news->second};
    };
    options.hints = hints_;
    options.kept = 8;
    auto book = IncidentBook::Open(std::move(options));
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
    anomaly.set_open(open_);
    anomaly.set_next(next_);
    anomaly.set_severity_milli(static_cast<int64_t>(severity * 1e3));
    anomaly.set_cgroup(cgroup_);
    anomaly.set_device(device_);
    anomaly.set_site(site_);
    anomaly.set_text(filter + " of " + vital + " " + subject);
    ASSERT_TRUE(log_->Append(filter, 1, node, anomaly).ok());
    ASSERT_TRUE(log_->Publish().ok());
    Look(minute + told_after_);
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

  v1::Incident Whole(uint64_t number) {
    v1::ListIncidentsRequest request;
    request.set_number(number);
    const auto answer = book_->List(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->incidents(0) : v1::Incident();
  }
  // "NUMBER STATE" of what changed after the cursor, which goes on.
  std::vector<std::string> News(std::string& cursor) {
    std::vector<std::string> news;
    const auto fresh = book_->After(cursor, 100);
    EXPECT_TRUE(fresh.ok()) << fresh.status();
    if (!fresh.ok()) return news;
    for (const v1::IncidentNews& item : *fresh) {
      cursor = item.cursor();
      news.push_back(std::to_string(item.incident().number()) + " " + item.incident().state() +
                     (item.incident().silenced() ? " silenced" : ""));
    }
    return news;
  }
  absl::StatusOr<v1::Silence> Silence(const std::string& node, const std::string& rule,
                                      const std::string& process, uint64_t until_minute = 30) {
    v1::AddSilenceRequest request;
    request.set_node(node);
    request.set_rule(rule);
    request.set_process(process);
    request.set_reason("known");
    request.set_until_s(static_cast<double>(kBegin / kSecond + until_minute * 60));
    return silences_->Add(request, "operator/alice", kBegin);
  }
  uint64_t Listed(bool silenced = false) {
    v1::ListIncidentsRequest request;
    request.set_silenced(silenced);
    return static_cast<uint64_t>(book_->List(request)->incidents_size());
  }

  storage::MemoryHistory history_;
  storage::MemoryCatalog catalog_;
  storage::DerivedStore store_;
  std::set<std::string> hints_;              // filters
  std::set<std::string> going_on_;           // programs
  std::map<std::string, uint64_t> news_ns_;  // when more was told of it, by program
  std::set<std::string, std::less<>> well_;  // nodes on which nothing goes on
  std::string next_;                         // command that is proposed
  bool open_ = false;                        // whether what is found goes on
  uint64_t told_after_ = 0;                  // minutes after it was found
  std::string cgroup_, device_, site_;       // what is found next is about
  std::unique_ptr<filter::AnomalyLog> log_;
  std::unique_ptr<SilenceBook> silences_;
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

TEST_F(IncidentBookTest, WhatIsOnlyUnusualBeginsNoIncidentAndStandsInThatOfTheDiagnosis) {
  hints_ = {"ewma", "affinity"};
  Restart();
  Find(0, "db-1", "ewma", "blocking");
  Find(0, "db-2", "ewma", "blocking");
  Find(1, "db-1", "affinity", "blocking", "/usr/bin/postgres");
  EXPECT_TRUE(All().empty());
  EXPECT_EQ(book_->List({})->hints(), 3u);
  Find(2, "db-1", "rule_blocked", "blocking", "postgres (pid 812, uid 26)", 5);
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(Whole(1).symptoms_size(), 3);
  EXPECT_THAT(Whole(1).title(), HasSubstr("rule_blocked"));
  EXPECT_EQ(Whole(1).start_s(), static_cast<double>(kBegin / kSecond)) << "from the first of it";
  EXPECT_EQ(Whole(1).node_count(), 1u) << "nothing is known of what another node has";
  EXPECT_EQ(book_->List({})->hints(), 1u);
  Find(3, "db-1", "ewma", "blocking");
  EXPECT_EQ(Whole(1).anomalies(), 4u) << "it is there now";
  Find(4, "db-3", "ewma", "blocking");
  EXPECT_EQ(Whole(1).node_count(), 1u);
}

TEST_F(IncidentBookTest, WhatIsUnusualOnAnotherNodeIsNoneOfAnIncidentThatHasTheSame) {
  hints_ = {"ewma"};
  Restart();
  Find(0, "db-1", "ewma", "cpu");
  Find(0, "db-2", "ewma", "cpu");
  Find(1, "db-1", "level_shift", "cpu");
  Find(2, "db-3", "ewma", "cpu");
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(Whole(1).symptoms_size(), 2);
  EXPECT_EQ(Whole(1).node_count(), 1u);
  EXPECT_EQ(book_->List({})->hints(), 2u);
}

TEST_F(IncidentBookTest, WhatWasUnusualElevenMinutesAgoHasNothingToDoWithADiagnosis) {
  hints_ = {"ewma"};
  Restart();
  Find(0, "db-1", "ewma", "blocking");
  Find(12, "db-1", "rule_blocked", "blocking", "postgres (pid 812, uid 26)", 5);
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(Whole(1).symptoms_size(), 1);
  EXPECT_EQ(book_->List({})->hints(), 0u);
}

TEST_F(IncidentBookTest, WhatIsOnlyUnusualStillWaitsAfterARestart) {
  hints_ = {"ewma"};
  Restart();
  Find(0, "db-2", "level_shift", "cpu");
  Find(0, "db-1", "ewma", "blocking");
  Find(1, "db-2", "ewma", "cpu");
  Restart();
  EXPECT_EQ(book_->List({})->hints(), 1u) << "the other stands in its incident";
  EXPECT_EQ(Whole(1).anomalies(), 2u);
  Find(2, "db-1", "rule_blocked", "blocking", "postgres (pid 812, uid 26)", 5);
  EXPECT_EQ(Whole(2).symptoms_size(), 2);
  Restart();
  EXPECT_EQ(book_->List({})->hints(), 0u);
  EXPECT_EQ(Whole(2).anomalies(), 2u) << "taken in once";
}

TEST_F(IncidentBookTest, WhatIsOnlyUnusualUndoesNoSilence) {
  Find(0, "db-2", "ewma", "cpu");
  hints_ = {"ewma"};
  Restart();
  ASSERT_TRUE(Silence("*", "10", "postgres").ok());
  Find(1, "db-1", "vanished", "cpu", "/usr/lib/postgres", 10);
  Find(2, "db-1", "ewma", "cpu");
  ASSERT_EQ(Whole(2).symptoms_size(), 2);
  EXPECT_TRUE(Whole(2).silenced());
  EXPECT_FALSE(Whole(1).silenced()) << "which has nothing else";
}

TEST_F(IncidentBookTest, WhatWasAcknowledgedWeeksAgoHidesNoOtherNode) {
  going_on_ = {"nginx"};
  Find(0, "db-1", "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  Find(4, "db-2", "rule_blocked", "blocking", "nginx (pid 9, uid 0)", 5);
  EXPECT_EQ(Whole(1).node_count(), 2u) << "the same fault, that spreads";
  Look(600);
  Find(601, "db-3", "rule_blocked", "blocking", "nginx (pid 8, uid 0)", 5);
  ASSERT_EQ(All().size(), 2u);
  EXPECT_EQ(Whole(1).state(), "acknowledged");
  EXPECT_EQ(Whole(2).state(), "open");
  Find(900, "db-4", "rule_blocked", "blocking", "nginx (pid 8, uid 0)", 5);
  EXPECT_EQ(Whole(2).node_count(), 2u) << "of what rings already it is news";
}

TEST_F(IncidentBookTest, ADiagnosisThatIsOverExplainsNothingNew) {
  going_on_ = {"app"};
  open_ = true;
  Find(0, "db-1", "rule_busy_loop", "cpu", "app (pid 7, uid 0)", 1);
  Find(20, "db-1", "level_shift", "cpu");
  ASSERT_EQ(All().size(), 1u);
  going_on_.clear();
  Look(21);
  Find(25, "db-1", "level_shift", "sched_delay");
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(IncidentBookTest, ADiagnosisOfAHundredNodesThatIsOverExplainsNothingNew) {
  going_on_ = {"app"};
  open_ = true;
  for (int i = 0; i < 100; ++i) {
    Find(0, "db-" + std::to_string(i), "rule_busy_loop", "cpu", "app (pid 7, uid 0)", 1);
  }
  Find(20, "db-1", "level_shift", "cpu");
  ASSERT_EQ(All().size(), 1u);
  going_on_.clear();
  Look(21);
  Find(25, "db-1", "level_shift", "sched_delay");
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(IncidentBookTest, WhatWasOverHoursBeforeItIsToldRingsNoMore) {
  open_ = true;
  told_after_ = 180;
  going_on_ = {"mysqld"};
  Find(0, "db-1", "rule_blocked", "blocking", "postgres (pid 812, uid 26)", 5);
  EXPECT_EQ(Whole(1).state(), "resolved");
  Find(0, "db-2", "rule_blocked", "blocking", "mysqld (pid 813, uid 27)", 5);
  EXPECT_EQ(Whole(2).state(), "open");
}

TEST_F(IncidentBookTest, TwoFaultsAtOnceAreTwoIncidents) {
  Find(0, "db-1", "rule_busy_loop", "cpu", "app (pid 7, uid 0)", 1);
  Find(0, "db-1", "leak", "user_page", "cache (pid 9, uid 0)", 2);
  Find(0, "web-1", "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  Find(0, "web-2", "leak", "user_page", "app (pid 7, uid 0)", 2);  // as on db-1, but another fault
  EXPECT_EQ(All().size(), 4u);
}

TEST_F(IncidentBookTest, ASymptomOfTheNodeDoesNotGatherWhatHasNothingInCommon) {
  Find(0, "db-1", "ewma", "retransmit");
  Find(1, "db-1", "rule_busy_loop", "cpu", "worker (pid 7, uid 1)", 1);
  Find(1, "db-1", "ewma", "socket");
  Find(2, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  EXPECT_EQ(All().size(), 4u);
}

TEST_F(IncidentBookTest, ASymptomOfTheNodeJoinsThoseOfItsVitalUntilADiagnosisExplainsIt) {
  Find(0, "db-1", "ewma", "cpu");
  Find(0, "db-1", "affinity", "cpu", "worker");
  EXPECT_EQ(All().size(), 1u);
  Find(1, "db-1", "rule_busy_loop", "cpu", "worker (pid 7, uid 1)", 1);
  Find(2, "db-1", "rule_busy_loop", "cpu", "another (pid 8, uid 1)", 1);
  EXPECT_EQ(All().size(), 2u) << "two programs, each in a loop of its own";
}

TEST_F(IncidentBookTest, OneCgroupOneDiskOrOnePlaceInTheCodeIsOneIncident) {
  const std::pair<std::string*, std::string> abouts[] = {
      {&cgroup_, "/shop.slice"}, {&device_, "sda"}, {&site_, "jbd2_log_wait_commit"}};
  uint64_t minute = 0;
  for (const auto& [about, what] : abouts) {
    const size_t before = All().size();
    *about = what;
    Find(minute, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
    Find(minute, "db-1", "rule_held", "sched_delay", "nginx (pid 9, uid 3)", 7);
    EXPECT_EQ(All().size(), before + 1) << what;
    const v1::Incident whole = Whole(before + 1);
    const v1::IncidentSymptom& told = whole.symptoms(0);
    EXPECT_EQ(told.cgroup() + told.device() + told.site(), what);
    Find(minute, "db-2", "rule_ungratified_io", "disk_io", "dd (pid 9, uid 3)", 3);
    EXPECT_EQ(All().size(), before + 2) << what << " of another node";
    about->clear();
    minute += 20;
  }
}

TEST_F(IncidentBookTest, ANewDiagnosisInAnAcknowledgedIncidentRingsAgain) {
  Find(0, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  Find(1, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  Find(1, "db-1", "affinity", "blocking", "postgres");
  EXPECT_EQ(Whole(1).state(), "acknowledged") << "nothing that was not known";
  std::string cursor = book_->NowCursor();
  Find(2, "db-1", "rule_failing_call", "syscall", "postgres (pid 8, uid 2)", 8);
  EXPECT_THAT(News(cursor), ::testing::ElementsAre("1 open"));
  EXPECT_EQ(Whole(1).acknowledged_by(), "");
  EXPECT_THAT(Whole(1).notes().rbegin()->text(),
              HasSubstr("open again, new since operator/alice acknowledged: rule_failing_call"));
}

TEST_F(IncidentBookTest, ADiagnosisInAFullIncidentRingsOnce) {
  for (int i = 0; i < 70; ++i) {
    Find(0, "db-1", "filter-" + std::to_string(i), "cpu", "/usr/bin/postgres");
  }
  ASSERT_EQ(Whole(1).symptoms_size(), 64);
  EXPECT_EQ(Whole(1).symptoms_left_out(), 6u);
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  Find(1, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  EXPECT_EQ(Whole(1).state(), "open");
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  Find(2, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  EXPECT_EQ(Whole(1).state(), "acknowledged") << "it was there already";
  EXPECT_EQ(Whole(1).symptoms(0).filter(), "filter-0") << "the alert's labels stay";
  EXPECT_EQ(Whole(1).symptoms(63).filter(), "rule_blocked");
}

TEST_F(IncidentBookTest, AnIncidentFullOfNotesCanStillBeResolved) {
  Find(0, "db-1", "ewma", "cpu");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_NOTE, "seen again").ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Change(1, v1::INCIDENT_ACTION_NOTE, "and again").status()));
  EXPECT_TRUE(Change(1, v1::INCIDENT_ACTION_RESOLVE).ok());
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
  EXPECT_EQ(All()[0].acknowledged_by(), "operator/alice");
  EXPECT_EQ(All()[0].acknowledged_s(), static_cast<double>((kBegin + 5 * kMinute) / kSecond));
  EXPECT_TRUE(absl::IsFailedPrecondition(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).status()));
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_REOPEN, "not mine").ok());
  EXPECT_EQ(All()[0].state(), "open");
  EXPECT_EQ(All()[0].acknowledged_by(), "");
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

// The log does not tell it again, and the Alertmanager was told that it is over.
TEST_F(IncidentBookTest, WhatWasResolvedByHandAndGoesOnIsOpenAgainWhenMoreIsToldOfIt) {
  going_on_ = {"app", "other"};
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)");
  Find(1, "db-1", "rule_load", "cpu", "app (pid 7, uid 0)", 1);
  Find(1, "db-1", "new_label", "cpu", "over");
  ASSERT_EQ(Whole(1).symptoms_size(), 3);
  Look(4);
  const auto resolved = Change(1, v1::INCIDENT_ACTION_RESOLVE, "a known leak");
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(LastDone(*resolved), "resolved: a known leak");
  EXPECT_EQ(resolved->notes().rbegin()->who(), "");
  EXPECT_THAT(resolved->notes().rbegin()->text(), HasSubstr("2 of its 3 symptoms still go on"));
  std::string cursor = book_->NowCursor();
  for (uint64_t minute = 5; minute < 200; ++minute) Look(minute);
  EXPECT_EQ(Whole(1).state(), "resolved") << "who resolved it knew what had been told";
  EXPECT_TRUE(News(cursor).empty());
  Restart();
  Look(200);
  EXPECT_EQ(Whole(1).state(), "resolved");
  news_ns_["app"] = kBegin + 201 * kMinute;
  Look(201);
  EXPECT_EQ(Whole(1).state(), "open");
  EXPECT_EQ(Whole(1).resolved_s(), 0);
  EXPECT_THAT(Whole(1).notes().rbegin()->text(),
              HasSubstr("open again, more was told since operator/alice resolved it, of: leak of"));
  EXPECT_THAT(News(cursor), ::testing::ElementsAre("1 open"));
  EXPECT_EQ(All().size(), 1u);
  going_on_.clear();
  news_ns_.clear();
  Look(260);
  EXPECT_EQ(Whole(1).state(), "open");
  Look(262);
  EXPECT_EQ(Whole(1).state(), "resolved");
}

TEST_F(IncidentBookTest, WhatBeganAnewSinceItWasResolvedByHandHasTheNewsOfIt) {
  going_on_ = {"app"};
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)");
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_RESOLVE).ok());
  Find(6, "db-1", "leak", "user_page", "app (pid 8, uid 0)");
  ASSERT_EQ(All().size(), 2u);
  news_ns_["app"] = kBegin + 8 * kMinute;
  Look(8);
  EXPECT_EQ(Whole(1).state(), "resolved");
  EXPECT_EQ(Whole(2).state(), "open");
}

TEST_F(IncidentBookTest, WhatIsOnlyUnusualOpensNothingThatWasResolvedByHand) {
  hints_ = {"ewma"};
  Restart();
  going_on_ = {""};
  Find(0, "db-1", "ewma", "cpu");
  Find(1, "db-1", "level_shift", "cpu", "app");
  ASSERT_EQ(Whole(1).symptoms_size(), 2);
  Look(4);
  const auto resolved = Change(1, v1::INCIDENT_ACTION_RESOLVE);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->notes().rbegin()->text(), "resolved");
  news_ns_[""] = kBegin + 6 * kMinute;
  Look(6);
  EXPECT_EQ(Whole(1).state(), "resolved");
}

TEST_F(IncidentBookTest, ANoteOnAResolvedIncidentLeavesItResolvedAsItWas) {
  Find(0, "db-1", "rule_blocked", "blocking", "app", 5);
  const auto resolved = Change(1, v1::INCIDENT_ACTION_RESOLVE);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const auto noted = Change(1, v1::INCIDENT_ACTION_NOTE, "the disk was it");
  ASSERT_TRUE(noted.ok()) << noted.status();
  EXPECT_EQ(noted->state(), "resolved");
  EXPECT_EQ(noted->resolved_s(), resolved->resolved_s());
  EXPECT_EQ(noted->last_s(), resolved->last_s());
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
  ASSERT_TRUE(log_->Publish().ok());
  Restart();
  Look(1'100);
  EXPECT_GE(book_->List({})->missed_anomalies(), 36u);
}

TEST_F(IncidentBookTest, WhatGoesOnIsKeptHoweverManyComeAndGoAfterIt) {
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  going_on_.insert("app");
  const auto come_and_go = [&](uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) Find(i * 100, "web-1", "ewma", "cpu");
  };
  come_and_go(1, 20);
  for (int restarts = 0; restarts < 2; ++restarts) {
    ASSERT_EQ(All().size(), 8u);
    EXPECT_EQ(All()[0].number(), 21u);
    EXPECT_EQ(All()[7].number(), 1u);
    EXPECT_EQ(All()[7].state(), "open");
    Restart();
  }
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  come_and_go(21, 20);
  ASSERT_EQ(Whole(1).state(), "acknowledged");
  going_on_.clear();
  Look(4'200);
  ASSERT_EQ(Whole(1).state(), "resolved");
  come_and_go(43, 6);
  EXPECT_EQ(All()[7].number(), 1u) << "the others were over before";
  come_and_go(49, 8);
  EXPECT_EQ(All()[7].number(), 48u);
}

TEST_F(IncidentBookTest, WhereMoreGoOnThanAreKeptTheLatestAre) {
  for (int i = 1; i <= 10; ++i) {
    const std::string program = "app" + std::to_string(i);
    going_on_.insert(program);
    Find(0, "db-" + std::to_string(i), "leak", "user_page", program + " (pid 7, uid 0)", 2);
  }
  for (int restarts = 0; restarts < 2; ++restarts) {
    ASSERT_EQ(All().size(), 8u);
    EXPECT_EQ(All()[0].number(), 10u);
    EXPECT_EQ(All()[7].number(), 3u);
    Restart();
  }
}

TEST_F(IncidentBookTest, AFollowerGetsWhatChangedOnceAndAsItIs) {
  std::string cursor = book_->NowCursor();
  Find(0, "db-1", "ewma", "cpu");
  Find(1, "db-1", "ewma", "cpu");  // changed twice before he looks
  EXPECT_EQ(News(cursor), std::vector<std::string>{"1 open"});
  EXPECT_TRUE(News(cursor).empty());
  Find(2, "web-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  Restart();
  EXPECT_EQ(News(cursor), (std::vector<std::string>{"2 open", "1 acknowledged"}));
  EXPECT_TRUE(News(cursor).empty());
  std::string all = "0";
  EXPECT_EQ(News(all), (std::vector<std::string>{"2 open", "1 acknowledged"}));
  EXPECT_EQ(all, cursor);
  EXPECT_TRUE(absl::IsInvalidArgument(book_->After("99", 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(book_->After("x", 1).status()));
}

TEST_F(IncidentBookTest, AFollowerWhoWasAwayTooLongIsToldWhereToGoOn) {
  Find(0, "db-1", "ewma", "cpu");
  std::string cursor = book_->NowCursor();
  for (uint64_t i = 1; i <= 10; ++i) Find(i * 100, "db-1", "ewma", "cpu");
  const auto status = book_->After(cursor, 10).status();
  ASSERT_TRUE(absl::IsOutOfRange(status)) << status;
  const std::string told(status.message());
  const size_t at = told.find("go on with cursor ") + sizeof("go on with cursor ") - 1;
  cursor = told.substr(at, told.find(',', at) - at);
  EXPECT_EQ(News(cursor).size(), 8u) << told;
}

TEST_F(IncidentBookTest, ADiskThatIsFullTellsFollowersNothingThatIsNotStored) {
  Find(0, "db-1", "ewma", "cpu");
  std::string cursor = book_->NowCursor();
  int wakes = 0;
  const auto waiter = book_->Wait([&] { ++wakes; });
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_NOTE, "seen").ok());
  EXPECT_EQ(wakes, 1);
  EXPECT_FALSE(Change(1, v1::INCIDENT_ACTION_NOTE).ok());
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(News(cursor).size(), 1u);
}

TEST_F(IncidentBookTest, WhatADiagnosisExplainsStandsUnderIt) {
  Find(0, "ci-1", "rule_load", "cpu", "sh x 900 (uid 0)", 9);
  // A fork storm makes much that was never seen.
  for (const char* program : {"/bin/true", "/bin/sed", "/usr/bin/env"}) {
    Find(1, "ci-1", "new_label", "user_page", program);
    Find(1, "ci-1", "new_label", "syscall", program);
  }
  Find(1, "ci-1", "leak", "disk_io", "backup (pid 9, uid 0)", 2);  // has nothing to do with it
  ASSERT_EQ(All().size(), 2u);
  const v1::Incident storm = Whole(1);
  ASSERT_EQ(storm.symptoms_size(), 7);
  EXPECT_EQ(storm.symptoms(0).explained_by(), 0u);
  for (int i = 1; i < 7; ++i) EXPECT_EQ(storm.symptoms(i).explained_by(), 1u) << i;
}

TEST_F(IncidentBookTest, ADiagnosisExplainsNothingThatBeganAfterItsFaultWasOver) {
  open_ = true;
  Find(0, "db-1", "rule_busy_loop", "cpu", "render (pid 7, uid 0)", 1);
  Find(3, "db-1", "ewma", "sched_delay");  // it still goes on
  open_ = false;
  Find(4, "db-1", "rule_busy_loop", "cpu", "render (pid 7, uid 0)", 1);  // over, says the rule
  Find(7, "db-1", "level_shift", "sched_delay");
  const v1::Incident incident = Whole(1);
  std::map<std::string, uint32_t> explained;
  for (const v1::IncidentSymptom& symptom : incident.symptoms()) {
    explained[symptom.filter()] = symptom.explained_by();
  }
  EXPECT_EQ(explained["ewma"], 1u);
  EXPECT_EQ(explained["level_shift"], 0u);
}

// Its node was not heard for a while, or its filter began anew.
TEST_F(IncidentBookTest, WhatOnlySeemedOverExplainsAgainWhatBegins) {
  open_ = true;
  going_on_ = {"render"};
  Find(0, "db-1", "rule_busy_loop", "cpu", "render (pid 7, uid 0)", 1);
  Look(20);
  going_on_.clear();
  Look(21);
  going_on_ = {"render"};
  Look(40);
  open_ = false;
  Find(41, "db-1", "level_shift", "sched_delay");
  ASSERT_EQ(All().size(), 1u);
  EXPECT_EQ(Whole(1).symptoms(1).explained_by(), 1u);
}

TEST_F(IncidentBookTest, WhatADiagnosisExplainsDrawsNoNodeInThatDoesNotHaveIt) {
  for (const char* node : {"web-1", "web-2"}) {
    Find(0, node, "rule_failing_call", "syscall", "curl (pid 3, uid 1)", 8);
    Find(0, node, "ewma", "cpu");
  }
  Find(1, "web-9", "ewma", "cpu");
  EXPECT_THAT(Whole(1).nodes(), testing::ElementsAre("web-1", "web-2"));
  EXPECT_THAT(Whole(2).nodes(), testing::ElementsAre("web-9"));
  // It has it, too, only later: then it is all one.
  Find(2, "web-9", "rule_failing_call", "syscall", "curl (pid 8, uid 1)", 8);
  EXPECT_THAT(Whole(1).nodes(), testing::ElementsAre("web-1", "web-2", "web-9"));
  EXPECT_EQ(Whole(2).merged_into(), 1u);
}

TEST_F(IncidentBookTest, ADiagnosisTakesInTheIncidentsThatWereOnlyItsSymptoms) {
  Find(0, "db-1", "new_label", "disk_io", "/usr/bin/rsync");
  Find(0, "db-1", "new_label", "kernel_page", "/usr/bin/psql");
  Find(0, "db-1", "new_label", "socket", "/usr/bin/curl");
  Find(0, "db-1", "new_label", "user_page", "/usr/bin/vim");
  ASSERT_EQ(All().size(), 4u);
  ASSERT_TRUE(Change(2, v1::INCIDENT_ACTION_NOTE, "mine").ok());
  Find(1, "db-1", "rule_low_memory", "user_page", "java (pid 3, uid 1)", 6);
  // The oldest it explains becomes it, another is taken in; one is somebody's, one is of another
  // reason.
  EXPECT_THAT(Whole(1).title(), HasSubstr("rule_low_memory"));
  ASSERT_EQ(Whole(1).symptoms_size(), 3);
  EXPECT_EQ(Whole(1).symptoms(0).explained_by(), 2u);
  EXPECT_EQ(Whole(1).symptoms(1).explained_by(), 0u);
  EXPECT_EQ(Whole(1).symptoms(2).explained_by(), 2u);
  EXPECT_EQ(Whole(2).state(), "open");
  EXPECT_EQ(Whole(3).state(), "open");
  EXPECT_EQ(Whole(4).state(), "resolved");
  EXPECT_EQ(Whole(4).merged_into(), 1u);
}

TEST_F(IncidentBookTest, WhatIsProposedNamesItsNodeAndItsTime) {
  next_ = "telltale stacks --vital user_page --process 7";
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  EXPECT_THAT(Whole(1).symptoms(0).next(),
              testing::StartsWith("telltale stacks --vital user_page --process 7 --node db-1 "
                                  "--from "));
}

TEST_F(IncidentBookTest, SilencesHideWhatTheyFitUntilTheyEnd) {
  const auto silence = Silence("db-*", "5", "postgres");
  ASSERT_TRUE(silence.ok()) << silence.status();
  std::string cursor = book_->NowCursor();
  Find(0, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  EXPECT_EQ(News(cursor), std::vector<std::string>{"1 open silenced"});
  EXPECT_EQ(Listed(), 0u);
  EXPECT_EQ(Listed(true), 1u);
  EXPECT_EQ(book_->Counts().open, 0u);
  EXPECT_EQ(book_->Counts().silenced, 1u);
  // Another program, another rule, another node.
  Find(0, "db-1", "leak", "user_page", "cache (pid 9, uid 0)", 2);
  Find(0, "web-1", "rule_busy_loop", "cpu", "nginx (pid 9, uid 0)", 1);
  EXPECT_EQ(Listed(), 2u);
  Restart();
  EXPECT_EQ(Listed(), 2u);
  // The same fault where nobody wanted silence: now it is everybody's.
  Find(1, "web-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  EXPECT_EQ(Listed(), 3u);
  ASSERT_TRUE(Silence("web-1", "rule_*", "").ok());
  Look(1);
  EXPECT_EQ(Listed(), 1u);
  ASSERT_TRUE(silences_->End(silence->id(), "operator/bob", kBegin).ok());
  Look(1);
  EXPECT_EQ(Listed(), 2u);
  // The other one runs out by itself.
  Look(31);
  EXPECT_EQ(Listed(), 3u);
}

TEST_F(IncidentBookTest, ASilenceOfOneIncidentIsOfAllItTakesInAndOfNoOther) {
  Find(0, "db-1", "ewma", "cpu", "nginx (pid 9, uid 0)");
  Find(0, "web-1", "leak", "user_page", "cache (pid 9, uid 0)", 2);
  v1::AddSilenceRequest request;
  request.set_incident(1);
  request.set_reason("known");
  request.set_until_s(static_cast<double>(kBegin / kSecond + 30 * 60));
  ASSERT_TRUE(book_->CheckSilence(1).ok());
  ASSERT_TRUE(silences_->Add(request, "operator/alice", kBegin).ok());
  Restart();
  Look(1);
  EXPECT_TRUE(Whole(1).silenced());
  EXPECT_FALSE(Whole(2).silenced());
  Find(2, "db-7", "ewma", "cpu", "nginx (pid 9, uid 0)");
  EXPECT_EQ(Whole(1).node_count(), 2u);
  EXPECT_TRUE(Whole(1).silenced());
  EXPECT_EQ(Listed(), 1u);
  Look(31);
  EXPECT_EQ(Listed(), 2u);

  request.set_node("db-*");
  EXPECT_TRUE(absl::IsInvalidArgument(silences_->Add(request, "operator/alice", kBegin).status()));
  EXPECT_TRUE(absl::IsNotFound(book_->CheckSilence(9)));
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_RESOLVE).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(book_->CheckSilence(1)));
}

TEST_F(IncidentBookTest, SilencesAreCheckedListedAndDurable) {
  EXPECT_TRUE(absl::IsInvalidArgument(Silence("", "", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Silence("a", "", "", 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Silence("a", "", "", 600'000).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Silence("a\n", "", "").status()));
  const auto silence = Silence("a", "", "");
  ASSERT_TRUE(silence.ok());
  Restart();
  ASSERT_EQ(silences_->List(false, kBegin).silences_size(), 1);
  EXPECT_EQ(silences_->List(false, kBegin).silences(0).by(), "operator/alice");
  EXPECT_EQ(silences_->List(false, kBegin + 31 * kMinute).silences_size(), 0);
  EXPECT_EQ(silences_->List(true, kBegin + 31 * kMinute).silences_size(), 1);
  ASSERT_TRUE(silences_->End(silence->id(), "operator/bob", kBegin).ok());
  EXPECT_TRUE(absl::IsNotFound(silences_->End(silence->id(), "operator/bob", kBegin).status()));
  EXPECT_EQ(silences_->List(true, kBegin).silences(0).ended_by(), "operator/bob");
}

TEST_F(IncidentBookTest, WhatGoesOnIsNotOverAndTakesNewsIn) {
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  going_on_.insert("app");
  Look(0);
  for (uint64_t minute = 1; minute < 300; ++minute) Look(minute);
  EXPECT_EQ(All()[0].state(), "open");
  Find(300, "db-1", "ewma", "user_page");
  EXPECT_EQ(All().size(), 1u);
  going_on_.clear();
  Look(359);
  EXPECT_EQ(All()[0].state(), "open");
  Look(361);
  EXPECT_EQ(All()[0].state(), "resolved");
}

// Of more nodes than are kept of a symptom the first are well again.
TEST_F(IncidentBookTest, WhatGoesOnOnOneOfAHundredNodesIsNotOver) {
  const auto node = [](int number) { return "web-" + std::to_string(number); };
  open_ = true;
  going_on_.insert("nginx");
  for (int i = 0; i < 100; ++i) {
    Find(0, node(i), "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  }
  ASSERT_EQ(All().size(), 1u);
  for (int i = 0; i < 99; ++i) well_.insert(node(i));
  for (uint64_t minute = 1; minute < 300; ++minute) Look(minute);
  EXPECT_EQ(Whole(1).state(), "open");
  well_.insert(node(99));
  Look(361);
  EXPECT_EQ(Whole(1).state(), "resolved") << "what goes on elsewhere is another incident";
}

TEST_F(IncidentBookTest, OfMoreNodesThanAreStoredAnyWhereItGoesOnKeepsItOpen) {
  going_on_.insert("nginx");
  open_ = true;
  for (int i = 0; i < 2'100; ++i) {
    const std::string node = "web-" + std::to_string(i);
    Find(0, node, "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
    if (i < 2'048) well_.insert(node);
  }
  ASSERT_EQ(Whole(1).node_count(), 2'100u);
  for (uint64_t minute = 1; minute < 300; ++minute) Look(minute);
  EXPECT_EQ(Whole(1).state(), "open");
  going_on_.clear();
  Look(361);
  EXPECT_EQ(Whole(1).state(), "resolved");
}

TEST_F(IncidentBookTest, ASilenceOfNodesIsOfAHundredNodesToo) {
  for (int i = 0; i < 100; ++i) {
    Find(0, "web-" + std::to_string(i), "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  }
  ASSERT_TRUE(Silence("web-[0-4]*", "5", "").ok());
  Look(1);
  EXPECT_FALSE(Whole(1).silenced()) << "others have it, too";
  ASSERT_TRUE(Silence("web-*", "5", "").ok());
  Look(1);
  EXPECT_TRUE(Whole(1).silenced());
  Find(2, "db-1", "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  EXPECT_EQ(Whole(1).node_count(), 101u);
  EXPECT_FALSE(Whole(1).silenced());
}

TEST_F(IncidentBookTest, OfMoreNodesThanAreStoredOnlyASilenceOfAnyNodeIsOfAll) {
  for (int i = 0; i < 2'100; ++i) {
    Find(0, "web-" + std::to_string(i), "rule_blocked", "blocking", "nginx (pid 7, uid 0)", 5);
  }
  ASSERT_TRUE(Silence("web-*", "5", "").ok());
  Look(1);
  EXPECT_FALSE(Whole(1).silenced());
  ASSERT_TRUE(Silence("", "5", "").ok());
  Look(1);
  EXPECT_TRUE(Whole(1).silenced());
}

// Its node was cut off for hours and sends what it kept.
TEST_F(IncidentBookTest, WhatIsToldHoursLateAndGoesOnIsOpen) {
  for (uint64_t minute = 0; minute < 20; ++minute) Look(minute);
  told_after_ = 200;
  open_ = true;
  going_on_.insert("app");
  Find(30, "db-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  Find(31, "db-1", "rule_busy_loop", "cpu", "render (pid 7, uid 0)", 1);
  ASSERT_EQ(All().size(), 2u);
  EXPECT_EQ(All()[1].state(), "open");
  EXPECT_EQ(All()[0].state(), "resolved") << "it ended meanwhile";
  Look(290);
  EXPECT_EQ(All()[1].state(), "open");
}

TEST_F(IncidentBookTest, WhatALateDiagnosisExplainsEndsWhenThatIsKnown) {
  Find(40, "db-1", "new_label", "disk_io", "/usr/bin/rsync");
  Find(40, "db-1", "new_label", "user_page", "/usr/bin/vim");
  told_after_ = 30;
  open_ = true;
  Find(35, "db-1", "rule_low_memory", "user_page", "java (pid 3, uid 1)", 6);
  const v1::Incident under = Whole(2);
  ASSERT_EQ(under.merged_into(), 1u);
  EXPECT_EQ(under.resolved_s(), static_cast<double>(kBegin / kSecond + 66 * 60));
  EXPECT_EQ(book_->Alerts(kBegin + 60 * kMinute).size(), 2u) << "Alertmanagers are told of its end";
}

TEST_F(IncidentBookTest, AcknowledgedOnesAreCountedWhateverTheListHolds) {
  Find(0, "db-1", "rule_blocked", "blocking", "postgres (pid 8, uid 2)", 5);
  Find(0, "web-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  Find(0, "web-2", "rule_held", "sched_delay", "nginx (pid 7, uid 0)", 7);
  for (const uint64_t number : {1, 2}) {
    ASSERT_TRUE(Change(number, v1::INCIDENT_ACTION_ACKNOWLEDGE).ok());
  }
  v1::ListIncidentsRequest request;
  request.set_limit(1);
  EXPECT_EQ(book_->List(request)->open(), 1u);
  EXPECT_EQ(book_->List(request)->acknowledged(), 2u);
  ASSERT_TRUE(Change(1, v1::INCIDENT_ACTION_RESOLVE).ok());
  ASSERT_TRUE(Silence("web-1", "", "").ok());
  Look(1);
  EXPECT_EQ(book_->List(request)->acknowledged(), 0u) << "resolved, or silenced";
}

TEST_F(IncidentBookTest, AfterARestartFiltersHaveTenMinutesToSayWhatGoesOn) {
  Find(0, "db-1", "leak", "user_page", "app (pid 7, uid 0)", 2);
  Find(0, "db-2", "ewma", "cpu");
  going_on_.insert("app");
  for (uint64_t minute = 1; minute < 59; ++minute) Look(minute);
  going_on_.clear();
  Restart();
  Look(100);
  Look(105);
  EXPECT_EQ(All()[1].state(), "open");
  EXPECT_EQ(All()[0].state(), "open");
  going_on_.insert("app");
  Look(111);
  EXPECT_EQ(All()[1].state(), "open") << "its filter is there again";
  EXPECT_EQ(All()[0].state(), "resolved");
  Restart();
  Find(200, "db-1", "ewma", "user_page");
  EXPECT_EQ(All().size(), 2u) << "what goes on takes the first news in, too";
}

TEST(AddPeersTest, WhatThereIsNoTimeForIsNotLookedAtAndSaysSo) {
  v1::Incident incident;
  for (uint32_t rule = 1; rule <= 3; ++rule) incident.add_symptoms()->set_rule(rule);
  int looks = 0;
  bool asker_is_gone = false;
  // The second looks for longer than there is time.
  const auto look = [&](const v1::IncidentSymptom& symptom,
                        const std::function<bool()>& cancelled) -> absl::StatusOr<std::string> {
    ++looks;
    asker_is_gone = symptom.rule() == 2;
    if (cancelled()) return absl::CancelledError("as asked");
    return "only here";
  };
  AddPeers(
      look, [&] { return asker_is_gone; }, std::chrono::milliseconds(60'000), incident);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(incident.symptoms(0).peers(), "only here");
  EXPECT_THAT(incident.symptoms(1).peers(), HasSubstr("not looked at"));
  EXPECT_THAT(incident.symptoms(2).peers(), HasSubstr("not looked at"));
  AddPeers(look, {}, std::chrono::milliseconds(0), incident);
  EXPECT_EQ(looks, 2);
  EXPECT_THAT(incident.symptoms(0).peers(), HasSubstr("there were 0 ms"));
  AddPeers(
      [](const v1::IncidentSymptom&, const std::function<bool()>&) -> absl::StatusOr<std::string> {
        return absl::ResourceExhaustedError("too much");
      },
      {}, std::chrono::milliseconds(60'000), incident);
  EXPECT_EQ(incident.symptoms(0).peers(), "not compared: too much");
}

TEST(ProgramOfSubjectTest, IsTheSameForOtherProcessesAndPaths) {
  EXPECT_EQ(ProgramOfSubject("postgres (pid 812, uid 26)"), "postgres");
  EXPECT_EQ(ProgramOfSubject("cc1plus x 12 (uid 0)"), "cc1plus");
  EXPECT_EQ(ProgramOfSubject("/usr/lib/postgres"), "postgres");
  EXPECT_EQ(ProgramOfSubject(""), "");
}

}  // namespace
}  // namespace telltale::incident
