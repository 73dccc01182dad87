// Answers as files for other programs: each reader gets what was in the answer, and no name from
// another machine becomes more than a name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "collector/formats/csv.h"
#include "collector/formats/csv_answers.h"
#include "collector/formats/export.h"
#include "collector/formats/flame_svg.h"
#include "collector/formats/folded.h"
#include "collector/formats/next_command.h"
#include "collector/formats/pprof.h"
#include "collector/formats/profile.pb.h"
#include "telltale/v1/query.pb.h"

namespace telltale::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A reader of RFC 4180.
std::vector<std::vector<std::string>> Read(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < csv.size(); ++i) {
    std::string& cell = rows.back().back();
    if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
      cell += csv[++i];
    } else if (csv[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && csv[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && csv[i] == '\r') {
      EXPECT_EQ(csv[++i], '\n');
      rows.emplace_back(1);
    } else {
      cell += csv[i];
    }
  }
  EXPECT_EQ(rows.back(), std::vector<std::string>(1)) << "the last row does not end";
  rows.pop_back();
  return rows;
}

// The cells of a row by the titles of the first.
std::map<std::string, std::string> Row(const std::string& csv, size_t row) {
  const auto rows = Read(csv);
  std::map<std::string, std::string> cells;
  EXPECT_LT(row, rows.size()) << csv;
  if (row >= rows.size()) return cells;
  EXPECT_EQ(rows[row].size(), rows[0].size());
  for (size_t i = 0; i < rows[0].size(); ++i) cells[rows[0][i]] = rows[row][i];
  return cells;
}

TEST(CsvTest, CellsSurviveTheirSeparators) {
  Csv csv({"a", "b"});
  csv.Text("x,y").Text("say \"hi\", twice").EndRow();
  csv.Text(" padded ").EndRow();
  EXPECT_THAT(Read(csv.bytes()),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("x,y", "say \"hi\", twice"),
                          ElementsAre(" padded ", "")));
}

TEST(CsvTest, NoNameIsAFormulaOrALine) {
  Csv csv({"name"});
  for (const char* name : {"=cmd|' /C calc'!A0", "+1", "-bash", "@SUM(A1)", "\t=1", "a\r\n=1"}) {
    csv.Text(name).EndRow();
  }
  const auto rows = Read(csv.bytes());
  ASSERT_EQ(rows.size(), 7u) << csv.bytes();
  EXPECT_EQ(rows[1][0], "'=cmd|' /C calc'!A0");
  EXPECT_EQ(rows[3][0], "'-bash");
  EXPECT_EQ(rows[6][0], "a\\x0d\\x0a=1");
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(std::string("=+-@\t\r").find(rows[i][0][0]), std::string::npos) << rows[i][0];
  }
}

TEST(CsvTest, NumbersAreTheSameAgainAndTimesAreUtc) {
  Csv csv({"n"});
  csv.Number(0.1).EndRow();
  csv.Number(1e6).EndRow();
  csv.Number(1.0 / 3).EndRow();
  csv.Number(-2).EndRow();
  csv.Time(1763632800.25).EndRow();
  const auto rows = Read(csv.bytes());
  EXPECT_EQ(rows[1][0], "0.1");
  EXPECT_EQ(rows[2][0], "1e+06");
  EXPECT_EQ(std::stod(rows[3][0]), 1.0 / 3);
  EXPECT_EQ(rows[4][0], "-2");
  EXPECT_EQ(rows[5][0], "2025-11-20T10:00:00.250Z");
}

