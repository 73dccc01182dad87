#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"

namespace telltale::cli {
namespace {

constexpr size_t kCoverageColumns = 120;

std::string TierText(v1::Tier tier) {
  switch (tier) {
    case v1::TIER_RAW:
      return "raw epochs";
    case v1::TIER_5MIN:
      return "5 min windows";
    case v1::TIER_1H:
      return "1 h windows";
    case v1::TIER_1D:
      return "1 d windows";
    default:
      return "unknown tier";
  }
}

// "24 windows of 1 h and 12 raw epochs": what was read.
std::string UsedText(const v1::Coverage& coverage) {
  const bool windows =
      std::any_of(coverage.used().begin(), coverage.used().end(),
                  [](const v1::TierUse& use) { return use.tier() > v1::TIER_RAW; });
  if (!windows) return TierText(coverage.tier());
  std::vector<std::string> parts;
  for (auto use = coverage.used().rbegin(); use != coverage.used().rend(); ++use) {
    parts.push_back(use->tier() == v1::TIER_RAW
                        ? Plural(use->rows(), "raw epoch")
                        : absl::StrCat(Plural(use->rows(), "window"), " of ",
                                       use->tier() == v1::TIER_5MIN ? "5 min"
                                       : use->tier() == v1::TIER_1H ? "1 h"
                                                                    : "1 d"));
  }
  return absl::StrJoin(parts, " and ");
}

// Whole epochs or windows may be longer than what was asked for: then, which time the values mean.
std::string ValuesText(const v1::Coverage& coverage, const View& view) {
  if (coverage.used().empty() || coverage.nodes_selected() == 0) return "";
  const double asked = coverage.selected_s() / coverage.nodes_selected();
  const double values = coverage.values_end_s() - coverage.values_start_s();
  if (values <= 1.1 * asked + 2) return "";
  return absl::StrCat("values are of ", ClockText(coverage.values_start_s(), view.now, view.zone),
                      " to ", ClockText(coverage.values_end_s(), view.now, view.zone));
}

// What was lost for a reason, behind its number.
std::string LossWords(const std::string& reason) {
  const std::map<std::string, std::string> texts = {
      {"tokens", "samples refused by tokens"},
      {"recursion", "events inside the sensor itself"},
      {"nested_add", "adds hit by an interrupt"},
      {"slot_evicted", "stacks of wakers that others overwrote"},
      {"ring_full", "samples that found the ring full"},
      {"stack_unreadable", "stacks that could not be read"},
      {"process_gone", "processes gone before they were named"},
      {"row_limit", "entries beyond a table's limit"},
      {"duty", "events not looked at, to stay within the agent's budget"},
      {"map_full", "entries a full kernel map refused"},
      {"too_old", "records of an epoch already cut"},
      {"byte_limit", "entries cut to fit the size limit"},
      {"stack_copy", "user stacks that found no room to be copied"},
      {"cut_failed", "events of an earlier epoch whose cut failed"},
      {"not_journalled", "seconds since the crash journal's last append"}};
  const auto text = texts.find(reason);
  return text == texts.end() ? absl::StrCat("by ", Escaped(reason)) : text->second;
}

// "12 samples refused by tokens", "1 sample ...".
std::string LossText(const std::string& reason, double events) {
  std::string words = LossWords(reason);
  const std::string count = Count(events);
  if (count == "1") {
    for (const auto& [many, one] : {std::pair("entries ", "entry "),
                                    {"processes ", "process "},
                                    {"stacks ", "stack "},
                                    {"samples ", "sample "},
                                    {"events ", "event "},
                                    {"records ", "record "},
                                    {"adds ", "add "},
                                    {"seconds ", "second "}}) {
      if (const size_t at = words.find(many); at != std::string::npos) {
        words.replace(at, std::string(many).size(), one);
        break;
      }
    }
  }
  return absl::StrCat(count, " ", words);
}

// What is the matter with frames of an outcome; empty: they have names.
std::string NamelessText(const std::string& outcome) {
  const std::map<std::string, std::string> texts = {
      {"named", ""},
      {"generated", ""},
      {"no_symbol", "in stripped files"},
      {"damaged", "in files whose symbols are damaged"},
      {"limit", "in files with more symbols than the agent reads"},
      {"no_file", "in files gone or replaced since"},
      {"gone", "of processes gone before they were asked"},
      {"no_perf_map", "in generated code without a perf map"},
      {"not_in_perf_map", "in generated code that its perf map does not list"},
      {"perf_map_refused", "in generated code whose perf map is another user's"},
      {"no_answer", "in files on file systems that do not answer"}};
  const auto text = texts.find(outcome);
  return text == texts.end() ? absl::StrCat("by ", Escaped(outcome)) : text->second;
}

// "31 % of user frames have no name: 30 % in stripped files, 1 % ..."; empty: too few to matter.
std::string NamelessFrames(const v1::Coverage& coverage) {
  constexpr double kMatters = 0.1, kShown = 0.01;
  double all = 0, nameless = 0;
  std::vector<std::pair<double, std::string>> reasons;
  for (const v1::NameCount& count : coverage.user_frames()) {
    all += count.frames();
    const std::string text = NamelessText(count.outcome());
    if (text.empty()) continue;
    nameless += count.frames();
    reasons.emplace_back(-count.frames(), text);
  }
  if (nameless <= kMatters * all) return "";
  std::sort(reasons.begin(), reasons.end());
  std::vector<std::string> shown;
  for (const auto& [frames, text] : reasons) {
    if (-frames >= kShown * all) shown.push_back(absl::StrCat(Share(-frames / all), " ", text));
  }
  return absl::StrCat(Share(nameless / all),
                      " of user frames have no name: ", absl::StrJoin(shown, ", "));
}

// Parts joined by "; ", broken after a ";" where a line gets too long.
std::string Wrapped(const std::vector<std::string>& parts, size_t columns) {
  std::string out, line;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? ";" : "");
    if (!line.empty() && Width(line) + 1 + Width(part) > columns) {
      absl::StrAppend(&out, line, "\n");
      line = "  " + part;
    } else {
      absl::StrAppend(&line, line.empty() ? "" : " ", part);
    }
  }
  return absl::StrCat(out, line, "\n");
}

