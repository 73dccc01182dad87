// Answers as text for people: tables that line up, numbers with units, stacks indented, and with
// every answer the line that says what it rests on. Names in answers came from other machines and
// are escaped here.
//
// Pure functions; any thread.

#ifndef TELLTALE_COLLECTOR_CLI_RENDER_H_
#define TELLTALE_COLLECTOR_CLI_RENDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "collector/cli/terminal_text.h"
#include "telltale/v1/incident.pb.h"
#include "telltale/v1/operate.pb.h"
#include "telltale/v1/query.pb.h"
#include "telltale/v1/watch.pb.h"

namespace telltale::cli {

struct View {
  Style style;
  absl::TimeZone zone;
  absl::Time now;
};

// Which zone the times of an answer are in, a line: "times are UTC+1".
std::string ZoneLine(const View& view);

// "covers 58 of 60 s on 1 node; 2 s unwatched: agent restart; lost: 12 samples refused by tokens":
// one paragraph, wrapped at the terminal's width.
std::string RenderCoverage(const v1::Coverage& coverage, const View& view);

// The first line of an answer to a question about less time than one epoch or window it was read
// from: which time its values are of. Empty for others.
std::string Headline(const v1::Coverage& coverage, const View& view);

// Why an answer is empty, one line: what was asked, and where data is. Empty if the coverage does
// not say nothing was found.
std::string NothingFound(const v1::Coverage& coverage, const v1::Selection& asked,
                         const View& view);

std::string RenderNodes(const v1::NodesAnswer& answer, const View& view);
// Below the nodes: for each clone conflict where to look, or, if nodes were asked for by name, the
// agents that spoke as them, what an operator decided, and the commands that would decide.
std::string RenderAgents(const v1::NodesAnswer& answer, bool named, const View& view);
// What a decision did.
std::string RenderKept(const std::string& node, const v1::KeepAnswer& answer, const View& view);
// State of each vital on each node: hook and reason. `nodes`: already narrowed to those asked for.
std::string RenderVitals(const v1::VitalsAnswer& vitals, const v1::NodesAnswer& nodes,
                         const View& view);
std::string RenderSeries(const v1::SeriesAnswer& answer, const View& view);
std::string RenderTop(const v1::TopAnswer& answer, const View& view);
std::string RenderSamples(const v1::SamplesAnswer& answer, const View& view);
std::string RenderStacks(const v1::StacksAnswer& answer, const View& view);
// The tree in `lines` lines at most, heaviest first; frames with a single child share a line.
std::string RenderFlame(const v1::FlameAnswer& answer, size_t lines, const View& view);
// What changed beyond its bounds, then what may not have changed.
std::string RenderDiff(const v1::DiffAnswer& answer, const View& view);
std::string RenderHistogram(const v1::HistogramAnswer& answer, const View& view);
// One table a host; below it the free blocks when the least memory was available.
std::string RenderHost(const v1::HostLevelsAnswer& answer, const View& view);
std::string RenderEvents(const v1::EventsAnswer& answer, const View& view);
// When the agent watched less and when more again, a line a step. Empty: it did not.
std::string RenderSteps(const v1::Coverage& coverage, const View& view);
std::string RenderGaps(const v1::CoverageAnswer& answer, const View& view);
// A line per node: which filters cannot speak there yet, those that are as far together. Empty: all
// can.
std::string RenderLearning(const v1::AnomaliesAnswer& answer);
std::string RenderAnomalies(const v1::AnomaliesAnswer& answer, const View& view);
// Its sentence, and what speaks for and against it below.
std::string RenderAnomaly(const v1::Anomaly& anomaly, const View& view);
// The rules by number, with how often each was right; all filters.
std::string RenderRules(const v1::ListFiltersAnswer& answer, const View& view);
// Those of filters.d last, with what each costs and why one is disabled.
std::string RenderFilters(const v1::ListFiltersAnswer& answer, const View& view);
std::string RenderFilterSeries(const v1::FilterSeriesAnswer& answer, const View& view);
std::string RenderFilterRun(const v1::RunFilterAnswer& answer, const View& view);
// Most that a collector lists at once.
inline constexpr uint32_t kMostIncidents = 1'000;
// A line each and how many more are open, or that there is none and what cannot be found yet
// (`learning`); one of them with its timeline and notes.
std::string RenderIncidents(const v1::ListIncidentsAnswer& answer, const View& view,
                            const v1::AnomaliesAnswer& learning = {});
std::string RenderIncident(const v1::Incident& incident, const View& view);
// One that changed, in a line.
std::string RenderIncidentNews(const v1::Incident& incident, const View& view);
std::string RenderSilences(const v1::ListSilencesAnswer& answer, const View& view);
// "1a2b3c4d  node web-*, rule 5  until 18:00: why (operator/alice)"
std::string RenderSilence(const v1::Silence& silence, const View& view);
std::string RenderStatus(const v1::StatusAnswer& answer, const View& view);

// ", without 1.2 s (3.1 %) of Telltale's own"; empty if nothing was hidden.
std::string HiddenText(double hidden, double total, const std::string& unit);

std::string DimensionText(v1::Dimension by);  // "executable"
// One frame as a line: "function (binary)", escaped.
std::string FrameLine(const v1::Frame& frame);
// Of a stack in a table.
inline constexpr size_t kStackFrames = 12;
// Frames below each other with this indent; long ones keep both ends.
std::string StackLines(const std::vector<v1::Frame>& frames, const std::string& indent, size_t most,
                       const View& view);

}  // namespace telltale::cli

#endif  // TELLTALE_COLLECTOR_CLI_RENDER_H_
