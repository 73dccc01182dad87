// What is drawn fits, says what was not watched, and lets no name from elsewhere speak to the
// terminal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "collector/cli/full_screen.h"
#include "collector/cli/heat_map.h"
#include "collector/cli/investigation_json.h"
#include "collector/cli/live_screen.h"
#include "collector/cli/render_investigation.h"

namespace telltale::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "\x1b[2J\x1b]0;owned\x07'; rm -rf ~; '";
const absl::TimeZone kZone = absl::UTCTimeZone();
const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 18, 18, 0, 0), kZone);
const double kAt = static_cast<double>(absl::ToUnixSeconds(kNow)) - 3600;

View Plain(size_t columns = 0) { return {{false, true, columns}, kZone, kNow}; }

v1::Series SeriesOf(const std::string& node, const std::vector<double>& rates,
                    const std::vector<double>& watched = {}) {
  v1::Series series;
  series.set_vital("cpu");
  series.set_unit("s");
  series.set_node(node);
  for (size_t i = 0; i < rates.size(); ++i) {
    series.add_start_s(kAt + static_cast<double>(i) * 60);
    series.add_length_s(60);
    series.add_rate(rates[i]);
    series.add_watched(i < watched.size() ? watched[i] : 1);
  }
  return series;
}

TEST(HeatTest, EachCellIsItsHighestAndWhatNobodyWatchedIsADot) {
  v1::SeriesAnswer answer;
  *answer.add_series() = SeriesOf("low", {0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  *answer.add_series() =
      SeriesOf("high", {1, 2, 3, 4, 8, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  v1::Selection asked;
  asked.set_start_s(kAt);
  asked.set_end_s(kAt + 600);
  const std::string text = RenderHeat(answer, asked, 10, Plain(42));  // ten cells
  EXPECT_THAT(text, HasSubstr("high              ▂▃▄▅█   ··  8.00 CPUs\n"
                              "low                ▂▂▂▂▂▂▂▂▂  1.00 CPUs\n"));
  EXPECT_THAT(text, HasSubstr("17:00:00 to 17:10:00"));
  EXPECT_THAT(RenderHeat(answer, asked, 1, Plain(42)),
              HasSubstr("and 1 other node, none above 1.00 CPUs"));
  EXPECT_THAT(RenderHeat(answer, asked, 10, {{true, true, 42}, kZone, kNow}),
              HasSubstr("\x1b[38;5;226m█"));
}

TEST(HeatTest, ANodesNameIsHarmless) {
  v1::SeriesAnswer answer;
  *answer.add_series() = SeriesOf(kHostile, {1});
  v1::Selection asked;
  asked.set_start_s(kAt);
  asked.set_end_s(kAt + 60);
  EXPECT_THAT(RenderHeat(answer, asked, 10, Plain(80)), Not(HasSubstr("\x1b")));
}

LiveState LiveOf(const std::string& name, int rows) {
  LiveState state;
  state.who = name;
  for (int i = 0; i < 14; ++i) state.vitals.push_back("vital_number_" + std::to_string(i));
  state.chosen = 3;
  for (const v1::Dimension by : {v1::DIMENSION_PROCESS, v1::DIMENSION_SITE}) {
    v1::TopTable* table = state.answer.add_tables();
    table->set_vital("cpu");
    table->set_unit("s");
    table->set_by(by);
    table->set_total(60);
    for (int i = 0; i < rows; ++i) {
      v1::TopRow* row = table->add_rows();
      row->set_name(name + std::to_string(i));
      row->set_exe("/very/long/path/to/the/place/where/a/program/is/installed/" + name);
      row->set_node(name);
      row->set_pid(static_cast<uint32_t>(4'000'000 + i));
      row->set_value(60);
      row->set_share(1.0 / (i + 1));
    }
  }
  return state;
}

TEST(LiveTest, FitsEveryScreen) {
  for (const auto& [columns, rows] : {std::pair<size_t, size_t>{80, 24}, {132, 43}, {40, 10}}) {
    for (const bool colour : {false, true}) {
      const std::string screen =
          LiveScreen(LiveOf("nginx", 20), columns, rows, {{colour, true, columns}, kZone, kNow});
      const std::vector<std::string> lines = absl::StrSplit(screen, '\n');
      EXPECT_EQ(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(Width(line), columns) << line;
      EXPECT_THAT(screen, HasSubstr("[vital_number_3]"));
    }
  }
}

TEST(LiveTest, NamesAreHarmlessAndSoAreErrors) {
  LiveState state = LiveOf(kHostile, 3);
  state.error = kHostile;
  state.untold = kHostile;
  state.vitals[3] = kHostile;
  EXPECT_THAT(LiveScreen(state, 80, 24, Plain(80)), Not(HasSubstr("\x1b")));
}

TEST(LiveTest, SaysWhetherItIsToldAndWhatIsNow) {
  LiveState state = LiveOf("nginx", 3);
  state.asked_every_s = 2;
  state.untold = "collector gone";
  EXPECT_THAT(LiveScreen(state, 80, 24, Plain(80)),
              AllOf(HasSubstr("not told by the collector, asked every 2 s: collector gone"),
                    Not(HasSubstr(" now"))));
  state.told = true;
  state.untold = "";
  state.now = 1.5;
  EXPECT_THAT(LiveScreen(state, 80, 24, Plain(80)),
              AllOf(HasSubstr("told as it comes"), HasSubstr("1.50 CPUs now")));
}

TEST(LiveTest, ASecondInWhichNobodyLookedIsNotZero) {
  LiveState state = LiveOf("nginx", 3);
  state.told = true;
  state.unseen = true;
  EXPECT_THAT(LiveScreen(state, 80, 24, Plain(80)),
              AllOf(HasSubstr("not looked at in this second"), Not(HasSubstr(" now"))));
  state.answer.mutable_tables(0)->set_state(v1::VITAL_STATE_UNAVAILABLE);
  EXPECT_THAT(LiveScreen(state, 80, 24, Plain(80)), Not(HasSubstr("not looked at")));
}

TEST(LiveTest, SaysThatItAsksWhileNothingIsKnown) {
  LiveState state;
  state.who = "all nodes";
  state.asking = true;
  EXPECT_THAT(
      LiveScreen(state, 80, 24, Plain(80)),
      AllOf(HasSubstr("asking ..."), Not(HasSubstr("no epoch")), Not(HasSubstr("not told"))));
}

TEST(LiveTest, ScrollsNoFurtherThanThereIs) {
  LiveState state = LiveOf("nginx", 20);
  const std::string first = LiveScreen(state, 80, 24, Plain(80));
  EXPECT_THAT(first, HasSubstr("nginx0 "));
  state.scrolled = 1000;
  const std::string last = LiveScreen(state, 80, 24, Plain(80));
  EXPECT_THAT(last, Not(HasSubstr("nginx0 ")));
  EXPECT_THAT(last, HasSubstr("nginx19"));
}

TEST(KeyTest, SequencesAreOneKeyAlsoInPieces) {
  std::string input = "\x1b[Cq\t\x1b[5~\x1b[Z ";
  std::vector<Key> keys;
  for (Key key = TakeKey(&input); key != Key::kNone; key = TakeKey(&input)) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<Key>{Key::kNext, Key::kQuit, Key::kNext, Key::kOther, Key::kPrevious,
                                    Key::kPause}));
  for (std::string begun : {"", "\x1b", "\x1b[", "\x1b[1;5"}) {
    const std::string before = begun;
    EXPECT_EQ(TakeKey(&begun), Key::kNone);
    EXPECT_EQ(begun, before);
  }
}

v1::InvestigateAnswer OddAnswer(const std::string& name) {
  v1::InvestigateAnswer answer;
  answer.set_nodes(1);
  answer.set_lines(40);
  v1::Finding* finding = answer.add_findings();
  finding->set_node(name);
  finding->set_vital("lock");
  finding->set_sub("futex");
  finding->set_unit("s");
  finding->set_waiting(true);
  finding->set_start_s(kAt);
  finding->set_end_s(kAt + 60);
  finding->set_value(3);
  finding->set_peak(4);
  finding->set_usual(0.3);
  finding->set_severity(40);
  finding->set_past_points(240);
  finding->add_also(name);
  finding->set_also_nodes(7);
  v1::DiffRow* row = finding->mutable_processes()->add_rows();
  row->mutable_row()->set_name(name);
  row->mutable_row()->set_exe(name);
  row->mutable_row()->set_user(name);
  row->mutable_row()->set_value(180);
  row->mutable_against()->set_value(18);
  row->set_difference(162);
  row->set_certain(true);
  v1::DiffRow* site = finding->mutable_sites()->add_rows();
  site->mutable_row()->set_name(name);
  site->set_difference(160);
  for (int i = 0; i < 3; ++i) {
    v1::Frame* frame = site->mutable_row()->add_stack();
    frame->set_name(name);
    frame->set_binary(name);
  }
  v1::PeerAnswer* holder = finding->mutable_example()->mutable_holder();
  holder->set_comm(name);
  holder->set_pid(77);
  *holder->add_stack() = site->row().stack(0);
  v1::EventAnswer* event = answer.add_events();
  event->set_type(name);
  event->set_node(name);
  event->set_text(name);
  event->set_time_s(kAt);
  v1::Mark* mark = answer.add_marks();
  mark->set_text(name);
  mark->set_by(name);
  mark->set_time_s(kAt - 60);
  v1::Anomaly* anomaly = answer.add_anomalies();
  anomaly->set_text(name);
  anomaly->set_node(name);
  anomaly->set_start_s(kAt + 1);
  v1::Gap* gap = answer.add_gaps();
  gap->set_node(name);
  gap->set_reason(name);
  answer.add_notes(name);
  return answer;
}

std::string PageOf(const std::string& name, const View& view) {
  v1::Selection asked;
  asked.set_start_s(kAt - 900);
  asked.set_end_s(kAt + 900);
  asked.add_nodes(name);
  const DigOn commands({"telltale", "investigate", "--collector", "h:1"}, asked, "https://h:2",
                       kZone);
  return RenderInvestigation(OddAnswer(name), {asked, Escaped(name), commands}, view);
}

TEST(InvestigationPageTest, SaysWhoWaitedWhoHeldAndWhatToTypeNext) {
  const std::string page = PageOf("mysqld", Plain());
  EXPECT_THAT(page, HasSubstr("mysqld  Wed 2026-11-18 16:45:00 to 17:15:00  (times are UTC)"));
  EXPECT_THAT(page, HasSubstr("1. lock/futex  3.00 waiting, usual is 0.30 waiting, x 10\n"));
  EXPECT_THAT(page, HasSubstr("on mysqld and 7 other nodes (mysqld, ...)"));
  EXPECT_THAT(page, HasSubstr("none of 240 past epochs"));
  EXPECT_THAT(page, HasSubstr("waited  mysqld"));
  EXPECT_THAT(page, HasSubstr("+2.70 waiting  x 10"));
  EXPECT_THAT(page, HasSubstr("held by mysqld (pid 77) at mysqld"));
  EXPECT_THAT(page, HasSubstr("telltale samples --node mysqld --vital lock/futex --process=mysqld "
                              "--from 2026-11-18T17:00:00+00:00 --to 2026-11-18T17:01:00+00:00 "
                              "--collector h:1\n"));
  EXPECT_THAT(page, HasSubstr("https://h:2/selection?node=mysqld&vital=lock&from="));
  EXPECT_LT(page.find("16:59:00"), page.find("17:00:01")) << page;  // what happened, in order
}

TEST(InvestigationPageTest, NamesAreHarmlessOnTheScreenAndInTheShell) {
  const std::string page = PageOf(kHostile, Plain(80));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, Not(HasSubstr("\x07")));
  EXPECT_THAT(page, HasSubstr("--node $'\\x1b[2J\\x1b]0;owned\\x07\\'; rm -rf ~; \\''"));
}

TEST(InvestigationPageTest, WhatWasWrongStandsBeforeWhatWasUnusual) {
  v1::InvestigateAnswer answer = OddAnswer("mysqld");
  v1::Anomaly* diagnosis = answer.add_anomalies();
  diagnosis->set_rule(1);
  diagnosis->set_filter("rule_busy_loop");
  diagnosis->set_node("db-1");
  diagnosis->set_subject("render (pid 7, uid 0)");
  diagnosis->set_text("render spins in price_basket");
  diagnosis->set_next("telltale stacks --vital cpu --process 7 --node db-1");
  diagnosis->set_start_s(kAt + 2);
  InvestigationFrame frame{{}, "db-1", DigOn({"telltale"}, {}, "", kZone), {}};
  v1::Incident incident;
  incident.set_number(3);
  incident.set_state("open");
  incident.set_title("render spins in price_basket");
  incident.set_start_s(kAt);
  incident.set_last_s(kAt + 10);
  incident.add_nodes("db-1");
  incident.set_node_count(1);
  v1::IncidentSymptom* symptom = incident.add_symptoms();
  symptom->set_rule(1);
  symptom->set_filter("rule_busy_loop");
  symptom->set_node("db-1");
  symptom->set_program("render");
  frame.incidents.push_back(incident);
  const std::string page = RenderInvestigation(answer, frame, Plain());
  EXPECT_LT(page.find("incident 3, open: render spins"), page.find("WHAT WAS UNUSUAL")) << page;
  EXPECT_LT(page.find("diagnosis, rule 1"), page.find("WHAT WAS UNUSUAL"));
  EXPECT_LT(page.find("telltale incidents 3"), page.find("WHAT WAS UNUSUAL"));
  const std::string dig = page.substr(page.find("DIG ON"));
  EXPECT_LT(dig.find("telltale stacks --vital cpu --process 7"), dig.find("telltale diff"));
  EXPECT_EQ(page.find("diagnosis, rule 1"), page.rfind("diagnosis, rule 1"));
  // Without an incident a diagnosis still leads.
  frame.incidents.clear();
  const std::string alone = RenderInvestigation(answer, frame, Plain());
  EXPECT_LT(alone.find("diagnosis, rule 1"), alone.find("WHAT WAS UNUSUAL"));
}

TEST(InvestigationPageTest, AnIncidentConcernsItsNodesWhileItIsOpen) {
  v1::Incident incident;
  incident.set_state("open");
  incident.set_start_s(100);
  incident.set_last_s(200);
  incident.add_nodes("db-1");
  incident.set_node_count(1);
  v1::Selection asked;
  asked.set_start_s(300);
  asked.set_end_s(400);
  EXPECT_TRUE(Concerns(incident, asked));
  asked.add_nodes("db-2");
  EXPECT_FALSE(Concerns(incident, asked));
  asked.add_nodes("db-1");
  EXPECT_TRUE(Concerns(incident, asked));
  incident.set_state("resolved");
  EXPECT_FALSE(Concerns(incident, asked));
  asked.set_start_s(150);
  EXPECT_TRUE(Concerns(incident, asked));
  incident.set_start_s(400);
  EXPECT_FALSE(Concerns(incident, asked));
}

// The newest incidents of a store that has `newest` of them, a minute apart, resolved at once.
v1::ListIncidentsAnswer Newest(uint32_t listed, uint32_t newest) {
  v1::ListIncidentsAnswer answer;
  for (uint32_t i = 0; i < listed; ++i) {
    v1::Incident* incident = answer.add_incidents();
    incident->set_number(newest - i);
    incident->set_state("resolved");
    incident->set_start_s(kAt - i * 60.0);
    incident->set_last_s(incident->start_s());
  }
  return answer;
}

InvestigationFrame FrameOf(double start_s, double end_s, const v1::ListIncidentsAnswer& newest) {
  v1::Selection asked;
  asked.set_start_s(start_s);
  asked.set_end_s(end_s);
  InvestigationFrame frame{asked, "all nodes", DigOn({"telltale"}, asked, "", kZone)};
  AddIncidents(newest, frame);
  return frame;
}

TEST(InvestigationPageTest, SaysWhereTheIncidentsItLookedAtDoNotReachTheTimeAsked) {
  const v1::ListIncidentsAnswer newest = Newest(1000, 3000);
  const std::string page =
      RenderInvestigation({}, FrameOf(kAt - 90'000, kAt - 80'000, newest), Plain());
  EXPECT_THAT(page,
              HasSubstr("incidents that began before 2026-11-18 00:21:00 were not looked at"));
  const InvestigationFrame reached = FrameOf(kAt - 600, kAt - 570, newest);
  EXPECT_EQ(reached.incidents.size(), 1u);
  EXPECT_THAT(RenderInvestigation({}, reached, Plain()), Not(HasSubstr("were not looked at")));
  EXPECT_THAT(RenderInvestigation({}, FrameOf(kAt - 90'000, kAt, Newest(1000, 1000)), Plain()),
              Not(HasSubstr("were not looked at")))
      << "there are no older ones";
}

TEST(InvestigationPageTest, IncidentsThatFindNoRoomAreCounted) {
  const InvestigationFrame frame = FrameOf(kAt - 600, kAt + 1, Newest(11, 11));
  EXPECT_EQ(frame.incidents.size(), 5u);
  EXPECT_THAT(RenderInvestigation({}, frame, Plain()), HasSubstr("and 6 older incidents"));
}

// A script sees what the page shows.
TEST(InvestigationJsonTest, HasTheIncidentsOfTheTimeBesideTheAnswer) {
  v1::InvestigateAnswer answer;
  answer.set_lines(40);
  answer.add_anomalies()->set_rule(1);
  v1::Selection asked;
  asked.set_start_s(kAt - 600);
  asked.set_end_s(kAt + 1);
  InvestigationFrame frame{asked, "", DigOn({"telltale"}, asked, "", kZone)};
  AddIncidents(Newest(11, 11), frame, kMostIncidents);
  const auto text = InvestigationJson(answer, frame);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto page = nlohmann::json::parse(*text);
  EXPECT_EQ(page["lines"], 40);
  EXPECT_EQ(page["anomalies"][0]["rule"], 1);
  ASSERT_EQ(page["incidents"].size(), 11u) << "all of them, not as many as fit a screen";
  EXPECT_EQ(page["incidents"][0]["number"], "11");
  EXPECT_EQ(page["incidents"][0]["state"], "resolved");
  EXPECT_EQ(page["incidentsFromS"], 0);
  EXPECT_FALSE(page.contains("incidentsProblem"));
}

TEST(InvestigationJsonTest, IncidentsThatCouldNotBeAskedForAreNotTakenForNone) {
  InvestigationFrame frame{{}, "", DigOn({"telltale"}, {}, "", kZone)};
  frame.incidents_problem = "no answer within 10 s";
  EXPECT_THAT(*InvestigationJson({}, frame),
              HasSubstr("\"incidentsProblem\": \"no answer within 10 s\""));
  EXPECT_THAT(RenderInvestigation({}, frame, Plain()),
              HasSubstr("incidents of this time are not known: no answer within 10 s"));
}

TEST(InvestigationPageTest, WhatItProposesIsOfTheSameNodes) {
  v1::Selection asked;
  asked.set_start_s(kAt);
  asked.set_end_s(kAt + 60);
  asked.add_nodes("db-1");
  asked.add_label_matches("role=data base");
  const DigOn commands({"telltale"}, asked, "", kZone);
  for (const std::string& command : {commands.Top(), commands.Series()}) {
    EXPECT_THAT(command, HasSubstr(" --node db-1 --label 'role=data base' --from "));
  }
}

TEST(InvestigationPageTest, WithoutAPastItSaysSoAndWhatToAsk) {
  v1::InvestigateAnswer answer;
  answer.set_nodes(1);
  answer.set_lines(40);
  answer.set_unjudged(40);
  v1::Selection asked;
  asked.set_start_s(kAt);
  asked.set_end_s(kAt + 60);
  const std::string page = RenderInvestigation(
      answer, {asked, "all nodes", DigOn({"telltale"}, asked, "", kZone)}, Plain());
  EXPECT_THAT(page, HasSubstr("too little past"));
  EXPECT_THAT(page, HasSubstr("telltale top --from 2026-11-18T17:00:00+00:00"));
}

}  // namespace
}  // namespace telltale::cli
