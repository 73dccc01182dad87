// Whatever an answer's texts hold, what is printed of it holds no byte a terminal obeys, nothing
// that reorders or hides its neighbours, and no line that was not ours to begin.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "collector/cli/heat_map.h"
#include "collector/cli/live_screen.h"
#include "collector/cli/render_investigation.h"
#include "proto/text.h"

namespace telltale::cli {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::testing::HasSubstr;

// Clears the screen, names the window, moves the cursor (as bytes and as a C1 character), turns the
// text around, hides a part of it, begins a line, and is markup.
constexpr char kHostile[] =
    "\x1b[2J\x1b]0;owned\x07\xc2\x9b"
    "31m\xe2\x80\xae"
    "exe.gpj\xe2\x81\xa6\xe2\x80\x8b<img src=x>\r\nFORGED\t\x7f";

// Every text of it is hostile, every number 1, every list two long.
void Fill(Message& message, int depth = 0) {
  constexpr int kDeepest = 8;
  const Reflection* reflection = message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const auto put = [&](auto set, auto add, const auto& value) {
      if (!field->is_repeated()) return (reflection->*set)(&message, field, value);
      for (int n = 0; n < 2; ++n) (reflection->*add)(&message, field, value);
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        put(&Reflection::SetString, &Reflection::AddString, std::string(kHostile));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        put(&Reflection::SetDouble, &Reflection::AddDouble, 1.0);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        put(&Reflection::SetUInt32, &Reflection::AddUInt32, 1u);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        put(&Reflection::SetUInt64, &Reflection::AddUInt64, uint64_t{1});
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        put(&Reflection::SetInt64, &Reflection::AddInt64, int64_t{1});
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        put(&Reflection::SetBool, &Reflection::AddBool, true);
        break;
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* type = field->enum_type();
        put(&Reflection::SetEnum, &Reflection::AddEnum,
            type->value(std::min(1, type->value_count() - 1)));
        break;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth == kDeepest) break;
        for (int n = 0; n < (field->is_repeated() ? 2 : 1); ++n) {
          Fill(field->is_repeated() ? *reflection->AddMessage(&message, field)
                                    : *reflection->MutableMessage(&message, field),
               depth + 1);
        }
        break;
      default:
        ADD_FAILURE() << field->full_name() << " has a type this test does not fill";
    }
  }
}

template <typename Answer>
Answer Hostile() {
  Answer answer;
  Fill(answer);
  return answer;
}

class HostileTest : public ::testing::TestWithParam<size_t> {
 protected:
  // `shows`: the text is in it, where it can be seen for what it is.
  static void Check(const std::string& printed, bool shows = true) {
    for (const auto line : absl::StrSplit(printed, '\n')) {
      EXPECT_TRUE(proto::Printable({line.data(), line.size()}))
          << Escaped({line.data(), line.size()});
      EXPECT_FALSE(absl::StartsWith(line, "FORGED")) << Escaped({line.data(), line.size()});
    }
    if (shows && GetParam() == 0) {
      EXPECT_THAT(printed, HasSubstr("\\x1b[2J"));
    }
  }
  // On a pipe, and on a terminal without colours.
  static View Plain() {
    const absl::TimeZone zone = absl::UTCTimeZone();
    return {{false, GetParam() > 0, GetParam()},
            zone,
            absl::FromCivil(absl::CivilSecond(2026, 11, 18, 18, 0, 0), zone)};
  }
};
INSTANTIATE_TEST_SUITE_P(Widths, HostileTest, ::testing::Values(0, 80));

TEST_P(HostileTest, Top) {
  auto answer = Hostile<v1::TopAnswer>();
  answer.mutable_tables(1)->set_by(v1::DIMENSION_SITE);
  answer.mutable_tables(1)->set_exact(false);
  Check(RenderTop(answer, Plain()));
}

TEST_P(HostileTest, Investigate) {
  v1::Selection asked;
  asked.set_start_s(0);
  asked.set_end_s(900);
  asked.add_nodes(kHostile);
  const DigOn commands({"telltale", "investigate", "--node", kHostile}, asked, "https://h:2",
                       absl::UTCTimeZone());
  Check(RenderInvestigation(Hostile<v1::InvestigateAnswer>(), {asked, Escaped(kHostile), commands},
                            Plain()));
}

TEST_P(HostileTest, Samples) { Check(RenderSamples(Hostile<v1::SamplesAnswer>(), Plain())); }

TEST_P(HostileTest, Incidents) {
  auto answer = Hostile<v1::ListIncidentsAnswer>();
  Check(RenderIncidents(answer, Plain()));
  v1::Incident& incident = *answer.mutable_incidents(0);
  incident.mutable_symptoms(0)->clear_explained_by();
  Check(RenderIncident(incident, Plain()));
  Check(RenderIncidentNews(incident, Plain()));
  Check(RenderSilences(Hostile<v1::ListSilencesAnswer>(), Plain()));
  Check(RenderSilence(Hostile<v1::Silence>(), Plain()));
}

TEST_P(HostileTest, Live) {
  LiveState state;
  state.who = state.error = state.untold = kHostile;
  state.vitals = {kHostile, "cpu"};
  state.answer = Hostile<v1::TopAnswer>();
  Check(LiveScreen(state, 200, 40, Plain()));
}

TEST_P(HostileTest, WhatIsListed) {
  const auto nodes = Hostile<v1::NodesAnswer>();
  Check(RenderNodes(nodes, Plain()));
  Check(RenderAgents(nodes, true, Plain()));
  Check(RenderVitals(Hostile<v1::VitalsAnswer>(), nodes, Plain()));
  Check(RenderEvents(Hostile<v1::EventsAnswer>(), Plain()));
  Check(RenderGaps(Hostile<v1::CoverageAnswer>(), Plain()));
  Check(RenderAnomalies(Hostile<v1::AnomaliesAnswer>(), Plain()));
  Check(RenderFilters(Hostile<v1::ListFiltersAnswer>(), Plain()));
  Check(RenderFilterRun(Hostile<v1::RunFilterAnswer>(), Plain()));
  Check(RenderStatus(Hostile<v1::StatusAnswer>(), Plain()));
}

TEST_P(HostileTest, WhatIsDrawnOrCompared) {
  auto series = Hostile<v1::SeriesAnswer>();
  Check(RenderSeries(series, Plain()));
  v1::Selection asked;
  asked.set_end_s(10);
  Check(RenderHeat(series, asked, 10, Plain()), false);
  series.mutable_series()->RemoveLast();
  Check(RenderSeries(series, Plain()));
  Check(RenderStacks(Hostile<v1::StacksAnswer>(), Plain()));
  auto flame = Hostile<v1::FlameAnswer>();
  for (v1::FlameNode& node : *flame.mutable_nodes()) node.set_parent(0);
  Check(RenderFlame(flame, 20, Plain()), false);
  Check(RenderDiff(Hostile<v1::DiffAnswer>(), Plain()));
  Check(RenderHost(Hostile<v1::HostLevelsAnswer>(), Plain()));
  Check(RenderHistogram(Hostile<v1::HistogramAnswer>(), Plain()));
}

}  // namespace
}  // namespace telltale::cli