TEST(CsvTest, ATableHasItsRowsItsRestAndWhatItRestsOn) {
  v1::TopAnswer answer;
  answer.mutable_coverage()->set_watched_s(58);
  answer.mutable_coverage()->set_selected_s(60);
  answer.mutable_coverage()->add_lost_events()->set_events(12);
  v1::TopTable* table = answer.add_tables();
  table->set_vital("cpu");
  table->set_unit("s");
  table->set_by(v1::DIMENSION_SITE);
  table->set_total(10);
  table->set_other(4);
  v1::TopRow* row = table->add_rows();
  row->set_name("=evil");
  row->set_exe("/bin/a");
  row->set_value(6);
  row->set_low(5);
  row->set_high(7);
  row->add_stack()->set_name("leaf");
  row->add_stack()->set_name("root;x");
  const std::string csv = CsvOf(answer);
  auto cells = Row(csv, 1);
  EXPECT_EQ(cells["by"], "site");
  EXPECT_EQ(cells["name"], "'=evil");
  EXPECT_EQ(cells["value"], "6");
  EXPECT_EQ(cells["low"], "5");
  EXPECT_EQ(cells["high"], "7");
  EXPECT_EQ(cells["stack"], "root:x;leaf");
  EXPECT_EQ(cells["watched_s"], "58");
  EXPECT_EQ(cells["selected_s"], "60");
  EXPECT_EQ(cells["lost_events"], "12");
  cells = Row(csv, 2);
  EXPECT_EQ(cells["name"], "(other)");
  EXPECT_EQ(cells["value"], "4");
  EXPECT_EQ(cells["share"], "0.4");

  table->set_rows_before(2);
  table->set_before(3);
  table->set_other(1);
  cells = Row(CsvOf(answer), 1);
  EXPECT_EQ(cells["name"], "(pages before)");
  EXPECT_EQ(cells["value"], "3") << "so that each page adds up to the total";
}

TEST(CsvTest, EachAnswerPutsItsFiguresBelowTheirTitles) {
  v1::SeriesAnswer series;
  v1::Series* line = series.add_series();
  line->set_vital("cpu");
  for (const double value : {1.5, 2.5}) {
    line->add_start_s(1000 * value);
    line->add_length_s(60);
    line->add_rate(value);
    line->add_min(0);
    line->add_max(4);
    line->add_watched(1);
  }
  auto cells = Row(CsvOf(series), 2);
  EXPECT_EQ(cells["start"], "1970-01-01T00:41:40.000Z");
  EXPECT_EQ(cells["rate_per_s"], "2.5");
  EXPECT_EQ(cells["events_per_s"], "");
  EXPECT_EQ(cells["highest_second"], "4");
  EXPECT_EQ(cells["watched"], "1");

  v1::SamplesAnswer samples;
  v1::SampleAnswer* sample = samples.add_samples();
  sample->set_unit("s");
  sample->set_weight(0.25);
  sample->set_comm("-bash");
  sample->add_user_stack()->set_name("f");
  cells = Row(CsvOf(samples), 1);
  EXPECT_EQ(cells["weight"], "0.25");
  EXPECT_EQ(cells["comm"], "'-bash");
  EXPECT_EQ(cells["user_stack"], "f");

  v1::HistogramAnswer histogram;
  v1::HistogramValues* values = histogram.add_histograms();
  values->set_name("disk/read");
  values->add_low(1);
  values->add_high(2);
  values->add_count(7);
  values->set_share(0.5);
  cells = Row(CsvOf(histogram), 1);
  EXPECT_EQ(cells["name"], "disk/read");
  EXPECT_EQ(cells["count"], "7");
  EXPECT_EQ(cells["share_of_time"], "0.5");

  v1::HostLevelsAnswer hosts;
  v1::HostLevels* host = hosts.add_hosts();
  host->set_node("a");
  host->set_memory_bytes(1000);
  v1::HostLevel* level = host->add_levels();
  level->set_name("memory available");
  level->set_low(100);
  level->set_low_s(1000);
  level->set_last(400);
  cells = Row(CsvOf(hosts), 1);
  EXPECT_EQ(cells["node"], "a");
  EXPECT_EQ(cells["name"], "memory available");
  EXPECT_EQ(cells["low"], "100");
  EXPECT_EQ(cells["low_time"], "1970-01-01T00:16:40.000Z");
  EXPECT_EQ(cells["last"], "400");
  EXPECT_EQ(cells["memory_bytes"], "1000");

  v1::DiffAnswer diff;
  diff.set_scale(2);
  v1::DiffRow* change = diff.add_tables()->add_rows();
  change->mutable_row()->set_name("f");
  change->mutable_row()->set_value(5);
  change->mutable_against()->set_value(3);
  change->set_difference(2);
  change->set_certain(true);
  cells = Row(CsvOf(diff), 1);
  EXPECT_EQ(cells["value"], "5");
  EXPECT_EQ(cells["against"], "3");
  EXPECT_EQ(cells["difference"], "2");
  EXPECT_EQ(cells["certain"], "1");
  EXPECT_EQ(cells["scale"], "2");
  diff.mutable_coverage()->set_watched_s(58);
  diff.mutable_coverage()->set_selected_s(60);
  diff.mutable_coverage()->add_lost_events()->set_events(12);
  diff.mutable_against_coverage()->set_watched_s(40);
  diff.mutable_against_coverage()->set_selected_s(120);
  diff.mutable_against_coverage()->add_lost_events()->set_events(3);
  cells = Row(CsvOf(diff), 1);
  EXPECT_EQ(cells["watched_s"], "58");
  EXPECT_EQ(cells["selected_s"], "60");
  EXPECT_EQ(cells["lost_events"], "12");
  EXPECT_EQ(cells["against_watched_s"], "40");
  EXPECT_EQ(cells["against_selected_s"], "120");
  EXPECT_EQ(cells["against_lost_events"], "3");

  v1::EventsAnswer events;
  events.add_events()->set_text("a, b");
  EXPECT_EQ(Row(CsvOf(events), 1)["event"], "a, b");
  v1::AnomaliesAnswer anomalies;
  anomalies.add_anomalies()->set_severity(-3.5);
  EXPECT_EQ(Row(CsvOf(anomalies), 1)["severity"], "-3.5");
}

