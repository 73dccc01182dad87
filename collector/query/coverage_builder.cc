#include "collector/query/coverage_builder.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "collector/query/base_unit.h"
#include "collector/query/tier_choice.h"
#include "sketch/log_sample.h"
#include "sketch/miss_curve.h"
#include "sketch/saturating.h"
#include "sketch/sketch.h"

namespace telltale::query {
namespace {

constexpr size_t kMaxGaps = 10'000;

// How long after its end an epoch may still be on its way: the widest spread of sending, and the
// way.
constexpr uint64_t kOnItsWayNs = 75 * storage::kSecondNs;

// Smaller ones are not shown.
constexpr double kShownMiss = 0.001;

std::string SecondsText(double seconds) {
  if (seconds >= 2 * 86400) return absl::StrFormat("%.3g d", seconds / 86400);
  if (seconds >= 2 * 3600) return absl::StrFormat("%.3g h", seconds / 3600);
  if (seconds >= 600) return absl::StrFormat("%.3g min", seconds / 60);
  return seconds >= 10 ? absl::StrFormat("%.0f s", seconds) : absl::StrFormat("%.2g s", seconds);
}

// Nodes whose agents watch one cgroup; of many only the first few by name.
void AddScopes(const storage::NodeList& nodes, v1::Coverage& coverage) {
  constexpr int kNamed = 3;
  int scoped = 0;
  std::string names;
  for (const storage::NodeRecord& node : nodes) {
    if (node.info().scope().empty() || ++scoped > kNamed) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", node.info().scope(), " on ", node.name());
  }
  if (scoped == 0) return;
  if (scoped > kNamed) absl::StrAppend(&names, " and others on ", scoped - kNamed, " more");
  coverage.add_notes(
      absl::StrCat("covers only tasks of cgroup ", names,
                   "; memory, load, pressure and the split of CPU time are the whole host's"));
}

}  // namespace

std::string LossReasonName(v1::LossReason reason) {
  const std::string& name = v1::LossReason_Name(reason);
  constexpr size_t kPrefix = sizeof("LOSS_REASON_") - 1;
  if (name.size() <= kPrefix) return absl::StrCat("reason_", static_cast<int>(reason));
  return absl::AsciiStrToLower(name.substr(kPrefix));
}

std::string NameOutcomeName(v1::NameOutcome outcome) {
  const std::string& name = v1::NameOutcome_Name(outcome);
  constexpr size_t kPrefix = sizeof("NAME_OUTCOME_") - 1;
  if (name.size() <= kPrefix) return absl::StrCat("outcome_", static_cast<int>(outcome));
  return absl::AsciiStrToLower(name.substr(kPrefix));
}

bool MissMeasured(const v1::Vital& vital) { return vital.sketch().miss_size() > 0; }

double MissProbability(const v1::Vital& vital, double share, uint32_t cpus) {
  const v1::SketchDigest& digest = vital.sketch();
  if (digest.total() == 0 || digest.columns() == 0 || vital.quantum() == 0) return 0;
  const uint64_t weight = static_cast<uint64_t>(share * static_cast<double>(digest.total()));
  if (MissMeasured(vital)) {
    sketch::MissCurve curve{digest.miss_from(), {}};
    constexpr double kParts = 10'000;
    for (const uint32_t parts : digest.miss()) curve.miss.push_back(parts / kParts);
    return weight < vital.quantum() ? 0 : curve.At(weight);
  }
  if (weight < vital.quantum()) return 0;
  const std::vector<sketch::CellGroup> loads =
      sketch::Loads({{digest.load_exponents().begin(), digest.load_exponents().end()},
                     {digest.load_cells().begin(), digest.load_cells().end()}});
  sketch::Sampling sampling{vital.quantum(), std::clamp(vital.t_log2(), 1u, 16u),
                            std::max(cpus, 1u)};
  uint64_t samples = vital.folded_away().samples();
  for (const v1::FoldedSample& sample : vital.samples()) {
    samples = sketch::SaturatingAdd(samples, sample.samples());
  }
  if (digest.layout() == v1::CELL_LAYOUT_PLAIN) {
    sampling.kept = sketch::KeptShare(samples, loads, sampling);
  } else {
    sampling.kept = sketch::KeptShare(digest.contested_samples(), loads, sampling);
    uint64_t due = samples;
    for (const v1::Loss& loss : vital.losses()) {
      const bool sample =
          loss.reason() == v1::LOSS_REASON_TOKENS || loss.reason() == v1::LOSS_REASON_RING_FULL;
      if (sample) due = sketch::SaturatingAdd(due, loss.events());
    }
    sampling.kept_first = due == 0 ? 1 : static_cast<double>(samples) / static_cast<double>(due);
  }
  const uint64_t cells = uint64_t{digest.rows()} * digest.columns();
  return sketch::AverageMiss(weight, loads, cells, sampling).spread;
}

CoverageBuilder::CoverageBuilder(const Selection& selection, const Context& context)
    : selection_(selection),
      context_(context),
      end_ns_(std::clamp(context.now_ns, selection.start_ns, selection.end_ns)),
      steps_(selection.start_ns, selection.end_ns) {
  for (const storage::NodeRecord& node : selection.nodes) {
    cpus_[node.number()] = node.info().cpus_online();
    names_[node.number()] = node.name();
  }
}

void CoverageBuilder::AddLosses(const google::protobuf::RepeatedPtrField<v1::Loss>& losses,
                                const v1::VitalDescriptor* vital) {
  for (const v1::Loss& loss : losses) {
    Lost& lost = losses_[{loss.reason(), vital}];
    lost.events += static_cast<double>(loss.events());
    if (vital == nullptr) continue;
    lost.weight += static_cast<double>(loss.weight()) * BaseFactor(vital->unit());
  }
}

void CoverageBuilder::AddEpochLosses(const StoredEpoch& epoch, const VitalBook& book,
                                     const std::vector<uint32_t>& vitals) {
  AddLosses(epoch.body->losses(), nullptr);
  steps_.Add(epoch, names_[epoch.node], book, vitals);
  if (epoch.body->epoch().unspooled()) ++unspooled_;
  const v1::UserFrames& frames = epoch.body->user_frames();
  for (int i = 0; i < std::min(frames.outcome_size(), frames.frames_size()); ++i) {
    user_frames_[frames.outcome(i)] += static_cast<double>(frames.frames(i));
  }
  for (const v1::Vital& vital : epoch.body->vitals()) {
    if (!vitals.empty() && std::find(vitals.begin(), vitals.end(), vital.id()) == vitals.end())
      continue;
    AddLosses(vital.losses(), book.Find(vital.id()));
    AddControl(vital.sketch(), book.Find(vital.id()));
  }
}

void CoverageBuilder::AddControl(const v1::SketchDigest& sketch, const v1::VitalDescriptor* vital) {
  if (vital == nullptr || sketch.control_heavy() == 0) return;
  v1::ControlGroup& group = control_[vital->name()];
  group.set_vital(vital->name());
  group.set_heavy(group.heavy() + sketch.control_heavy());
  group.set_heavy_missed(group.heavy_missed() + sketch.control_heavy_missed());
  group.set_heavy_unlisted(group.heavy_unlisted() + sketch.control_heavy_unlisted());
}

void CoverageBuilder::AddEpoch(const StoredEpoch& epoch, const VitalBook& book,
                               const std::vector<uint32_t>& vitals) {
  AddEpochLosses(epoch, book, vitals);
  double miss = 0;
  for (const v1::Vital& vital : epoch.body->vitals()) {
    if (vitals.size() != 1 || vital.id() != vitals.front()) continue;
    miss = std::max(miss, MissProbability(vital, 0.01, cpus_[epoch.node]));
    if (miss > 0 && !MissMeasured(vital)) ++miss_by_formula_;
    if (vital.estimated()) ++miss_in_part_;
  }
  // Of one vital it says how far to trust the answer; the worst of many would say nothing.
  if (vitals.size() == 1) {
    miss_sum_ += miss;
    ++miss_epochs_;
  }
  Covers(epoch.span.start_ns, epoch.span.end_ns);
  values_watched_ns_ += epoch.span.watched_ns;
  Used(v1::TIER_RAW, 1, Seconds(epoch.span.end_ns - epoch.span.start_ns));
}

void CoverageBuilder::AddWindowLosses(const storage::RollupRow& row, const VitalBook& book,
                                      const std::vector<uint32_t>& vitals) {
  AddLosses(row.window.losses(), nullptr);
  for (const v1::VitalTotals& vital : row.window.vitals()) {
    if (!vitals.empty() && std::find(vitals.begin(), vitals.end(), vital.id()) == vitals.end())
      continue;
    AddLosses(vital.losses(), book.Find(vital.id()));
  }
}

void CoverageBuilder::AddWindow(const storage::RollupRow& row, const VitalBook& book,
                                const std::vector<uint32_t>& vitals) {
  AddWindowLosses(row, book, vitals);
  const uint64_t start = row.key.window_start_ns, length = storage::WindowNs(row.key.tier);
  Covers(start, start + length);
  values_watched_ns_ += row.window.watched_ns();
  if (row.window.unreadable_size() > 0) AddLacking(1);
  Used(static_cast<v1::Tier>(row.key.tier), 1, Seconds(length));
}

void CoverageBuilder::Used(v1::Tier tier, uint32_t rows, double length_s) {
  if (rows == 0) return;
  v1::TierUse& use = used_[tier];
  use.set_tier(tier);
  use.set_rows(use.rows() + rows);
  use.set_length_s(std::max(use.length_s(), length_s));
}

void CoverageBuilder::Covers(uint64_t start_ns, uint64_t end_ns) {
  if (covers_end_ns_ == 0 || start_ns < covers_start_ns_) covers_start_ns_ = start_ns;
  covers_end_ns_ = std::max(covers_end_ns_, end_ns);
}

void CoverageBuilder::Note(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
    notes_.push_back(std::move(note));
}

void CoverageBuilder::Add(const CoverageBuilder& part) {
  for (const auto& [key, lost] : part.losses_) {
    Lost& sum = losses_[key];
    sum.events += lost.events;
    sum.weight += lost.weight;
  }
  for (const auto& [outcome, frames] : part.user_frames_) user_frames_[outcome] += frames;
  for (const auto& [vital, group] : part.control_) {
    v1::ControlGroup& sum = control_[vital];
    sum.set_vital(vital);
    sum.set_heavy(sum.heavy() + group.heavy());
    sum.set_heavy_missed(sum.heavy_missed() + group.heavy_missed());
    sum.set_heavy_unlisted(sum.heavy_unlisted() + group.heavy_unlisted());
  }
  steps_.Add(part.steps_);
  for (const auto& [tier, use] : part.used_) Used(use.tier(), use.rows(), use.length_s());
  AddDamaged(part.damaged_);
  AddUnreadable(part.unreadable_);
  AddLacking(part.lacking_);
  for (const std::string& note : part.notes_) Note(note);
  if (part.covers_end_ns_ != 0) Covers(part.covers_start_ns_, part.covers_end_ns_);
  gone_ns_ += part.gone_ns_;
  unspooled_ += part.unspooled_;
  values_watched_ns_ += part.values_watched_ns_;
  miss_sum_ += part.miss_sum_;
  miss_epochs_ += part.miss_epochs_;
  miss_by_formula_ += part.miss_by_formula_;
  miss_in_part_ += part.miss_in_part_;
}

void CoverageBuilder::NoteRawFloor() {
  const uint64_t floor_ns = context_.source->RawFloorNs();
  if (floor_ns <= selection_.start_ns || floor_ns >= end_ns_) return;
  Note(absl::StrCat(
      "raw epochs before ",
      absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixNanos(static_cast<int64_t>(floor_ns)),
                       absl::UTCTimeZone()),
      " UTC have expired and are not in this answer"));
}

