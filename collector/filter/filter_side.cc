#include "collector/filter/filter_side.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

#include "collector/filter/detect/detectors.h"
#include "collector/filter/record/record.h"
#include "collector/incident/incident_match.h"
#include "collector/query/nearest.h"

namespace telltale::filter {

absl::StatusOr<std::unique_ptr<FilterSide>> FilterSide::Open(FilterSideOptions options) {
  storage::Store* const store = options.store;
  std::unique_ptr<FilterSide> side(new FilterSide);
  auto log = AnomalyLog::Open({.store = &store->derived()});
  if (!log.ok()) return log.status();
  side->log_ = *std::move(log);
  auto silences = incident::SilenceBook::Open(&store->derived());
  if (!silences.ok()) return silences.status();
  side->silences_ = *std::move(silences);
  incident::IncidentBookOptions book;
  book.store = &store->derived();
  book.log = side->log_.get();
  book.silences = side->silences_.get();
  book.hints = options.hints;
  book.goes_on = [side = side.get()](const v1::StoredSymptom& symptom, const NodeNames& nodes) {
    return side->GoesOn(symptom, nodes);
  };
  book.held = [side = side.get()](const v1::StoredSymptom& symptom, const NodeNames& nodes) {
    return side->Held(symptom, nodes);
  };
  auto incidents = incident::IncidentBook::Open(std::move(book));
  if (!incidents.ok()) return incidents.status();
  side->incidents_ = *std::move(incidents);
  side->epochs_ = std::make_unique<StoreEpochSource>(&store->reader(), &store->fresh_bodies());
  side->store_ = store;
  side->filters_ = BuiltinFilters();
  side->fleet_ = std::make_unique<FleetWatch>(side->epochs_.get(), &store->derived(),
                                              side->log_.get(), options.now_ns());
  FilterRunnerOptions running;
  running.source = side->epochs_.get();
  running.store = &store->derived();
  running.log = side->log_.get();
  running.now_ns = options.now_ns;
  running.log_line = options.log_line;
  running.on_mark = options.on_mark;
  side->filter_options_ = std::move(options.filter_options);
  side->filter_options_.emplace_back("learn", options.learn_epochs);
  running.filter_options = side->filter_options_;
  UserFiltersOptions users;
  users.directory = options.user_directory;
  users.host = options.host;
  users.runner = running;
  users.changed = options.user_changed;
  for (const telltale_filter* filter : side->filters_) users.taken.insert(filter->name);
  for (const FilterIdentity& fleet : FleetWatch::Identities()) users.taken.insert(fleet.name);
  side->users_ = std::make_unique<UserFilters>(std::move(users));
  running.filters = side->filters_;
  running.on_epoch = [fleet = side->fleet_.get()](uint32_t node, const SourceEpoch& epoch) {
    fleet->Note(node, epoch);
  };
  running.after_look = [book = side->incidents_.get(), fleet = side->fleet_.get(),
                        now_ns = options.now_ns] {
    const absl::Status watched = fleet->Look(now_ns());
    const absl::Status grouped = book->Advance(now_ns());
    return watched.ok() ? grouped : watched;
  };
  auto runner = FilterRunner::Open(std::move(running));
  if (!runner.ok()) return runner.status();
  side->runner_ = *std::move(runner);
  side->anomalies_ = std::make_unique<QueryAnomalies>(
      &store->derived(), side->log_.get(),
      [side = side.get()] {
        auto all = side->runner_->filters();
        for (FilterIdentity& fleet : FleetWatch::Identities()) all.push_back(std::move(fleet));
        for (FilterIdentity& user : side->users_->Identities()) all.push_back(std::move(user));
        return all;
      },
      [side = side.get()] { return side->Learning(); });
  return side;
}

void FilterSide::Start() {
  runner_->Start();
  users_->Start();
}

void FilterSide::Stop() {
  // Whose looks ask what of users' filters goes on.
  runner_->Stop();
  users_->Stop();
}

std::vector<v1::FilterLearning> FilterSide::Learning() const {
  auto all = runner_->Learning();
  for (v1::FilterLearning& user : users_->Learning()) all.push_back(std::move(user));
  for (v1::FilterLearning& fleet : fleet_->Learning()) all.push_back(std::move(fleet));
  return all;
}

v1::ListFiltersAnswer FilterSide::List() const {
  v1::ListFiltersAnswer answer;
  const std::vector<FilterReport> reports = runner_->Reports();
  for (const telltale_filter* filter : filters_) {
    v1::FilterInfo& info = *answer.add_filters();
    info.set_name(filter->name);
    info.set_version(filter->version);
    info.set_about(filter->about);
    info.set_rule(TELLTALE_FILTER_HAS(filter, telltale_filter, rule) ? filter->rule : 0);
    for (const char* const* vital = filter->vitals; vital != nullptr && *vital != nullptr;
         ++vital) {
      info.add_vitals(*vital);
    }
    if (const auto record = RecordOf(filter->name, filter->version))
      *info.mutable_record() = *record;
    const auto of = std::ranges::find_if(
        reports, [&](const FilterReport& report) { return report.status.name() == info.name(); });
    if (of == reports.end()) continue;
    *info.mutable_status() = of->status;
    info.set_epochs(of->shown);
    info.set_epochs_late(of->skipped);
    info.set_no_room(of->no_room);
    info.set_epochs_unreadable(of->unreadable);
    info.set_dropped(of->dropped);
    info.mutable_muted()->Assign(of->muted.begin(), of->muted.end());
  }
  for (v1::FilterInfo& user : users_->List()) *answer.add_filters() = std::move(user);
  std::map<std::string, uint32_t> learning;
  for (const v1::FilterLearning& told : Learning()) ++learning[told.filter()];
  const auto nodes = static_cast<uint32_t>(store_->reader().Nodes().size());
  for (v1::FilterInfo& info : *answer.mutable_filters()) {
    info.set_nodes_learning(learning[info.name()]);
    info.set_nodes(nodes);
  }
  for (v1::FilterInfo& info : fleet_->Infos()) *answer.add_filters() = std::move(info);
  return answer;
}

namespace {

bool IsOf(const OpenAnomaly& open, const v1::StoredSymptom& symptom) {
  return open.vital == symptom.vital() && open.sub == symptom.sub() &&
         incident::ProgramOfSubject(open.subject) == symptom.program();
}

}  // namespace

bool FilterSide::GoesOn(const v1::StoredSymptom& symptom, const NodeNames& nodes) const {
  const auto fits = [&](const OpenAnomaly& open) { return IsOf(open, symptom); };
  return fleet_->IsOpen(symptom.filter(), nodes, symptom.vital(), symptom.sub()) ||
         runner_->IsOpen(symptom.filter(), nodes, fits) ||
         users_->IsOpen(symptom.filter(), nodes, fits);
}

incident::HeldOpen FilterSide::Held(const v1::StoredSymptom& symptom,
                                    const NodeNames& nodes) const {
  incident::HeldOpen held;
  held.any = fleet_->IsOpen(symptom.filter(), nodes, symptom.vital(), symptom.sub());
  // All are looked at, as none is enough.
  const auto note = [&](const OpenAnomaly& open) {
    if (!IsOf(open, symptom)) return false;
    held.any = true;
    held.news_ns = std::max(held.news_ns, open.news_ns);
    return false;
  };
  runner_->IsOpen(symptom.filter(), nodes, note);
  users_->IsOpen(symptom.filter(), nodes, note);
  return held;
}

absl::StatusOr<Replayed> FilterSide::Run(const std::string& name, uint32_t node, uint64_t from_ns,
                                         uint64_t to_ns, const std::function<bool()>& stop) const {
  std::vector<NodeHead> heads = epochs_->Nodes();
  const auto head = std::ranges::find(heads, node, &NodeHead::number);
  if (head == heads.end()) {
    return absl::NotFoundError(absl::StrCat("filter run: no node has number ", node));
  }
  const auto builtin = std::ranges::find_if(
      filters_, [&](const telltale_filter* known) { return name == known->name; });
  const auto fleet = FleetWatch::Identities();
  if (std::ranges::count(fleet, name, &FilterIdentity::name) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("filter run: ", name,
                     " watches all nodes by the collector's clock and cannot be run over "
                     "the past; telltale anomalies --filter ",
                     name, " lists what it found"));
  }
  std::unique_ptr<FilterCode> code;
  if (builtin != filters_.end()) {
    code = std::make_unique<LocalFilter>(*builtin);
  } else {
    auto user = users_->Open(name);
    if (absl::IsNotFound(user.status())) return Unknown(name);
    if (!user.ok()) {
      return absl::Status(user.status().code(),
                          absl::StrCat("filter run: filter ", name, ": ", user.status().message()));
    }
    code = *std::move(user);
  }
  return Replay({.code = code.get(),
                 .filter_options = filter_options_,
                 .source = epochs_.get(),
                 .store = &store_->derived(),
                 .node = std::move(*head),
                 .from_ns = from_ns,
                 .to_ns = to_ns},
                stop);
}

absl::Status FilterSide::Unknown(const std::string& name) const {
  std::vector<std::string> known;
  for (const telltale_filter* one : filters_) known.emplace_back(one->name);
  for (const v1::FilterInfo& one : users_->List()) known.push_back(one.name());
  return absl::NotFoundError(absl::StrCat("filter run: filter \"", name.substr(0, 64),
                                          "\" is unknown", query::NearestHint(name, known)));
}

}  // namespace telltale::filter