v1::StacksAnswer TwoStacks() {
  v1::StacksAnswer answer;
  answer.set_vital("cpu");
  answer.set_sub("user");
  answer.set_unit("s");
  answer.set_total(1e-6);
  answer.mutable_coverage()->set_values_start_s(1000);
  answer.mutable_coverage()->set_values_end_s(1060);
  answer.mutable_coverage()->add_notes("2 s unwatched");
  v1::StackWeight* stack = answer.add_stacks();
  stack->set_exe("/bin/a");
  stack->set_value(2e-9);
  stack->set_low(1e-9);
  stack->set_high(5e-9);
  stack->set_samples(3);
  for (const char* name : {"le;af\n", "root"}) {
    v1::Frame* frame = stack->add_frames();
    frame->set_name(name);
    frame->set_binary("/bin/a");
    frame->set_offset(name[0]);
  }
  stack->mutable_frames(0)->set_kernel(true);
  *answer.add_stacks() = *stack;
  answer.mutable_stacks(1)->mutable_frames()->RemoveLast();
  return answer;
}

TEST(CsvTest, TheAuditHasTimesThatPeopleRead) {
  v1::ListAuditAnswer answer;
  v1::AuditEntry* entry = answer.add_entries();
  entry->set_time_s(1'763'632'800.25);
  entry->set_who("operator/olga");
  entry->set_action("token create");
  entry->set_detail("=1a2b, until tomorrow");
  entry->set_refused(true);
  auto cells = Row(Export(answer, "csv")->bytes, 1);
  EXPECT_EQ(cells["time"], "2025-11-20T10:00:00.250Z");
  EXPECT_EQ(cells["who"], "operator/olga");
  EXPECT_EQ(cells["detail"], "'=1a2b, until tomorrow");
  EXPECT_EQ(cells["refused"], "1");
}

TEST(FoldedTest, StacksRunFromRootToLeafWhateverNamesHold) {
  EXPECT_EQ(FoldedOf(TwoStacks()),
            "/bin/a;root;le:af\\x0a_[k] 2\n"
            "/bin/a;le:af\\x0a_[k] 2\n");
}

TEST(FoldedTest, ATreeIsWhatEndsInItsNodesWithBothWeights) {
  v1::FlameAnswer flame;
  flame.set_unit("calls");
  flame.add_nodes()->set_value(8);
  for (const auto& [parent, name, self, against] :
       {std::tuple<uint32_t, const char*, double, double>{0, "/x", 0, 0},
        {1, "main", 5, 7},
        {2, "leaf", 3, 0},
        {1, "gone", 0, 2}}) {
    v1::FlameNode* node = flame.add_nodes();
    node->set_parent(parent);
    node->set_name(name);
    node->set_self(self);
    node->set_against_self(against);
  }
  EXPECT_EQ(FoldedOf(flame), "/x;main 5\n/x;main;leaf 3\n/x;gone 0\n");
  flame.set_scale(1);
  EXPECT_EQ(FoldedOf(flame), "/x;main 7 5\n/x;main;leaf 0 3\n/x;gone 2 0\n");
}

v1::FlameNode* AddFrame(uint32_t parent, const std::string& name, double value,
                        v1::FlameAnswer* flame) {
  v1::FlameNode* node = flame->add_nodes();
  node->set_parent(parent);
  node->set_name(name);
  node->set_value(value);
  node->set_low(value);
  node->set_high(value);
  return node;
}

TEST(FlameSvgTest, WidthsAreWeightsAndNamesAreOnlyText) {
  v1::FlameAnswer flame;
  flame.set_vital("cpu");
  flame.set_unit("s");
  flame.set_total(10);
  AddFrame(0, "", 8, &flame);
  AddFrame(0, "/bin/app", 8, &flame);
  AddFrame(1, "</title><script>alert(1)</script>", 2, &flame)->set_binary("a&\"b");
  v1::FlameNode* heavy = AddFrame(1, "std::sort\x1b[2J", 6, &flame);
  heavy->set_low(5);
  heavy->set_high(7);
  heavy->set_samples(12);
  AddFrame(3, "too narrow", 0.001, &flame);
  flame.mutable_coverage()->add_lost_events()->set_events(3);
  const std::string svg = FlameSvgOf(flame);
  EXPECT_THAT(svg, StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(svg, HasSubstr("(a&amp;&quot;b)"));
  EXPECT_THAT(svg, HasSubstr("80.0 % of it in these stacks"));
  EXPECT_THAT(svg, HasSubstr("3 events lost, 1 frame too narrow to draw"));
  EXPECT_THAT(svg, HasSubstr("6.00 s (between 5.00 s and 7.00 s), 60.0 % of 10.0 s; 12 samples"));
  // 1,180 for all; the heaviest child is the first, whatever order they came in.
  EXPECT_THAT(svg, HasSubstr("x=\"10.00\" y=\"46\" width=\"1179.50\""));
  EXPECT_THAT(svg, HasSubstr("x=\"10.00\" y=\"82\" width=\"884.50\""));
  EXPECT_THAT(svg, HasSubstr("x=\"895.00\" y=\"82\" width=\"294.50\""));
  EXPECT_THAT(svg, Not(HasSubstr(">too narrow")));
}

TEST(FlameSvgTest, ADifferenceIsColouredOnlyWhereItIsCertain) {
  v1::FlameAnswer flame;
  flame.set_unit("calls");
  flame.set_scale(1);
  AddFrame(0, "", 5, &flame)->set_against(5);
  AddFrame(0, "/x", 5, &flame)->set_against(5);
  v1::FlameNode* more = AddFrame(1, "more", 4, &flame);
  more->set_against(0);
  more->set_certain(true);
  AddFrame(1, "chance", 1, &flame)->set_against(3);
  v1::FlameNode* gone = AddFrame(1, "gone", 0, &flame);
  gone->set_against(2);
  gone->set_certain(true);
  const std::string svg = FlameSvgOf(flame);
  EXPECT_THAT(svg, HasSubstr("class=\"m2\" x=\"10.00\" y=\"82\""));
  EXPECT_THAT(svg, HasSubstr("class=\"l2\""));
  EXPECT_THAT(svg, HasSubstr("; against 3 calls; the difference may be chance"));
}

std::string Unzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);  // gzip and nothing else
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(PprofTest, TheProfileHoldsWeightsBoundsStacksAndWhatItRestsOn) {
  const auto bytes = PprofOf(TwoStacks());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  pprof::Profile profile;
  ASSERT_TRUE(profile.ParseFromString(Unzipped(*bytes)));
  const auto text = [&](int64_t index) { return profile.string_table(static_cast<int>(index)); };
  EXPECT_EQ(text(0), "");
  std::vector<std::string> types;
  for (const auto& type : profile.sample_type()) {
    types.push_back(text(type.type()) + " " + text(type.unit()));
  }
  EXPECT_THAT(types, ElementsAre("samples count", "cpu/user nanoseconds",
                                 "cpu/user_low nanoseconds", "cpu/user_high nanoseconds"));
  EXPECT_EQ(text(profile.default_sample_type()), "cpu/user");
  EXPECT_EQ(profile.time_nanos(), 1'000'000'000'000);
  EXPECT_EQ(profile.duration_nanos(), 60'000'000'000);
  ASSERT_EQ(profile.sample_size(), 2);
  EXPECT_THAT(profile.sample(0).value(), ElementsAre(3, 2, 1, 5));
  EXPECT_EQ(text(profile.sample(0).label(0).key()), "exe");
  EXPECT_EQ(text(profile.sample(0).label(0).str()), "/bin/a");
  std::map<uint64_t, std::string> functions, names, mappings;
  for (const auto& mapping : profile.mapping()) mappings[mapping.id()] = text(mapping.filename());
  for (const auto& function : profile.function()) functions[function.id()] = text(function.name());
  for (const auto& location : profile.location()) {
    names[location.id()] =
        mappings.at(location.mapping_id()) + " " + functions.at(location.line(0).function_id());
  }
  std::vector<std::string> leaf_first;
  for (const uint64_t id : profile.sample(0).location_id()) leaf_first.push_back(names.at(id));
  EXPECT_THAT(leaf_first, ElementsAre("[kernel] le;af\\x0a", "/bin/a root"));
  EXPECT_EQ(profile.location_size(), 2);  // the second stack has a frame of the first
  std::vector<std::string> comments;
  for (const int64_t comment : profile.comment()) comments.push_back(text(comment));
  EXPECT_THAT(comments, ::testing::Contains("2 s unwatched"));
  EXPECT_THAT(comments, ::testing::Contains(HasSubstr("1000 nanoseconds in all")));
}

// A quarter of an hour later the process is gone: what was proposed must still find it.
TEST(NextCommandTest, NamesNodeAndTimeOfWhatItIsAbout) {
  EXPECT_EQ(CompletedCommand("telltale stacks --vital user_page --process 19970", "db-1",
                             1'763'485'200.4, 1'763'485'300.2),
            "telltale stacks --vital user_page --process 19970 --node db-1 "
            "--from 2025-11-18T17:00:00Z --to 2025-11-18T17:01:41Z");
  EXPECT_EQ(CompletedCommand("telltale events", "db-1", 1'763'485'200, 1'763'485'200),
            "telltale events --node db-1 --from 2025-11-18T16:59:00Z --to 2025-11-18T17:01:00Z");
  EXPECT_EQ(CompletedCommand("telltale top --node a --from -1h", "db-1", 1'763'485'200, 0),
            "telltale top --node a --from -1h");
  EXPECT_EQ(CompletedCommand("telltale top", "a'; rm -rf $HOME", 1'763'485'200, 1'763'999'999),
            "telltale top --node 'a'\\''; rm -rf $HOME' --from 2025-11-18T17:00:00Z "
            "--to 2025-11-18T18:00:00Z");
  EXPECT_EQ(CompletedCommand("telltale nodes --node x", "x", 1, 2), "telltale nodes --node x");
  EXPECT_EQ(CompletedCommand("", "x", 1, 2), "");
}

TEST(ExportTest, AnAnswerNamesTheFormatsItComesIn) {
  EXPECT_TRUE(Export(v1::StacksAnswer(), "pprof").ok());
  EXPECT_EQ(Export(v1::StacksAnswer(), "pprof")->extension, ".pb.gz");
  const absl::Status refused = Export(v1::TopAnswer(), "pp\x1brof").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(refused.message()),
            "format \"pp\\x1brof\": this answer comes as json, csv");
  EXPECT_FALSE(Check(v1::NodesAnswer(), "csv").ok());
}

}  // namespace
}  // namespace telltale::formats