void CoverageBuilder::AddNodeGap(const storage::NodeRecord& node, uint64_t start_ns,
                                 uint64_t end_ns, const std::string& reason,
                                 const storage::Gap& gap) {
  if (end_ns <= start_ns) return;
  Unwatched& unwatched = unwatched_[reason];
  unwatched.seconds += Seconds(end_ns - start_ns);
  ++unwatched.nodes;
  if (gaps_.size() >= kMaxGaps) return;
  v1::Gap& out = gaps_.emplace_back();
  out.set_node(node.name());
  out.set_start_s(Seconds(start_ns));
  out.set_end_s(Seconds(end_ns));
  out.set_reason(reason);
  out.set_first_sequence(static_cast<double>(gap.first_sequence));
  out.set_last_sequence(static_cast<double>(gap.last_sequence));
}

// A stretch without data means different things before a node's first epoch, between epochs, and
// after its last.
void CoverageBuilder::AddGap(const storage::NodeRecord& node, const storage::Gap& gap) {
  using Cause = storage::Gap::Cause;
  if (gap.cause == Cause::kDeclaredLost) {
    AddNodeGap(node, gap.start_ns, gap.end_ns,
               absl::StrCat("declared lost", gap.detail.empty() ? "" : ": ", gap.detail), gap);
    return;
  }
  if (gap.cause == Cause::kStopped) {
    AddNodeGap(node, gap.start_ns, gap.end_ns, gap.detail.empty() ? "agent stopped" : gap.detail,
               gap);
    return;
  }
  uint64_t start = gap.start_ns, end = gap.end_ns;
  const uint64_t first = node.first_epoch_ns(), last = node.last_epoch_ns();
  if (last == 0) {
    AddNodeGap(node, start, end, "no epoch ever came", gap);
    return;
  }
  AddNodeGap(node, start, std::min(end, first), "before the node's first epoch", gap);
  start = std::max(start, std::min(end, first));
  AddNodeGap(node, start, std::min(end, std::max(start, last)),
             gap.detail.empty() ? "no data between epochs (agent restart, crash or not yet sent)"
                                : gap.detail,
             gap);
  start = std::max(start, std::min(end, last));
  if (start >= end) return;
  const uint64_t length_ns =
      std::max<uint64_t>(node.info().epoch_length_s(), 1) * storage::kSecondNs;
  const bool expected = context_.now_ns < last + length_ns + kOnItsWayNs;
  const char* reason = expected ? "epoch still open or on its way" : "silent since then";
  if (node.state() == v1::NODE_STATE_CLONE_CONFLICT) {
    reason = "kept apart: another machine uses this node's certificate";
  }
  AddNodeGap(node, start, end, reason, gap);
}

