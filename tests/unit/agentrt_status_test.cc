// What `telltale-agent status` says to people.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/supervise/status_text.h"
#include "sketch/vital_ids.h"

namespace telltale::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecond = 1'000'000'000;

AgentStatus Usual() {
  AgentStatus status;
  status.version = "1.0";
  status.node = "web-1";
  status.collector = "collector:7410";
  status.sensor = "replay";
  status.scope = "node";
  status.incarnation = std::string(16, 'a');
  status.mono_ns = 100 * kSecond;
  status.uplink.state = "connected";
  return status;
}

std::string Page(const AgentStatus& status) {
  const auto page = StatusPage(StatusJson(status));
  EXPECT_TRUE(page.ok()) << page.status();
  return page.value_or("");
}

TEST(AgentStatusTest, NamesTheAgentAsTheCollectorKnowsIt) {
  EXPECT_THAT(Page(Usual()), HasSubstr("web-1, agent 61616161, up"));
}

TEST(AgentStatusTest, WhatIsKeptApartIsNotSaidToBeStoredAndNoMore) {
  AgentStatus status = Usual();
  status.uplink.stored = 12;
  EXPECT_THAT(Page(status), HasSubstr("12 stored, "));
  EXPECT_THAT(Page(status), Not(HasSubstr("APART")));
  status.uplink.apart = 5;
  status.uplink.error = "kept apart, in no answer: another machine";
  EXPECT_THAT(Page(status), HasSubstr("12 stored (5 of them KEPT APART, in no answer), "));
  EXPECT_THAT(Page(status), HasSubstr("; kept apart, in no answer: another machine"));
}

TEST(AgentStatusTest, AHostThatGaveItNoCpuIsToldOnlyThen) {
  AgentStatus status = Usual();
  EXPECT_THAT(Page(status), Not(HasSubstr("without a CPU")));
  status.starvation.rescues = 2;
  status.starvation.refused = 1;
  status.starvation.starved_ns = 1'700'000'000;
  EXPECT_THAT(Page(status), HasSubstr("0 failed, 3 times without a CPU of this host (1.7 s)"));
}

TEST(AgentStatusTest, WithoutAStreamItSaysWhenTheNextTryIs) {
  AgentStatus status = Usual();
  EXPECT_THAT(Page(status), HasSubstr("connected to collector:7410, 0 stored"));
  status.uplink.state = "waiting";
  status.uplink.next_attempt_ns = status.mono_ns + 2 * kSecond + 1;
  EXPECT_THAT(Page(status), HasSubstr("no stream to collector:7410, next try in 3 s, 0 stored"));
  status.uplink.next_attempt_ns = 0;
  EXPECT_THAT(Page(status), HasSubstr("no stream to collector:7410, 0 stored"));
}

TEST(AgentStatusTest, TheClocksDifferenceHasADirectionInsteadOfASign) {
  AgentStatus status = Usual();
  EXPECT_THAT(Page(status), HasSubstr("offset to the collector not known yet"));
  status.loop.clock_error_ns = 200'000;
  status.loop.clock_offset_ns = -73'000;  // collector minus node
  EXPECT_THAT(Page(status), HasSubstr("0.073 ms ahead of the collector's, known to +- 0.200 ms"));
  status.loop.clock_offset_ns = 73'000;
  EXPECT_THAT(Page(status), HasSubstr("0.073 ms behind the collector's"));
}

TEST(AgentStatusTest, OneIsOne) {
  AgentStatus status = Usual();
  status.spool.records = 1;
  status.spool.lost_ranges = 1;
  EXPECT_THAT(Page(status), HasSubstr("1 epoch, 0 bytes, 0 in memory only, 1 lost range to"));
}

TEST(AgentCheckTest, TellsWhatIsNotHeardOfBesidesTheVitals) {
  const CheckedSensor checked = {
      .vitals = {{TELLTALE_CPU, VitalState::kActive, "tp_btf/local_timer_entry", ""}},
      .sources = {{"starts and ends of processes", VitalState::kActive, "tp_btf/sched_process_exec",
                   ""},
                  {"files of processes that have ended", VitalState::kUnavailable, "",
                   "load: no such hook"}},
      .user_stacks = "unwound",
      .scope = "/web.slice"};
  const std::string page = CheckPage(checked);
  EXPECT_THAT(page, HasSubstr("starts and ends of processes: active: tp_btf/sched_process_exec\n"));
  EXPECT_THAT(page,
              HasSubstr("files of processes that have ended: unavailable: load: no such hook\n"));
  EXPECT_THAT(page, HasSubstr("user stacks: unwound\nscope: only tasks of /web.slice"));
  const std::string json = CheckJson(checked);
  for (const char* told : {"\"sources\"", "no such hook", "\"userStacks\": \"unwound\"",
                           "\"scope\": \"/web.slice\""}) {
    EXPECT_THAT(json, HasSubstr(told));
  }
}

}  // namespace
}  // namespace telltale::agent