// What the sensor missed of heavy labels that it also counted one by one, and what of their samples
// the summaries had no bytes for; empty: none was counted so.
std::string ControlTable(const v1::Coverage& coverage, const View& view) {
  if (coverage.control().empty()) return "";
  Table table({{"checked label by label: heavy labels", Table::Align::kRight},
               {"without a sample", Table::Align::kRight},
               {"", Table::Align::kRight},
               {"cut for bytes", Table::Align::kRight},
               {"", Table::Align::kRight},
               {"vital"}});
  for (const v1::ControlGroup& group : coverage.control()) {
    const double heavy = std::max(1.0, group.heavy());
    table.Add({Count(group.heavy()), Count(group.heavy_missed()),
               Share(group.heavy_missed() / heavy), Count(group.heavy_unlisted()),
               Share(group.heavy_unlisted() / heavy), Escaped(group.vital())});
  }
  return absl::StrCat("\n", table.Render(view.style));
}

}  // namespace

std::string ZoneLine(const View& view) {
  return absl::StrCat(
      Painted(absl::StrCat("times are ", ZoneText(view.now, view.zone)), Ink::kDim, view.style),
      "\n");
}

std::string RenderCoverage(const v1::Coverage& coverage, const View& view) {
  std::vector<std::string> parts;
  const double nodes = coverage.nodes(), selected = coverage.nodes_selected();
  // Node-seconds; with one node they are seconds.
  std::string time = selected > 1 ? absl::StrCat(LengthText(coverage.watched_s()), " of ",
                                                 LengthText(coverage.selected_s()), " of node time")
                                  : absl::StrFormat("%s of %s", LengthText(coverage.watched_s()),
                                                    LengthText(coverage.selected_s()));
  parts.push_back(absl::StrCat("covers ", time, " on ",
                               nodes < selected
                                   ? absl::StrCat(Count(nodes), " of ", Plural(selected, "node"))
                                   : Plural(selected, "node")));
  parts.push_back(
      absl::StrCat(Plural(coverage.epochs_received(), "epoch"), " (", UsedText(coverage), ")",
                   coverage.epochs_partial() > 0
                       ? absl::StrCat(", ", Count(coverage.epochs_partial()), " partial")
                       : "",
                   coverage.epochs_lost() > 0
                       ? absl::StrCat(", ", Count(coverage.epochs_lost()), " declared lost")
                       : ""));
  if (const std::string sticks_out = ValuesText(coverage, view); !sticks_out.empty()) {
    parts.push_back(sticks_out);
  }
  for (const std::string& note : coverage.notes()) parts.push_back(Escaped(note));
  std::map<std::string, double> lost;
  for (const v1::ReasonCount& reason : coverage.lost_events())
    lost[reason.reason()] += reason.events();
  std::vector<std::pair<double, std::string>> ordered;
  for (const auto& [reason, events] : lost) {
    ordered.emplace_back(-events, LossText(reason, events));
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::string> losses;
  for (auto& [events, text] : ordered) losses.push_back(std::move(text));
  if (!losses.empty()) {
    parts.push_back(absl::StrCat("lost: ", absl::StrJoin(losses, ", ")));
  } else if (coverage.values_end_s() > 0) {  // epochs were opened to look
    parts.push_back("no events lost");
  }
  if (std::string nameless = NamelessFrames(coverage); !nameless.empty()) {
    parts.push_back(std::move(nameless));
  }
  if (coverage.miss_probability_1pct() >= 0.001) {
    parts.push_back(absl::StrCat("a label of 1 % of an epoch goes unsampled in ",
                                 Share(coverage.miss_probability_1pct())));
  }
  const std::string text =
      Wrapped(parts, view.style.columns > 20 ? view.style.columns : kCoverageColumns);
  const bool weak =
      coverage.watched_s() < 0.9 * coverage.selected_s() || coverage.epochs_lost() > 0;
  return Painted(text, weak ? Ink::kWarn : Ink::kDim, view.style);
}

std::string Headline(const v1::Coverage& coverage, const View& view) {
  const double asked = coverage.asked_end_s() - coverage.asked_start_s();
  if (coverage.used().empty() || asked <= 0) return "";
  const auto longest = std::max_element(
      coverage.used().begin(), coverage.used().end(),
      [](const v1::TierUse& a, const v1::TierUse& b) { return a.length_s() < b.length_s(); });
  // A range up to now ends a moment before what was just cut.
  if (longest->length_s() <= asked + 1) return "";
  const char* what = longest->tier() == v1::TIER_RAW ? "epoch" : "window";
  return Painted(absl::StrCat("asked for ", LengthText(asked), "; all figures are of the whole ",
                              what, longest->rows() > 1 ? "s " : " ",
                              ClockText(coverage.values_start_s(), view.now, view.zone), " to ",
                              ClockText(coverage.values_end_s(), view.now, view.zone), "\n\n"),
                 Ink::kBold, view.style);
}

std::string NothingFound(const v1::Coverage& coverage, const v1::Selection& asked,
                         const View& view) {
  if (coverage.nodes_selected() == 0) return "no node ever reported to this collector";
  // Epochs that came may be in no window yet, or in none any more.
  const bool windows_asked = asked.tier() > v1::TIER_RAW;
  const bool none_used = coverage.used().empty() && !coverage.tiers().empty();
  if (coverage.values_end_s() > 0) return "";
  if (coverage.epochs_received() > 0 && !(windows_asked && none_used)) return "";
  std::string what = absl::StrCat("no ", windows_asked ? TierText(asked.tier()) : "data", " from ",
                                  MomentText(asked.start_s(), view.zone), " to ",
                                  MomentText(asked.end_s(), view.zone));
  if (asked.nodes_size() > 0)
    absl::StrAppend(&what, " on ", Escaped(absl::StrJoin(asked.nodes(), ", ")));
  std::vector<std::string> ranges;
  for (const v1::TierRange& range : coverage.tiers()) {
    ranges.push_back(absl::StrCat(TierText(range.tier()), " from ",
                                  MomentText(range.start_s(), view.zone), " to ",
                                  MomentText(range.end_s(), view.zone)));
  }
  return absl::StrCat(what, ranges.empty() ? "; there is none of any time" : "; there is data: ",
                      absl::StrJoin(ranges, ", "));
}

std::string RenderGaps(const v1::CoverageAnswer& answer, const View& view) {
  Table table({{"node"}, {"from"}, {"to"}, {"length", Table::Align::kRight}, {"why"}});
  for (const v1::Gap& gap : answer.gaps()) {
    std::string why = Escaped(gap.reason());
    if (gap.last_sequence() > 0) {
      absl::StrAppend(&why, absl::StrFormat(" (summaries %.0f to %.0f)", gap.first_sequence(),
                                            gap.last_sequence()));
    }
    table.Add({Escaped(gap.node()), MomentText(gap.start_s(), view.zone),
               ClockText(gap.end_s(), view.now, view.zone), LengthText(gap.end_s() - gap.start_s()),
               why});
  }
  std::string out = answer.gaps().empty() ? "no gap: every node was watched throughout\n"
                                          : table.Render(view.style) + ZoneLine(view);
  if (!answer.coverage().lost_events().empty()) {
    Table losses({{"lost", Table::Align::kRight}, {""}, {"vital"}});
    for (const v1::ReasonCount& lost : answer.coverage().lost_events()) {
      losses.Add({Count(lost.events()), LossWords(lost.reason()),
                  lost.vital().empty() ? "(whole sensor)" : Escaped(lost.vital())});
    }
    absl::StrAppend(&out, "\n", losses.Render(view.style));
  }
  if (!answer.coverage().user_frames().empty()) {
    double all = 0;
    for (const v1::NameCount& count : answer.coverage().user_frames()) all += count.frames();
    Table names({{"user frames"}, {"frames", Table::Align::kRight}, {"", Table::Align::kRight}});
    for (const v1::NameCount& count : answer.coverage().user_frames()) {
      const std::string nameless = NamelessText(count.outcome());
      names.Add({!nameless.empty()                ? absl::StrCat("without a name: ", nameless)
                 : count.outcome() == "generated" ? "named, of generated code"
                                                  : "named",
                 Count(count.frames()), Share(count.frames() / all)});
    }
    absl::StrAppend(&out, "\n", names.Render(view.style));
  }
  absl::StrAppend(&out, ControlTable(answer.coverage(), view));
  if (const std::string steps = RenderSteps(answer.coverage(), view); !steps.empty()) {
    absl::StrAppend(&out, "\n", steps);
  }
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

}  // namespace telltale::cli