absl::Status CoverageBuilder::LookAtNode(const storage::NodeRecord& node, v1::Coverage* coverage) {
  if (end_ns_ <= selection_.start_ns) return absl::OkStatus();
  absl::StatusOr<storage::CoverageView> view =
      context_.source->Coverage(node.number(), selection_.start_ns, end_ns_);
  if (!view.ok()) return view.status();
  double in_gaps = 0;
  for (const storage::Gap& gap : view->gaps) {
    in_gaps += Seconds(gap.end_ns - gap.start_ns);
    AddGap(node, gap);
  }
  const double selected = Seconds(end_ns_ - selection_.start_ns),
               watched = Seconds(view->watched_ns);
  const double inside = selected - watched - in_gaps;
  if (inside > 0.0005 * selected && inside > 0.05) {
    Unwatched& unwatched = unwatched_["sensor not counting inside an epoch"];
    unwatched.seconds += inside;
    ++unwatched.nodes;
  }
  coverage->set_selected_s(coverage->selected_s() + selected);
  coverage->set_watched_s(coverage->watched_s() + watched);
  coverage->set_unwatched_s(coverage->unwatched_s() + std::max(0.0, selected - watched));
  if (view->epochs > 0) coverage->set_nodes(coverage->nodes() + 1);
  coverage->set_epochs_received(coverage->epochs_received() + view->epochs);
  coverage->set_epochs_lost(coverage->epochs_lost() + view->epochs_lost);
  coverage->set_epochs_partial(coverage->epochs_partial() + view->partial_epochs);
  return absl::OkStatus();
}

