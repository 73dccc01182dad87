#include "collector/filter/node_feed.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collector/filter/epoch_view.h"
#include "proto/codec.h"

namespace telltale::filter {
namespace {

// Clocks put the ends of adjacent epochs this far apart without anything being missing.
constexpr uint64_t kJoinNs = 1'500'000'000;
constexpr size_t kMaxTextBytes = 512;
constexpr size_t kMaxLabelNameBytes = 64;
constexpr size_t kMaxSubjectBytes = 256;
constexpr size_t kMaxOpen = 1'024;
constexpr size_t kMaxMuted = 64;     // programs of a node
constexpr double kMaxFigure = 9e12;  // of a base unit; beyond it millionths do not fit 64 bits

uint64_t HourOf(uint64_t time_ns) { return storage::FloorTo(time_ns, storage::kHourNs); }

int64_t Fixed(double value, double scale) {
  if (std::isnan(value)) return 0;
  return std::llround(std::clamp(value, -kMaxFigure, kMaxFigure) * scale);
}

// Clear() would keep the memory.
void Free(google::protobuf::RepeatedPtrField<v1::FilterPoints>* points) {
  google::protobuf::RepeatedPtrField<v1::FilterPoints>().Swap(points);
}

OpenAnomaly Identity(const v1::FilterAnomaly& anomaly) {
  return {anomaly.vital(), anomaly.sub(), anomaly.subject(), anomaly.start_ns(), anomaly.news_ns()};
}

// What a filter hands over is text of unknown origin: it may carry names of the node.
std::string Name(const char* text) {
  return text == nullptr ? "" : proto::SanitizeText(text, kMaxLabelNameBytes);
}

}  // namespace

NodeFeed::NodeFeed(const FeedOptions& options, uint32_t node, std::string name)
    : options_(options),
      node_(node),
      name_(std::move(name)),
      hours_([this](uint64_t start_ns, const EpochSource::HourVisitor& visit) {
        return ReadHour(start_ns, visit);
      }) {
  host_.struct_size = sizeof host_;
  host_.abi = TELLTALE_FILTER_ABI;
  host_.context = this;
  host_.node = name_.c_str();
  host_.point = OnPoint;
  host_.mark = OnMark;
  host_.anomaly = OnAnomaly;
  host_.hour = OnHour;
}

absl::Status NodeFeed::Create() {
  if (instance_ != nullptr || resting_) return absl::OkStatus();
  host_.machine = machine_.c_str();
  host_.scope = scope_.c_str();
  auto instance = options_.code->Create(host_, hours_, options_.options);
  if (instance.ok()) {
    instance_ = *std::move(instance);
    instances_no_room_ = 0;
    return absl::OkStatus();
  }
  failed_ = true;
  return absl::InternalError(
      absl::StrCat("filter ", filter().name, ": node ", name_, ": ", instance.status().message()));
}

absl::Status NodeFeed::Resume(uint64_t hour_start_ns, const v1::FilterHour& hour) {
  if (auto status = Create(); !status.ok()) return status;
  hour_start_ns_ = hour_start_ns;
  hour_ = hour;
  stored_runs_.assign(hour.shown_sequences().begin(), hour.shown_sequences().end());
  hour_.clear_shown_sequences();
  Free(hour_.mutable_points());
  points_stored_ = hour.points_size() > 0;
  // Epochs of the hour are shown again: those before it never.
  last_start_ns_ = hour_start_ns - 1;
  last_end_ns_ = hour.last_end_ns();
  shown_ = hour.shown_before();
  skipped_ = hour.skipped_before() + static_cast<uint64_t>(hour.skipped_size());
  for (const v1::FilterAnomaly& anomaly : hour.anomalies()) NoteOpen(anomaly);
  for (const uint64_t start_ns : hour.open_hours()) {
    const auto bytes = options_.store->Get({options_.filter_number, node_, start_ns});
    v1::FilterHour earlier;
    // One that cannot be read costs that its open ones are known as such.
    if (!bytes.ok() || !earlier.ParseFromString(*bytes)) continue;
    for (const v1::FilterAnomaly& anomaly : earlier.anomalies()) NoteOpen(anomaly);
  }
  std::string().swap(*hour_.mutable_state());
  state_stored_ = !hour.state().empty();
  if (!state_stored_ || instance_->Load(hour.state())) return absl::OkStatus();
  BeginAnew();
  return absl::DataLossError(absl::StrCat("filter ", filter().name, ": state of node ", name_,
                                          " is not understood; it learns again"));
}

// Of what was open the filter knows nothing any more and will never say that it ended; not even
// after another restart may it count as open. What it finds again in this hour it says again.
void NodeFeed::BeginAnew() {
  state_stored_ = false;
  for (const uint64_t start_ns : hour_.open_hours()) EndAllOf(start_ns);
  hour_.clear_open_hours();
  for (v1::FilterAnomaly& anomaly : *hour_.mutable_anomalies()) anomaly.set_open(false);
  open_.clear();
  dirty_ = hour_start_ns_ != 0;
}

// A row that cannot be read or written is listed as open until it is a day old.
void NodeFeed::EndAllOf(uint64_t hour_start_ns) {
  const storage::DerivedKey key{options_.filter_number, node_, hour_start_ns};
  const auto bytes = options_.store->Get(key);
  v1::FilterHour hour;
  if (!bytes.ok() || !hour.ParseFromString(*bytes)) return;
  for (v1::FilterAnomaly& anomaly : *hour.mutable_anomalies()) anomaly.set_open(false);
  row_version_ = std::max(row_version_ + 1, options_.now_ns());
  options_.store->Put(key, proto::Canonical(hour), row_version_).IgnoreError();
}

absl::StatusOr<std::optional<uint64_t>> NodeFeed::Begin(const NodeHead& head) {
  if (failed_) return std::nullopt;
  if (auto status = Flush(); !status.ok()) return status;
  const uint64_t now = options_.now_ns();
  // What waits behind a hole is read again when something came, or when it has waited long enough.
  if (settled_ && head.epochs == dealt_with_ + waiting_ &&
      (waiting_ == 0 || now < wait_until_ns_)) {
    return std::nullopt;
  }
  if (auto status = Create(); !status.ok()) return status;
  const uint64_t length_ns = uint64_t{head.epoch_length_s} * storage::kSecondNs;
  const bool tells = TELLTALE_FILTER_HAS(&filter(), telltale_filter, history_epochs);
  const uint64_t history_ns = tells ? filter().history_epochs * length_ns : 0;
  hold_ns_ = options_.hold_ns + 3 * length_ns;
  from_ns_ = hour_start_ns_ == 0 ? now - std::min(now, std::max(options_.backfill_ns, history_ns))
                                 : last_start_ns_ + 1;
  pending_ = 0;
  shown_before_ = shown_;
  unreadable_before_ = unreadable_;
  problem_ = absl::OkStatus();
  return from_ns_;
}

void NodeFeed::Offer(const SourceEpoch& epoch) {
  if (!problem_.ok()) return;
  if (epoch.span.start_ns < from_ns_ || IsSkipped(epoch)) return;
  const bool adjoins = last_end_ns_ == 0 || epoch.span.start_ns <= last_end_ns_ + kJoinNs;
  if (pending_ > 0 ||
      (options_.waits && !adjoins && epoch.span.end_ns + hold_ns_ > options_.now_ns())) {
    if (pending_++ == 0) wait_until_ns_ = epoch.span.end_ns + hold_ns_;
    return;
  }
  problem_ = Show(epoch);
}

// It is met again in each look until a later one was shown.
void NodeFeed::PassOver(uint64_t start_ns) {
  if (!problem_.ok() || start_ns < from_ns_ || start_ns <= last_unreadable_ns_) return;
  last_unreadable_ns_ = start_ns;
  ++unreadable_;
}

absl::Status NodeFeed::Finish(const NodeHead& head, bool complete) {
  const uint64_t shown = shown_ - shown_before_;
  dealt_with_ += shown + (unreadable_ - unreadable_before_);
  if (!problem_.ok()) return problem_;
  if (!complete) return absl::OkStatus();
  waiting_ = pending_;
  if (!settled_) {
    settled_ = shown == 0 && head.epochs == last_head_epochs_;
    last_head_epochs_ = head.epochs;
    dealt_with_ = head.epochs - std::min(head.epochs, pending_);
    return absl::OkStatus();
  }
  // What was counted beyond what was shown or waits came before the last epoch shown: too late.
  if (head.epochs <= dealt_with_ + pending_) return absl::OkStatus();
  const uint64_t late = head.epochs - dealt_with_ - pending_;
  dealt_with_ += late;
  return NoteLate(late);
}

absl::Status NodeFeed::NoteLate(uint64_t late) {
  skipped_ += late;
  // Those of the running hour would be shown when it is repeated after a restart.
  const auto visit = [&](const SourceEpoch& epoch) {
    if (epoch.span.start_ns > last_start_ns_) return false;
    if (epoch.span.start_ns < hour_start_ns_ || WasShown(epoch) || IsSkipped(epoch)) return true;
    v1::SkippedEpoch& skipped = *hour_.add_skipped();
    skipped.set_start_ns(epoch.span.start_ns);
    skipped.set_sequence(epoch.sequence);
    dirty_ = true;
    return true;
  };
  const auto read = options_.source->ForEach(node_, hour_start_ns_, last_start_ns_ + 1, visit);
  if (!read.ok()) return read;
  return Flush();
}

// They are shown in the order of before; of those that can no longer be read none comes.
bool NodeFeed::TakeStored(uint64_t sequence) {
  for (size_t i = 0; i + 1 < stored_runs_.size(); i += 2) {
    if (sequence < stored_runs_[i] || sequence > stored_runs_[i + 1]) continue;
    stored_runs_.erase(stored_runs_.begin(), stored_runs_.begin() + static_cast<ptrdiff_t>(i));
    stored_runs_[0] = sequence + 1;
    if (stored_runs_[0] > stored_runs_[1]) {
      stored_runs_.erase(stored_runs_.begin(), stored_runs_.begin() + 2);
    }
    return true;
  }
  return false;
}

// In the running hour. A node that was made anew counts from 1 again: its runs are later ones.
bool NodeFeed::WasShown(const SourceEpoch& epoch) const {
  const auto& runs = hour_.shown_sequences();
  for (size_t i = 0; i < run_starts_.size(); ++i) {
    const bool in_time = epoch.span.start_ns >= run_starts_[i] &&
                         (i + 1 == run_starts_.size() || epoch.span.start_ns < run_starts_[i + 1]);
    const int first = static_cast<int>(2 * i);
    if (in_time && epoch.sequence >= runs.Get(first) && epoch.sequence <= runs.Get(first + 1)) {
      return true;
    }
  }
  return false;
}

bool NodeFeed::IsSkipped(const SourceEpoch& epoch) const {
  return std::ranges::any_of(hour_.skipped(), [&](const v1::SkippedEpoch& skipped) {
    return skipped.start_ns() == epoch.span.start_ns && skipped.sequence() == epoch.sequence;
  });
}

std::optional<std::string> NodeFeed::Rest() {
  if (!awake() || !may_rest_ || !instance_->MayRest()) return std::nullopt;
  auto state = instance_->Save();
  // One that cannot save is told of when its hour ends.
  if (!state.ok() || state->empty()) return std::nullopt;
  instance_.reset();
  resting_ = true;
  return *std::move(state);
}

absl::Status NodeFeed::Wake(std::string_view state) {
  resting_ = false;
  if (auto status = Create(); !status.ok()) return status;
  if (instance_->Load(state)) return absl::OkStatus();
  may_rest_ = false;
  BeginAnew();
  return absl::DataLossError(absl::StrCat("filter ", filter().name, ": node ", name_,
                                          ": does not understand the state it saved; it learns "
                                          "again and stays awake"));
}

std::optional<NodeFeed::Told> NodeFeed::Ask() {
  if (!awake()) return std::nullopt;
  Told asked;
  const auto told = instance_->Learning();
  if (!told.has_value()) return asked;
  v1::FilterLearning& learning = asked.learning.emplace();
  learning.set_filter(filter().name);
  learning.set_node(name_);
  learning.set_learned_epochs(told->learned_epochs);
  learning.set_needed_epochs(told->needed_epochs);
  learning.set_unit(Name(told->unit));
  const char* muted = told->muted == nullptr ? "" : told->muted;
  for (const auto& line : absl::StrSplit(muted, '\n', absl::SkipEmpty())) {
    if (asked.muted.size() >= kMaxMuted) break;
    asked.muted.push_back(proto::SanitizeText(std::string(line), kMaxSubjectBytes));
  }
  if (told->no_room > instances_no_room_) {
    no_room_ += told->no_room - std::exchange(instances_no_room_, told->no_room);
  }
  return asked;
}

absl::Status NodeFeed::Show(const SourceEpoch& epoch) {
  if (resting_) options_.wake(node_);
  if (failed_) return absl::OkStatus();  // it could not wake, which was told
  const uint64_t hour = HourOf(epoch.span.start_ns);
  if (hour != hour_start_ns_) {
    if (auto status = BeginHour(hour); !status.ok()) return status;
  }
  showing_start_ns_ = epoch.span.start_ns;
  points_there_ = TakeStored(epoch.sequence);
  if (options_.guard != nullptr) options_.guard->Show(epoch.span.start_ns);
  const auto code = instance_->Show(epoch);
  if (!code.ok() || *code != 0) {
    failed_ = true;
    dropped_ += found_.size();
    found_.clear();
    return absl::InternalError(absl::StrCat("filter ", filter().name, ": gave up on node ", name_,
                                            code.ok()
                                                ? absl::StrCat(" with code ", *code)
                                                : absl::StrCat(": ", code.status().message())));
  }
  if (std::exchange(asks_learning_, false) && Learns()) hour_.set_learning(true);
  auto& runs = *hour_.mutable_shown_sequences();
  if (!runs.empty() && runs.Get(runs.size() - 1) + 1 == epoch.sequence) {
    runs.Set(runs.size() - 1, epoch.sequence);
  } else {
    runs.Add(epoch.sequence);
    runs.Add(epoch.sequence);
    run_starts_.push_back(epoch.span.start_ns);
  }
  last_start_ns_ = std::max(last_start_ns_, epoch.span.start_ns);
  last_end_ns_ = std::max(last_end_ns_, epoch.span.end_ns);
  ++shown_;
  for (v1::FilterAnomaly& anomaly : found_) anomaly.set_found_ns(epoch.span.end_ns);
  return Flush();
}

absl::Status NodeFeed::Flush() {
  while (!found_.empty()) {
    if (auto status = TakeAnomaly(found_.front()); !status.ok()) return status;
    found_.pop_front();
    ++told_;
  }
  if (!dirty_) return absl::OkStatus();
  // Ascends also over restarts, as long as the clock does.
  auto status = StoreHour();
  dirty_ = !status.ok();
  return status;
}

absl::Status NodeFeed::StoreHour() {
  const storage::DerivedKey key{options_.filter_number, node_, hour_start_ns_};
  if (state_stored_ || points_stored_) {
    auto bytes = options_.store->Get(key);
    v1::FilterHour stored;
    // A row that is gone or damaged costs the points of this hour so far and, after a restart, what
    // was learned before it.
    if (bytes.ok() && stored.ParseFromString(*bytes)) {
      TakeInStored(std::move(stored));
    } else if (absl::IsUnavailable(bytes.status())) {
      return bytes.status();
    }
  }
  row_version_ = std::max(row_version_ + 1, options_.now_ns());
  auto status = options_.store->Put(key, proto::Canonical(hour_), row_version_);
  if (status.ok()) {
    state_stored_ = !hour_.state().empty();
    points_stored_ = hour_.points_size() > 0;
    Free(hour_.mutable_points());
  }
  if (state_stored_) std::string().swap(*hour_.mutable_state());
  return status;
}

// The state, and the points before those that wait.
void NodeFeed::TakeInStored(v1::FilterHour stored) {
  if (state_stored_) hour_.set_state(std::move(*stored.mutable_state()));
  auto& all = *stored.mutable_points();
  for (v1::FilterPoints& fresh : *hour_.mutable_points()) {
    const auto known = std::ranges::find_if(all, [&](const v1::FilterPoints& one) {
      return one.series() == fresh.series() && one.vital() == fresh.vital() &&
             one.sub() == fresh.sub();
    });
    if (known == all.end()) {
      if (RoomFor(static_cast<size_t>(all.size()))) *all.Add() = std::move(fresh);
      continue;
    }
    // After a row that could not be written what is stored comes again.
    for (int i = 0; i < fresh.time_ns_size(); ++i) {
      if (std::ranges::binary_search(known->time_ns(), fresh.time_ns(i))) continue;
      AddPoint(fresh.time_ns(i), fresh.value_micro(i), &*known);
    }
  }
  hour_.mutable_points()->Swap(&all);
}

bool NodeFeed::AddPoint(uint64_t time_ns, int64_t value_micro, v1::FilterPoints* series) {
  const auto& times = series->time_ns();
  if (!times.empty() && times.Get(times.size() - 1) >= time_ns) {
    CountDropped();
    return false;
  }
  if (!RoomFor(static_cast<size_t>(times.size()))) return false;
  series->add_time_ns(time_ns);
  series->add_value_micro(value_micro);
  return true;
}

bool NodeFeed::Learns() const {
  const auto told = instance_->Learning();
  return told.has_value() && told->learned_epochs < told->needed_epochs;
}

absl::Status NodeFeed::BeginHour(uint64_t hour_start_ns) {
  // What was shown in the hour that ends is whole now.
  dirty_ = hour_start_ns_ != 0;
  if (auto status = Flush(); !status.ok()) return status;
  auto state = instance_->Save();
  if (!state.ok()) {
    failed_ = true;
    return absl::Status(state.status().code(), absl::StrCat("filter ", filter().name, ": node ",
                                                            name_, ": ", state.status().message()));
  }
  hour_.Clear();
  hour_.set_state(*std::move(state));
  state_stored_ = false;
  points_stored_ = false;
  run_starts_.clear();
  stored_runs_.clear();
  hour_.set_shown_before(shown_);
  hour_.set_skipped_before(skipped_);
  hour_.set_last_end_ns(last_end_ns_);
  std::set<uint64_t> open_hours;
  for (const OpenAnomaly& open : open_) open_hours.insert(HourOf(open.start_ns));
  for (const uint64_t start_ns : open_hours) hour_.add_open_hours(start_ns);
  hour_.set_learning(Learns());
  asks_learning_ = true;
  hour_start_ns_ = hour_start_ns;
  dirty_ = true;
  return absl::OkStatus();
}

void NodeFeed::NoteOpen(const v1::FilterAnomaly& anomaly) {
  OpenAnomaly one = Identity(anomaly);
  open_.erase(one);
  if (anomaly.open()) {
    open_.insert(std::move(one));
    // Of a filter that begins ever more and ends nothing.
    if (open_.size() > kMaxOpen) {
      open_.erase(std::ranges::min_element(open_, {}, &OpenAnomaly::start_ns));
    }
  }
}

absl::Status NodeFeed::TakeAnomaly(v1::FilterAnomaly found) {
  if (options_.guard != nullptr && !options_.guard->Say()) {
    CountDropped();
    return absl::OkStatus();
  }
  const uint64_t hour = HourOf(found.start_ns());
  if (hour == hour_start_ns_) {
    dirty_ = true;
    return PutInto(hour_, std::move(found));
  }
  // What is known to be open may have begun at any time: else its end would never be known.
  const bool known = open_.contains(Identity(found));
  if (hour > hour_start_ns_ || (!known && hour_start_ns_ - hour > kMostEarlierNs)) {
    CountDropped();
    return absl::OkStatus();
  }
  return PutIntoEarlier(hour, std::move(found));
}

// What was over when the former version of the filter had its last look is no news; what goes on
// since is, whoever found it.
absl::Status NodeFeed::Tell(v1::FilterAnomaly& found) {
  found.set_untold(std::max(found.found_ns(), found.end_ns()) <= told_until_ns_);
  if (found.untold()) return absl::OkStatus();
  return options_.log->Append(filter().name, filter().version, name_, found).status();
}

// The log tells of each once. That a leak has doubled is news all the same; what a filter says
// again in each epoch is none, nor is what comes again after a restart.
void NodeFeed::NoteNews(const v1::FilterAnomaly& known, v1::FilterAnomaly& found) const {
  const uint64_t before_ns = std::max(known.told_ns(), known.found_ns());
  const bool again = found.found_ns() > before_ns;
  const bool after_a_pause = before_ns + kJoinNs < showing_start_ns_;
  found.set_told_ns(std::max(before_ns, found.found_ns()));
  found.set_news_ns(found.open() && again && after_a_pause ? options_.now_ns() : known.news_ns());
}

absl::Status NodeFeed::PutInto(v1::FilterHour& hour, v1::FilterAnomaly found) {
  auto& list = *hour.mutable_anomalies();
  const auto known = std::ranges::find_if(list, [&](const v1::FilterAnomaly& one) {
    return one.start_ns() == found.start_ns() && one.vital() == found.vital() &&
           one.sub() == found.sub() && one.subject() == found.subject();
  });
  if (known != list.end()) {
    NoteNews(*known, found);
    found.set_found_ns(known->found_ns());
    if (found.facts().empty()) *found.mutable_facts() = known->facts();
    if (known->untold()) {
      if (auto status = Tell(found); !status.ok()) return status;
    }
    NoteOpen(found);
    *known = std::move(found);
    return absl::OkStatus();
  }
  if (!RoomFor(static_cast<size_t>(list.size()))) return absl::OkStatus();
  if (options_.guard != nullptr && !options_.guard->Find(found.start_ns())) {
    CountDropped();
    return absl::OkStatus();
  }
  if (auto status = Tell(found); !status.ok()) return status;
  NoteOpen(found);
  *list.Add() = std::move(found);
  return absl::OkStatus();
}

// Many a filter knows only later that something began: a rule after two epochs, a leak after half
// an hour, one that judges hours when the next has begun.
absl::Status NodeFeed::PutIntoEarlier(uint64_t hour_start_ns, v1::FilterAnomaly found) {
  const storage::DerivedKey key{options_.filter_number, node_, hour_start_ns};
  const auto bytes = options_.store->Get(key);
  if (absl::IsUnavailable(bytes.status())) return bytes.status();
  v1::FilterHour earlier;
  if (!bytes.ok() || !earlier.ParseFromString(*bytes)) {
    // Of one that was told and whose row is gone or damaged no more is kept than that it ended.
    if (open_.contains(Identity(found))) {
      NoteOpen(found);
      CountDropped();
      return absl::OkStatus();
    }
    earlier.Clear();
  }
  const bool open = found.open();
  if (auto status = PutInto(earlier, std::move(found)); !status.ok()) return status;
  if (open && std::ranges::count(hour_.open_hours(), hour_start_ns) == 0) {
    hour_.add_open_hours(hour_start_ns);
    dirty_ = true;
  }
  row_version_ = std::max(row_version_ + 1, options_.now_ns());
  return options_.store->Put(key, proto::Canonical(earlier), row_version_);
}

bool NodeFeed::RoomFor(size_t outputs) {
  if (outputs < options_.max_outputs_per_hour) return true;
  CountDropped();
  return false;
}

void NodeFeed::CountDropped() {
  hour_.set_dropped(hour_.dropped() + 1);
  ++dropped_;
  dirty_ = true;
}

bool NodeFeed::ReadHour(uint64_t start_ns, const EpochSource::HourVisitor& visit) const {
  // Whole hours before the epoch being shown; near the end of time a sum would wrap around.
  if (start_ns % storage::kHourNs != 0 || start_ns >= showing_start_ns_ ||
      showing_start_ns_ - start_ns < storage::kHourNs) {
    return false;
  }
  return options_.source->Hour(node_, start_ns, visit);
}

void NodeFeed::OnAnomaly(void* context, const telltale_filter_anomaly* anomaly) {
  v1::FilterAnomaly& found = static_cast<NodeFeed*>(context)->found_.emplace_back();
  found.set_vital(Name(anomaly->vital));
  found.set_sub(Name(anomaly->sub));
  found.set_start_ns(anomaly->start_ns);
  found.set_end_ns(anomaly->end_ns);
  found.set_open(anomaly->open != 0);
  found.set_value_micro(Fixed(anomaly->value, 1e6));
  found.set_expected_micro(Fixed(anomaly->expected, 1e6));
  found.set_deviation_micro(Fixed(anomaly->deviation, 1e6));
  found.set_severity_milli(Fixed(anomaly->severity, 1e3));
  found.set_learned_epochs(anomaly->learned_epochs);
  if (anomaly->text != nullptr) {
    found.set_text(proto::SanitizeText(anomaly->text, kMaxTextBytes));
  }
  if (!TELLTALE_FILTER_HAS(anomaly, telltale_filter_anomaly, next)) return;
  const auto text = [](const char* of, size_t limit) {
    return of == nullptr ? "" : proto::SanitizeText(of, limit);
  };
  found.set_subject(text(anomaly->subject, kMaxSubjectBytes));
  found.set_evidence(text(anomaly->evidence, kMaxTextBytes));
  found.set_against(text(anomaly->against, kMaxTextBytes));
  found.set_cause(text(anomaly->cause, kMaxTextBytes));
  found.set_next(text(anomaly->next, kMaxTextBytes));
  const telltale_filter& filter = static_cast<NodeFeed*>(context)->filter();
  if (TELLTALE_FILTER_HAS(&filter, telltale_filter, rule)) found.set_rule(filter.rule);
  if (!TELLTALE_FILTER_HAS(anomaly, telltale_filter_anomaly, site)) return;
  found.set_cgroup(text(anomaly->cgroup, kMaxSubjectBytes));
  found.set_device(text(anomaly->device, kMaxSubjectBytes));
  found.set_site(text(anomaly->site, kMaxSubjectBytes));
  if (!TELLTALE_FILTER_HAS(anomaly, telltale_filter_anomaly, facts)) return;
  if (anomaly->facts == nullptr) return;
  for (uint32_t i = 0; i < std::min<uint32_t>(anomaly->fact_count, TELLTALE_FILTER_FACTS); ++i) {
    const auto& fact = *TELLTALE_FILTER_AT(telltale_filter_fact, anomaly->facts, i);
    v1::FilterFact& told = *found.add_facts();
    told.set_name(Name(fact.name));
    told.set_value_micro(Fixed(fact.value, 1e6));
    told.set_unit(Name(fact.unit));
    told.set_text(text(fact.text, kMaxSubjectBytes));
  }
}

int NodeFeed::OnHour(void* context, uint64_t start_ns,
                     void (*show)(void* argument, const telltale_filter_epoch* hour),
                     void* argument) {
  const NodeFeed& self = *static_cast<NodeFeed*>(context);
  const auto shown = self.ReadHour(start_ns, [&](const SourceHour& hour) {
    show(argument, EpochView(hour, start_ns, self.filter()).get());
  });
  return shown ? 0 : 1;
}

void NodeFeed::OnMark(void* context, const telltale_filter_mark* mark) {
  NodeFeed& self = *static_cast<NodeFeed*>(context);
  if (self.options_.guard != nullptr && !self.options_.guard->Say()) {
    self.CountDropped();
    return;
  }
  v1::FilterMark told;
  told.set_vital(Name(mark->vital));
  told.set_sub(Name(mark->sub));
  told.set_start_ns(mark->start_ns);
  told.set_end_ns(mark->end_ns);
  if (mark->text != nullptr) told.set_text(proto::SanitizeText(mark->text, kMaxTextBytes));
  // Marks and points have no identity of their own: a repetition gives the same ones at the same
  // times.
  const bool repeated = std::ranges::any_of(self.hour_.marks(), [&](const v1::FilterMark& known) {
    return known.start_ns() == told.start_ns() && known.vital() == told.vital() &&
           known.sub() == told.sub() && known.text() == told.text();
  });
  if (repeated || !self.RoomFor(static_cast<size_t>(self.hour_.marks_size()))) return;
  *self.hour_.add_marks() = told;
  self.dirty_ = true;
  if (self.options_.on_mark) self.options_.on_mark(self.name_, told);
}

void NodeFeed::OnPoint(void* context, const telltale_filter_point* point) {
  NodeFeed& self = *static_cast<NodeFeed*>(context);
  if (self.points_there_) return;
  if (self.options_.guard != nullptr && !self.options_.guard->Draw()) {
    self.CountDropped();
    return;
  }
  // Who asks for a time is shown what its rows have, and those of up to an hour behind it.
  if (HourOf(point->time_ns) > self.hour_start_ns_ ||
      point->time_ns + storage::kHourNs < self.hour_start_ns_) {
    self.CountDropped();
    return;
  }
  const std::string name = Name(point->series), vital = Name(point->vital), sub = Name(point->sub);
  auto& all = *self.hour_.mutable_points();
  auto series = std::ranges::find_if(all, [&](const v1::FilterPoints& known) {
    return known.series() == name && known.vital() == vital && known.sub() == sub;
  });
  if (series == all.end()) {
    if (!self.RoomFor(static_cast<size_t>(all.size()))) return;
    v1::FilterPoints& added = *all.Add();
    added.set_series(name);
    added.set_vital(vital);
    added.set_sub(sub);
    series = all.end() - 1;
  }
  if (self.AddPoint(point->time_ns, Fixed(point->value, 1e6), &*series)) self.dirty_ = true;
}

}  // namespace telltale::filter
