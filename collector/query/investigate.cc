#include "collector/query/investigate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collector/query/base_unit.h"
#include "collector/query/finding_detail.h"
#include "collector/query/judged_lines.h"
#include "collector/query/notable_events.h"
#include "collector/query/past_times.h"

namespace telltale::query {
namespace {

constexpr uint32_t kUsualFindings = 5, kMaxFindings = 20;
constexpr double kLongestS = 86400;
constexpr double kSecondsPerHour = 3600;
constexpr double kEventsBeforeS = 300;  // what happened shortly before may be why
constexpr size_t kEnoughPast = 30;      // epochs; with fewer the time after is past, too
constexpr size_t kMostEvents = 12;
constexpr uint32_t kMostAnomalies = 12, kAnomaliesRead = 500, kMostMarks = 20;
constexpr uint32_t kEventsRead = 10'000;  // of one node
constexpr int kMostGaps = 10, kMostAlso = 20;
constexpr uint32_t kSeriesLines = 5000;  // that one series answer may have

class Investigation {
 public:
  Investigation(const v1::InvestigateRequest& request, const Engine& engine, const Context& context,
                Selection selection)
      : request_(request),
        engine_(engine),
        context_(context),
        selection_(std::move(selection)),
        book_(selection_, context_),
        time_{Seconds(selection_.start_ns), Seconds(std::min(selection_.end_ns, context_.now_ns))} {
  }

  absl::StatusOr<v1::InvestigateAnswer> Run() {
    answer_.set_nodes(static_cast<uint32_t>(selection_.nodes.size()));
    std::vector<std::string> nodes;
    for (const storage::NodeRecord& node : selection_.nodes) nodes.push_back(node.name());
    if (absl::Status status = FindDataStart(); !status.ok()) return status;
    if (nodes.size() > kMaxCloseNodes) {
      absl::StatusOr<std::vector<std::string>> farthest = Sift(nodes);
      if (!farthest.ok()) return farthest.status();
      nodes = *std::move(farthest);
    }
    close_ = nodes;
    for (const std::string& node : close_) answer_.add_close_nodes(node);
    JudgedLines lines(book_);
    if (absl::Status status = Judge(lines); !status.ok()) return status;
    if (absl::Status status = AddFindings(lines); !status.ok()) return status;
    if (absl::Status status = AddSurroundings(); !status.ok()) return status;
    return std::move(answer_);
  }

 private:
  v1::Selection Selected(const std::vector<std::string>& nodes, const TimeSpan& time) const {
    v1::Selection selection;
    for (const std::string& node : nodes) selection.add_nodes(node);
    selection.set_start_s(time.start_s);
    selection.set_end_s(time.end_s);
    return selection;
  }