void CoverageBuilder::TakeOut(uint64_t watched_ns, const char* reason, v1::Coverage* coverage) {
  const double seconds = std::min(Seconds(watched_ns), coverage->watched_s());
  if (seconds <= 0) return;
  coverage->set_watched_s(coverage->watched_s() - seconds);
  coverage->set_unwatched_s(coverage->unwatched_s() + seconds);
  unwatched_[reason].seconds += seconds;
}

absl::Status CoverageBuilder::AddRanges(bool found, v1::Tier tier, v1::Coverage* coverage) {
  std::map<int, std::pair<uint64_t, uint64_t>> ranges;
  const auto add = [&](uint32_t node) -> absl::Status {
    absl::StatusOr<std::vector<storage::DataRange>> of_node = context_.source->DataRanges(node);
    if (!of_node.ok()) return of_node.status();
    for (const storage::DataRange& range : *of_node) {
      auto [it, added] =
          ranges.try_emplace(static_cast<int>(range.tier), range.start_ns, range.end_ns);
      if (added) continue;
      it->second.first = std::min(it->second.first, range.start_ns);
      it->second.second = std::max(it->second.second, range.end_ns);
    }
    return absl::OkStatus();
  };
  // Asking every node of a fleet would cost more than the answer: beyond some, the range of all.
  constexpr size_t kAskEach = 16;
  if (selection_.nodes.size() > kAskEach) {
    if (absl::Status status = add(0); !status.ok()) return status;
  } else {
    for (const storage::NodeRecord& node : selection_.nodes) {
      if (absl::Status status = add(node.number()); !status.ok()) return status;
    }
  }
  for (const auto& [number, range] : ranges) {
    if (number == static_cast<int>(tier)) {
      coverage->set_data_start_s(Seconds(range.first));
      coverage->set_data_end_s(Seconds(range.second));
    }
    if (found) continue;
    v1::TierRange* out = coverage->add_tiers();
    out->set_tier(static_cast<v1::Tier>(number));
    out->set_start_s(Seconds(range.first));
    out->set_end_s(Seconds(range.second));
  }
  return absl::OkStatus();
}

