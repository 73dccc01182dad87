#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "collector/cli/render.h"
#include "collector/cli/time_text.h"
#include "collector/formats/record_text.h"

namespace telltale::cli {
namespace {

// Nobody measured how often a filter is right until there is a record of it.
std::string RecordOf(const v1::FilterInfo& filter) {
  return filter.has_record() ? formats::RecordText(filter.record()) : "no record yet";
}

// What the figures rest on.
std::string RecordFooter(const v1::ListFiltersAnswer& answer) {
  std::set<std::string> days;
  for (const v1::FilterInfo& filter : answer.filters()) {
    if (filter.has_record()) days.insert(filter.record().measured());
  }
  for (const v1::FilterInfo& filter : answer.filters()) {
    if (!filter.has_record()) continue;
    const v1::FilterRecord& record = filter.record();
    return absl::StrCat("record: ", Escaped(absl::StrJoin(days, ", ")), ", ",
                        Plural(record.faults(), "planted fault"), " and ",
                        Plural(record.innocent_loads(), "innocent load"),
                        " on one machine; in brackets the 95 % interval (Wilson)\n");
  }
  return "";
}

}  // namespace

std::string RenderLearning(const v1::AnomaliesAnswer& answer) {
  constexpr size_t kShownNodes = 5;
  using Named = std::vector<std::pair<std::string, std::vector<std::string>>>;
  const auto at = [](auto& list, const std::string& name) -> auto& {
    for (auto& [known, of] : list) {
      if (known == name) return of;
    }
    list.push_back({name, {}});
    return list.back().second;
  };
  std::vector<std::pair<std::string, Named>> nodes;
  for (const v1::FilterLearning& learning : answer.learning()) {
    const std::string far =
        absl::StrCat(learning.learned_epochs(), " of ", learning.needed_epochs(), " ",
                     learning.unit().empty() ? "epochs" : Escaped(learning.unit()));
    at(at(nodes, learning.node()), far).push_back(Escaped(learning.filter()));
  }
  std::string out;
  for (size_t i = 0; i < std::min(kShownNodes, nodes.size()); ++i) {
    std::vector<std::string> parts;
    for (const auto& [far, filters] : nodes[i].second) {
      parts.push_back(absl::StrCat(absl::StrJoin(filters, ", "), " ", far));
    }
    absl::StrAppend(&out, Escaped(nodes[i].first), "  still learning: ", absl::StrJoin(parts, "; "),
                    "\n");
  }
  if (nodes.size() > kShownNodes) {
    absl::StrAppend(&out, "and ",
                    Plural(static_cast<double>(nodes.size() - kShownNodes), "other node"),
                    " where filters are still learning\n");
  }
  return out;
}

namespace {

// Whom they keep silent about, or it would look as if all were well there.
std::string MutedText(const std::vector<const v1::FilterInfo*>& filters) {
  std::string text;
  for (const v1::FilterInfo* filter : filters) {
    std::vector<std::string> programs;
    for (const v1::MutedProgram& muted : filter->muted()) {
      programs.push_back(
          absl::StrCat(Escaped(muted.program()), " on ",
                       muted.nodes() == 1 ? Escaped(muted.node()) : Plural(muted.nodes(), "node")));
    }
    if (programs.empty()) continue;
    absl::StrAppend(&text, Escaped(filter->name()), " tells nothing new, as usual there, of ",
                    absl::StrJoin(programs, ", "), "\n");
  }
  return text;
}

std::string NoRoomText(const v1::FilterInfo& filter) {
  if (filter.no_room() == 0) return "";
  return absl::StrCat("; no room for ", Count(static_cast<double>(filter.no_room())),
                      " labels or programs");
}

std::string FilterTable(const v1::ListFiltersAnswer& answer, bool rules, const View& view) {
  Table table({{rules ? "rule" : ""},
               {"filter"},
               {"what it says"},
               {"record"},
               {"state"},
               {"found", Table::Align::kRight}});
  std::vector<const v1::FilterInfo*> list;
  for (const v1::FilterInfo& filter : answer.filters()) {
    if (filter.has_user() && !rules) continue;  // with those of filters.d
    if ((filter.rule() != 0) == rules) list.push_back(&filter);
  }
  std::ranges::stable_sort(list, {}, [](const v1::FilterInfo* filter) { return filter->rule(); });
  for (const v1::FilterInfo* filter : list) {
    std::string state = Escaped(filter->status().state());
    if (filter->nodes_learning() > 0) {
      state = absl::StrCat("learning on ", filter->nodes_learning(), " of ",
                           Plural(filter->nodes(), "node"));
    }
    if (!filter->status().reason().empty()) {
      absl::StrAppend(&state, ": ", Escaped(filter->status().reason()));
    }
    if (filter->dropped() > 0) {
      absl::StrAppend(&state, "; ", Count(static_cast<double>(filter->dropped())), " not kept");
    }
    state += NoRoomText(*filter);
    if (filter->epochs_unreadable() > 0) {
      absl::StrAppend(&state, "; ",
                      Plural(static_cast<double>(filter->epochs_unreadable()), "epoch"),
                      " unreadable");
    }
    table.Add({rules ? absl::StrCat(filter->rule()) : "", Escaped(filter->name()),
               Escaped(filter->about()), RecordOf(*filter), state,
               Count(filter->status().anomalies())});
  }
  return table.Render(view.style) + MutedText(list);
}

// Filters of filters.d: what each cost, and below why one is not running.
std::string UserFilterTable(const v1::ListFiltersAnswer& answer, const View& view) {
  Table table({{"from filters.d"},
               {"version", Table::Align::kRight},
               {"state"},
               {"epochs", Table::Align::kRight},
               {"cpu", Table::Align::kRight},
               {"memory", Table::Align::kRight},
               {"found", Table::Align::kRight},
               {"not kept", Table::Align::kRight},
               {"file"}});
  std::string reasons;
  for (const v1::FilterInfo& filter : answer.filters()) {
    if (!filter.has_user()) continue;
    const v1::UserFilter& user = filter.user();
    const bool disabled = filter.status().state() == "disabled";
    std::string state =
        Painted(Escaped(filter.status().state()), disabled ? Ink::kBad : Ink::kPlain, view.style);
    if (filter.nodes_learning() > 0) {
      state = absl::StrCat("learning on ", filter.nodes_learning(), " of ",
                           Plural(filter.nodes(), "node"));
    } else if (!disabled && filter.status().lag_s() >= 60) {
      absl::StrAppend(&state, ", ", LengthText(filter.status().lag_s()), " behind");
    }
    state += NoRoomText(filter);
    table.Add({Escaped(filter.name()), filter.version() == 0 ? "" : absl::StrCat(filter.version()),
               state, Count(static_cast<double>(filter.epochs())), Quantity(user.cpu_s(), "s"),
               disabled ? ""
                        : Quantity(static_cast<double>(user.memory_bytes()), "bytes") + " of " +
                              Quantity(static_cast<double>(user.memory_limit_bytes()), "bytes"),
               Count(filter.status().anomalies()), Count(static_cast<double>(filter.dropped())),
               Escaped(user.file())});
    if (filter.status().reason().empty()) continue;
    absl::StrAppend(&reasons, "  ", Escaped(filter.name()), ": ",
                    Escaped(filter.status().reason()));
    if (disabled && user.retry_s() > 0) {
      absl::StrAppend(&reasons, "; tried again at ",
                      ClockText(user.retry_s(), view.now, view.zone));
    } else if (disabled) {
      absl::StrAppend(&reasons, "; tried again when the file changes");
    }
    if (user.failures() > 1) absl::StrAppend(&reasons, "; failure ", user.failures());
    absl::StrAppend(&reasons, "\n");
  }
  if (table.empty()) return "";
  return absl::StrCat("\n", table.Render(view.style), reasons);
}

// By what: a rule, or a filter with how far from usual. That a node is silent, or what comes
// together how often, is no deviation of a rate.
std::string JudgedText(const v1::Anomaly& anomaly) {
  if (anomaly.rule() != 0) return absl::StrCat("rule ", anomaly.rule());
  const bool of_rates = anomaly.deviation() > 0 && anomaly.filter() != "affinity";
  return absl::StrCat(of_rates ? absl::StrFormat("%.1f deviations, ", anomaly.severity()) : "",
                      Escaped(anomaly.filter()));
}

// What the judgement rests on, unless it is said already. What seasonal counts are hours, which its
// evidence names; those that compare nodes judge by what the others do now.
std::string LearnedText(const v1::Anomaly& anomaly) {
  const bool counts_epochs = anomaly.filter() != "seasonal" && anomaly.filter() != "silence" &&
                             anomaly.filter() != "peer_outlier";
  if (!counts_epochs || anomaly.learned_epochs() < 1) return "";
  for (const std::string& said : {anomaly.text(), anomaly.evidence()}) {
    if (said.find("learned from") != std::string::npos) return "";
  }
  return absl::StrCat("learned from ", Plural(anomaly.learned_epochs(), "epoch"));
}

}  // namespace

std::string RenderAnomaly(const v1::Anomaly& anomaly, const View& view) {
  const std::string vital =
      anomaly.sub().empty() ? anomaly.vital() : absl::StrCat(anomaly.vital(), "/", anomaly.sub());
  // Its sentence stands alone elsewhere and begins with the vital; here the vital stands before it.
  std::string_view text = anomaly.text();
  if (text.starts_with(vital + " ")) text.remove_prefix(vital.size() + 1);
  std::string out =
      absl::StrCat(MomentText(anomaly.start_s(), view.zone), "  ", Escaped(anomaly.node()), "  ",
                   Painted(Escaped(vital), Ink::kBold, view.style), "  ",
                   Escaped(std::string(text)), "  (", JudgedText(anomaly), ")\n");
  const auto add = [&](const char* word, const std::string& said) {
    if (!said.empty()) absl::StrAppend(&out, "    ", word, " ", Escaped(said), "\n");
  };
  const std::string learned = LearnedText(anomaly);
  const bool both = !anomaly.evidence().empty() && !learned.empty();
  add("because:", absl::StrCat(anomaly.evidence(), both ? "; " : "", learned));
  add("against:", anomaly.against());
  if (anomaly.has_record()) add("record: ", formats::RecordText(anomaly.record()));
  add("next:   ", anomaly.next());
  return out;
}

std::string RenderAnomalies(const v1::AnomaliesAnswer& answer, const View& view) {
  std::string out;
  for (const v1::Anomaly& anomaly : answer.anomalies()) out += RenderAnomaly(anomaly, view);
  out += out.empty() ? "no anomaly in this time\n" : ZoneLine(view);
  out += RenderLearning(answer);
  return absl::StrCat(out, "\n", RenderCoverage(answer.coverage(), view));
}

std::string RenderRules(const v1::ListFiltersAnswer& answer, const View& view) {
  return absl::StrCat(FilterTable(answer, true, view), RecordFooter(answer));
}

std::string RenderFilters(const v1::ListFiltersAnswer& answer, const View& view) {
  return absl::StrCat(FilterTable(answer, false, view), "\n", FilterTable(answer, true, view),
                      UserFilterTable(answer, view), RecordFooter(answer));
}

namespace {

std::string ComparedText(const v1::RunFilterAnswer& answer, const View& view) {
  std::vector<std::string> differ;
  const auto compare = [&](const char* what, uint64_t here, uint64_t live) {
    if (here + live == 0) return;
    differ.push_back(absl::StrCat(what, ": ", here, " only here, ", live, " only live"));
  };
  compare("anomalies", answer.new_anomalies(), answer.missing_anomalies());
  compare("points of series", answer.new_points(), answer.missing_points());
  compare("marks", answer.new_marks(), answer.missing_marks());
  std::string said;
  if (answer.points() + answer.marks() > 0) {
    said = absl::StrCat(", ", Plural(static_cast<double>(answer.points()), "point"),
                        " of series and ", Plural(static_cast<double>(answer.marks()), "mark"));
  }
  if (differ.empty()) {
    const int anomalies = answer.anomalies_size();
    return absl::StrCat("the same as live: ", Count(anomalies),
                        anomalies == 1 ? " anomaly" : " anomalies", said, "\n");
  }
  return absl::StrCat(Painted("differs from live", Ink::kWarn, view.style), ": ",
                      absl::StrJoin(differ, "; "), "\n");
}

}  // namespace

std::string RenderFilterRun(const v1::RunFilterAnswer& answer, const View& view) {
  std::string out;
  for (const v1::Anomaly& anomaly : answer.anomalies()) out += RenderAnomaly(anomaly, view);
  if (out.empty()) out = "no anomaly in this time\n";
  absl::StrAppend(&out, "\n", Plural(static_cast<double>(answer.epochs()), "epoch"), " shown on ",
                  Plural(answer.nodes(), "node"));
  if (answer.nodes_resumed() < answer.nodes()) {
    absl::StrAppend(&out, "; on ", answer.nodes() - answer.nodes_resumed(),
                    " of them it began anew, a day before: nothing was saved there");
  }
  absl::StrAppend(&out, "\n");
  out += ComparedText(answer, view);
  if (answer.new_anomalies() + answer.missing_anomalies() > 0) {
    if (answer.told_later() > 0) {
      absl::StrAppend(&out, "of ", answer.told_later(),
                      " only live more was told later than a day after the time asked for, where "
                      "this run ends\n");
    }
  }
  if (answer.unreadable_epochs() > 0) {
    absl::StrAppend(
        &out, Plural(static_cast<double>(answer.unreadable_epochs()), "epoch"),
        " of this time cannot be opened and so were not shown; live may have seen them\n");
  }
  for (const v1::LateEpoch& late : answer.late()) {
    absl::StrAppend(&out, "passed over, it came too late: ", Escaped(late.node()), " ",
                    MomentText(late.start_s(), view.zone), "\n");
  }
  if (answer.late_epochs() > static_cast<uint64_t>(answer.late_size())) {
    absl::StrAppend(&out, "and ", answer.late_epochs() - static_cast<uint64_t>(answer.late_size()),
                    " more\n");
  }
  const bool times = !answer.anomalies().empty() || !answer.late().empty();
  return absl::StrCat(out, times ? ZoneLine(view) : "");
}

}  // namespace telltale::cli