  absl::Status FindDataStart() {
    absl::StatusOr<std::vector<storage::DataRange>> ranges = context_.source->DataRanges(0);
    if (!ranges.ok()) return ranges.status();
    data_start_s_ = Seconds(context_.now_ns);
    for (const storage::DataRange& range : *ranges) {
      data_start_s_ = std::min(data_start_s_, Seconds(range.start_ns));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::SeriesAnswer> Series(const std::vector<std::string>& nodes,
                                          const TimeSpan& time, bool subs) const {
    v1::SeriesRequest request;
    *request.mutable_selection() = Selected(nodes, time);
    request.set_per_node(true);
    if (subs) {
      request.add_vitals("");
      for (const auto& [id, vital] : book_.all()) {
        const VitalChoice headline{vital, -1, false};
        for (int sub = 0; sub < vital.subs_size() && vital.subs_size() > 1; ++sub) {
          if (headline.Counts(sub)) {
            request.add_vitals(absl::StrCat(vital.name(), "/", vital.subs(sub).name()));
          }
        }
      }
    }
    return engine_.Series(request, context_.cancelled);
  }

  // The nodes with the farthest totals, against the hour before.
  absl::StatusOr<std::vector<std::string>> Sift(const std::vector<std::string>& nodes) {
    JudgedLines lines(book_);
    const size_t at_once = kSeriesLines / std::max<size_t>(1, book_.all().size());
    for (size_t from = 0; from < nodes.size(); from += at_once) {
      const std::vector<std::string> some(
          nodes.begin() + static_cast<long>(from),
          nodes.begin() + static_cast<long>(std::min(nodes.size(), from + at_once)));
      absl::StatusOr<v1::SeriesAnswer> now = Series(some, time_, false);
      if (!now.ok()) return now.status();
      lines.AddNow(*now);
      absl::StatusOr<v1::SeriesAnswer> past = Series(some, TimeBefore(time_), false);
      if (!past.ok()) return past.status();
      lines.AddPast(*past);
    }
    answer_.set_lines(lines.lines());
    answer_.set_unjudged(lines.unjudged());
    sifted_ = lines.Findings();
    std::vector<std::string> farthest = lines.FarthestNodes(kMaxCloseNodes);
    answer_.add_notes(absl::StrCat(
        nodes.size(), " nodes were sifted by the totals of their vitals against the hour before; ",
        farthest.empty() ? "none of them stands out, so the first " : "the farthest ",
        farthest.empty() ? static_cast<size_t>(kMaxCloseNodes) : farthest.size(),
        " were looked at closely"));
    if (farthest.empty()) farthest.assign(nodes.begin(), nodes.begin() + kMaxCloseNodes);
    return farthest;
  }

  absl::Status AddPast(const TimeSpan& span, JudgedLines& lines) {
    if (span.end_s <= span.start_s || span.end_s <= data_start_s_) return absl::OkStatus();
    absl::StatusOr<v1::SeriesAnswer> series = Series(close_, span, true);
    if (!series.ok()) return series.status();
    const uint32_t points = lines.AddPast(*series);
    if (points == 0) return absl::OkStatus();
    v1::PastTime& past = *answer_.add_past();
    past.set_start_s(std::max(span.start_s, data_start_s_));
    past.set_end_s(span.end_s);
    past.set_points(points);
    past.set_tier(series->coverage().tier());
    return absl::OkStatus();
  }

  absl::Status Judge(JudgedLines& lines) {
    absl::StatusOr<v1::SeriesAnswer> now = Series(close_, time_, true);
    if (!now.ok()) return now.status();
    lines.AddNow(*now);
    std::vector<TimeSpan> spans = SameTimeOfDays(time_, data_start_s_);
    spans.insert(spans.begin(), TimeBefore(time_));
    for (const TimeSpan& span : spans) {
      if (absl::Status status = AddPast(span, lines); !status.ok()) return status;
    }
    if (lines.PastPoints() < kEnoughPast) {
      const int before = answer_.past_size();
      const TimeSpan after = TimeAfter(time_, Seconds(context_.now_ns));
      if (absl::Status status = AddPast(after, lines); !status.ok()) return status;
      if (answer_.past_size() > before) {
        answer_.add_notes(
            "there is little past, so the time after it was counted in: what went on "
            "beyond the time asked for may look usual");
      }
    }
    const bool coarser =
        std::any_of(answer_.past().begin(), answer_.past().end(),
                    [&](const v1::PastTime& past) { return past.tier() > now->coverage().tier(); });
    if (coarser) {
      answer_.add_notes(
          "some of the past is known by coarser windows, in which short peaks are "
          "flat: what is called unusual may be less so");
    }
    answer_.set_lines(std::max(answer_.lines(), lines.lines()));
    answer_.set_unjudged(answer_.unjudged() + lines.unjudged());
    *answer_.mutable_coverage() = now->coverage();
    return absl::OkStatus();
  }

  // The time to compare with: the nearest that has data.
  TimeSpan Nearest() const {
    if (answer_.past().empty()) return TimeBefore(time_);
    return {answer_.past(0).start_s(), answer_.past(0).end_s()};
  }

  absl::Status AddFindings(const JudgedLines& lines) {
    const int limit = static_cast<int>(request_.limit() == 0 ? kUsualFindings : request_.limit());
    // One finding tells a vital's rise, or its fall, on all nodes.
    std::map<std::pair<std::string, bool>, size_t> told;
    std::vector<v1::Finding> findings;
    for (v1::Finding& finding : lines.Findings()) {
      const auto [at, fresh] =
          told.try_emplace({finding.vital(), finding.severity() > 0}, findings.size());
      if (fresh) {
        findings.push_back(std::move(finding));
      } else {
        AddAlso(finding.node(), findings[at->second]);
      }
    }
    for (const v1::Finding& sifted : sifted_) {  // nodes that were not looked at closely
      if (std::find(close_.begin(), close_.end(), sifted.node()) != close_.end()) continue;
      const auto at = told.find({sifted.vital(), sifted.severity() > 0});
      if (at != told.end()) AddAlso(sifted.node(), findings[at->second]);
    }
    const FindingDetail detail(engine_, context_, request_.hide_self(), Nearest());
    size_t looked = 0;
    for (; looked < findings.size() && answer_.findings_size() < limit; ++looked) {
      v1::Finding& finding = findings[looked];
      absl::StatusOr<bool> others = detail.Add(finding);
      if (!others.ok()) return others.status();
      if (*others) {
        *answer_.add_findings() = std::move(finding);
      } else {
        answer_.add_notes(absl::StrCat(finding.vital(), " of ", finding.node(),
                                       " was unusual, most of it by Telltale itself; hidden"));
      }
    }
    if (looked < findings.size()) {
      answer_.add_notes(
          absl::StrCat(findings.size() - looked, " more vitals were unusual, less so"));
    }
    return absl::OkStatus();
  }

  static void AddAlso(const std::string& node, v1::Finding& finding) {
    finding.set_also_nodes(finding.also_nodes() + 1);
    if (finding.also_size() < kMostAlso) finding.add_also(node);
  }

  absl::Status AddSurroundings() {
    v1::AnomaliesRequest anomalies;
    *anomalies.mutable_selection() = request_.selection();
    anomalies.mutable_selection()->set_start_s(time_.start_s);
    anomalies.mutable_selection()->set_end_s(time_.end_s);
    anomalies.set_limit(kAnomaliesRead);
    absl::StatusOr<v1::AnomaliesAnswer> found = engine_.Anomalies(anomalies, context_.cancelled);
    if (!found.ok()) return found.status();
    // Diagnoses first: they say what was wrong; of both the newest.
    std::stable_sort(found->mutable_anomalies()->begin(), found->mutable_anomalies()->end(),
                     [](const v1::Anomaly& a, const v1::Anomaly& b) {
                       return (a.rule() != 0) > (b.rule() != 0);
                     });
    const int shown = std::min<int>(found->anomalies_size(), kMostAnomalies);
    for (int i = 0; i < shown; ++i) {
      *answer_.add_anomalies() = std::move(*found->mutable_anomalies(i));
    }
    if (found->anomalies_size() > shown || !found->next_page().empty()) {
      answer_.add_notes(absl::StrCat("only ", kMostAnomalies,
                                     " anomalies are shown, diagnoses first, then the newest"));
    }

    v1::MarksRequest marks;
    *marks.mutable_selection() = request_.selection();
    marks.mutable_selection()->set_start_s(time_.start_s - kSecondsPerHour);
    marks.mutable_selection()->set_end_s(time_.end_s);
    marks.set_limit(kMostMarks);
    absl::StatusOr<v1::MarksAnswer> noted = engine_.Marks(marks, context_.cancelled);
    if (!noted.ok()) return noted.status();
    *answer_.mutable_marks() = std::move(*noted->mutable_marks());

    absl::StatusOr<v1::EventsAnswer> all =
        EventsOfEach({time_.start_s - kSecondsPerHour, time_.end_s});
    if (!all.ok()) return all.status();
    NotableEvents picked = PickEvents(*all, time_.start_s - kEventsBeforeS, kMostEvents);
    *answer_.mutable_events() = std::move(picked.events);
    answer_.set_events_left_out(picked.left_out);
    if (all->left_out() > 0) {
      answer_.add_notes(absl::StrCat(all->left_out(),
                                     " events were not looked at, the oldest of "
                                     "nodes with more than ",
                                     kEventsRead, "; ask for a shorter time to see them"));
    }

    v1::CoverageRequest coverage;
    *coverage.mutable_selection() = Selected(close_, time_);
    absl::StatusOr<v1::CoverageAnswer> rests = engine_.Coverage(coverage, context_.cancelled);
    if (!rests.ok()) return rests.status();
    for (const v1::Gap& gap : rests->gaps()) {
      if (answer_.gaps_size() == kMostGaps) break;
      *answer_.add_gaps() = gap;
    }
    if (rests->gaps_size() > kMostGaps) {
      answer_.add_notes(absl::StrCat("only the first ", kMostGaps, " gaps of ", rests->gaps_size(),
                                     " are shown"));
    }
    // That of the series says what was used, and by windows what was lost; this one adds up a short
    // time epoch by epoch, with how much went unseen.
    v1::Coverage& used = *answer_.mutable_coverage();
    if (rests->coverage().lost_events_size() > 0) {
      *used.mutable_lost_events() = rests->coverage().lost_events();
    }
    if (rests->coverage().user_frames_size() > 0) {
      *used.mutable_user_frames() = rests->coverage().user_frames();
    }
    if (rests->coverage().miss_probability_1pct() > 0) {
      used.set_miss_probability_1pct(rests->coverage().miss_probability_1pct());
    }
    return absl::OkStatus();
  }

  // Node by node: of all together, the newest of busy ones would push out what others had to tell.
  absl::StatusOr<v1::EventsAnswer> EventsOfEach(const TimeSpan& time) const {
    v1::EventsAnswer all;
    std::set<std::pair<double, std::string>> notes;  // those of no node come with each
    for (const std::string& node : close_) {
      v1::EventsRequest request;
      *request.mutable_selection() = Selected({node}, time);
      request.set_limit(kEventsRead);
      absl::StatusOr<v1::EventsAnswer> some = engine_.Events(request, context_.cancelled);
      if (!some.ok()) return some.status();
      all.set_left_out(all.left_out() + some->left_out());
      for (v1::EventAnswer& event : *some->mutable_events()) {
        if (event.type() == kNoteType && !notes.insert({event.time_s(), event.text()}).second) {
          continue;
        }
        *all.add_events() = std::move(event);
      }
    }
    std::stable_sort(
        all.mutable_events()->begin(), all.mutable_events()->end(),
        [](const v1::EventAnswer& a, const v1::EventAnswer& b) { return a.time_s() < b.time_s(); });
    return all;
  }

  const v1::InvestigateRequest& request_;
  const Engine& engine_;
  const Context& context_;
  const Selection selection_;
  const VitalBook book_;
  const TimeSpan time_;
  double data_start_s_ = 0;
  std::vector<std::string> close_;
  std::vector<v1::Finding> sifted_;
  v1::InvestigateAnswer answer_;
};

}  // namespace

absl::StatusOr<v1::InvestigateAnswer> AnswerInvestigate(const v1::InvestigateRequest& request,
                                                        const Engine& engine,
                                                        const Context& context) {
  if (request.limit() > kMaxFindings) {
    return absl::InvalidArgumentError(absl::StrCat("investigate: limit ", request.limit(),
                                                   " is above ", kMaxFindings, "; ask for fewer"));
  }
  absl::StatusOr<Selection> selection = Resolve(request.selection(), context);
  if (!selection.ok()) return selection.status();
  if (Seconds(selection->end_ns - selection->start_ns) > kLongestS) {
    return absl::InvalidArgumentError(
        "investigate: more than a day; narrow the time, `telltale series` shows where to");
  }
  if (selection->start_ns >= context.now_ns) {
    return absl::InvalidArgumentError("investigate: the time begins after now");
  }
  if (selection->nodes.empty()) return v1::InvestigateAnswer();
  return Investigation(request, engine, context, *std::move(selection)).Run();
}

}  // namespace telltale::query