void CoverageBuilder::AddLostEvents(v1::Coverage* coverage) const {
  std::map<std::pair<std::string, std::string>, Lost> by_name;  // reason, vital
  for (const auto& [key, lost] : losses_) {
    if (lost.events == 0 && lost.weight == 0) continue;
    Lost& sum =
        by_name[{LossReasonName(key.first), key.second == nullptr ? "" : key.second->name()}];
    sum.events += lost.events;
    sum.weight += lost.weight;
  }
  for (const auto& [names, lost] : by_name) {
    v1::ReasonCount* out = coverage->add_lost_events();
    out->set_reason(names.first);
    out->set_vital(names.second);
    out->set_events(lost.events);
    out->set_weight(lost.weight);
  }
}

absl::StatusOr<v1::Coverage> CoverageBuilder::Finish(v1::Tier tier, bool found) {
  v1::Coverage coverage;
  unwatched_.clear();
  gaps_.clear();
  if (!used_.empty()) tier = static_cast<v1::Tier>(used_.rbegin()->first);
  coverage.set_tier(tier);
  for (const auto& [number, use] : used_) *coverage.add_used() = use;
  coverage.set_nodes_selected(static_cast<uint32_t>(selection_.nodes.size()));
  for (const storage::NodeRecord& node : selection_.nodes) {
    if (context_.cancelled()) return absl::CancelledError("query: the asker went away");
    if (absl::Status status = LookAtNode(node, &coverage); !status.ok()) return status;
  }
  TakeOut(damaged_.watched_ns, "stored, but it could not be read", &coverage);
  TakeOut(gone_ns_, "watched, but not stored any more in this detail", &coverage);
  AddLostEvents(&coverage);
  for (const auto& [vital, group] : control_) *coverage.add_control() = group;
  steps_.Write(&coverage);
  for (const auto& [outcome, frames] : user_frames_) {
    v1::NameCount* out = coverage.add_user_frames();
    out->set_outcome(NameOutcomeName(outcome));
    out->set_frames(frames);
  }
  std::vector<std::pair<double, std::string>> reasons;
  for (const auto& [reason, unwatched] : unwatched_) {
    reasons.emplace_back(-unwatched.seconds,
                         absl::StrCat(SecondsText(unwatched.seconds), " unwatched: ", reason));
  }
  std::sort(reasons.begin(), reasons.end());
  for (auto& [size, text] : reasons) coverage.add_notes(std::move(text));
  AddScopes(selection_.nodes, coverage);
  for (const storage::NodeRecord& node : selection_.nodes) {
    if (node.state() == v1::NODE_STATE_CLONE_CONFLICT) {
      coverage.add_notes(absl::StrCat("another machine uses the certificate of ", node.name(),
                                      ": its summaries are kept apart and not counted"));
    }
  }
  if (damaged_.epochs > 0) {
    coverage.add_notes(absl::StrCat(damaged_.epochs,
                                    " stored epochs could not be opened and are left out; "
                                    "telltale-collector verify says which"));
  }
  if (unreadable_ > 0) {
    coverage.add_notes(absl::StrCat(unreadable_,
                                    " windows unreadable: finer data stands in their place where "
                                    "it is still kept, nothing where it is not"));
  }
  if (lacking_ > 0) {
    coverage.add_notes(absl::StrCat(
        lacking_, " windows lack a part that was unreadable when they were made; the rest counts"));
  }
  if (unspooled_ > 0) {
    coverage.add_notes(
        absl::StrCat(unspooled_,
                     " epochs came from their nodes' memory because their spools could not be "
                     "written; telltale nodes shows whose"));
  }
  if (selection_.tier != v1::TIER_AUTO && selection_.tier != tier) {
    coverage.add_notes("the tier asked for was not used");
  }
  for (const std::string& note : notes_) coverage.add_notes(note);
  coverage.set_asked_start_s(Seconds(selection_.start_ns));
  coverage.set_asked_end_s(Seconds(end_ns_));
  coverage.set_values_start_s(Seconds(covers_start_ns_));
  coverage.set_values_end_s(Seconds(covers_end_ns_));
  coverage.set_values_watched_s(Seconds(values_watched_ns_));
  // Of windows it is not known; for the few epochs beside them it would mislead.
  const bool epochs_only = used_.size() == 1 && used_.begin()->first == v1::TIER_RAW;
  if (miss_epochs_ > 0 && epochs_only) {
    coverage.set_miss_probability_1pct(miss_sum_ / miss_epochs_);
    if (miss_by_formula_ > 0 && coverage.miss_probability_1pct() >= kShownMiss) {
      coverage.add_notes(absl::StrCat("the chance of a miss is by formula for ", miss_by_formula_,
                                      " of ", miss_epochs_,
                                      " epochs, whose agents did not measure it"));
    }
    // However small the stated chance is: it is of labels of which something was seen.
    if (miss_in_part_ > 0) {
      coverage.add_notes(absl::StrCat("in ", miss_in_part_, " of ", miss_epochs_,
                                      " epochs the vital was watched in part: a label that came "
                                      "all in between is missed beyond the stated chance"));
    }
  }
  if (absl::Status status = AddRanges(found, tier, &coverage); !status.ok()) return status;
  return coverage;
}

std::vector<v1::Gap> CoverageBuilder::Gaps(size_t limit, bool* more) {
  *more = gaps_.size() > limit;
  std::vector<v1::Gap> gaps(gaps_.begin(),
                            gaps_.begin() + static_cast<long>(std::min(limit, gaps_.size())));
  return gaps;
}

}  // namespace telltale::query
